//! Verdicts: how one is written, and how many there are of each kind.

use oscost_model::record::Comparison;

use crate::estimate::comparison::threshold::Threshold;
use crate::report::figures::per_cent;
use crate::report::text::plain;

/// A verdict; an inconclusive one with the smallest effect that could have been detected, or with
/// why it is none though its own interval excludes no effect.
pub(in crate::report::view) fn verdict_text(it: &Comparison) -> String {
    match (it.verdict.as_str(), it.mde_pct) {
        ("inconclusive", _) if may_be_chance(it) => {
            format!("inconclusive (q {:.2})", (100.0 * it.q).ceil() / 100.0)
        }
        ("inconclusive", Some(pct)) => format!("inconclusive ({})", per_cent(pct)),
        (verdict, _) => plain(verdict),
    }
}

/// The verdicts, which are styles, too.
const VERDICTS: [&str; 4] = ["slower", "faster", "equivalent", "inconclusive"];

/// The style of a verdict; empty for one that this version does not know.
pub(in crate::report::view) fn verdict_style(it: &Comparison) -> &'static str {
    VERDICTS.into_iter().find(|verdict| *verdict == it.verdict).unwrap_or_default()
}

/// Whether the interval of a comparison excludes no effect, but not after the correction for the
/// number of rows.
pub(in crate::report::view) fn may_be_chance(it: &Comparison) -> bool {
    let excludes = it.ratio.ci95.is_some_and(|[low, high]| low > 1.01 || high < 0.99);
    it.verdict == "inconclusive" && it.p <= 0.05 && it.q > 0.05 && excludes
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
