//! Parsing profiles in OCI JSON. Errors have a line and a reason.
//!
//! The keys are those of the OCI runtime specification (`linux.seccomp`), and additional ones of
//! Moby's and Podman's files. Unknown keys are refused: `arg` instead of `args` would allow more
//! than the author intended.

mod scalars;

use std::collections::HashSet;
use std::fmt;

use oscost_model::call_names::Arch;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::profile::{Action, Condition, Op, Profile, Rule};
use crate::treatments::error::quote;
use scalars::{
    Abi, ActionName, ArchName, EPERM, ErrnoName, ErrnoNumber, FlagName, Index, KernelVersion,
    OpName,
};

/// The maximum number of system calls of an entry: there are some 400.
const MAX_NAMES: usize = 4_096;
/// The maximum number of conditions of an entry: six arguments, and some alternatives.
const MAX_CONDITIONS: usize = 64;

/// Why a profile cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError {
    /// The line of the error.
    pub line: usize,
    /// The reason.
    pub why: String,
}

impl Profile {
    /// Parses a profile for a process with the default capabilities of a container, on this
    /// architecture and a kernel at least as new as every version in the file.
    pub fn parse(bytes: &[u8], arch: Arch) -> Result<Profile, ProfileError> {
        let file: ProfileFile =
            serde_json::from_slice(bytes).map_err(|error| profile_error(&error))?;
        Ok(file.profile(arch))
    }
}

/// The line and the message of an error. Text of the file in it is bounded and escaped.
fn profile_error(error: &serde_json::Error) -> ProfileError {
    const MAX_CHARS: usize = 300;
    let line = error.line();
    let text = error.to_string();
    let position = format!(" at line {line} column {}", error.column());
    let why = text.strip_suffix(&position).unwrap_or(&text);
    let shown: String = why.chars().take(MAX_CHARS).collect();
    let to_ascii = |letter: char| if (' '..='~').contains(&letter) { letter } else { '?' };
    ProfileError { line, why: shown.chars().map(to_ascii).collect() }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProfileFile {
    default_action: ActionName,
    default_errno_ret: Option<ErrnoNumber>,
    default_errno: Option<ErrnoName>,
    architectures: Option<Vec<ArchName>>,
    arch_map: Option<Vec<ArchMap>>,
    /// Flags of seccomp(2), which are checked and ignored.
    #[serde(rename = "flags")]
    _flags: Option<Vec<FlagName>>,
    /// The socket of a notification listener; actions that notify are refused.
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

/// An entry of `syscalls` after validation.
struct Entry {
    rule: Rule,
    includes: Filter,
    excludes: Filter,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawEntry {
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
    min_kernel: Option<KernelVersion>,
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
        let sub_architectures = maps.flat_map(|map| map.sub_architectures.unwrap_or_default());
        let mut named = self.architectures.unwrap_or_default().into_iter().chain(sub_architectures);
        let other_abis_get_default = named.any(|name| name.0 == compat_abi(arch));
        let entries = self.syscalls.unwrap_or_default().into_iter();
        let rules = entries.filter(|entry| entry.applies(arch)).flat_map(|entry| entry.rules());
        Profile { default, other_abis_get_default, rules: rules.collect() }
    }
}

impl Entry {
    fn applies(&self, arch: Arch) -> bool {
        let has_capability = |cap: &String| CAPABILITIES.contains(&cap.as_str());
        let is_arch = |name: &String| name == go_arch(arch);
        let Filter { caps, arches, min_kernel: _ } = &self.includes;
        let included = caps.iter().flatten().all(has_capability)
            && arches.as_ref().is_none_or(|arches| arches.is_empty() || arches.iter().any(is_arch));
        let Filter { caps, arches, min_kernel } = &self.excludes;
        let excluded = caps.iter().flatten().any(has_capability)
            || arches.iter().flatten().any(is_arch)
            || min_kernel.is_some();
        included && !excluded
    }

    /// The rules of an entry. Several conditions on the same argument are alternatives, as in
    /// container runtimes: each becomes a rule. Conditions on different arguments must all be met.
    fn rules(self) -> Vec<Rule> {
        let Rule { names, conditions, action } = self.rule;
        let mut arguments = HashSet::new();
        if conditions.iter().all(|condition| arguments.insert(condition.argument)) {
            return vec![Rule { names, conditions, action }];
        }
        let alternative =
            |condition| Rule { names: names.clone(), conditions: vec![condition], action };
        conditions.into_iter().map(alternative).collect()
    }
}

/// Validated while parsing, so that the line of an error is the last line of the entry.
impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Entry;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an entry of `syscalls`")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                let raw = RawEntry::deserialize(MapAccessDeserializer::new(map))?;
                Entry::try_from(raw).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

impl TryFrom<RawEntry> for Entry {
    type Error = String;

    fn try_from(raw: RawEntry) -> Result<Self, String> {
        let RawEntry { names, name, action: act, errno_ret, errno, args, .. } = raw;
        let names = match (names, name) {
            (Some(names), None) => names,
            (None, Some(name)) => vec![name],
            (Some(_), Some(name)) => {
                return Err(format!("the entry of `{}` has both `name` and `names`", quote(&name)));
            }
            (None, None) => return Err("an entry of `syscalls` lacks `names`".to_owned()),
        };
        let first_name = || match names.first() {
            Some(name) => format!("`{}`", quote(name)),
            None => "no system call".to_owned(),
        };
        if !matches!(act.0, Action::Errno(_)) && (errno_ret.is_some() || errno.is_some()) {
            return Err(format!(
                "the entry of {} has an errno, but its action takes none",
                first_name()
            ));
        }
        let args = args.unwrap_or_default();
        // Each name gets a rule for each condition, so their product must stay small.
        if args.len() > MAX_CONDITIONS {
            return Err(format!(
                "the entry of {} has more than {MAX_CONDITIONS} args",
                first_name()
            ));
        }
        let conditions = args.iter().map(Argument::condition).collect();
        if names.len() > MAX_NAMES {
            return Err(format!(
                "an entry names {} system calls; at most {MAX_NAMES} are allowed",
                names.len()
            ));
        }
        let rule = Rule { names, conditions, action: action(act, errno_ret, errno) };
        let (includes, excludes) = (raw.includes, raw.excludes);
        let (includes, excludes) = (includes.unwrap_or_default(), excludes.unwrap_or_default());
        Ok(Entry { rule, includes, excludes })
    }
}

impl Argument {
    fn condition(&self) -> Condition {
        let op = match self.op.0 {
            Op::MaskedEq(_) => Op::MaskedEq(self.value_two.unwrap_or(0)),
            other => other,
        };
        Condition { argument: self.index.0, op, value: self.value }
    }
}

/// An action with its errno.
fn action(name: ActionName, number: Option<ErrnoNumber>, errno: Option<ErrnoName>) -> Action {
    match name.0 {
        // Podman's files have both; the name takes precedence.
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
        Arch::X86_64 => Abi::X86_64Compat,
        Arch::Aarch64 => Abi::Aarch64Compat,
    }
}

/// The name of an architecture in `includes` and `excludes`, which is Go's.
fn go_arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "amd64",
        Arch::Aarch64 => "arm64",
    }
}

/// The default capabilities of a Docker container.
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
