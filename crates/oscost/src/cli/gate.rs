//! What a gate found, in a line on standard error.

use oscost_model::record::{Comparison, Row};

use super::exit::ExitStatus;
use super::output::report_line;
use crate::app::{Gate, GateMetric, GatePower, GateRule, Threshold};
use crate::report::compare::regressions;

/// Reports what a gate found among these comparisons.
pub(super) fn report_gate(
    gate: &Gate,
    rule: GateRule,
    results: &[Row],
    comparisons: &[Comparison],
) -> ExitStatus {
    let GateRule { threshold, on, .. } = rule;
    match gate {
        Gate::ControlFailed => report_line(
            "gate: not judged: the control shows an effect where nothing differs: measure again",
        ),
        Gate::TwoMachines => report_line(
            "gate: not judged: the runs are of two machines, and a gate judges a change on one: \
             compare runs of one machine, or read the ratios",
        ),
        Gate::NothingCompared if on == GateMetric::Work => report_line(
            "gate: not judged: no row has instructions of both sides that could be compared: they are \
             counted where the processor's counters are visible (`oscost machine`), and of stored \
             runs within one boot",
        ),
        Gate::NothingCompared => {
            report_line(
                "gate: not judged: no row of one side could be compared with one of the other",
            );
        }
        Gate::NothingJudged { rows } if on == GateMetric::Work => report_line(&format!(
            "gate: not judged: the instructions of none of the {} compared repeat between workers",
            row_count(*rows)
        )),
        Gate::NothingJudged { rows } => report_line(&format!(
            "gate: not judged: none of the {} compared is counted in instructions: a \
             threshold of {threshold} does not apply to times",
            row_count(*rows)
        )),
        Gate::Regressed => {
            for line in regressions(results, &rule.judged(comparisons), threshold) {
                report_line(&format!("gate: failed: {line}"));
            }
        }
        Gate::Passed(power) => report_line(&format!("gate: passed: {}", text(power, rule))),
        Gate::NotJudged(power) => report_line(&format!(
            "gate: not judged: {}; `--gate-coverage` asks for {} % of them. {}",
            text(power, rule),
            rule.min_coverage_pct,
            advice(on)
        )),
    }
    match gate.is_passed() {
        Some(true) => ExitStatus::Success,
        Some(false) => ExitStatus::Failure,
        None => ExitStatus::NotMeasured,
    }
}

fn text(&GatePower { judged, powered, not_judged, failed }: &GatePower, rule: GateRule) -> String {
    let GateRule { threshold, on, .. } = rule;
    let rest = match not_judged {
        0 => String::new(),
        rows if on == GateMetric::Work => {
            format!("; in {} more the instructions vary between workers", row_count(rows))
        }
        1 => "; 1 more is a time, to which the threshold does not apply".to_owned(),
        rows => format!("; {rows} more are times, to which the threshold does not apply"),
    };
    let failed = match failed {
        0 => String::new(),
        rows => format!("; {} failed and could have shown nothing", row_count(rows)),
    };
    // A count is exact: a single instruction shows.
    let change = match threshold {
        Threshold::Instructions(_) if on == GateMetric::Work => format!("{threshold}"),
        Threshold::PerCent(_) => format!("a change of {threshold}"),
        Threshold::Instructions(_) => "one instruction".to_owned(),
    };
    let what = match on {
        GateMetric::Figure => "is significantly slower",
        GateMetric::Work => "has significantly more instructions,",
    };
    let power = match on {
        GateMetric::Figure => format!("{change} would have been detected"),
        GateMetric::Work => format!("the interval would have shown {change}"),
    };
    format!(
        "none of {} compared {what} by more than {threshold}; in {powered} of them {power}{failed}{rest}",
        row_count(judged)
    )
}

/// What shows smaller changes.
fn advice(on: GateMetric) -> &'static str {
    match on {
        GateMetric::Figure => {
            "More pairs in one run (`oscost ab --thorough`), more runs, or a larger threshold \
             detect more"
        }
        GateMetric::Work => {
            "Both sides in one run (`oscost ab`) show smaller changes than two runs; for these, \
             take a larger threshold (`--gate 0.5`)"
        }
    }
}

fn row_count(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}
