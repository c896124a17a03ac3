//! What is shown of a row whatever the kind of report: its figure, its floor, its entries.

use oscost_model::record::Row;
use oscost_model::unit::Unit;

use crate::report::figures::{Style, per_op, rough};
use crate::report::view::document::RowMark;

/// Whether the user asked for a row; reference cases and parts of floors are measured in any case.
pub fn is_requested(row: &Row) -> bool {
    !has(row, "REFERENCE") && !has(row, "PRIMITIVE")
}

pub(in crate::report::view) fn family(row: &Row) -> &str {
    row.benchmark.split_once('/').map_or(row.benchmark.as_str(), |(family, _)| family)
}

/// The figure of a measured row as it is read.
#[derive(Clone, Debug)]
pub(in crate::report::view) struct Figure {
    /// The figure with its unit.
    pub(in crate::report::view) text: String,
    /// The ends of its interval, in the same unit: where the long-run figure lies, if that is known,
    /// otherwise what the run leaves open.
    pub(in crate::report::view) interval: Option<[String; 2]>,
    /// The ends of what the run leaves open.
    pub(in crate::report::view) within_run: Option<[String; 2]>,
}

impl Figure {
    /// The interval as one text.
    pub(in crate::report::view) fn interval_text(&self) -> Option<String> {
        self.interval.as_ref().map(interval_text)
    }

    /// The interval of the run alone as one text.
    pub(in crate::report::view) fn within_run_text(&self) -> Option<String> {
        self.within_run.as_ref().map(interval_text)
    }
}

fn interval_text([low, high]: &[String; 2]) -> String {
    match low == high && is_word(low) {
        // All answers were the same.
        true => low.clone(),
        false => format!("{low} .. {high}"),
    }
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The figure of a measured row. What cannot be distinguished from zero has an upper bound: the upper
/// end of its interval.
pub(in crate::report::view) fn figure(row: &Row) -> Option<Figure> {
    let estimate = row.estimate.as_ref()?;
    let is_bound = has(row, "BELOW_DETECTION");
    let size = bound(row).unwrap_or(estimate.median);
    let style = Style::of(size, row.unit);
    let text = format!("{}{}", if is_bound { "<" } else { "" }, style.with_unit(size));
    let ends = |interval: [f64; 2]| ends(interval, style, is_bound);
    let interval = estimate.between_run_ci95.or(estimate.ci95).map(ends);
    Some(Figure { text, interval, within_run: estimate.ci95.map(ends) })
}

/// The least bound that is written, in nanoseconds.
const LEAST_BOUND_NS: f64 = 0.001;

/// The upper end of what cannot be told from zero; `None` of other rows. Where all batches took the same
/// time to the clock's step, that end is zero: nothing takes less, and any larger bound holds too.
pub(in crate::report::view) fn bound(row: &Row) -> Option<f64> {
    let estimate = row.estimate.as_ref().filter(|_| has(row, "BELOW_DETECTION"))?;
    let [_, high] = estimate.ci95?;
    Some(if high == 0.0 && row.unit == Unit::NsPerOp { LEAST_BOUND_NS } else { high })
}

/// The ends of an interval. That of a bound has a unit: it may be in picoseconds beside figures in
/// nanoseconds.
fn ends([low, high]: [f64; 2], style: Style, is_bound: bool) -> [String; 2] {
    let high = if is_bound { style.with_unit(high) } else { style.number(high) };
    [style.number(low), high]
}

/// The standard deviation between repetitions in per cent of the figure. What cannot be distinguished
/// from zero has no size to relate it to.
pub(in crate::report::view) fn spread_pct(row: &Row) -> Option<f64> {
    let estimate = row.estimate.as_ref().filter(|_| !has(row, "BELOW_DETECTION"))?;
    let size = estimate.median.abs();
    (size != 0.0).then_some(100.0 * estimate.sd? / size)
}

/// The floor of a row, if it is known.
pub(in crate::report::view) fn floor(row: &Row) -> Option<String> {
    let value = row.floor.as_ref()?.value?;
    Some(match row.unit {
        // The floor of what contains next to nothing.
        Unit::NsPerOp if value.abs() < 0.01 => "<10 ps".to_owned(),
        unit => rough(value, unit),
    })
}

/// How often an op enters the kernel, as counted; with a `!` where its calls are not those of the
/// definition, and `?` where they could not be counted.
pub(in crate::report::view) fn entries(row: &Row) -> String {
    let Some(calls) = &row.calls else { return "?".to_owned() };
    let mark = if calls.expected { "" } else { "!" };
    format!("{mark}{}", per_op(calls.per_op.values().fold(0.0, |sum, times| sum + times)))
}

/// The classes of cost, the least expensive first.
pub(in crate::report::view) const CLASSES: [&str; 5] =
    ["user", "vdso", "light", "heavy", "blocking"];

/// The style of a row's class.
pub(in crate::report::view) fn class_style(row: &Row) -> &'static str {
    CLASSES.iter().find(|class| Some(**class) == row.class.as_deref()).copied().unwrap_or("")
}

/// The figure of a row on the scale of a table in this unit.
pub(in crate::report::view) fn mark(row: &Row, unit: Unit) -> Option<RowMark> {
    // A bound is none.
    let is_figure = row.unit == unit && !has(row, "BELOW_DETECTION");
    let estimate = row.estimate.as_ref().filter(|_| is_figure)?;
    let interval = estimate.between_run_ci95.or(estimate.ci95);
    Some(RowMark { value: estimate.median, interval })
}

pub(in crate::report::view) fn has(row: &Row, flag: &str) -> bool {
    row.flags.iter().any(|it| it == flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_bound_has_its_unit() {
        let text = |is_bound: bool| {
            let style = Style::of(0.012, Unit::NsPerOp);
            interval_text(&ends([-0.004, 0.012], style, is_bound))
        };
        assert_eq!(text(true), "-4.00 .. 12.00 ps");
        assert_eq!(text(false), "-4.00 .. 12.00");
    }

    #[test]
    fn a_bound_of_zero_is_written_as_a_picosecond() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: oscost_model::record::Record = serde_json::from_str(text).unwrap();
        let mut row = record.results.into_iter().find(|row| row.estimate.is_some()).unwrap();
        (row.unit, row.flags) = (Unit::NsPerOp, vec!["BELOW_DETECTION".to_owned()]);
        let mut shown = |high: f64| {
            let estimate = row.estimate.as_mut().unwrap();
            (estimate.median, estimate.ci95) = (0.0, Some([0.0, high]));
            figure(&row).unwrap().text
        };
        assert_eq!([shown(0.0), shown(0.012)], ["<1.000 ps", "<12.00 ps"]);
    }

    #[test]
    fn equal_answers_are_one_word_and_equal_figures_an_interval() {
        let text = |low: f64, high: f64, unit: Unit| {
            interval_text(&ends([low, high], Style::of(high, unit), false))
        };
        assert_eq!(text(1.0, 1.0, Unit::YesOrNo), "yes");
        assert_eq!(text(0.0, 0.0, Unit::YesOrNo), "no");
        assert_eq!(text(0.0, 1.0, Unit::YesOrNo), "no .. yes");
        assert_eq!(text(2.0, 2.0, Unit::NsPerOp), "2.000 .. 2.000");
    }
}
