//! The column of a curve: its figures, and the evidence below them.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::curve::{BoundedValue, Curve, CurvePoint};
use oscost_model::record::{Calls, Row};
use oscost_model::unit::Unit;

use super::cases::{CaseOfPeer, point_of};
use crate::report::figures::{half, per_cent, per_op, rough};
use crate::report::text::plain;

/// The rows below the figures of a curve.
pub(super) const EVIDENCE: [&str; 3] = ["+- at most", "class", "calls"];

/// A row below the figures.
pub(super) struct EvidenceLine {
    pub(super) name: String,
    /// The index of its values in [`CurveColumn::evidence`].
    pub(super) index: usize,
}

/// A curve as a column.
pub(super) struct CurveColumn {
    pub(super) labels: Vec<String>,
    pub(super) figures: BTreeMap<u64, String>,
    pub(super) evidence: Vec<String>,
}

impl CurveColumn {
    pub(super) fn of(
        curve: &Curve,
        labels: Vec<String>,
        rows: &BTreeMap<CaseOfPeer<'_>, &Row>,
    ) -> Self {
        let figure = |point: &CurvePoint| {
            let Some(figure) = point.figure else { return "-".to_owned() };
            let row = rows.get(&point_of(curve, point));
            // What cannot be distinguished from zero is a bound, as in the table.
            let hidden = row.is_some_and(|row| row.flags.iter().any(|it| it == "BELOW_DETECTION"));
            match point.ci95.filter(|_| hidden) {
                Some([low, high]) => format!("<{}", rough(high - low, curve.unit)),
                None => rough(figure, curve.unit),
            }
        };
        // The other curves have no points that were added to locate a break of this one.
        let added = |point: &&CurvePoint| {
            let row = rows.get(&point_of(curve, point));
            row.is_some_and(|row| row.flags.iter().any(|it| it == "ADDED"))
        };
        let usual = curve.points.iter().filter(|point| !added(point));
        let figures: BTreeMap<u64, String> =
            usual.map(|point| (point.value, figure(point))).collect();
        let evidence: Vec<String> = evidence(curve, rows).into_iter().chain(law(curve)).collect();
        Self { labels, figures, evidence }
    }
}

/// The evidence for a curve: the widest half of an interval, the classes, and how often an op enters
/// the kernel, with a `!` where its calls are not those of the definition.
fn evidence(curve: &Curve, rows: &BTreeMap<CaseOfPeer<'_>, &Row>) -> [String; 3] {
    let rows: Vec<&Row> = curve
        .points
        .iter()
        .filter_map(|point| rows.get(&point_of(curve, point)).copied())
        .collect();
    let measured = || rows.iter().filter_map(|row| row.estimate.as_ref());
    let widths: Option<Vec<f64>> = measured().map(|estimate| estimate.half_width_pct).collect();
    let width = widths.filter(|it| !it.is_empty());
    let width = width.map(|it| per_cent(it.into_iter().fold(0.0, f64::max)));
    let classes: BTreeSet<&str> = rows.iter().filter_map(|row| row.class.as_deref()).collect();
    let classes: Vec<String> = classes.into_iter().map(plain).collect();
    let calls: Vec<f64> =
        rows.iter().filter_map(|row| Some(entries(row.calls.as_ref()?))).collect();
    let least = calls.iter().copied().fold(f64::INFINITY, f64::min);
    let most = calls.iter().copied().fold(0.0, f64::max);
    let unexpected = rows.iter().any(|row| row.calls.as_ref().is_some_and(|it| !it.expected));
    let mark = if unexpected { "!" } else { "" };
    let calls = match calls.is_empty() {
        true => "?".to_owned(),
        false if per_op(least) == per_op(most) => format!("{mark}{}", per_op(most)),
        false => format!("{mark}{}..{}", per_op(least), per_op(most)),
    };
    let classes = if classes.is_empty() { "-".to_owned() } else { classes.join("/") };
    [width.unwrap_or("-".to_owned()), classes, calls]
}

/// The growth of a curve: the fixed cost, the marginal cost with half of its interval, and the law. A
/// law that does not fit has no costs.
fn law(curve: &Curve) -> [String; 4] {
    let none = || "-".to_owned();
    let Some(law) = &curve.scaling else { return std::array::from_fn(|_| none()) };
    let time = |ns: f64| rough(ns, Unit::NsPerOp);
    let half = |it: &BoundedValue| half((it.ci95[1] - it.ci95[0]) / 2.0, it.value, Unit::NsPerOp);
    let marginal = law.marginal_cost.as_ref().filter(|_| law.fits);
    let second = law.alternative_model.iter().map(|second| format!(" or {second}"));
    let doubt = if law.fits { "" } else { "~" };
    [
        if law.fits { time(law.fixed_cost.value) } else { none() },
        marginal.map_or_else(none, |b| time(b.value)),
        marginal.map_or_else(none, half),
        plain(&format!("{doubt}{}{}", law.model, second.collect::<String>())),
    ]
}

/// How often an op enters the kernel.
fn entries(calls: &Calls) -> f64 {
    calls.per_op.values().fold(0.0, |sum, times| sum + times)
}

/// A number as it may be typed: whole multiples of 1024 by their letter.
pub(super) fn shown(value: &str) -> String {
    let letters = [(1u64 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];
    let number = value.parse::<u64>().ok().filter(|number| *number > 0);
    let fits = |number: u64| letters.iter().find(|(factor, _)| number.is_multiple_of(*factor));
    match number.and_then(|number| Some((number, fits(number)?))) {
        Some((number, (factor, letter))) => format!("{}{letter}", number / factor),
        None => plain(value),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn values_are_shown_as_they_may_be_typed() {
        let texts = ["4", "1024", "65536", "1048576", "1500", "0", "same", "x\u{1b}[2J"].map(shown);
        assert_eq!(texts, ["4", "1Ki", "64Ki", "1Mi", "1500", "0", "same", "x[2J"]);
    }
}
