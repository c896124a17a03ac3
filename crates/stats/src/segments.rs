//! Segmented regression: where a curve bends or jumps, on logarithmic scales.
//!
//! Points have a known uncertainty from their own repetitions, so the number of segments follows
//! from the noise, without a tuning parameter (docs/explanation/METHOD.md, section 8).

use std::ops::Range;

/// The minimum number of points of a segment: two points always lie on a line, and four leave two
/// that can contradict it.
pub const MIN_SEGMENT_POINTS: usize = 4;
/// The reduction of the sum of squares that justifies a further segment, in units of ln n. With
/// 2 ln n one straight curve in four seems to bend, with 4 ln n one in a hundred (test S16).
pub const PENALTY_PER_LOG_POINTS: f64 = 4.0;
/// A break may be wherever the sum of squares exceeds the minimum by at most this: the 95 %
/// quantile of the likelihood ratio of a break position (Hansen 2000).
const POSITION_LIKELIHOOD_RATIO: f64 = 7.35;

/// A measured point on logarithmic scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogPoint {
    /// The logarithm of the size.
    pub x: f64,
    /// The logarithm of the figure.
    pub y: f64,
    /// The standard deviation of `y`, above zero.
    pub sd: f64,
}

/// A break between two segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Break {
    /// The index of the first point after it.
    pub first: usize,
    /// Its position on the scale of `x`: the intersection of both lines if it lies between the two
    /// adjacent points, otherwise the midpoint of these.
    pub position: f64,
    /// The last point before it, with 95 % confidence.
    pub last_before: usize,
    /// The first point after it, with 95 % confidence.
    pub first_after: usize,
}

/// A segmentation of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    /// The breaks, in ascending order.
    pub breaks: Vec<Break>,
    /// The sum of squared residuals in units of their uncertainty, plus a penalty for each segment;
    /// comparable with other models of the same points.
    pub cost: f64,
}

/// Raises the uncertainty of each point to at least the median uncertainty.
///
/// An uncertainty estimated from a dozen repetitions is itself off by a third or more. A point with
/// too small an uncertainty pulls a line onto itself and causes a spurious break: with their own
/// intervals 5 to 13 % of straight curves seemed to bend, with this rule at most 1.4 % (test S16).
#[must_use]
pub fn raise_small_uncertainties(points: &[LogPoint]) -> Vec<LogPoint> {
    let mut sds: Vec<f64> = points.iter().map(|point| point.sd).collect();
    sds.sort_unstable_by(f64::total_cmp);
    let usual = sds.get(sds.len() / 2).copied().unwrap_or(0.0);
    points.iter().map(|point| LogPoint { sd: point.sd.max(usual), ..*point }).collect()
}

/// The optimal segmentation of a curve with the default penalty.
///
/// `None` with fewer than two segments' points, if `x` is not strictly ascending, or for numbers
/// that are not finite.
pub fn segments(points: &[LogPoint]) -> Option<Segments> {
    with_penalty(points, penalty(points.len()))
}

/// The default penalty of a segment of a curve of `n` points.
pub fn penalty(n: usize) -> f64 {
    PENALTY_PER_LOG_POINTS * (n as f64).ln()
}

/// The optimal segmentation with a given penalty per segment; see [`segments`].
pub fn with_penalty(points: &[LogPoint], penalty: f64) -> Option<Segments> {
    let n = points.len();
    let sound =
        |point: &LogPoint| point.x.is_finite() && point.y.is_finite() && point.sd.is_normal();
    let usable = n >= 2 * MIN_SEGMENT_POINTS
        && points.iter().all(|point| sound(point) && point.sd > 0.0)
        && points.windows(2).all(|pair| pair[0].x < pair[1].x);
    if !usable {
        return None;
    }
    // The minimum cost of the first `end` points, and the start of the last segment.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0].0 = 0.0;
    for start in 0..=n - MIN_SEGMENT_POINTS {
        let before = best[start].0;
        if before.is_infinite() {
            continue;
        }
        let mut line = Line::default();
        for (at, point) in points.iter().enumerate().skip(start) {
            line.add(point);
            let cost = before + line.residual_squares() + penalty;
            if at + 1 >= start + MIN_SEGMENT_POINTS && cost < best[at + 1].0 {
                best[at + 1] = (cost, start);
            }
        }
    }
    let mut starts = Vec::new();
    let mut end = n;
    while best[end].1 > 0 {
        end = best[end].1;
        starts.push(end);
    }
    starts.reverse();
    let bounds: Vec<usize> = [0].into_iter().chain(starts).chain([n]).collect();
    let breaks = bounds.windows(3).map(|of| locate_break(points, of[0]..of[2], of[1])).collect();
    Some(Segments { breaks, cost: best[n].0 })
}

/// The position of the single break of a range, and its interval.
///
/// The number of segments is decided with at least four points in each. The position is refined
/// with at least two: nine points with four on each side would leave two positions only, and a
/// break elsewhere would be assigned to one of them with false confidence.
fn locate_break(points: &[LogPoint], range: Range<usize>, found: usize) -> Break {
    let squares = |from: usize, to: usize| {
        let mut line = Line::default();
        points[from..to].iter().for_each(|point| line.add(point));
        line
    };
    let costs: Vec<(usize, f64)> = (range.start + 2..=range.end - 2)
        .map(|at| {
            (
                at,
                squares(range.start, at).residual_squares()
                    + squares(at, range.end).residual_squares(),
            )
        })
        .collect();
    let best = costs.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1));
    let (first, min_cost) = best.unwrap_or((found, 0.0));
    let candidates =
        || costs.iter().filter(|(_, cost)| *cost <= min_cost + POSITION_LIKELIHOOD_RATIO);
    let earliest = candidates().map(|&(at, _)| at).min().unwrap_or(first);
    let latest = candidates().map(|&(at, _)| at).max().unwrap_or(first);
    let (left, right) = (points[first - 1].x, points[first].x);
    let crossing = squares(range.start, first).intersection(&squares(first, range.end));
    let position = crossing.filter(|x| (left..=right).contains(x)).unwrap_or((left + right) / 2.0);
    // A break next to the limit of two points may lie beyond it, which was not tested.
    let after = if earliest == range.start + 2 { range.start } else { earliest - 1 };
    let before = if latest == range.end - 2 { range.end - 1 } else { latest };
    Break { first, position, last_before: after, first_after: before }
}

/// A weighted least-squares line with incremental updates (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    weight: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Line {
    fn add(&mut self, point: &LogPoint) {
        let weight = point.sd.powi(-2);
        self.weight += weight;
        let (dx, dy) = (point.x - self.mean_x, point.y - self.mean_y);
        self.mean_x += dx * weight / self.weight;
        self.mean_y += dy * weight / self.weight;
        self.xx += weight * dx * (point.x - self.mean_x);
        self.xy += weight * dx * (point.y - self.mean_y);
        self.yy += weight * dy * (point.y - self.mean_y);
    }

    fn slope(&self) -> Option<f64> {
        (self.xx > 0.0).then(|| self.xy / self.xx)
    }

    /// The weighted sum of squared residuals; a negative rounding error becomes 0.
    fn residual_squares(&self) -> f64 {
        (self.yy - self.slope().map_or(0.0, |slope| slope * self.xy)).max(0.0)
    }

    /// The `x` of the intersection of two lines; `None` for parallel lines.
    fn intersection(&self, other: &Line) -> Option<f64> {
        let (one, two) = (self.slope()?, other.slope()?);
        let height = |line: &Line, slope: f64| line.mean_y - slope * line.mean_x;
        let x = (height(other, two) - height(self, one)) / (one - two);
        x.is_finite().then_some(x)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_uncertainty_is_below_the_median() {
        let point = |sd| LogPoint { x: 0.0, y: 0.0, sd };
        let sds = |points: &[LogPoint]| {
            raise_small_uncertainties(points).iter().map(|it| it.sd).collect::<Vec<_>>()
        };
        assert_eq!(sds(&[point(0.001), point(0.02), point(0.3)]), [0.02, 0.02, 0.3]);
        assert_eq!(sds(&[]), Vec::<f64>::new());
    }

    fn curve(height: impl Fn(f64) -> f64, n: usize) -> Vec<LogPoint> {
        (0..n).map(|at| at as f64).map(|x| LogPoint { x, y: height(x), sd: 0.01 }).collect()
    }

    #[test]
    fn a_straight_curve_has_no_break_and_one_penalty() {
        let found = segments(&curve(|x| 3.0 + 0.5 * x, 20)).unwrap();
        assert_eq!(found.breaks, []);
        assert!((found.cost - penalty(20)).abs() < 1e-9, "{}", found.cost);
    }

    #[test]
    fn a_jump_is_between_its_two_points_and_a_bend_at_the_intersection_of_the_lines() {
        let jump = segments(&curve(|x| if x < 8.0 { 1.0 } else { 1.2 }, 20)).unwrap();
        assert_eq!(
            jump.breaks,
            [Break { first: 8, position: 7.5, last_before: 7, first_after: 8 }]
        );
        let bend = segments(&curve(|x| 0.3 * (x - 9.25).max(0.0), 20)).unwrap();
        let [found] = bend.breaks[..] else { panic!("{bend:?}") };
        assert_eq!((found.first, found.last_before, found.first_after), (10, 9, 10));
        assert!((found.position - 9.25).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn two_breaks_are_two() {
        let stairs = |x: f64| match x {
            x if x < 6.0 => 0.0,
            x if x < 13.0 => 0.5,
            _ => 0.2,
        };
        let found = segments(&curve(stairs, 20)).unwrap().breaks;
        assert_eq!(found.iter().map(|it| it.first).collect::<Vec<_>>(), [6, 13]);
    }

    #[test]
    fn nine_points_have_one_break_that_may_be_within_four_of_an_end() {
        for jump_at in 2..=7 {
            let found = segments(&curve(|x| if x < f64::from(jump_at) { 0.0 } else { 0.5 }, 9));
            let [found] = found.unwrap().breaks[..] else { panic!("at {jump_at}") };
            assert_eq!(found.first, jump_at as usize);
            assert!(
                found.last_before < found.first && found.first <= found.first_after,
                "{found:?}"
            );
        }
        // Four parameters cannot distinguish whether the last point or the last two are off the
        // line.
        let edge = segments(&curve(|x| if x < 7.0 { 0.0 } else { 0.5 }, 9)).unwrap().breaks[0];
        assert_eq!((edge.last_before, edge.first_after), (6, 8));
    }

    #[test]
    fn unusable_points_have_no_segments() {
        assert_eq!(segments(&[]), None);
        assert_eq!(segments(&curve(|x| x, 7)), None, "seven points make one segment");
        let good = curve(|x| x, 12);
        for spoil in [
            |point: &mut LogPoint| point.y = f64::NAN,
            |point: &mut LogPoint| point.y = f64::NEG_INFINITY,
            |point: &mut LogPoint| point.sd = 0.0,
            |point: &mut LogPoint| point.sd = -1.0,
            |point: &mut LogPoint| point.sd = f64::INFINITY,
            |point: &mut LogPoint| point.x = 0.0,
        ] {
            let mut bad = good.clone();
            spoil(&mut bad[5]);
            assert_eq!(segments(&bad), None, "{:?}", bad[5]);
        }
    }

    proptest! {
        #[test]
        fn no_segmentation_is_cheaper(heights in prop::collection::vec(-0.1..0.1f64, 8..16)) {
            /// The least cost by trying every way.
            fn by_exhaustive_search(points: &[LogPoint], penalty: f64) -> f64 {
                let mut line = Line::default();
                points.iter().for_each(|point| line.add(point));
                let whole = line.residual_squares() + penalty;
                let last = points.len().saturating_sub(MIN_SEGMENT_POINTS);
                (MIN_SEGMENT_POINTS..=last)
                    .map(|cut| {
                        by_exhaustive_search(&points[..cut], penalty) + by_exhaustive_search(&points[cut..], penalty)
                    })
                    .fold(whole, f64::min)
            }
            let points = curve(|x| heights[x as usize], heights.len());
            let found = segments(&points).unwrap();
            let best = by_exhaustive_search(&points, penalty(points.len()));
            prop_assert!((found.cost - best).abs() < 1e-6 * best, "{} {best}", found.cost);
        }

        #[test]
        fn breaks_do_not_depend_on_units_or_a_common_slope(
            heights in prop::collection::vec(-0.1..0.1f64, 8..30),
            up in -9.0..9.0f64,
            along in -9.0..9.0f64,
            tilt in -2.0..2.0f64,
        ) {
            let points = curve(|x| heights[x as usize], heights.len());
            let moved: Vec<LogPoint> = points
                .iter()
                .map(|point| LogPoint { x: point.x + along, y: point.y + up + tilt * point.x, ..*point })
                .collect();
            let firsts = |points: &[LogPoint]| {
                let found = segments(points).unwrap().breaks;
                found.iter().map(|it| it.first).collect::<Vec<_>>()
            };
            prop_assert_eq!(firsts(&points), firsts(&moved));
        }
    }
}
