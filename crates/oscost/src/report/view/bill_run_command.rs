//! The command that measures cases for a bill.

use oscost_model::bill::Bill;

use crate::report::text::{plain, plural};

/// More cases than these are too many for a command line to copy.
const MAX_NAMED_CASES: usize = 8;

/// The command that measures these cases under the treatments of a bill, and how many it does not name.
pub(in crate::report::view) fn run_command(bill: &Bill, cases: &[&str]) -> String {
    let treat = match &bill.treatments[..] {
        [] => String::new(),
        listed => format!("--treat '{}' ", plain(&listed.join("+"))),
    };
    let named: Vec<&str> = cases.iter().copied().take(MAX_NAMED_CASES).collect();
    format!("`oscost run {treat}{}`{}", named.join(" "), more_cases(cases.len() - named.len()))
}

/// How many cases a command does not name, after it; empty if it names all.
pub(in crate::report::view) fn more_cases(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" with {}", plural(more as u64, "more case")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up::find;

    #[test]
    fn a_command_says_how_many_cases_it_does_not_name() {
        let cases = ["a/b"; 10];
        let of = |count: usize| run_command(&find(), &cases[..count]);
        assert_eq!(of(2), "`oscost run a/b a/b`");
        assert!(of(8).ends_with(" a/b`"), "{}", of(8));
        assert!(of(9).ends_with(" a/b` with 1 more case"), "{}", of(9));
        assert!(of(10).ends_with(" a/b` with 2 more cases"), "{}", of(10));
    }
}
