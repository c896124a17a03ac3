//! What a gate found, in a line on standard error.

use oscost_model::record::{Comparison, Row};

use super::exit::ExitStatus;
use super::output::report_line;
use crate::app::{Gate, GatePass, Threshold};
use crate::report::compare::regressions;

/// Reports what a gate found among these comparisons.
pub(super) fn report_gate(
    gate: &Gate,
    threshold: Threshold,
    results: &[Row],
    comparisons: &[Comparison],
) -> ExitStatus {
    match gate {
        Gate::ControlFailed => report_line(
            "gate: failed: the control shows an effect where nothing differs: measure again",
        ),
        Gate::NothingCompared => {
            report_line("gate: failed: no row of one side could be compared with one of the other");
        }
        Gate::NothingJudged { rows } => report_line(&format!(
            "gate: failed: none of the {} compared is counted in instructions: a \
             threshold of {threshold} does not apply to times",
            row_count(*rows)
        )),
        Gate::Regressed => {
            for line in regressions(results, comparisons, threshold) {
                report_line(&format!("gate: failed: {line}"));
            }
        }
        Gate::Passed(passed) => report_line(&text(passed, threshold)),
    }
    if gate.is_passed() { ExitStatus::Success } else { ExitStatus::Failure }
}

fn text(&GatePass { judged, powered, not_judged }: &GatePass, threshold: Threshold) -> String {
    let rest = match not_judged {
        0 => String::new(),
        1 => "; 1 more is a time, to which the threshold does not apply".to_owned(),
        rows => format!("; {rows} more are times, to which the threshold does not apply"),
    };
    // A count is exact: a single instruction shows.
    let change = match threshold {
        Threshold::PerCent(_) => format!("a change of {threshold}"),
        Threshold::Instructions(_) => "one instruction".to_owned(),
    };
    format!(
        "gate: passed: none of {} compared is significantly slower by more than {threshold}; in \
         {powered} of them {change} would have been detected{rest}",
        row_count(judged)
    )
}

fn row_count(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}
