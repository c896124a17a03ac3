//! Which prices of a bill are those of calls as programs make them, through a function.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::raw_call::{CALL, RawCall};

use crate::report::text::{plain, plural};
use crate::report::view::bill_run_command::more_cases;

/// More cases than these are too many for a command line to copy.
const MAX_NAMED_CASES: usize = 8;

/// How many prices are, and what would measure those that are not.
pub(super) fn notes(bill: &Bill) -> Vec<String> {
    let is_charged = |item: &&BillItem| item.part > 0.0 && item.amount.is_some();
    let charged: Vec<&BillItem> = bill.items.iter().filter(is_charged).collect();
    if charged.is_empty() {
        return Vec::new();
    }
    let sources = charged.iter().filter_map(|it| it.function_source.as_deref());
    let (measured, estimated): (Vec<&str>, Vec<&str>) =
        sources.partition(|source| source.starts_with(CALL));
    let with = measured.len() + estimated.len();
    let mut lines = vec![match with {
        0 => "prices are those of inlined loops: programs call through functions, which may take \
              longer"
            .to_owned(),
        _ => format!(
            "prices of calls through a function, as programs make them: of {with} of {} ({} by the \
             ratio of other calls); the others are of inlined loops, or of no raw calls",
            plural(charged.len() as u64, "charged item"),
            estimated.len()
        ),
    }];
    let inlined = &bill.prices.inlined;
    if !inlined.is_empty() {
        let cases: Vec<String> =
            inlined.iter().take(MAX_NAMED_CASES).map(|case| plain(case)).collect();
        let [base, new] = [RawCall::Inline, RawCall::Function].map(RawCall::treatment_text);
        lines.push(format!(
            "`oscost ab --quick --base {base} --new {new} {}`{} measures what a function around \
             each call adds",
            cases.join(" "),
            more_cases(inlined.len() - cases.len())
        ));
    }
    lines
}
