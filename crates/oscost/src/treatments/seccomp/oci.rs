//! Profiles in OCI JSON: read whole, or refused with the line and the reason.
//!
//! The keys are those of the OCI runtime specification (`linux.seccomp`), and those that Moby's and
//! Podman's own files have beside them. A key that is not known is refused: `arg` for `args` would
//! make a filter wider than its author thinks.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use oscost_model::call_names::Arch;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::super::{did_you_mean, quoted};
use super::profile::{Action, Condition, Op, Profile, Rule};

/// MAX_ERRNO: the kernel returns no larger one.
const MAX_ERRNO: u64 = 4_095;
const EPERM: u16 = 1;

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The line that shows it.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

impl Profile {
    /// Reads a profile as it applies to a process on such a machine that has a container's usual
    /// capabilities, on a kernel that is as new as any that is named.
    pub fn read(bytes: &[u8], arch: Arch) -> Result<Profile, Malformed> {
        let whole: ProfileFile =
            serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
        Ok(whole.profile(arch))
    }
}

/// The line of an error, and its words: what is the file's own in them is bounded and escaped.
fn malformed(error: &serde_json::Error) -> Malformed {
    const LONGEST: usize = 300;
    let line = error.line();
    let text = error.to_string();
    let target = format!(" at line {line} column {}", error.column());
    let why = text.strip_suffix(&target).unwrap_or(&text);
    let shown: String = why.chars().take(LONGEST).collect();
    let plain = |letter: char| if (' '..='~').contains(&letter) { letter } else { '?' };
    Malformed { line, why: shown.chars().map(plain).collect() }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProfileFile {
    default_action: ActionName,
    default_errno_ret: Option<ErrnoNumber>,
    default_errno: Option<ErrnoName>,
    architectures: Option<Vec<ArchName>>,
    arch_map: Option<Vec<ArchMap>>,
    /// Of the installing call; nothing here turns them on.
    #[serde(rename = "flags")]
    _flags: Option<Vec<FlagName>>,
    /// Where a notifier would listen: notifying is refused where an action asks for it.
    #[serde(rename = "listenerPath")]
    _listener_path: Option<String>,
    #[serde(rename = "listenerMetadata")]
    _listener_metadata: Option<String>,
    syscalls: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ArchMap {
    architecture: ArchName,
    sub_architectures: Option<Vec<ArchName>>,
}

/// An entry of `syscalls`, checked.
struct Entry {
    rule: Rule,
    includes: Filter,
    excludes: Filter,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EntryRead {
    names: Option<Vec<String>>,
    name: Option<String>,
    action: ActionName,
    errno_ret: Option<ErrnoNumber>,
    errno: Option<ErrnoName>,
    args: Option<Vec<Argument>>,
    includes: Option<Filter>,
    excludes: Option<Filter>,
    #[serde(rename = "comment")]
    _comment: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Filter {
    caps: Option<Vec<String>>,
    arches: Option<Vec<String>>,
    min_kernel: Option<Kernel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Argument {
    index: Index,
    value: u64,
    value_two: Option<u64>,
    op: OpName,
}

impl ProfileFile {
    fn profile(self, arch: Arch) -> Profile {
        let default = action(self.default_action, self.default_errno_ret, self.default_errno);
        let maps = self.arch_map.unwrap_or_default();
        let maps = maps.into_iter().filter(|map| map.architecture.0 == native_abi(arch));
        let subs = maps.flat_map(|map| map.sub_architectures.unwrap_or_default());
        let mut named = self.architectures.unwrap_or_default().into_iter().chain(subs);
        let foreign = named.any(|name| name.0 == compat_abi(arch));
        let entries = self.syscalls.unwrap_or_default().into_iter();
        let rules = entries.filter(|entry| entry.applies(arch)).flat_map(|entry| entry.rules());
        Profile { default, foreign, rules: rules.collect() }
    }
}

impl Entry {
    fn applies(&self, arch: Arch) -> bool {
        let has = |cap: &String| CAPABILITIES.contains(&cap.as_str());
        let ours = |name: &String| name == go_arch(arch);
        let Filter { caps, arches, min_kernel: _ } = &self.includes;
        let included = caps.iter().flatten().all(has)
            && arches.as_ref().is_none_or(|arches| arches.is_empty() || arches.iter().any(ours));
        let Filter { caps, arches, min_kernel } = &self.excludes;
        let excluded = caps.iter().flatten().any(has)
            || arches.iter().flatten().any(ours)
            || min_kernel.is_some();
        included && !excluded
    }

    /// Several conditions on one argument are alternatives, as container runtimes take them: a rule
    /// each. MethodDefaults all must be met.
    fn rules(self) -> Vec<Rule> {
        let Rule { names, conditions, action } = self.rule;
        let mut seen = HashSet::new();
        if conditions.iter().all(|condition| seen.insert(condition.argument)) {
            return vec![Rule { names, conditions, action }];
        }
        let alone = |condition| Rule { names: names.clone(), conditions: vec![condition], action };
        conditions.into_iter().map(alone).collect()
    }
}

/// It is checked before the reader goes on: the line of an error is then the entry's last.
impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Entry;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an entry of `syscalls`")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                let read = EntryRead::deserialize(MapAccessDeserializer::new(map))?;
                Entry::try_from(read).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

impl TryFrom<EntryRead> for Entry {
    type Error = String;

    fn try_from(read: EntryRead) -> Result<Self, String> {
        let EntryRead { names, name, action: act, errno_ret, errno, args, .. } = read;
        let names = match (names, name) {
            (Some(names), None) => names,
            (None, Some(name)) => vec![name],
            (Some(_), Some(name)) => {
                return Err(format!("the entry of `{}` has `names` too", quoted(&name)));
            }
            (None, None) => return Err("an entry of `syscalls` has no `names`".to_owned()),
        };
        let of =
            || names.first().map_or("no call".to_owned(), |name| format!("`{}`", quoted(name)));
        if !matches!(act.0, Action::Errno(_)) && (errno_ret.is_some() || errno.is_some()) {
            return Err(format!("the entry of {} has an errno, and its action none", of()));
        }
        let args = args.unwrap_or_default();
        // Each name gets each of them: it is their product that must stay small.
        if args.len() > MOST_ARGUMENTS {
            return Err(format!("the entry of {} has more than {MOST_ARGUMENTS} args", of()));
        }
        let conditions = args.iter().map(Argument::condition).collect();
        if names.len() > MOST_NAMES {
            return Err(format!("an entry names {} calls: at most {MOST_NAMES}", names.len()));
        }
        let rule = Rule { names, conditions, action: action(act, errno_ret, errno) };
        let (includes, excludes) = (read.includes, read.excludes);
        let (includes, excludes) = (includes.unwrap_or_default(), excludes.unwrap_or_default());
        Ok(Entry { rule, includes, excludes })
    }
}

/// As many calls as an entry may name: there are some 400.
const MOST_NAMES: usize = 4_096;
/// Conditions of one entry: six arguments, and some alternatives.
const MOST_ARGUMENTS: usize = 64;

impl Argument {
    fn condition(&self) -> Condition {
        let op = match self.op.0 {
            Op::MaskedEq(_) => Op::MaskedEq(self.value_two.unwrap_or(0)),
            other => other,
        };
        Condition { argument: self.index.0, op, value: self.value }
    }
}

/// An action with its number.
fn action(name: ActionName, number: Option<ErrnoNumber>, errno: Option<ErrnoName>) -> Action {
    match name.0 {
        // Podman's files have both, and there the name counts.
        Action::Errno(_) => {
            let number = errno.map(|name| name.0).or(number.map(|number| number.0));
            Action::Errno(number.unwrap_or(EPERM))
        }
        other => other,
    }
}

fn native_abi(arch: Arch) -> Abi {
    match arch {
        Arch::X86_64 => Abi::X86_64,
        Arch::Aarch64 => Abi::Aarch64,
    }
}

fn compat_abi(arch: Arch) -> Abi {
    match arch {
        Arch::X86_64 => Abi::BesideX86_64,
        Arch::Aarch64 => Abi::BesideAarch64,
    }
}

/// The words that `includes` and `excludes` have for processors are those of Go.
fn go_arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "amd64",
        Arch::Aarch64 => "arm64",
    }
}

/// What Docker leaves to a container that asks for nothing.
const CAPABILITIES: &[&str] = &[
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];

/// A text or a number that must be one of few. It is checked where it stands, since the line of an
/// error is the one that the reader has come to.
trait Scalar: Sized {
    /// Reads a text.
    fn text(_: &str) -> Result<Self, String> {
        Err("a number is meant here".to_owned())
    }

    /// Reads a number.
    fn number(_: u64) -> Result<Self, String> {
        Err("a text is meant here".to_owned())
    }
}

/// Reads what is plain.
struct InPlace<T>(PhantomData<T>);

impl<T: Scalar> Visitor<'_> for InPlace<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text, or a number from 0")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::text(text).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        T::number(number).map_err(E::custom)
    }
}

/// Lets serde read what is plain.
macro_rules! plain {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(InPlace(PhantomData))
            }
        }
    )*};
}

plain!(ActionName, ErrnoNumber, ErrnoName, ArchName, FlagName, OpName, Index, Kernel);

/// A word of a list, or what it may have been meant for.
fn one_of<T: Copy>(typed: &str, what: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    match known.iter().find(|(name, _)| *name == typed) {
        Some((_, value)) => Ok(*value),
        None => {
            let like = did_you_mean(typed, known.iter().map(|(name, _)| *name));
            Err(format!("`{}` is no {what}{like}", quoted(typed)))
        }
    }
}

struct ActionName(Action);

impl Scalar for ActionName {
    fn text(typed: &str) -> Result<Self, String> {
        const UNSUPPORTED: Option<Action> = None;
        let known = [
            ("SCMP_ACT_ALLOW", Some(Action::Allow)),
            ("SCMP_ACT_ERRNO", Some(Action::Errno(EPERM))),
            ("SCMP_ACT_KILL", Some(Action::KillThread)),
            ("SCMP_ACT_KILL_THREAD", Some(Action::KillThread)),
            ("SCMP_ACT_KILL_PROCESS", Some(Action::KillProcess)),
            ("SCMP_ACT_TRAP", Some(Action::Trap)),
            ("SCMP_ACT_LOG", Some(Action::Log)),
            ("SCMP_ACT_TRACE", UNSUPPORTED),
            ("SCMP_ACT_NOTIFY", UNSUPPORTED),
        ];
        match one_of(typed, "action", &known)? {
            Some(action) => Ok(ActionName(action)),
            None => Err(format!("`{typed}` needs a process that answers, and there is none")),
        }
    }
}

#[derive(Clone, Copy)]
struct ErrnoNumber(u16);

impl Scalar for ErrnoNumber {
    fn number(number: u64) -> Result<Self, String> {
        match u16::try_from(number) {
            Ok(small) if number <= MAX_ERRNO => Ok(ErrnoNumber(small)),
            _ => Err(format!("{number} is no errno: they end at {MAX_ERRNO}")),
        }
    }
}

struct ErrnoName(u16);

impl Scalar for ErrnoName {
    fn text(typed: &str) -> Result<Self, String> {
        // Those that a filter has reason to say; the numbers are the same on both processors.
        let known = [
            ("EPERM", EPERM),
            ("ENOENT", 2),
            ("EIO", 5),
            ("EAGAIN", 11),
            ("ENOMEM", 12),
            ("EACCES", 13),
            ("EBUSY", 16),
            ("ENODEV", 19),
            ("EINVAL", 22),
            ("ENOSYS", 38),
            ("ENOTSUP", 95),
            ("EOPNOTSUPP", 95),
            ("EAFNOSUPPORT", 97),
        ];
        one_of(typed, "errno that is known here by name", &known).map(ErrnoName)
    }
}

#[derive(Clone, Copy)]
struct ArchName(Abi);

/// A table of system calls, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Abi {
    /// That of x86-64 itself.
    X86_64,
    /// Another one on x86-64: 32 bits, or x32.
    BesideX86_64,
    /// That of AArch64 itself.
    Aarch64,
    /// 32 bits on AArch64.
    BesideAarch64,
    /// Another machine's: nothing is asked of it here.
    Other,
}

impl Scalar for ArchName {
    fn text(typed: &str) -> Result<Self, String> {
        const OTHERS: &str = "LOONGARCH64 M68K MIPS MIPS64 MIPS64N32 MIPSEL MIPSEL64 MIPSEL64N32 \
                              PARISC PARISC64 PPC PPC64 PPC64LE RISCV64 S390 S390X SH SHEB";
        let known = [
            ("SCMP_ARCH_X86_64", Abi::X86_64),
            ("SCMP_ARCH_X86", Abi::BesideX86_64),
            ("SCMP_ARCH_X32", Abi::BesideX86_64),
            ("SCMP_ARCH_AARCH64", Abi::Aarch64),
            ("SCMP_ARCH_ARM", Abi::BesideAarch64),
        ];
        let name = typed.strip_prefix("SCMP_ARCH_");
        if name.is_some_and(|name| OTHERS.split(' ').any(|other| other == name)) {
            return Ok(ArchName(Abi::Other));
        }
        one_of(typed, "architecture", &known).map(ArchName)
    }
}

struct FlagName;

impl Scalar for FlagName {
    fn text(typed: &str) -> Result<Self, String> {
        let known = [
            ("SECCOMP_FILTER_FLAG_TSYNC", ()),
            ("SECCOMP_FILTER_FLAG_LOG", ()),
            ("SECCOMP_FILTER_FLAG_SPEC_ALLOW", ()),
            ("SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", ()),
        ];
        one_of(typed, "flag", &known).map(|()| FlagName)
    }
}

struct OpName(Op);

impl Scalar for OpName {
    fn text(typed: &str) -> Result<Self, String> {
        let known = [
            ("SCMP_CMP_EQ", Op::Eq),
            ("SCMP_CMP_NE", Op::Ne),
            ("SCMP_CMP_LT", Op::Lt),
            ("SCMP_CMP_LE", Op::Le),
            ("SCMP_CMP_GT", Op::Gt),
            ("SCMP_CMP_GE", Op::Ge),
            ("SCMP_CMP_MASKED_EQ", Op::MaskedEq(0)),
        ];
        one_of(typed, "comparison", &known).map(OpName)
    }
}

struct Index(u8);

impl Scalar for Index {
    fn number(number: u64) -> Result<Self, String> {
        match u8::try_from(number) {
            Ok(small @ 0..=5) => Ok(Index(small)),
            _ => Err(format!("{number} is no argument's index: they are 0 to 5")),
        }
    }
}

/// `major.minor` of a kernel that a rule begins or ends with; every kernel is taken for a newer
/// one.
struct Kernel;

impl Scalar for Kernel {
    fn text(typed: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u16>().is_ok();
        match typed.split_once('.') {
            Some((major, minor)) if number(major) && number(minor) => Ok(Kernel),
            _ => Err(format!("`{}` is no version of a kernel, as 4.8", quoted(typed))),
        }
    }
}
