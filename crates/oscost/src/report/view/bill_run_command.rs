//! The command that measures cases for a bill.

use oscost_model::bill::Bill;

use crate::report::text::plain;

/// More cases than these are too many for a command line to copy.
const MAX_NAMED_CASES: usize = 8;

/// The command that measures these cases under the treatments of a bill.
pub(in crate::report::view) fn run_command(bill: &Bill, cases: &[&str]) -> String {
    let treat = match &bill.treatments[..] {
        [] => String::new(),
        listed => format!("--treat '{}' ", plain(&listed.join("+"))),
    };
    let named: Vec<&str> = cases.iter().copied().take(MAX_NAMED_CASES).collect();
    format!("`oscost run {treat}{}`", named.join(" "))
}
