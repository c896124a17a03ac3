//! Whether the one-way time is half of the round trip, from the rows of one run.
//!
//! A study that cannot time one way halves the round trip. If a family has both (`round-trip`, and
//! `one-way` with an axis `way` and the points `there` and `back`), the assumption gets a verdict
//! at each point of the other axes (docs/explanation/METHOD.md, section 4).

use std::collections::BTreeMap;

use oscost_model::one_way::{Equivalence, Figure, HalfRoundTrip, OneWay};
use oscost_model::point::{Point, Value};
use oscost_model::record::{Row, RowOutcome};
use oscost_model::unit::Unit;

/// Half of a round trip and the one-way time are equivalent within this factor.
const MARGIN: f64 = 1.03;

/// The ratio of the widths of normal intervals of 90 % and 95 %: two one-sided tests at 5 %
/// correspond to an interval of 90 %.
const WIDTH_90_OF_95: f64 = 1.645 / 1.960;

/// The verdict on both ways together.
fn verdict(ways: [Equivalence; 2], unreliable: bool) -> Equivalence {
    match ways {
        _ if unreliable => Equivalence::Inconclusive,
        ways if ways.contains(&Equivalence::Different) => Equivalence::Different,
        [Equivalence::Equivalent, Equivalence::Equivalent] => Equivalence::Equivalent,
        _ => Equivalence::Inconclusive,
    }
}

/// Each round trip of which both ways are in the run too.
pub fn half_round_trips<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<HalfRoundTrip> {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let mut one_way: BTreeMap<OneWayKey<'_>, Vec<&Row>> = BTreeMap::new();
    for &row in &rows {
        if let (Some(family), Some(Value::Word(way))) =
            (row.benchmark.strip_suffix("/one-way"), row.point.get("way"))
        {
            let key = OneWayKey { family, way, others: without_way(&row.point) };
            one_way.entry(key).or_default().push(row);
        }
    }
    rows.iter().filter_map(|row| compare_half(row, &one_way)).collect()
}

/// What a round trip and one of its ways share, apart from the target.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct OneWayKey<'a> {
    family: &'a str,
    way: &'a str,
    others: Point,
}

fn compare_half(
    trip: &Row,
    one_way_rows: &BTreeMap<OneWayKey<'_>, Vec<&Row>>,
) -> Option<HalfRoundTrip> {
    let family = trip.benchmark.strip_suffix("/round-trip")?;
    let at_way = |way: &str| {
        let rows = one_way_rows.get(&OneWayKey { family, way, others: trip.point.clone() })?;
        rows.iter().copied().find(|row| row.target == trip.target)
    };
    let (there, back) = (at_way("there")?, at_way("back")?);
    let whole = figure(trip)?;
    let half = Figure { median: whole.median / 2.0, ci95: whole.ci95.map(|end| end / 2.0) };
    let is_unclaimable = |row: &Row| row.flags.iter().any(|flag| flag == "UNRELIABLE");
    let unreliable = [trip, there, back].into_iter().any(is_unclaimable);
    let (outbound, inbound) = (one_way(figure(there)?, half)?, one_way(figure(back)?, half)?);
    let verdict = verdict([outbound.verdict, inbound.verdict], unreliable);
    Some(HalfRoundTrip { case: trip.case.clone(), half, outbound, inbound, unreliable, verdict })
}

fn without_way(point: &Point) -> Point {
    let others = point.iter().filter(|&(axis, _)| axis != "way");
    others.fold(Point::none(), |point, (axis, value)| point.with(axis, value.clone()))
}

fn figure(row: &Row) -> Option<Figure> {
    // Only times of the two ways add up to the time of the round trip.
    let is_time = row.unit == Unit::NsPerOp && row.outcome == RowOutcome::Measured;
    let measured = row.estimate.as_ref().filter(|_| is_time)?;
    Some(Figure { median: measured.median, ci95: measured.ci95? })
}

/// The ratio of two independent figures: the distances of the ends are added in quadrature on a
/// logarithmic scale. `None` if a figure is not a duration.
fn ratio(of: Figure, to: Figure) -> Option<Figure> {
    let all = [of.median, of.ci95[0], of.ci95[1], to.median, to.ci95[0], to.ci95[1]];
    if all.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return None;
    }
    let below = (of.median / of.ci95[0]).ln().hypot((to.ci95[1] / to.median).ln());
    let above = (of.ci95[1] / of.median).ln().hypot((to.median / to.ci95[0]).ln());
    let middle = of.median / to.median;
    Some(Figure { median: middle, ci95: [middle * (-below).exp(), middle * above.exp()] })
}

fn one_way(figure: Figure, half: Figure) -> Option<OneWay> {
    let ratio = ratio(figure, half)?;
    Some(OneWay { figure, ratio, verdict: equivalence(ratio) })
}

/// Equivalent: the interval of 90 % is within the margin. Different: that of 95 % is beyond it.
fn equivalence(ratio: Figure) -> Equivalence {
    let [low, high] = ratio.ci95.map(f64::ln);
    let (middle, margin) = (ratio.median.ln(), MARGIN.ln());
    let inner =
        [middle - WIDTH_90_OF_95 * (middle - low), middle + WIDTH_90_OF_95 * (high - middle)];
    match () {
        () if inner[0] >= -margin && inner[1] <= margin => Equivalence::Equivalent,
        () if low > margin || high < -margin => Equivalence::Different,
        () => Equivalence::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(median: f64, half_width: f64) -> Figure {
        Figure { median, ci95: [median - half_width, median + half_width] }
    }

    #[test]
    fn a_narrow_ratio_within_the_margin_is_equivalent_and_one_beyond_it_is_different() {
        let judged = |figure, half| one_way(figure, half).unwrap().verdict;
        assert_eq!(judged(within(100.0, 1.0), within(100.0, 1.0)), Equivalence::Equivalent);
        assert_eq!(judged(within(101.5, 0.5), within(100.0, 0.5)), Equivalence::Equivalent);
        assert_eq!(judged(within(110.0, 2.0), within(100.0, 2.0)), Equivalence::Different);
        assert_eq!(judged(within(90.0, 2.0), within(100.0, 2.0)), Equivalence::Different);
    }

    #[test]
    fn wide_intervals_and_those_across_the_margin_are_inconclusive() {
        let judged = |figure, half| one_way(figure, half).unwrap().verdict;
        assert_eq!(judged(within(100.0, 10.0), within(100.0, 1.0)), Equivalence::Inconclusive);
        assert_eq!(judged(within(103.0, 0.5), within(100.0, 0.5)), Equivalence::Inconclusive);
    }

    #[test]
    fn the_interval_of_90_percent_decides_what_is_equivalent() {
        // 95 %: 0.9703 to 1.0310, across the margin; 90 %: up to 1.026.
        assert_eq!(
            equivalence(Figure { median: 1.0, ci95: [0.9703, 1.031] }),
            Equivalence::Equivalent
        );
        assert_eq!(
            equivalence(Figure { median: 1.0, ci95: [0.9703, 1.05] }),
            Equivalence::Inconclusive
        );
    }

    #[test]
    fn a_ratio_has_the_uncertainty_of_both_figures() {
        let both = ratio(within(100.0, 3.0), within(100.0, 4.0)).unwrap();
        assert!((both.ci95[0] - 0.951).abs() < 0.002, "{both:?}");
        assert!((both.ci95[1] - 1.052).abs() < 0.002, "{both:?}");
        assert_eq!(ratio(within(1.0, 2.0), within(1.0, 0.1)), None);
    }

    #[test]
    fn both_ways_must_be_equivalent() {
        use Equivalence::{Different, Equivalent, Inconclusive};
        let verdict = |there, back, unreliable| verdict([there, back], unreliable);
        assert_eq!(verdict(Equivalent, Equivalent, false), Equivalent);
        assert_eq!(verdict(Equivalent, Inconclusive, false), Inconclusive);
        assert_eq!(verdict(Inconclusive, Different, false), Different);
        assert_eq!(verdict(Different, Different, true), Inconclusive);
    }
}
