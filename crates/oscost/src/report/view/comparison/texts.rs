//! The texts of a comparison, of times or of counts.

use oscost_model::counters::is_work;
use oscost_model::record::{Comparison, Row};

use crate::report::figures::{Style, added};
use crate::report::text::plain;
use crate::report::view::comparison::counts;
use crate::report::view::comparison::verdicts::verdict_text;
use crate::report::view::comparison::work::WorkText;
use crate::report::view::run::instructions;

/// The texts of a comparison.
pub(in crate::report::view) struct ComparisonText {
    /// The figure of the base.
    pub(in crate::report::view) base: String,
    /// New over base.
    pub(in crate::report::view) ratio: String,
    /// The ends of the ratio's interval.
    pub(in crate::report::view) interval: Option<[String; 2]>,
    /// New less base.
    pub(in crate::report::view) added: String,
    /// The verdict.
    pub(in crate::report::view) verdict: String,
}

impl ComparisonText {
    /// The texts of a comparison of times or of counts.
    pub(in crate::report::view) fn of(it: &Comparison, base: &Row) -> Self {
        if is_work(&it.metric) {
            let WorkText { ratio, interval, added, verdict } = WorkText::of(it, base);
            let base = base.estimate.as_ref().map_or(0.0, |estimate| estimate.median);
            return Self { base: format!("{base:.1} insn"), ratio, interval, added, verdict };
        }
        if !instructions::is_counted(base) {
            return Self::timed(it, base);
        }
        Self {
            base: instructions::figure(base),
            ratio: counts::ratio(it.ratio.value),
            interval: it.ratio.ci95.map(|ends| ends.map(counts::ratio)),
            added: counts::added(it),
            verdict: plain(&it.verdict),
        }
    }

    /// The texts of a comparison of times.
    pub(super) fn timed(it: &Comparison, base: &Row) -> Self {
        let size = base.estimate.as_ref().map_or(0.0, |estimate| estimate.median);
        let narrow = it.ratio.ci95.is_none_or(|[low, high]| high - low < 0.05);
        let decimals = if narrow { 3 } else { 2 };
        let number = |value: f64| format!("{value:.decimals$}");
        Self {
            base: Style::of(size, base.unit).with_unit(size),
            ratio: number(it.ratio.value),
            interval: it.ratio.ci95.map(|ends| ends.map(number)),
            // In digits of its own: a difference may be a small part of the figure.
            added: added(it.added.value, it.added.unit),
            verdict: verdict_text(it, base),
        }
    }
}
