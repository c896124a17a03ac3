//! The prefaulting techniques that study sunos-1999 proposes: touching pages before they are used.

use std::fs::File;

use crate::kernel::memory::page_toucher::PageToucher;
use crate::kernel::memory::region::{
    Access, HugePagesDisabled, PAGE_BYTES, PageKind, Region, memory_file,
};

use super::super::prelude::*;
use super::claim::{Claim, Kind};
use super::walk::{WHOLE_BYTES as BYTES, backed};

/// Pages of the mapping.
const PAGES: usize = BYTES / PAGE_BYTES;
/// Pages of a piece.
const PIECE: usize = 16;
/// With pages already present, touching those of one mapping takes only some microseconds: a batch
/// has up to this many mappings.
const MOST_OPS: usize = 4;
/// Without root 8 MiB may be locked on many systems.
const MOST_LOCKED: u64 = 3;

/// How pages are made present before they are used.
enum How {
    /// They are not.
    Not,
    /// A helper touches them; a process can do so only for those of a file.
    Helped(PageToucher, Option<File>),
    /// By mmap(2) itself (MAP_POPULATE).
    Populated,
    /// By mlock(2).
    Locked,
}

/// 2 MiB that are mapped, prefaulted and touched.
struct Prefault {
    how: How,
    /// Bytes mapped at a time.
    piece: usize,
    /// Whether prefaulting is timed too.
    total: bool,
    regions: Vec<Region>,
    /// Faults that the kernel counts for this thread in the timed part.
    faults: u64,
    claim: Claim,
    _small: HugePagesDisabled,
}

pub(super) fn prefault(at: Params<'_>) -> Result<Work, Errno> {
    backed(MOST_OPS * BYTES)?;
    // Before the helper is created, which must not have huge pages either.
    let small = HugePagesDisabled::new()?;
    let beside = at.context.other_cpu.or(at.context.cpu);
    let how = match at.word("prefault") {
        "thread" => How::Helped(PageToucher::start_thread(beside)?, None),
        "process" => {
            let file = memory_file((MOST_OPS * BYTES) as u64)?;
            How::Helped(PageToucher::start_process(&file, MOST_OPS * BYTES, beside)?, Some(file))
        }
        "populate" => How::Populated,
        "mlock" => How::Locked,
        _ => How::Not,
    };
    let most = if matches!(how, How::Locked) { MOST_LOCKED } else { MOST_OPS as u64 };
    let total = at.word("cost") == "total";
    let faults = match &how {
        // A page that a process has touched is in memory, but not in this process's page table.
        How::Not | How::Helped(_, Some(_)) => PAGES as u64,
        How::Helped(_, None) => 0,
        // The kernel counts what it maps for this thread as its faults, although none trapped.
        How::Populated | How::Locked => {
            if total {
                PAGES as u64
            } else {
                0
            }
        }
    };
    let piece = if at.word("chunk") == "all" { BYTES } else { PIECE * PAGE_BYTES };
    let prefault = Prefault {
        how,
        piece,
        total,
        regions: Vec::with_capacity(MOST_OPS * BYTES / piece),
        faults,
        claim: Claim::new(Kind::Any),
        _small: small,
    };
    Ok(Work::from_prepared_body(Shape::WithLoop, prefault)
        .with_max_batch_ops(most)
        .with_op_count(PAGES as u64))
}

impl Prefault {
    /// Maps the piece that begins at `from`, and prefaults it.
    fn ready(&mut self, from: usize) -> Result<Region, Errno> {
        let private = |flags| Region::at_hint(0, self.piece, PageKind::Small, flags);
        match &mut self.how {
            How::Not => private(0),
            How::Populated => private(libc::MAP_POPULATE),
            How::Locked => {
                let region = private(0)?;
                region.lock()?;
                Ok(region)
            }
            How::Helped(helper, file) => {
                let region = match file {
                    Some(file) => Region::shared(file, from as u64, self.piece)?,
                    None => private(0)?,
                };
                helper.touch(&region, from as u64)?;
                Ok(region)
            }
        }
    }
}

impl WorkBody for Prefault {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.regions.clear();
        if let How::Helped(helper, file) = &self.how {
            helper.check_owner()?;
            if let Some(file) = file {
                // This frees all its pages.
                file.set_len(0)?;
                file.set_len((MOST_OPS * BYTES) as u64)?;
            }
        }
        if !self.total {
            for from in (0..ops as usize * BYTES).step_by(self.piece) {
                let region = self.ready(from)?;
                self.regions.push(region);
            }
        }
        self.claim.open(ops * self.faults)
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.claim.settle()
    }

    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        let bytes = (turns * u64::from(copies)) as usize * BYTES;
        for (piece, from) in (0..bytes).step_by(self.piece).enumerate() {
            if self.total {
                let ready = self.ready(from);
                self.regions
                    .push(ready.map_err(|why| OpError { op: (from / BYTES) as u64, errno: why })?);
            }
            let Some(region) = self.regions.get(piece) else {
                return Err(OpError { op: (from / BYTES) as u64, errno: Errno::E2BIG });
            };
            region.touch_all(Access::Write);
        }
        Ok(())
    }
}
