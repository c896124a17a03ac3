//! What an op says of its faults, held against the kernel's own account.

use crate::kernel::process::usage::{self, ThreadUsage};

use super::super::prelude::*;

/// Faults beyond those of the ops that a batch may show: pages of the program itself that are
/// touched for the first time. A page size that is not the one claimed shows as hundreds.
const SLACK: u64 = 16;

/// Which faults are claimed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any.
    Any,
    /// Those that waited for a disk.
    Major,
}

/// An open claim: it is settled right after its batch, untimed.
pub(super) struct Claim {
    kind: Kind,
    /// By whom it was opened: a fork has an account of its own.
    process: u32,
    charged: u64,
    faults: Option<u64>,
}

impl Claim {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, process: 0, charged: 0, faults: None }
    }

    /// Looks whether the faults that were claimed are those that the kernel has charged.
    pub(super) fn settle(&mut self) -> Result<(), Errno> {
        let Some(claimed) = self.faults.take() else { return Ok(()) };
        if self.process != std::process::id() {
            return Ok(());
        }
        let seen = self.charged()? - self.charged;
        if (claimed..=claimed + SLACK).contains(&seen) { Ok(()) } else { Err(Errno::UNPROVEN) }
    }

    /// Claims so many faults for all that happens until it is settled.
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
