//! Names and numbers of system calls, by architecture.
//!
//! The supervisor names the calls of a traced process, and the tool looks up the names in a seccomp
//! profile for the measured machine, whose architecture may differ from its own.

mod aarch64;
mod x86_64;

/// An architecture with its own table of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// x86-64 (64-bit calls).
    X86_64,
    /// AArch64.
    Aarch64,
}

impl Arch {
    /// Parses the machine name of `uname -m`.
    pub fn from_uname(text: &str) -> Option<Arch> {
        match text {
            "x86_64" => Some(Arch::X86_64),
            "aarch64" => Some(Arch::Aarch64),
            _ => None,
        }
    }

    /// Numbers and names of all calls, in ascending order of their numbers.
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
    fn both_tables_are_sorted_and_contain_the_common_calls() {
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
            // asm-generic/unistd.h has sync_file_range2 for processors that ask for it: aarch64 does not.
            assert!(calls.iter().any(|(_, name)| *name == "sync_file_range"), "{arch:?}");
            let word =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            assert!(calls.iter().all(|(_, name)| name.bytes().all(word)), "{arch:?}");
        }
    }
}
