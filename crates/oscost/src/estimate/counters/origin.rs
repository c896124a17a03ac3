//! What counted events depend on beside the op: the worker and the boot.

/// The worker and the boot that counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct CountOrigin<'a> {
    /// The worker's content hash.
    pub(in crate::estimate) worker: &'a str,
    /// The boot; `None` if it is unknown.
    pub(in crate::estimate) boot: Option<&'a str>,
}

/// Why the counts of two runs that include other tasks in one of them cannot be compared.
pub(in crate::estimate) const OTHER_TASKS: &str = "one of the runs counted other tasks, too";

/// Why counts cannot be compared that are means in one run, and in the other those of batches without
/// an interrupt.
pub(in crate::estimate) const MEANS_IN_ONE: &str =
    "they are means in one run, with work that an op does for many or leaves to later";

/// Why means over batches cannot be compared with means over ticks.
pub(in crate::estimate) const OVER_TICKS_IN_ONE: &str =
    "they are means in both runs, but in one alone over ticks, with work left to later";

impl CountOrigin<'_> {
    /// Why counts of both cannot be compared; `None` if they can.
    pub(in crate::estimate) fn difference(self, other: CountOrigin<'_>) -> Option<&'static str> {
        if self.worker != other.worker {
            return Some("the workers are two builds, whose loops have other instructions");
        }
        match (self.boot, other.boot) {
            (Some(one), Some(other)) if one == other => None,
            (Some(_), Some(_)) => Some(
                "the runs are of two boots, and how far instructions differ between boots is not \
                 known",
            ),
            _ => Some("the boot of a run is unknown"),
        }
    }
}
