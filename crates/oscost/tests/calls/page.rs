//! The page of the calls of programs.

use oscost::bill::PriceRule;

use super::{Counted, Form, Share, calls_with_case, price, time_with_case};

const INTRODUCTION: &str = "\
# The calls of programs

Which system calls ordinary programs make, and the case that prices each in its form. `make docs`
makes this page of the files in `docs/reference/calls`; do not edit it. `scripts/program-calls.py`
counts anew: each program runs under strace(1), which tells names, outcomes and kinds of descriptors,
and under bpftrace(8), which tells the time on a CPU inside each call, without the time that the caller
waits.
";

/// The whole page.
pub(super) fn page(counted: &Counted, prices: &[PriceRule]) -> String {
    let (calls, time) = (calls_with_case(counted, prices), time_with_case(counted, prices));
    let count: u64 = counted.forms.iter().map(|form| form.calls).sum();
    let (priced, others): (Vec<&Form>, Vec<&Form>) =
        counted.forms.iter().partition(|form| price(prices, form).is_some());
    let line = |form: &&Form| {
        let found = price(prices, form);
        let case = found.map(|it| format!("`{}`", it.case)).unwrap_or_default();
        let differs = found.and_then(|it| it.differs.as_deref()).unwrap_or_default();
        let share = percentage(Share { part: form.calls as f64, whole: count as f64 });
        format!(
            "| {} | {} | {share} | {} | {case} | {differs} |\n",
            form.name, form.calls, form.programs
        )
    };
    let other = |form: &&Form| format!("| {} | {} | {} |\n", form.name, form.calls, form.programs);
    format!(
        "{INTRODUCTION}\n\
         {} programs made {count} calls in {} forms. {} of the calls have a case, and {} of the time \
         in calls.\n\n\
         The programs: {}.\n\n\
         | call and form | calls | share | programs | case | what differs |\n\
         | --- | ---: | ---: | ---: | --- | --- |\n{}\n\
         ## Without a case\n\n\
         | call and form | calls | programs |\n| --- | ---: | ---: |\n{}",
        counted.programs.len(),
        counted.forms.len(),
        percentage(calls),
        percentage(time),
        counted.programs.join(", "),
        priced.iter().map(line).collect::<String>(),
        others.iter().map(other).collect::<String>(),
    )
}

/// Rounded down: a page that says 99 % has them.
fn percentage(share: Share) -> String {
    let hundredths = (share.part * 1e4 / share.whole).floor();
    format!("{:.2} %", hundredths / 1e2)
}
