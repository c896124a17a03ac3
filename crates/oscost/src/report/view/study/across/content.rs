//! The content of the report across studies.

use crate::studies::history::across::Across;

/// The acts, and the machine that they are compared with.
#[derive(Clone, Copy, Debug)]
pub struct AcrossContent<'a> {
    /// The acts.
    pub across: &'a Across<'a>,
    /// The target whose runs are compared with the studies, as the user wrote it.
    pub target: &'a str,
    /// The class of its machine; `None` if no run has a figure of an act.
    pub machine: Option<&'a str>,
    /// Runs that were left out, since they were made on machines of other classes.
    pub other_runs: usize,
}
