//! The page faults that an op must take, checked against the kernel's accounting.

use crate::kernel::process::usage::{self, ThreadUsage};

use super::super::prelude::*;

/// Faults beyond those of the ops that a batch may show: pages of the worker itself that are
/// touched for the first time. A wrong page size shows as hundreds.
const SLACK: u64 = 16;

/// Which faults are expected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Minor and major faults.
    Any,
    /// Major faults: those that waited for a disk.
    Major,
}

/// Expected faults of a batch: checked right after it, untimed.
pub(super) struct Claim {
    kind: Kind,
    /// The process that set it: a fork has its own accounting.
    process: u32,
    charged: u64,
    faults: Option<u64>,
}

impl Claim {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, process: 0, charged: 0, faults: None }
    }

    /// Checks that the expected number of faults is what the kernel counted.
    pub(super) fn settle(&mut self) -> Result<(), Errno> {
        let Some(claimed) = self.faults.take() else { return Ok(()) };
        if self.process != std::process::id() {
            return Ok(());
        }
        let seen = self.charged()? - self.charged;
        if (claimed..=claimed + SLACK).contains(&seen) { Ok(()) } else { Err(Errno::UNVERIFIED) }
    }

    /// Expects this many faults until the check.
    pub(super) fn open(&mut self, faults: u64) -> Result<(), Errno> {
        self.process = std::process::id();
        self.charged = self.charged()?;
        self.faults = Some(faults);
        Ok(())
    }

    fn charged(&self) -> Result<u64, Errno> {
        let ThreadUsage { minor_faults, major_faults, .. } = usage::thread()?;
        Ok(match self.kind {
            Kind::Any => minor_faults + major_faults,
            Kind::Major => major_faults,
        })
    }
}
