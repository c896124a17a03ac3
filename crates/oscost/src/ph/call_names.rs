//! The names of system calls by their numbers.

use std::borrow::Cow;

use oscost_model::call_names::Arch;

use super::profiles::profile::CALLS;

/// The names of a processor's system calls.
#[derive(Clone, Debug)]
pub struct CallNames([Option<&'static str>; CALLS]);

impl CallNames {
    /// Those of an architecture.
    pub fn of(arch: Arch) -> Self {
        let mut names = [None; CALLS];
        for (number, name) in arch.calls() {
            if let Some(target) = usize::try_from(number).ok().and_then(|at| names.get_mut(at)) {
                *target = Some(name);
            }
        }
        Self(names)
    }

    /// Those of the architecture that this program is built for.
    pub fn native() -> Self {
        Arch::from_uname(std::env::consts::ARCH).map_or(Self([None; CALLS]), Self::of)
    }

    /// The name of a call; `call-500` if the table lacks it, as for one of a newer kernel.
    pub fn name(&self, number: u16) -> Cow<'static, str> {
        match self.0.get(usize::from(number)).copied().flatten() {
            Some(name) => name.into(),
            None => format!("call-{number}").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_a_name_if_the_table_contains_it() {
        let names = CallNames::of(Arch::X86_64);
        assert_eq!([0, 59, 110].map(|call| names.name(call)), ["read", "execve", "getppid"]);
        assert_eq!(CallNames::of(Arch::Aarch64).name(63), "read");
        assert_eq!(
            [400, 511, 65_535].map(|call| names.name(call)),
            ["call-400", "call-511", "call-65535"]
        );
        assert_eq!(CallNames::native().name(9_999), "call-9999");
    }
}
