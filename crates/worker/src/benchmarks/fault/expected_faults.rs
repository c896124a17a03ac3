//! The page faults that an op must take, checked against the kernel's accounting.

use crate::kernel::process::usage::{self, ThreadUsage};

use super::super::prelude::*;

/// Faults beyond those of the ops that a batch may show: pages of the worker itself that are
/// touched for the first time. A wrong page size shows as hundreds.
const MAX_EXTRA_FAULTS: u64 = 16;

/// Which faults are expected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// Minor and major faults.
    Any,
    /// Major faults: those that waited for a disk.
    Major,
}

/// Expected faults of a batch: checked right after it, untimed.
pub(super) struct ExpectedFaults {
    kind: FaultKind,
    /// The process that set it: a fork has its own accounting.
    process: u32,
    counted_before: u64,
    faults: Option<u64>,
}

impl ExpectedFaults {
    pub(super) fn new(kind: FaultKind) -> Self {
        Self { kind, process: 0, counted_before: 0, faults: None }
    }

    /// Checks that the expected number of faults is what the kernel counted.
    pub(super) fn check(&mut self) -> Result<(), Errno> {
        let Some(expected) = self.faults.take() else { return Ok(()) };
        if self.process != std::process::id() {
            return Ok(());
        }
        let counted = self.faults_so_far()? - self.counted_before;
        if (expected..=expected + MAX_EXTRA_FAULTS).contains(&counted) {
            Ok(())
        } else {
            Err(Errno::UNVERIFIED)
        }
    }

    /// Expects this many faults until the check.
    pub(super) fn expect(&mut self, faults: u64) -> Result<(), Errno> {
        self.process = std::process::id();
        self.counted_before = self.faults_so_far()?;
        self.faults = Some(faults);
        Ok(())
    }

    fn faults_so_far(&self) -> Result<u64, Errno> {
        let ThreadUsage { minor_faults, major_faults, .. } = usage::thread()?;
        Ok(match self.kind {
            FaultKind::Any => minor_faults + major_faults,
            FaultKind::Major => major_faults,
        })
    }
}
