//! Verdicts: how one is written, and how many there are of each kind.

use oscost_model::record::{Comparison, Row};
use oscost_model::unit::Unit;

use crate::estimate::comparison::margin_of;
use crate::estimate::comparison::threshold::Threshold;
use crate::report::figures::per_cent;
use crate::report::text::plain;

/// A verdict on a row and its base; an inconclusive one with the smallest effect that could have been
/// detected, with why it is none though its own interval lies beyond the margin, or with that time alone
/// keeps it from `equivalent`. An amount is not
/// slower than another one, but more.
pub(in crate::report::view) fn verdict_text(it: &Comparison, base: &Row) -> String {
    match (it.verdict.as_str(), it.mde_pct) {
        ("slower", _) if is_amount(it) => "more".to_owned(),
        ("faster", _) if is_amount(it) => "less".to_owned(),
        ("inconclusive", _) if is_amount(it) && is_same_in_all_pairs(it) => "=".to_owned(),
        ("inconclusive", _) if is_too_short(it) => "inconclusive (short)".to_owned(),
        ("inconclusive", _) if may_be_chance(it, base) => chance_text(it),
        ("inconclusive", Some(pct)) => format!("inconclusive ({})", per_cent(pct)),
        (verdict, _) => plain(verdict),
    }
}

/// Whether bytes or events are compared, and no times or rates.
pub(in crate::report::view) fn is_amount(it: &Comparison) -> bool {
    matches!(it.added.unit, Unit::Bytes | Unit::TimesPerOp)
}

/// The factor within which two figures are equivalent.
const EQUIVALENT_WITHIN: f64 = 1.03;

/// Whether a comparison would be equivalent if its pairs did not all lie within a minute.
pub(in crate::report::view) fn is_too_short(it: &Comparison) -> bool {
    let has = |name: &str| it.flags.iter().any(|flag| flag == name);
    let has_other_reason = ["VOID", "UNRELIABLE", "REJECTION_DIFFERS"].into_iter().any(has);
    let is_within =
        |[low, high]: [f64; 2]| 1.0 / EQUIVALENT_WITHIN < low && high < EQUIVALENT_WITHIN;
    it.verdict == "inconclusive"
        && has("SHORT_SPAN")
        && !has_other_reason
        && it.ratio.ci95.is_some_and(is_within)
}

/// Whether both sides have the same value in all pairs.
fn is_same_in_all_pairs(it: &Comparison) -> bool {
    it.added.value == 0.0 && it.ratio.ci95 == Some([1.0; 2])
}

/// The verdicts, which are styles, too.
const VERDICTS: [&str; 4] = ["slower", "faster", "equivalent", "inconclusive"];

/// The style of a verdict; empty for one that this version does not know.
pub(in crate::report::view) fn verdict_style(it: &Comparison) -> &'static str {
    VERDICTS.into_iter().find(|verdict| *verdict == it.verdict).unwrap_or_default()
}

/// Whether the interval of a comparison lies beyond the margin of its metric, so that it is none by
/// the correction for the number of rows alone.
pub(in crate::report::view) fn may_be_chance(it: &Comparison, base: &Row) -> bool {
    let margin = 1.0 + margin_of(it, base);
    let is_beyond = |[low, high]: [f64; 2]| low > margin || high < 1.0 / margin;
    let is_beyond = it.ratio.ci95.is_some_and(is_beyond);
    it.verdict == "inconclusive" && it.p <= 0.05 && it.q > 0.05 && is_beyond
}

/// The text of such a verdict.
pub(in crate::report::view) fn chance_text(it: &Comparison) -> String {
    format!("inconclusive (q {:.2})", (100.0 * it.q).ceil() / 100.0)
}

/// What that means.
pub(in crate::report::view) const MAY_BE_CHANCE: &str = "inconclusive (q 0.06) means: the interval of this row lies on one side of 1.00, but among all \
     rows compared one such interval may be chance; q is the p value corrected for their number.";

/// The meaning of an inconclusive verdict.
pub(in crate::report::view) const INCONCLUSIVE: &str = "inconclusive (12 %) means: a change of 12 % would have been detected in four of five such \
     comparisons. It does not mean that nothing changed.";

/// Whether a comparison is inconclusive and has a smallest effect that it could have detected.
pub(in crate::report::view) fn has_detectable_effect(comparisons: &[&Comparison]) -> bool {
    comparisons.iter().any(|it| it.verdict == "inconclusive" && it.mde_pct.is_some())
}

/// Why the interval of a ratio is so much wider than those of its figures, of so many rows that did
/// not alternate.
pub(in crate::report::view) fn what_widens(rows: usize) -> String {
    let (correction, narrow) = match rows {
        0 | 1 => (String::new(), "More earlier runs narrow it"),
        rows => (
            format!(", and all {rows} rows are judged at once, for which each is corrected"),
            "Fewer cases and more earlier runs narrow them",
        ),
    };
    format!(
        "What widens the intervals: a ratio has the variation between runs of both its sides, that \
         variation is itself known from few runs (degrees of freedom of Student's t){correction}. \
         {narrow}."
    )
}

/// How many rows are slower by more than a threshold.
#[derive(Clone, Copy)]
pub(in crate::report::view) struct RegressionCount {
    /// How many.
    pub(in crate::report::view) rows: usize,
    /// The threshold.
    pub(in crate::report::view) threshold: Threshold,
}

/// How many verdicts there are of each kind; `equivalence` says what counts as equivalent.
fn verdict_counts(
    comparisons: &[&Comparison],
    regressions: Option<RegressionCount>,
    equivalence: &str,
) -> String {
    let regressions = regressions.map(|RegressionCount { rows, threshold }| {
        format!(" ({rows} of them by more than {threshold})")
    });
    let count = |verdict: &str| comparisons.iter().filter(|it| it.verdict == verdict).count();
    format!(
        "{} slower{}, {} faster, {} equivalent ({equivalence}), {} inconclusive",
        count("slower"),
        regressions.unwrap_or_default(),
        count("faster"),
        count("equivalent"),
        count("inconclusive")
    )
}

/// The same for counts of instructions; `None` without comparisons.
pub(in crate::report::view) fn count_verdicts(
    comparisons: &[&Comparison],
    regressions: Option<RegressionCount>,
) -> Option<String> {
    let verdicts = verdict_counts(comparisons, regressions, "to the last digit");
    (!comparisons.is_empty()).then(|| format!("{verdicts}; slower means more instructions."))
}

/// The same for times; `None` without comparisons.
pub(in crate::report::view) fn time_verdicts(
    comparisons: &[&Comparison],
    regressions: Option<RegressionCount>,
) -> Option<String> {
    let verdicts = verdict_counts(comparisons, regressions, "within 3 %");
    (!comparisons.is_empty()).then(|| format!("{verdicts}."))
}

#[cfg(test)]
mod tests {
    use oscost_model::record::{Ratio, Record};

    use super::*;

    /// The text of an inconclusive verdict with this interval, on a row of a program with this metric
    /// or of a benchmark.
    fn text(interval: [f64; 2], q: f64, primary_metric: Option<&str>) -> String {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let base =
            Row { primary_metric: primary_metric.map(str::to_owned), ..record.results[0].clone() };
        let ratio = Ratio { value: (interval[0] * interval[1]).sqrt(), ci95: Some(interval) };
        let it = Comparison {
            metric: "primary".to_owned(),
            verdict: "inconclusive".to_owned(),
            p: 0.01,
            q,
            mde_pct: Some(2.0),
            ratio,
            ..record.comparisons[0].clone()
        };
        assert_eq!(may_be_chance(&it, &base), verdict_text(&it, &base).contains("(q "));
        verdict_text(&it, &base)
    }

    #[test]
    fn an_interval_beyond_the_margin_is_inconclusive_by_its_q() {
        assert_eq!(text([1.03, 1.2], 0.0512, None), "inconclusive (q 0.06)");
        assert_eq!(text([0.8, 0.95], 0.2, None), "inconclusive (q 0.20)");
        assert_eq!(text([1.005, 1.2], 0.06, None), "inconclusive (2.0 %)", "within 1 %");
        assert_eq!(text([0.8, 0.995], 0.06, None), "inconclusive (2.0 %)");
    }

    #[test]
    fn one_row_is_not_corrected_for_others() {
        assert!(what_widens(26).contains("Student's t), and all 26 rows are judged at once"));
        let alone = what_widens(1);
        assert!(!alone.contains("rows") && alone.ends_with("t). More earlier runs narrow it."));
    }

    #[test]
    fn what_only_lacks_time_to_be_equivalent_is_said_to_be_short() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let said = |interval: [f64; 2], flags: &[&str]| {
            let it = Comparison {
                metric: "primary".to_owned(),
                verdict: "inconclusive".to_owned(),
                mde_pct: Some(1.0),
                ratio: Ratio { value: 1.0, ci95: Some(interval) },
                flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
                ..record.comparisons[0].clone()
            };
            verdict_text(&it, &record.results[0])
        };
        assert_eq!(said([1.0; 2], &["SHORT_SPAN"]), "inconclusive (short)");
        assert_eq!(said([0.975, 1.029], &["SHORT_SPAN"]), "inconclusive (short)");
        assert_eq!(said([0.975, 1.031], &["SHORT_SPAN"]), "inconclusive (1.0 %)", "too wide");
        assert_eq!(said([1.0; 2], &[]), "inconclusive (1.0 %)");
        assert_eq!(said([1.0; 2], &["SHORT_SPAN", "VOID"]), "inconclusive (1.0 %)");
    }

    #[test]
    fn an_amount_is_more_or_less_or_the_same() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let (base, of_run) = (&record.results[0], &record.comparisons[0]);
        let said = |unit: Unit, verdict: &str, interval: [f64; 2]| {
            let mut it = Comparison { verdict: verdict.to_owned(), ..of_run.clone() };
            (it.added.unit, it.added.value) = (unit, interval[0] - 1.0);
            (it.ratio.ci95, it.p, it.mde_pct) = (Some(interval), 1.0, Some(1.0));
            verdict_text(&it, base)
        };
        assert_eq!(said(Unit::Bytes, "slower", [1.1, 1.2]), "more");
        assert_eq!(said(Unit::TimesPerOp, "faster", [0.8, 0.9]), "less");
        assert_eq!(said(Unit::TimesPerOp, "inconclusive", [1.0; 2]), "=");
        assert_eq!(said(Unit::TimesPerOp, "inconclusive", [1.0, 1.1]), "inconclusive (1.0 %)");
        assert_eq!(said(Unit::Seconds, "slower", [1.1, 1.2]), "slower");
        assert_eq!(said(Unit::Seconds, "inconclusive", [1.0; 2]), "inconclusive (1.0 %)");
    }

    #[test]
    fn the_margin_is_that_of_the_metric() {
        let narrow = [1.004, 1.009];
        assert_eq!(text(narrow, 0.06, Some("cpu")), "inconclusive (q 0.06)");
        assert_eq!(text(narrow, 0.06, Some("real")), "inconclusive (2.0 %)");
        assert_eq!(text([1.006, 1.009], 0.06, Some("real")), "inconclusive (q 0.06)");
        assert_eq!(text(narrow, 0.06, None), "inconclusive (2.0 %)");
    }

    #[test]
    fn an_interval_that_reaches_no_effect_or_a_discovery_is_not_said_to_be_chance() {
        assert_eq!(text([0.98, 1.2], 0.06, None), "inconclusive (2.0 %)");
        assert_eq!(text([1.03, 1.2], 0.05, None), "inconclusive (2.0 %)", "by another rule");
    }
}
