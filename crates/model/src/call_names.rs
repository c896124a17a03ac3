//! System calls by the kernel's names, on either processor.
//!
//! The supervisor names what a traced copy has called, and the tool looks up what a seccomp profile
//! names: of the machine that is measured, which may be of another kind than its own.

mod aarch64;
mod x86_64;

/// A processor's own table of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// x86-64, with its 64-bit calls.
    X86_64,
    /// AArch64.
    Aarch64,
}

impl Arch {
    /// By the kernel's name, as `uname -m` says it.
    pub fn from_uname(text: &str) -> Option<Arch> {
        match text {
            "x86_64" => Some(Arch::X86_64),
            "aarch64" => Some(Arch::Aarch64),
            _ => None,
        }
    }

    /// The calls, each with its number, in the order of the numbers.
    pub fn calls(self) -> impl Iterator<Item = (u32, &'static str)> {
        let names = match self {
            Arch::X86_64 => x86_64::NAMES,
            Arch::Aarch64 => aarch64::NAMES,
        };
        let mut next = 0;
        names.split(' ').filter_map(move |word| match word.parse() {
            Ok(number) => {
                next = number;
                None
            }
            Err(_) => {
                next += 1;
                Some((next - 1, word))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_in_order_and_hold_what_every_program_calls() {
        for (arch, read, getppid, openat) in
            [(Arch::X86_64, 0, 110, 257), (Arch::Aarch64, 63, 173, 56)]
        {
            let calls: Vec<_> = arch.calls().collect();
            assert!(calls.is_sorted_by(|one, next| one.0 < next.0), "{arch:?}");
            assert!(calls.len() > 300, "{arch:?} has {}", calls.len());
            for call in [(read, "read"), (getppid, "getppid"), (openat, "openat")] {
                assert!(calls.contains(&call), "{arch:?}: {call:?}");
            }
            assert!(calls.contains(&(451, "cachestat")), "{arch:?}");
            let word =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            assert!(calls.iter().all(|(_, name)| name.bytes().all(word)), "{arch:?}");
        }
    }
}
