//! The scalar values of profiles in OCI JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::treatments::error::quote;
use crate::treatments::seccomp::profile::{Action, Op};
use crate::treatments::suggestion::did_you_mean;

/// The errno of actions that name none.
pub(super) const EPERM: u16 = 1;
/// MAX_ERRNO, the kernel's largest errno.
const MAX_ERRNO: u64 = 4_095;

/// A text or a number with few valid values. It is validated while parsing, so that the line of an
/// error is its own line.
trait Scalar: Sized {
    /// Parses a text.
    fn text(_: &str) -> Result<Self, String> {
        Err("a number is expected".to_owned())
    }

    /// Parses a number.
    fn number(_: u64) -> Result<Self, String> {
        Err("a text is expected".to_owned())
    }
}

/// A visitor for scalars.
struct ScalarVisitor<T>(PhantomData<T>);

impl<T: Scalar> Visitor<'_> for ScalarVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text or a number, at least 0")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::text(text).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        T::number(number).map_err(E::custom)
    }
}

/// Implements `Deserialize` for scalars.
macro_rules! deserialize_scalars {
    ($($name:ty),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(ScalarVisitor(PhantomData))
            }
        }
    )*};
}

deserialize_scalars!(
    ActionName,
    ErrnoNumber,
    ErrnoName,
    ArchName,
    FlagName,
    OpName,
    Index,
    KernelVersion
);

/// The value of a known name; the error suggests a similar name.
fn lookup<T: Copy>(typed: &str, what: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    match known.iter().find(|(name, _)| *name == typed) {
        Some((_, value)) => Ok(*value),
        None => {
            let suggestion = did_you_mean(typed, known.iter().map(|(name, _)| *name));
            Err(format!("`{}` is not a known {what}{suggestion}", quote(typed)))
        }
    }
}

pub(super) struct ActionName(pub(super) Action);

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
        match lookup(typed, "action", &known)? {
            Some(action) => Ok(ActionName(action)),
            None => Err(format!("`{typed}` requires a listening process, and oscost has none")),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct ErrnoNumber(pub(super) u16);

impl Scalar for ErrnoNumber {
    fn number(number: u64) -> Result<Self, String> {
        match u16::try_from(number) {
            Ok(small) if number <= MAX_ERRNO => Ok(ErrnoNumber(small)),
            _ => Err(format!("{number} is not an errno, which is at most {MAX_ERRNO}")),
        }
    }
}

pub(super) struct ErrnoName(pub(super) u16);

impl Scalar for ErrnoName {
    fn text(typed: &str) -> Result<Self, String> {
        // Those that filters use; the numbers are the same on both architectures.
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
        lookup(typed, "errno name", &known).map(ErrnoName)
    }
}

#[derive(Clone, Copy)]
pub(super) struct ArchName(pub(super) Abi);

/// A system-call ABI.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Abi {
    /// x86-64.
    X86_64,
    /// Another one on x86-64: 32-bit, or x32.
    X86_64Compat,
    /// AArch64.
    Aarch64,
    /// 32-bit on AArch64.
    Aarch64Compat,
    /// That of another architecture, which has no effect.
    Other,
}

impl Scalar for ArchName {
    fn text(typed: &str) -> Result<Self, String> {
        const OTHERS: &str = "LOONGARCH64 M68K MIPS MIPS64 MIPS64N32 MIPSEL MIPSEL64 MIPSEL64N32 \
                              PARISC PARISC64 PPC PPC64 PPC64LE RISCV64 S390 S390X SH SHEB";
        let known = [
            ("SCMP_ARCH_X86_64", Abi::X86_64),
            ("SCMP_ARCH_X86", Abi::X86_64Compat),
            ("SCMP_ARCH_X32", Abi::X86_64Compat),
            ("SCMP_ARCH_AARCH64", Abi::Aarch64),
            ("SCMP_ARCH_ARM", Abi::Aarch64Compat),
        ];
        let name = typed.strip_prefix("SCMP_ARCH_");
        if name.is_some_and(|name| OTHERS.split(' ').any(|other| other == name)) {
            return Ok(ArchName(Abi::Other));
        }
        lookup(typed, "architecture", &known).map(ArchName)
    }
}

pub(super) struct FlagName;

impl Scalar for FlagName {
    fn text(typed: &str) -> Result<Self, String> {
        let known = [
            ("SECCOMP_FILTER_FLAG_TSYNC", ()),
            ("SECCOMP_FILTER_FLAG_LOG", ()),
            ("SECCOMP_FILTER_FLAG_SPEC_ALLOW", ()),
            ("SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", ()),
        ];
        lookup(typed, "flag", &known).map(|()| FlagName)
    }
}

pub(super) struct OpName(pub(super) Op);

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
        lookup(typed, "comparison", &known).map(OpName)
    }
}

pub(super) struct Index(pub(super) u8);

impl Scalar for Index {
    fn number(number: u64) -> Result<Self, String> {
        match u8::try_from(number) {
            Ok(small @ 0..=5) => Ok(Index(small)),
            _ => Err(format!("{number} is not the index of an argument, which is 0 to 5")),
        }
    }
}

/// `major.minor` of the oldest kernel that an entry applies to; every kernel counts as newer.
pub(super) struct KernelVersion;

impl Scalar for KernelVersion {
    fn text(typed: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u16>().is_ok();
        match typed.split_once('.') {
            Some((major, minor)) if number(major) && number(minor) => Ok(KernelVersion),
            _ => Err(format!("`{}` is not a kernel version such as 4.8", quote(typed))),
        }
    }
}
