//! Whether a comparison passes a gate.

use oscost_model::counters::{CORE_CYCLES, is_work};
use oscost_model::record::{Comparison, Row};

use crate::estimate::comparison::MACHINES_DIFFER;
use crate::estimate::comparison::interleaved_run::SECONDARY;
pub use crate::estimate::comparison::threshold::Threshold;

/// What a gate found.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// No row is significantly slower by more than the threshold, which would have been detected in
    /// enough of them.
    Passed(GatePower),
    /// The same, but in too few of them: a slowdown may have passed unseen.
    NotJudged(GatePower),
    /// The control, in which nothing differs, shows an effect.
    ControlFailed,
    /// Rows of two machines were compared: a gate judges a change, and between them none is known.
    TwoMachines,
    /// No row of one side could be compared with one of the other.
    NothingCompared,
    /// The threshold applies to none of these many rows.
    NothingJudged {
        /// How many were compared.
        rows: usize,
    },
    /// Some rows are significantly slower by more than the threshold.
    Regressed,
}

/// How many rows a gate judged, and with what power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatePower {
    /// Rows that the threshold applies to.
    pub judged: usize,
    /// The judged rows in which a change of that size would have been detected, or that have a
    /// verdict: one of a change, or of times that are equivalent, if the threshold is at least as wide.
    pub powered: usize,
    /// Rows that the threshold does not apply to.
    pub not_judged: usize,
    /// Rows that failed: what changed in them is not known.
    pub failed: usize,
}

impl Gate {
    /// Whether it was passed or failed; `None` if that could not be judged.
    pub fn is_passed(&self) -> Option<bool> {
        match self {
            Gate::Passed(_) => Some(true),
            Gate::Regressed => Some(false),
            Gate::NotJudged(_)
            | Gate::ControlFailed
            | Gate::TwoMachines
            | Gate::NothingCompared
            | Gate::NothingJudged { .. } => None,
        }
    }
}

/// What a gate judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GateMetric {
    /// The rows' own figures, and compared metrics of programs.
    #[default]
    Figure,
    /// The instructions that the processor counted.
    Work,
}

/// The rule of a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateRule {
    /// The largest accepted difference.
    pub threshold: Threshold,
    /// What is judged.
    pub on: GateMetric,
    /// The share of rows, in per cent, in which a change of that size must be detectable: with fewer
    /// the gate is neither passed nor failed.
    pub min_coverage_pct: f64,
}

impl GateRule {
    /// Whether a comparison is one of what is judged.
    fn concerns(self, it: &Comparison) -> bool {
        is_work(&it.metric) == (self.on == GateMetric::Work)
    }

    /// Whether the threshold applies to a comparison. Instructions that vary between the workers of
    /// a run are not judged.
    fn applies_to(self, it: &Comparison) -> bool {
        let varies = it.flags.iter().any(|flag| flag == "WORK_VARIES");
        self.threshold.applies_to(it) && !(self.on == GateMetric::Work && varies)
    }

    /// Whether a comparison, one of this many, would have shown a change of the threshold's size, or has
    /// shown one.
    fn has_power_in(self, it: &Comparison, rows: usize) -> bool {
        let is_shown = match self.on {
            GateMetric::Figure => match it.verdict.as_str() {
                "equivalent" => self.threshold.contains_equivalence(it),
                verdict => verdict != "inconclusive",
            },
            // Equivalent work is the same to 0.3 %, and thresholds are smaller.
            GateMetric::Work => matches!(it.verdict.as_str(), "slower" | "faster"),
        };
        is_shown || self.threshold.would_detect(it, rows)
    }

    /// The comparisons that are judged.
    pub fn judged(self, comparisons: &[Comparison]) -> Vec<Comparison> {
        comparisons.iter().filter(|it| self.concerns(it) && self.applies_to(it)).cloned().collect()
    }
}

/// Judges the comparisons of a gate. `results` are the rows that they refer to.
pub(crate) fn judge(results: &[Row], comparisons: &[Comparison], rule: GateRule) -> Gate {
    if comparisons.iter().flat_map(|it| &it.flags).any(|flag| flag == MACHINES_DIFFER) {
        return Gate::TwoMachines;
    }
    let compared = comparisons.iter().filter(|it| rule.concerns(it)).count();
    if compared == 0 {
        return Gate::NothingCompared;
    }
    let judged = rule.judged(comparisons);
    if judged.is_empty() {
        return Gate::NothingJudged { rows: compared };
    }
    let threshold = rule.threshold;
    if judged.iter().any(|it| threshold.is_exceeded(it, &results[it.base as usize])) {
        return Gate::Regressed;
    }
    // A row that follows the core's rate is compared in time and in cycles. Either may fail the gate;
    // that a change would have been seen in one of them is enough.
    let is_one_of_two = |it: &&Comparison| {
        let is_other = |other: &Comparison| {
            (other.base, other.new) == (it.base, it.new) && other.metric != it.metric
        };
        it.flags.iter().any(|flag| flag == SECONDARY)
            && (it.metric == CORE_CYCLES
                || judged.iter().any(|other| other.metric == CORE_CYCLES && is_other(other)))
    };
    let rows: Vec<&Comparison> = judged.iter().filter(|it| !is_one_of_two(it)).collect();
    let powered = rows.iter().filter(|it| rule.has_power_in(it, compared)).count();
    let compared = compared - (judged.len() - rows.len());
    let judged = rows.len();
    // A failed row could have shown nothing.
    let failed =
        results.iter().filter(|row| row.is_requested() && row.outcome.is_failure()).count();
    let power = GatePower { judged, powered, not_judged: compared - judged, failed };
    match 100.0 * powered as f64 >= rule.min_coverage_pct * (judged + failed) as f64 {
        true => Gate::Passed(power),
        false => Gate::NotJudged(power),
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::record::{AddedCost, Ratio, RowOutcome};
    use oscost_model::unit::Unit;

    use super::*;

    fn comparison(metric: &str, verdict: &str, ratio: f64, flags: &[&str]) -> Comparison {
        serde_json::from_value(serde_json::json!({
            "case": "syscall/getppid", "metric": metric, "base": 0, "new": 0, "design": "pairs",
            "pairs": 8, "span_s": 60.0, "ratio": {"value": ratio, "ci95": [ratio, ratio]},
            "added": {"value": 1.0, "ci95": null, "unit": "insn/op"}, "p": 0.0, "q": 0.0,
            "verdict": verdict, "mde_pct": 0.05, "control": false, "flags": flags,
        }))
        .unwrap()
    }

    fn row() -> Row {
        serde_json::from_value(serde_json::json!({
            "case": "syscall/getppid", "benchmark": "syscall/getppid", "rev": 1, "point": {},
            "target": {"text": "local", "host": "local", "treatments": [], "machine": "m0",
                "cpu": null, "peer": null},
            "outcome": "measured", "reason": null, "mode": null, "unit": "ns/op", "better": "lower",
            "estimate": null, "metrics": {}, "repetitions": [], "calls": null, "floor": null,
            "expected": "", "class": null, "disturbed": {"lost_repetitions": 0,
                "rejected_pct": null, "rejected": {}, "lost_pct": null, "median_all": null,
                "plan": null}, "flags": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_gate_judges_no_difference_between_two_machines() {
        let rows = [
            comparison("primary", "slower", 1.5, &[]),
            comparison("primary", "inconclusive", 1.0, &["MACHINES_DIFFER"]),
        ];
        let judge = |rows: &[Comparison], on| {
            let threshold = Threshold::PerCent(5.0);
            judge(&[row()], rows, GateRule { threshold, on, min_coverage_pct: 80.0 })
        };
        for on in [GateMetric::Figure, GateMetric::Work] {
            assert_eq!(judge(&rows, on), Gate::TwoMachines);
        }
        assert_eq!(judge(&rows, GateMetric::Figure).is_passed(), None);
        assert_eq!(judge(&rows[..1], GateMetric::Figure), Gate::Regressed);
    }

    #[test]
    fn a_gate_on_instructions_judges_them_alone_and_others_judge_none_of_them() {
        let all =
            [comparison("primary", "slower", 1.5, &[]), comparison("insn", "equivalent", 1.0, &[])];
        let judge = |comparisons: &[Comparison], on, pct| {
            let threshold = Threshold::PerCent(pct);
            judge(&[row()], comparisons, GateRule { threshold, on, min_coverage_pct: 80.0 })
        };
        assert_eq!(judge(&all, GateMetric::Figure, 5.0), Gate::Regressed);
        let passed = GatePower { judged: 1, powered: 1, not_judged: 0, failed: 0 };
        assert_eq!(judge(&all, GateMetric::Work, 0.1), Gate::Passed(passed));
        let more = [
            comparison("primary", "equivalent", 1.0, &[]),
            comparison("insn", "slower", 1.004, &[]),
        ];
        assert_eq!(judge(&more, GateMetric::Work, 0.1), Gate::Regressed);
        assert_eq!(judge(&more, GateMetric::Figure, 0.1).is_passed(), Some(true));
        // What varies between workers is no evidence.
        let varies = [comparison("insn", "slower", 1.004, &["WORK_VARIES"])];
        assert_eq!(judge(&varies, GateMetric::Work, 0.1), Gate::NothingJudged { rows: 1 });
        assert_eq!(judge(&all[..1], GateMetric::Work, 0.1), Gate::NothingCompared);
    }

    #[test]
    fn equal_instructions_pass_a_gate_only_if_their_interval_could_have_shown_the_threshold() {
        let equal = |half_pct: f64| {
            let log = (half_pct / 100.0).ln_1p();
            let ci95 = Some([(-log).exp(), log.exp()]);
            // Of 1,000 instructions; the limit has the margin of the verdict.
            let added = AddedCost {
                value: 0.0,
                ci95: Some([-10.0 * half_pct, 10.0 * half_pct]),
                unit: Unit::InstructionsPerOp,
            };
            let mde_pct = Some(0.1 + 1.43 * half_pct);
            let bare = comparison("insn", "equivalent", 1.0, &[]);
            Comparison { ratio: Ratio { value: 1.0, ci95 }, added, mde_pct, ..bare }
        };
        let judge = |half_pct: f64, threshold| {
            let rule = GateRule { threshold, on: GateMetric::Work, min_coverage_pct: 80.0 };
            judge(&[row()], &[equal(half_pct)], rule)
        };
        let power = |powered| GatePower { judged: 1, powered, not_judged: 0, failed: 0 };
        let tenth = Threshold::PerCent(0.1);
        // Workers in turns, and two runs of one boot.
        assert_eq!(judge(0.04, tenth), Gate::Passed(power(1)));
        assert_eq!(judge(0.22, tenth), Gate::NotJudged(power(0)));
        assert_eq!(judge(0.22, tenth).is_passed(), None);
        assert_eq!(judge(0.22, Threshold::PerCent(0.5)), Gate::Passed(power(1)));
        assert_eq!(judge(0.22, Threshold::Instructions(4.0)), Gate::Passed(power(1)));
        assert_eq!(judge(0.22, Threshold::Instructions(3.0)), Gate::NotJudged(power(0)));
        // Among many rows one must be larger to be found: 2.93 half-widths among 90.
        let many = |threshold| {
            let rule = GateRule { threshold, on: GateMetric::Work, min_coverage_pct: 80.0 };
            let rows: Vec<Comparison> = (0..90).map(|_| equal(0.22)).collect();
            super::judge(&[row()], &rows, rule).is_passed()
        };
        assert_eq!([0.5, 0.7].map(|pct| many(Threshold::PerCent(pct))), [None, Some(true)]);
        // Of a few runs the smallest detectable effect says it.
        let of_few = Comparison { pairs: 3, mde_pct: Some(0.9), ..equal(0.18) };
        let few = |pct| {
            let threshold = Threshold::PerCent(pct);
            let rule = GateRule { threshold, on: GateMetric::Work, min_coverage_pct: 80.0 };
            super::judge(&[row()], std::slice::from_ref(&of_few), rule).is_passed()
        };
        assert_eq!([few(0.8), few(0.9)], [None, Some(true)]);
        // Without an interval nothing is known, and a change that is shown is one.
        let unknown = Comparison {
            ratio: Ratio { value: 1.0, ci95: None },
            ..comparison("insn", "inconclusive", 1.0, &[])
        };
        let faster = Comparison { verdict: "faster".to_owned(), ..equal(0.22) };
        let rule = GateRule { threshold: tenth, on: GateMetric::Work, min_coverage_pct: 80.0 };
        assert_eq!(super::judge(&[row()], &[unknown], rule), Gate::NotJudged(power(0)));
        assert_eq!(super::judge(&[row()], &[faster], rule), Gate::Passed(power(1)));
    }

    #[test]
    fn a_row_in_time_and_in_cycles_counts_once_and_either_fails_the_gate() {
        let pair = |time: &str, cycles: &str| {
            let time = comparison("primary", time, 1.5, &["SECONDARY"]);
            let cycles = comparison(CORE_CYCLES, cycles, 1.5, &[]);
            let cycles = Comparison { mde_pct: Some(4.0), ..cycles };
            [Comparison { mde_pct: Some(90.0), ..time }, cycles]
        };
        let judge = |rows: &[Comparison]| {
            let (threshold, on) = (Threshold::PerCent(5.0), GateMetric::Figure);
            judge(&[row()], rows, GateRule { threshold, on, min_coverage_pct: 80.0 })
        };
        let power = GatePower { judged: 1, powered: 1, not_judged: 0, failed: 0 };
        assert_eq!(judge(&pair("inconclusive", "inconclusive")), Gate::Passed(power));
        assert_eq!(judge(&pair("slower", "inconclusive")), Gate::Regressed);
        assert_eq!(judge(&pair("inconclusive", "slower")), Gate::Regressed);
    }

    #[test]
    fn a_gate_is_judged_only_if_enough_rows_could_have_shown_the_threshold() {
        let with_limit = |mde_pct: f64| Comparison {
            mde_pct: Some(mde_pct),
            ..comparison("primary", "inconclusive", 1.0, &[])
        };
        let rows = [4.0, 4.9, 5.0, 5.1, 400.0].map(with_limit);
        let judge = |rows: &[Comparison], min_coverage_pct: f64| {
            let (threshold, on) = (Threshold::PerCent(5.0), GateMetric::Figure);
            judge(&[row()], rows, GateRule { threshold, on, min_coverage_pct })
        };
        let power = GatePower { judged: 5, powered: 3, not_judged: 0, failed: 0 };
        assert_eq!(judge(&rows, 60.0), Gate::Passed(power));
        assert_eq!(judge(&rows, 80.0), Gate::NotJudged(power));
        assert_eq!(judge(&rows, 80.0).is_passed(), None);
        assert!(matches!(judge(&rows[..3], 100.0), Gate::Passed(_)));
        let unreliable = Comparison { flags: vec!["UNRELIABLE".to_owned()], ..with_limit(1.0) };
        assert!(matches!(judge(&[unreliable], 80.0), Gate::NotJudged(_)));
        // A verdict is one, whatever could have been detected.
        assert!(matches!(
            judge(&[comparison("primary", "faster", 0.5, &[])], 80.0),
            Gate::Passed(_)
        ));
    }

    #[test]
    fn times_within_three_per_cent_do_not_show_a_smaller_threshold() {
        let judge = |mde_pct: f64, threshold: f64| {
            let equal = comparison("primary", "equivalent", 1.0, &[]);
            let unit = Unit::NsPerOp;
            let added = AddedCost { value: 0.0, ci95: None, unit };
            let it = Comparison { mde_pct: Some(mde_pct), added, ..equal };
            let (threshold, on) = (Threshold::PerCent(threshold), GateMetric::Figure);
            judge(&[row()], &[it], GateRule { threshold, on, min_coverage_pct: 80.0 }).is_passed()
        };
        assert_eq!(
            [judge(4.0, 3.0), judge(4.0, 2.9), judge(2.8, 2.9)],
            [Some(true), None, Some(true)]
        );
    }

    #[test]
    fn rows_that_failed_count_as_rows_that_could_have_shown_nothing() {
        let failed = |outcome| Row { outcome, ..row() };
        let rows = |failures: &[RowOutcome]| -> Vec<Row> {
            std::iter::once(row()).chain(failures.iter().copied().map(failed)).collect()
        };
        let equal = [comparison("primary", "equivalent", 1.0, &[])];
        let judge = |failures: &[RowOutcome]| {
            let (threshold, on) = (Threshold::PerCent(5.0), GateMetric::Figure);
            judge(&rows(failures), &equal, GateRule { threshold, on, min_coverage_pct: 50.0 })
        };
        let power = |failed| GatePower { judged: 1, powered: 1, not_judged: 0, failed };
        assert_eq!(judge(&[RowOutcome::Skipped]), Gate::Passed(power(0)), "nobody could run it");
        assert_eq!(judge(&[RowOutcome::Failed]), Gate::Passed(power(1)));
        let two = [RowOutcome::TimedOut, RowOutcome::Unmeasurable];
        assert_eq!(judge(&two), Gate::NotJudged(power(2)));
    }
}
