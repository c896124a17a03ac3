//! What is shown of acts, and of which machine.

use crate::studies::history::across::Across;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The acts.
    pub across: &'a Across<'a>,
    /// The target whose runs stand beside the studies, as it was named.
    pub target: &'a str,
    /// The class of its machine; `None` if no run has a figure of an act.
    pub machine: Option<&'a str>,
    /// Runs that were left out, since they were made on machines of other classes.
    pub other_runs: usize,
}
