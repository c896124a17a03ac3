//! What a study claims, and when a claim holds.

use super::quantity::Quantity;

/// Within so many per cent of each other, costs that are added are one constant. The five of study
/// ph-2000 lie within 0.6 % of their mean. At 1 % the layout of five loops would decide, and at
/// 20 % a monitor that looks at arguments would pass for one that does not.
pub const EQUAL_WITHIN_PCT: f64 = 5.0;

/// Something that a study says.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The statement, in our words.
    pub statement: String,
    /// Where it stands.
    pub location: String,
    /// The cases that it is said of.
    pub cases: Vec<String>,
    /// When it holds.
    pub criterion: Criterion,
}

/// When a claim holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// Of two places: all cases have the same added to them, within [`EQUAL_WITHIN_PCT`].
    EqualAdded,
    /// Of two places: of each case, new over base lies within these bounds.
    Ratio {
        /// The lower one.
        min: f64,
        /// The upper one.
        max: f64,
    },
    /// Of one place: each of these lies within its bounds.
    Within(Vec<Quantity>),
}
