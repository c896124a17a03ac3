//! Seccomp profiles as data.

/// What the kernel does with a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is executed.
    Allow,
    /// It is executed, and logged.
    Log,
    /// It fails with this errno.
    Errno(u16),
    /// The thread gets SIGSYS.
    Trap,
    /// The thread is killed.
    KillThread,
    /// The process is killed.
    KillProcess,
}

impl Action {
    /// The return value of the filter (SECCOMP_RET_...).
    pub fn return_value(self) -> u32 {
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

/// A comparison of an argument, as an unsigned 64-bit number, with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Equal to this number after masking with the value.
    MaskedEq(u64),
}

/// A condition on one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The index of the argument, from 0 to 5.
    pub argument: u8,
    /// The comparison.
    pub op: Op,
    /// The value.
    pub value: u64,
}

/// The action for some calls if their arguments meet all conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The calls, by name.
    pub names: Vec<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
    /// The action.
    pub action: Action,
}

/// A profile for one architecture.
///
/// Rules whose action is the default action have no effect. Of the other rules for a call, the
/// first one without conditions decides, if there is one; otherwise the first one whose conditions
/// are met; otherwise the default action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The action for calls that no rule matches.
    pub default: Action,
    /// The action for calls of another ABI (32-bit, or x32): the default action if set; otherwise
    /// the thread is killed. No rule matches them.
    pub other_abis_get_default: bool,
    /// The rules.
    pub rules: Vec<Rule>,
}
