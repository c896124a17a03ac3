//! What a treatment costs on a fleet, and what that rests on.

use super::data::OtherRevision;
use super::sides::SideComparison;

/// What a treatment costs on a fleet.
#[derive(Clone, Debug)]
pub struct ComparedSides {
    /// The fleet as it was named.
    pub fleet: String,
    /// The treatments of the new side.
    pub treatments: String,
    /// How many nodes were measured with and without them.
    pub nodes_of_both: usize,
    /// How many nodes were measured without them alone.
    pub nodes_of_base: usize,
    /// How many nodes were measured with them alone.
    pub nodes_of_new: usize,
    /// The cases.
    pub comparisons: Vec<SideComparison>,
    /// Runs from which nothing is concluded.
    pub excluded: Vec<ExcludedRun>,
    /// Figures of older revisions of their benchmarks, which are not compared.
    pub other_revisions: Vec<OtherRevision>,
    /// How many records could not be read, and why the first could not; `None` if all could.
    pub unread: Option<UnreadRecords>,
}

/// A run from which nothing is concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedRun {
    /// Its id.
    pub run: String,
    /// Its node.
    pub node: String,
    /// Why, as what it is or has.
    pub why: &'static str,
}

/// Records that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadRecords {
    /// How many.
    pub count: usize,
    /// The file of the first.
    pub first: String,
    /// Why it could not be read.
    pub why: String,
}
