//! The shape of a curve, as judgements over several curves need it.

use oscost_stats::scaling::{Law, SizeCost};

/// The axis by which a channel is made to hold more or less.
pub(super) const CAPACITY: &str = "capacity";

/// What judgements of several curves need of each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    /// What the channel held, as the system told, or as it was asked for.
    pub(super) capacity: Option<u64>,
    /// Where the curve bends, each with its ends; `None` where that could not be asked.
    pub(super) bends: Option<Vec<[u64; 2]>>,
    /// Its points as costs.
    pub(super) sizes: Vec<SizeCost>,
    /// The law that accounts for all of them, and whether no other one does.
    pub(super) law: Option<(Law, bool)>,
}
