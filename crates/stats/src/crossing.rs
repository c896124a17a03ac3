//! Two curves beside each other: which is the cheaper one, from which number on, and how much more
//! a further unit costs on one of them.
//!
//! What is said of a number rests on the points there and on nothing else, so that it holds
//! whatever the curves do between and beyond them. Laws only say where in a gap between two points
//! the curves meet. What differs by less than three deviations is not told apart: a pair of curves
//! is asked at every number, and a run has many pairs (docs/METHOD.md, section 8).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::groups::normal;
use super::scaling::{Fit, Known, Law, Sized, free_slope, middle, redraw};

/// With fewer numbers that both curves have nothing is said of the two.
pub const FEWEST: usize = 5;
/// Two figures differ when their logarithms do by more than so many of their common deviations:
/// once in four hundred by chance.
const SURE_SDS: f64 = 3.0;
/// From a number on: there and at the next at least. One point at the end is no tail.
const TAIL: usize = 2;
/// Laws are asked where they meet up to half a decade outside of the numbers, no further ...
const OUTSIDE: f64 = 3.162_277_660_168_379_5;
/// ... and in so many steps, between which a straight line will do.
const STEPS: usize = 160;

/// Which of two curves is surely the cheaper one, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// The smallest and the largest number that both have.
    pub numbers: [f64; 2],
    /// The largest number at which the first one surely is.
    pub until: Option<f64>,
    /// From this number on the second surely is, at each up to the largest.
    pub from: Option<f64>,
    /// Whether the second surely is at a number below `until`, too.
    pub often: bool,
}

/// The curve that is dearer at the largest number beside the other one, both in ascending order;
/// `None` where they share too few numbers.
pub fn beside(dear: &[Sized], cheap: &[Sized]) -> Option<Beside> {
    let shared = shared(dear, cheap);
    let (first, last) = (shared.first()?, shared.last()?);
    if shared.len() < FEWEST {
        return None;
    }
    let surely = |&(one, other): &(&Sized, &Sized)| {
        let apart = (one.figure / other.figure).ln() / one.sd.hypot(other.sd);
        match apart {
            _ if apart > SURE_SDS => 1,
            _ if apart < -SURE_SDS => -1,
            _ => 0,
        }
    };
    let signs: Vec<(f64, i8)> = shared.iter().map(|pair| (pair.0.n, surely(pair))).collect();
    let tail = signs.iter().rev().take_while(|(_, sign)| *sign > 0).count();
    let from = (tail >= TAIL).then(|| signs[signs.len() - tail].0);
    let below: Vec<usize> = (0..signs.len()).filter(|&at| signs[at].1 < 0).collect();
    let until = below.last().filter(|_| from.is_some() || below.len() >= TAIL);
    let often = until.is_some_and(|&at| signs[..at].iter().any(|(_, sign)| *sign > 0));
    let until = until.map(|&at| signs[at].0);
    Some(Beside { numbers: [first.0.n, last.0.n], until, from, often })
}

/// The points of two curves at the numbers that both have.
fn shared<'a>(one: &'a [Sized], other: &'a [Sized]) -> Vec<(&'a Sized, &'a Sized)> {
    let at = |n: f64| other.iter().find(|it| it.n == n);
    one.iter().filter_map(|it| Some((it, at(it.n)?))).collect()
}

/// A value, and what it would have been had chance drawn other repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// From the figures themselves.
    pub value: f64,
    draws: Vec<f64>,
}

impl Drawn {
    /// The difference from another, which was drawn as often and from another seed.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let draws = self.draws.iter().zip(&other.draws).map(|(one, other)| one - other);
        Self { value: self.value - other.value, draws: draws.collect() }
    }

    /// The value with the middle 95 % of the draws.
    pub fn known(&self) -> Known {
        Known { value: self.value, interval: middle(&self.draws) }
    }
}

/// How points are drawn anew.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    /// How often.
    pub redraws: usize,
    /// What no repetition of a point averages out, as the deviation of its logarithm.
    pub unsure: f64,
    /// Where it comes from.
    pub seed: u64,
}

impl Chance {
    /// The points of some sizes, drawn anew so often.
    fn each(self, sizes: &[Sized], mut take: impl FnMut(&[(f64, f64)])) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut points = Vec::with_capacity(sizes.len());
        for _ in 0..self.redraws.max(1) {
            points.clear();
            for size in sizes {
                let figure = redraw(size, &mut random);
                points.push((size.n, figure * (self.unsure * normal(&mut random)).exp()));
            }
            take(&points);
        }
    }
}

fn points(sizes: &[Sized]) -> Vec<(f64, f64)> {
    sizes.iter().map(|size| (size.n, size.figure)).collect()
}

/// What a further one costs, by the line of least relative squares; `None` below two sizes.
pub fn slope_of_line(sizes: &[Sized], chance: Chance) -> Option<Drawn> {
    let mut draws = Vec::with_capacity(chance.redraws);
    chance.each(sizes, |points| draws.push(free_slope(points)));
    whole(Drawn { value: free_slope(&points(sizes)), draws })
}

/// What a further one costs between two sizes, on average; `None` where one of them is missing.
pub fn slope_of_ends(sizes: &[Sized], ends: [f64; 2], chance: Chance) -> Option<Drawn> {
    let at = |n: f64| sizes.iter().find(|size| size.n == n).cloned();
    let two = [at(ends[0])?, at(ends[1])?];
    let slope = |points: &[(f64, f64)]| (points[1].1 - points[0].1) / (points[1].0 - points[0].0);
    let mut draws = Vec::with_capacity(chance.redraws);
    chance.each(&two, |points| draws.push(slope(points)));
    whole(Drawn { value: slope(&points(&two)), draws })
}

fn whole(drawn: Drawn) -> Option<Drawn> {
    let sound = drawn.value.is_finite() && drawn.draws.iter().all(|draw| draw.is_finite());
    sound.then_some(drawn)
}

/// A curve's law fitted to its points, and to its points drawn anew.
#[derive(Clone, Debug)]
pub struct Fits {
    fit: Fit,
    drawn: Vec<Fit>,
}

impl Fits {
    /// The fits of one law.
    pub fn of(law: Law, sizes: &[Sized], chance: Chance) -> Self {
        let mut drawn = Vec::with_capacity(chance.redraws);
        chance.each(sizes, |points| drawn.push(Fit::of(law, points)));
        Self { fit: Fit::of(law, &points(sizes)), drawn }
    }

    /// The number from which on this curve is the dearer one by the laws of both, between two
    /// numbers or a little outside of them; `None` where that is not so surely.
    pub fn meets(&self, cheap: &Self, numbers: [f64; 2]) -> Option<Known> {
        let [first, last] = [(numbers[0] / OUTSIDE).max(1.0), numbers[1] * OUTSIDE];
        let value = meeting(&self.fit, &cheap.fit, [first, last])?;
        let beyond = |(dear, cheap): (&Fit, &Fit)| {
            // Where they do not meet the one that is cheaper at the end is so everywhere.
            let dearer = dear.at(last) > cheap.at(last);
            meeting(dear, cheap, [first, last]).unwrap_or(if dearer { 0.0 } else { f64::INFINITY })
        };
        let targets: Vec<f64> = self.drawn.iter().zip(&cheap.drawn).map(beyond).collect();
        let interval = middle(&targets);
        let inside = interval.lo >= first && interval.hi <= last;
        (inside && interval.contains(value)).then_some(Known { value, interval })
    }
}

/// The last number between two at which one law becomes the dearer one.
fn meeting(dear: &Fit, cheap: &Fit, [first, last]: [f64; 2]) -> Option<f64> {
    let (from, step) = (first.ln(), (last / first).ln() / STEPS as f64);
    let apart = |at: usize| {
        let n = (from + step * at as f64).exp();
        dear.at(n) - cheap.at(n)
    };
    let mut above = apart(STEPS);
    for at in (0..STEPS).rev() {
        let below = apart(at);
        if below <= 0.0 && above > 0.0 {
            let share = below / (below - above);
            return Some((from + step * (at as f64 + share)).exp());
        }
        above = below;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half decades from 10 to 10,000, of which nothing is uncertain but a share of itself.
    fn exact(cost: impl Fn(f64) -> f64) -> Vec<Sized> {
        let ns = [10.0, 32.0, 100.0, 316.0, 1_000.0, 3_162.0, 10_000.0];
        let size = |n: f64| Sized { n, figure: cost(n), sd: 0.01, repetitions: vec![cost(n); 6] };
        ns.map(size).to_vec()
    }

    const CHANCE: Chance = Chance { redraws: 50, unsure: 0.0, seed: 1 };

    fn linear(n: f64) -> f64 {
        100.0 + 2.0 * n
    }

    #[test]
    fn each_is_cheaper_on_its_side_of_where_they_meet() {
        let (poll, epoll) = (exact(linear), exact(|_| 500.0));
        let found = beside(&poll, &epoll).unwrap();
        assert_eq!((found.until, found.from, found.often), (Some(100.0), Some(316.0), false));
        assert_eq!(found.numbers, [10.0, 10_000.0]);
        let fits = |law, sizes: &[Sized]| Fits::of(law, sizes, CHANCE);
        let (dear, cheap) = (fits(Law::Linear, &poll), fits(Law::Constant, &epoll));
        let at = dear.meets(&cheap, found.numbers).unwrap();
        assert!((at.value - 200.0).abs() < 0.2, "{at:?}");
        assert!(cheap.meets(&dear, found.numbers).is_none(), "the other way they never do");
    }

    #[test]
    fn where_they_meet_outside_is_told_up_to_half_a_decade_away() {
        let numbers = [10.0, 10_000.0];
        let of = |fixed: f64| {
            let dear = Fits::of(Law::Linear, &exact(move |n| fixed + 2.0 * n), CHANCE);
            dear.meets(&Fits::of(Law::Constant, &exact(|_| 500.0), CHANCE), numbers)
        };
        assert!((of(490.0).unwrap().value - 5.0).abs() < 0.01);
        assert_eq!(of(496.0), None, "at 2, where nobody looked");
        assert_eq!(of(600.0), None, "never");
    }

    #[test]
    fn what_differs_by_less_than_three_deviations_is_not_told_apart() {
        let of = |factor: f64| beside(&exact(|n| factor * linear(n)), &exact(linear)).unwrap();
        assert_eq!((of(1.04).until, of(1.04).from), (None, None));
        assert_eq!((of(1.05).until, of(1.05).from), (None, Some(10.0)));
    }

    #[test]
    fn one_point_at_the_end_is_no_tail() {
        let mut dear = exact(linear);
        dear[6].figure *= 1.5;
        assert_eq!(beside(&dear, &exact(linear)).unwrap().from, None);
        dear[5].figure *= 1.5;
        assert_eq!(beside(&dear, &exact(linear)).unwrap().from, Some(3_162.0));
        dear[1].figure *= 1.5;
        dear[3].figure /= 1.5;
        let found = beside(&dear, &exact(linear)).unwrap();
        assert_eq!((found.until, found.from, found.often), (Some(316.0), Some(3_162.0), true));
    }

    #[test]
    fn too_few_numbers_in_common_say_nothing() {
        let (one, other) = (exact(linear), exact(|n| 3.0 * linear(n)));
        assert!(beside(&one[..5], &other).is_some());
        assert_eq!(beside(&one[..4], &other), None);
        assert_eq!(beside(&[], &other), None);
    }

    #[test]
    fn a_further_one_costs_the_slope_by_a_line_and_by_the_ends() {
        let sizes = exact(linear);
        let line = slope_of_line(&sizes, CHANCE).unwrap();
        assert!((line.value - 2.0).abs() < 1e-9, "{}", line.value);
        let ends = slope_of_ends(&sizes, [100.0, 1_000.0], CHANCE).unwrap();
        let both = line.minus(&ends).known();
        assert!(both.value.abs() < 1e-9 && both.interval.half_width() < 1e-9, "{both:?}");
        let falling = slope_of_line(&exact(|n| 1_000.0 - 0.05 * n), CHANCE).unwrap();
        assert!((falling.value + 0.05).abs() < 1e-9, "{}", falling.value);
        assert_eq!(slope_of_ends(&sizes, [100.0, 999.0], CHANCE), None);
        assert_eq!(slope_of_line(&sizes[..1], CHANCE), None);
    }
}
