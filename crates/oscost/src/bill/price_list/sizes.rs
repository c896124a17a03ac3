//! Prices at sizes: on the line between those that were measured, and how far a size is from the only one.

use oscost_model::bill::Amount;
use oscost_model::point::{Point, Value};

/// A price of a single size is that of calls up to so many times larger or smaller ...
const NEAR: f64 = 2.0;
/// ... with doubt of those up to so many times, and of none that are farther: 64 KiB through a pipe take
/// twelve times as long as 4 KiB.
const FAR: f64 = 4.0;

/// Where on an axis of a case a price is asked for.
#[derive(Clone, Copy)]
pub(in crate::bill) struct Size<'a> {
    pub(in crate::bill) axis: &'a str,
    pub(in crate::bill) value: f64,
    /// Whether the line of the smallest two sizes goes on below them.
    pub(in crate::bill) has_nothing: bool,
    /// Whether the figure of a row is that of one of its size.
    pub(in crate::bill) per_unit: bool,
}

/// A price.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::bill) struct Price {
    /// The time of an op.
    pub(in crate::bill) amount: Amount,
    /// The case that it is of; of two that were interpolated, the nearer one.
    pub(in crate::bill) row: String,
    /// How well it fits the size that was asked for, while others can be measured.
    pub(in crate::bill) fit: SizeFit,
    /// Whether that size was measured, or lies near or between such ones; true without a size.
    pub(in crate::bill) is_near_rows: bool,
}

/// A price at a size.
pub(super) struct SizedPrice<'a> {
    pub(super) size: u64,
    pub(super) amount: Amount,
    pub(super) row: &'a str,
}

/// How well a price fits the size that it was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::bill) enum SizeFit {
    /// There are several sizes, or the only one is near; so is a price that has no sizes.
    Near,
    /// The only size is another one.
    Doubtful(OtherSize),
    /// The only size is so far that its price is none of that size.
    TooFar(OtherSize),
}

/// The only size that has a price, and the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::bill) struct OtherSize {
    only: f64,
    asked: f64,
}

impl SizeFit {
    /// That of a price at this size, where others can be measured. A call about nothing is so many times
    /// smaller than none, and pays the smallest size of several, too: its price is doubtful.
    pub(super) fn of(sizes: &[SizedPrice<'_>], asked: f64) -> Self {
        let [only] = sizes else { return Self::Near };
        let only = only.size as f64;
        let other = OtherSize { only, asked };
        let is_within = |times: f64| (only / times..=only * times).contains(&asked);
        if is_within(NEAR) {
            Self::Near
        } else if asked <= 0.0 || is_within(FAR) {
            Self::Doubtful(other)
        } else {
            Self::TooFar(other)
        }
    }

    /// Without a limit to how far the only size is: what a change adds to an op depends little on its size.
    pub(super) fn at_any_distance(self) -> Self {
        match self {
            Self::TooFar(other) => Self::Doubtful(other),
            other => other,
        }
    }

    pub(in crate::bill) fn is_near(self) -> bool {
        self == Self::Near
    }

    pub(super) fn is_better_than(self, other: Self) -> bool {
        self.rank() < other.rank()
    }

    fn rank(self) -> u8 {
        match self {
            Self::Near => 0,
            Self::Doubtful(_) => 1,
            Self::TooFar(_) => 2,
        }
    }
}

impl OtherSize {
    /// How many times larger than the only size the calls are; 1 of smaller ones.
    pub(in crate::bill) fn larger(self) -> f64 {
        if self.asked > self.only { self.asked / self.only } else { 1.0 }
    }

    /// How far the only size is from that of some calls, in words that go on after it.
    pub(in crate::bill) fn text(self) -> String {
        let Self { only, asked } = self;
        let times = |ratio: f64| {
            if ratio < 10.0 { format!("{ratio:.1} times") } else { format!("{ratio:.0} times") }
        };
        if asked <= 0.0 {
            "the calls move nothing".to_owned()
        } else if only <= 0.0 {
            "the calls are larger".to_owned()
        } else if asked < only {
            format!("{} their size", times(only / asked))
        } else {
            format!("the calls are {} as large", times(asked / only))
        }
    }
}

/// The price at a size: on the line between its neighbours; above the largest on the line through the
/// last two; below the smallest that of the smallest, or on the line through the first two.
pub(super) fn interpolated(
    sizes: &[SizedPrice<'_>],
    size: f64,
    has_nothing: bool,
) -> Option<Price> {
    let first = sizes.first()?;
    let last = sizes.len() - 1;
    let is_near_rows = (first.size as f64 / NEAR..=sizes[last].size as f64 * NEAR).contains(&size);
    let priced = |amount: Amount, row: &str| Price {
        amount,
        row: row.to_owned(),
        fit: SizeFit::Near,
        is_near_rows,
    };
    let at = match sizes.iter().position(|it| it.size as f64 >= size) {
        Some(0) if has_nothing => last.min(1),
        Some(at) => at,
        None => last,
    };
    let Some(below) = at.checked_sub(1).and_then(|at| sizes.get(at)) else {
        return Some(priced(first.amount.clone(), first.row));
    };
    let upper = &sizes[at];
    let weight = (size - below.size as f64) / (upper.size - below.size) as f64;
    let nearer = if weight < 0.5 { below } else { upper };
    let amount = below.amount.times(1.0 - weight).plus(&upper.amount.times(weight));
    Some(priced(amount, nearer.row))
}

/// The number that a point has on an axis.
pub(in crate::bill) fn number_on(point: &Point, axis: &str) -> Option<u64> {
    match point.get(axis) {
        Some(&Value::Number(number)) => Some(number),
        _ => None,
    }
}

/// The values of a point on the other axes.
pub(in crate::bill) fn without<'a>(point: &'a Point, axis: &str) -> Vec<(&'a str, &'a Value)> {
    point.iter().filter(|(name, _)| *name != axis).collect()
}
