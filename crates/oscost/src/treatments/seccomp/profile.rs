//! Profiles: which rules there are, and what they say.

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is made.
    Allow,
    /// It is made, and written to the kernel's log.
    Log,
    /// It fails with this number.
    Errno(u16),
    /// Its thread gets SIGSYS.
    Trap,
    /// Its thread ends.
    KillThread,
    /// Its process ends.
    KillProcess,
}

impl Action {
    /// What the filter returns for it (SECCOMP_RET_...).
    pub fn returned(self) -> u32 {
        match self {
            Action::Allow => 0x7fff_0000,
            Action::Log => 0x7ffc_0000,
            Action::Errno(errno) => 0x0005_0000 | u32::from(errno),
            Action::Trap => 0x0003_0000,
            Action::KillThread => 0,
            Action::KillProcess => 0x8000_0000,
        }
    }
}

/// How an argument is compared, as 64 bits without a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It is the value.
    Eq,
    /// It is not the value.
    Ne,
    /// It is below the value.
    Lt,
    /// It is the value or below.
    Le,
    /// It is above the value.
    Gt,
    /// It is the value or above.
    Ge,
    /// Its bits that the value has are these.
    MaskedEq(u64),
}

/// A condition on one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Which, from 0 to 5.
    pub argument: u8,
    /// How it is compared.
    pub op: Op,
    /// With what.
    pub value: u64,
}

/// What becomes of some calls if their arguments meet all conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The calls, by name.
    pub names: Vec<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// What becomes of them.
    pub action: Action,
}

/// A profile, as it applies to one kind of machine.
///
/// Of the rules for a call those count whose action differs from the default. If one of them has no
/// condition, the first such decides alone; else the first whose conditions are met; else the
/// default is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What becomes of calls that no rule meets.
    pub default: Action,
    /// Whether calls by another table (32-bit ones, or those of x32) get the default too; else they
    /// end their thread. No rule meets them.
    pub foreign: bool,
    /// The rules.
    pub rules: Vec<Rule>,
}
