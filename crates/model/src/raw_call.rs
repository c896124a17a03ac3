//! How a loop makes its raw system calls: inlined, or through a function.
//!
//! Programs call the kernel through functions of the C library, whose return comes right after the
//! system call. The treatment `call=function` puts such a function around each prepared raw call of
//! a benchmark; `call=inline` leaves the instruction in the loop, as without a treatment. The
//! difference between both is what the function adds.

use serde::{Deserialize, Serialize};

/// The name of the treatment.
pub const CALL: &str = "call";

/// How raw system calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawCall {
    /// The instruction is part of the loop.
    Inline,
    /// The loop calls a function that consists of the instruction and a return.
    Function,
}

impl RawCall {
    /// Both, the base first.
    pub const ALL: [Self; 2] = [Self::Inline, Self::Function];

    /// The value of the treatment.
    pub fn text(self) -> &'static str {
        match self {
            RawCall::Inline => "inline",
            RawCall::Function => "function",
        }
    }

    /// The value that reads so.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.text() == text)
    }

    /// The treatment, as it is typed: `call=function`.
    pub fn treatment_text(self) -> String {
        format!("{CALL}={}", self.text())
    }
}

/// How the calls of a target are made that has this treatment alone; `None` of any other target.
pub fn raw_call_of(treatments: &[String]) -> Option<RawCall> {
    let [only] = treatments else { return None };
    RawCall::parse(only.strip_prefix(CALL)?.strip_prefix('=')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_it_is_written() {
        for one in RawCall::ALL {
            assert_eq!(RawCall::parse(one.text()), Some(one));
            assert_eq!(raw_call_of(&[one.treatment_text()]), Some(one));
        }
        assert_eq!(RawCall::Function.treatment_text(), "call=function");
        for odd in ["", "Inline", "libc", "function "] {
            assert_eq!(RawCall::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_target_with_another_treatment_is_none_of_them() {
        let of = |texts: &[&str]| {
            raw_call_of(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["call=function", "nice=1"]), None);
        assert_eq!(of(&["caller=function"]), None);
        assert_eq!(of(&["cool=0"]), None);
    }
}
