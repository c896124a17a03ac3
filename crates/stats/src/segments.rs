//! Where a curve bends: the best way to cut it into straight pieces, on scales of ratios.
//!
//! A place is the logarithm of a size, a height the logarithm of a cost, and the uncertainty of a
//! height is known: it comes from the repetitions of that one point (docs/METHOD.md, section 8).
//! So the number of pieces is a question about the noise, and not about taste.

use std::ops::Range;

/// A segment has at least so many points: two of them would lie on a line whatever they are, and
/// four leave two that could contradict it.
pub const FEWEST: usize = 4;
/// What a further segment must take off the sum of squares, in units of ln n. With 2 ln n every
/// fourth straight curve seems to bend, with 4 ln n one in a hundred (S16).
pub const PENALTY: f64 = 4.0;
/// A break may as well lie wherever the sum of squares is larger by no more than this: the 95 %
/// point of the likelihood ratio of a place [Hansen 2000].
const ELSEWHERE: f64 = 7.35;

/// A measured point on logarithmic scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The logarithm of the size.
    pub x: f64,
    /// The logarithm of the figure.
    pub y: f64,
    /// The standard deviation of `y`, above zero.
    pub sd: f64,
}

/// A place at which one straight piece ends and another begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Break {
    /// The first point of the piece behind it.
    pub first: usize,
    /// Where it is, on the scale of `x`: where both lines meet if they do so between the two points
    /// around it, and else half way between these.
    pub at: f64,
    /// The last point that surely lies before it.
    pub after: usize,
    /// The first point that surely lies behind it.
    pub before: usize,
}

/// A curve in straight pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    /// Where one ends and the next begins, in order.
    pub breaks: Vec<Break>,
    /// The sum of squared residuals, each in units of its own uncertainty, and a penalty for each
    /// piece: what another account of the same points has to beat.
    pub cost: f64,
}

/// The same points, none of them surer than half of them are.
///
/// An uncertainty that comes from a dozen repetitions is itself uncertain, by a third and more. A
/// point that claims too little pulls a line onto itself and makes a break of its neighbours: with
/// their own intervals 5 to 13 % of straight curves seemed to bend, with this rule 1.4 % at most
/// (S16).
#[must_use]
pub fn steadied(spots: &[Spot]) -> Vec<Spot> {
    let mut sds: Vec<f64> = spots.iter().map(|spot| spot.sd).collect();
    sds.sort_unstable_by(f64::total_cmp);
    let usual = sds.get(sds.len() / 2).copied().unwrap_or(0.0);
    spots.iter().map(|spot| Spot { sd: spot.sd.max(usual), ..*spot }).collect()
}

/// Cuts a curve into as many straight pieces as its points force, at the penalty of the method.
///
/// `None` where that cannot be asked: fewer than two segments' points, sizes that do not grow, or
/// numbers that are none.
pub fn segments(spots: &[Spot]) -> Option<Segments> {
    with_penalty(spots, penalty(spots.len()))
}

/// What a piece of a curve of `n` points costs.
pub fn penalty(n: usize) -> f64 {
    PENALTY * (n as f64).ln()
}

/// The same at any penalty for a piece.
pub fn with_penalty(spots: &[Spot], penalty: f64) -> Option<Segments> {
    let n = spots.len();
    let sound = |spot: &Spot| spot.x.is_finite() && spot.y.is_finite() && spot.sd.is_normal();
    let usable = n >= 2 * FEWEST
        && spots.iter().all(|spot| sound(spot) && spot.sd > 0.0)
        && spots.windows(2).all(|pair| pair[0].x < pair[1].x);
    if !usable {
        return None;
    }
    // The least cost of the first `end` points, and where the last piece of that way begins.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0].0 = 0.0;
    for start in 0..=n - FEWEST {
        let before = best[start].0;
        if before.is_infinite() {
            continue;
        }
        let mut line = Line::default();
        for (at, spot) in spots.iter().enumerate().skip(start) {
            line.take(spot);
            let cost = before + line.squares() + penalty;
            if at + 1 >= start + FEWEST && cost < best[at + 1].0 {
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
    let breaks = bounds.windows(3).map(|of| located(spots, of[0]..of[2], of[1])).collect();
    Some(Segments { breaks, cost: best[n].0 })
}

/// Where the one break of a range is, and where else it may be.
///
/// How many pieces there are is decided with four points in each. Where one ends is asked again
/// with two on either side: of nine points two pieces of four would leave two places to choose
/// from, and a break elsewhere would be put into one of them with an air of certainty.
fn located(spots: &[Spot], range: Range<usize>, found: usize) -> Break {
    let squares = |from: usize, to: usize| {
        let mut line = Line::default();
        spots[from..to].iter().for_each(|spot| line.take(spot));
        line
    };
    let costs: Vec<(usize, f64)> = (range.start + 2..=range.end - 2)
        .map(|at| (at, squares(range.start, at).squares() + squares(at, range.end).squares()))
        .collect();
    let least = costs.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1));
    let (first, least) = least.unwrap_or((found, 0.0));
    let may_be = || costs.iter().filter(|(_, cost)| *cost <= least + ELSEWHERE);
    let earliest = may_be().map(|&(at, _)| at).min().unwrap_or(first);
    let latest = may_be().map(|&(at, _)| at).max().unwrap_or(first);
    let (left, right) = (spots[first - 1].x, spots[first].x);
    let met = squares(range.start, first).meets(&squares(first, range.end));
    let at = met.filter(|x| (left..=right).contains(x)).unwrap_or((left + right) / 2.0);
    // Where two points on one side would do, one might: nothing was asked beyond.
    let after = if earliest == range.start + 2 { range.start } else { earliest - 1 };
    let before = if latest == range.end - 2 { range.end - 1 } else { latest };
    Break { first, at, after, before }
}

/// A weighted least-squares line that takes its points one by one [Welford 1962].
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
    fn take(&mut self, spot: &Spot) {
        let weight = spot.sd.powi(-2);
        self.weight += weight;
        let (dx, dy) = (spot.x - self.mean_x, spot.y - self.mean_y);
        self.mean_x += dx * weight / self.weight;
        self.mean_y += dy * weight / self.weight;
        self.xx += weight * dx * (spot.x - self.mean_x);
        self.xy += weight * dx * (spot.y - self.mean_y);
        self.yy += weight * dy * (spot.y - self.mean_y);
    }

    fn slope(&self) -> Option<f64> {
        (self.xx > 0.0).then(|| self.xy / self.xx)
    }

    /// What is left of the points; rounding may bring it below nothing.
    fn squares(&self) -> f64 {
        (self.yy - self.slope().map_or(0.0, |slope| slope * self.xy)).max(0.0)
    }

    /// Where two lines meet.
    fn meets(&self, other: &Line) -> Option<f64> {
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
    fn no_point_is_surer_than_half_of_them() {
        let spot = |sd| Spot { x: 0.0, y: 0.0, sd };
        let sds = |spots: &[Spot]| steadied(spots).iter().map(|it| it.sd).collect::<Vec<_>>();
        assert_eq!(sds(&[spot(0.001), spot(0.02), spot(0.3)]), [0.02, 0.02, 0.3]);
        assert_eq!(sds(&[]), Vec::<f64>::new());
    }

    fn curve(height: impl Fn(f64) -> f64, n: usize) -> Vec<Spot> {
        (0..n).map(|at| at as f64).map(|x| Spot { x, y: height(x), sd: 0.01 }).collect()
    }

    #[test]
    fn a_straight_curve_has_no_break_and_costs_one_piece() {
        let found = segments(&curve(|x| 3.0 + 0.5 * x, 20)).unwrap();
        assert_eq!(found.breaks, []);
        assert!((found.cost - penalty(20)).abs() < 1e-9, "{}", found.cost);
    }

    #[test]
    fn a_jump_lies_between_its_two_points_and_a_bend_where_the_lines_meet() {
        let jump = segments(&curve(|x| if x < 8.0 { 1.0 } else { 1.2 }, 20)).unwrap();
        assert_eq!(jump.breaks, [Break { first: 8, at: 7.5, after: 7, before: 8 }]);
        let bend = segments(&curve(|x| 0.3 * (x - 9.25).max(0.0), 20)).unwrap();
        let [found] = bend.breaks[..] else { panic!("{bend:?}") };
        assert_eq!((found.first, found.after, found.before), (10, 9, 10));
        assert!((found.at - 9.25).abs() < 1e-9, "{found:?}");
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
    fn nine_points_have_one_break_at_most_and_it_is_found_beyond_the_four_of_each_side() {
        for jump_at in 2..=7 {
            let found = segments(&curve(|x| if x < f64::from(jump_at) { 0.0 } else { 0.5 }, 9));
            let [found] = found.unwrap().breaks[..] else { panic!("at {jump_at}") };
            assert_eq!(found.first, jump_at as usize);
            assert!(found.after < found.first && found.first <= found.before, "{found:?}");
        }
        // Whether only the last point stands apart, or the last two, four parameters cannot tell.
        let edge = segments(&curve(|x| if x < 7.0 { 0.0 } else { 0.5 }, 9)).unwrap().breaks[0];
        assert_eq!((edge.after, edge.before), (6, 8));
    }

    #[test]
    fn what_cannot_be_cut_is_not_asked() {
        assert_eq!(segments(&[]), None);
        assert_eq!(segments(&curve(|x| x, 7)), None, "seven points make one segment");
        let good = curve(|x| x, 12);
        for spoil in [
            |spot: &mut Spot| spot.y = f64::NAN,
            |spot: &mut Spot| spot.y = f64::NEG_INFINITY,
            |spot: &mut Spot| spot.sd = 0.0,
            |spot: &mut Spot| spot.sd = -1.0,
            |spot: &mut Spot| spot.sd = f64::INFINITY,
            |spot: &mut Spot| spot.x = 0.0,
        ] {
            let mut bad = good.clone();
            spoil(&mut bad[5]);
            assert_eq!(segments(&bad), None, "{:?}", bad[5]);
        }
    }

    proptest! {
        #[test]
        fn no_way_to_cut_is_cheaper(heights in prop::collection::vec(-0.1..0.1f64, 8..16)) {
            /// The least cost by trying every way.
            fn by_trying(spots: &[Spot], penalty: f64) -> f64 {
                let mut line = Line::default();
                spots.iter().for_each(|spot| line.take(spot));
                let whole = line.squares() + penalty;
                let last = spots.len().saturating_sub(FEWEST);
                (FEWEST..=last)
                    .map(|cut| {
                        by_trying(&spots[..cut], penalty) + by_trying(&spots[cut..], penalty)
                    })
                    .fold(whole, f64::min)
            }
            let spots = curve(|x| heights[x as usize], heights.len());
            let found = segments(&spots).unwrap();
            let best = by_trying(&spots, penalty(spots.len()));
            prop_assert!((found.cost - best).abs() < 1e-6 * best, "{} {best}", found.cost);
        }

        #[test]
        fn breaks_hang_neither_on_units_nor_on_a_slope_that_all_points_share(
            heights in prop::collection::vec(-0.1..0.1f64, 8..30),
            up in -9.0..9.0f64,
            along in -9.0..9.0f64,
            tilt in -2.0..2.0f64,
        ) {
            let spots = curve(|x| heights[x as usize], heights.len());
            let moved: Vec<Spot> = spots
                .iter()
                .map(|spot| Spot { x: spot.x + along, y: spot.y + up + tilt * spot.x, ..*spot })
                .collect();
            let firsts = |spots: &[Spot]| {
                let found = segments(spots).unwrap().breaks;
                found.iter().map(|it| it.first).collect::<Vec<_>>()
            };
            prop_assert_eq!(firsts(&spots), firsts(&moved));
        }
    }
}
