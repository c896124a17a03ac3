//! A sled: equal steps in a row, which is entered as many steps before its end as are to be run.

/// A sled of [`SLED_STEPS`](super::SLED_STEPS) steps.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Sled {
    /// The address behind its last step.
    pub(in crate::kernel) end: usize,
    /// The length of a step.
    pub(in crate::kernel) step_bytes: usize,
}
