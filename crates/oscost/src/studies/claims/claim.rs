//! What a study claims, and when a claim holds.

use super::quantity::Quantity;
use crate::studies::figures::published_figure::PublishedFigure;
use crate::studies::figures::unit::TableUnit;

/// Added costs are the same constant if they differ from their mean by at most this. The five of
/// study ph-2000 are within 0.6 % of their mean. With 1 % the code layout of five loops would
/// decide, and with 20 % a monitor that reads arguments could not be distinguished from one that
/// does not.
pub const EQUAL_WITHIN_PCT: f64 = 5.0;

/// A claim of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The statement, in our words.
    pub statement: String,
    /// Its location in the publication.
    pub location: String,
    /// What the study's text prints of it, such as `3x` or `4-6 us`.
    pub published: Option<PublishedFigure>,
    /// How its words are read as bounds, where the bounds do not show it.
    pub note: Option<String>,
    /// The keys of the rows that it is about.
    pub cases: Vec<String>,
    /// When it holds.
    pub criterion: Criterion,
}

/// When a claim holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// Of two targets: the new one adds the same to all cases, within [`EQUAL_WITHIN_PCT`].
    EqualAdded,
    /// Of two targets: what the new one adds to each case is within these bounds.
    Added {
        /// The lower bound.
        min: f64,
        /// The upper bound.
        max: f64,
        /// Their unit, of time.
        unit: TableUnit,
    },
    /// Of two targets: the new one makes the first case slower by a larger factor than each of the
    /// others.
    LargestRatio,
    /// Of two targets: for each case, the ratio of new to base is within these bounds.
    Ratio {
        /// The lower bound.
        min: f64,
        /// The upper bound.
        max: f64,
    },
    /// Of one target: each of these is within its bounds.
    Within(Vec<Quantity>),
}
