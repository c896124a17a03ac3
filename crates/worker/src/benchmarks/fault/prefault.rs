//! The prefaulting techniques that study sunos-1999 proposes: touching pages before they are used.

use std::fs::File;

use crate::kernel::memory::page_toucher::PageToucher;
use crate::kernel::memory::region::{
    Access, HugePagesDisabled, PAGE_BYTES, PageKind, Region, memory_file,
};

use super::super::prelude::*;
use super::expected_faults::{ExpectedFaults, FaultKind};
use super::walk::{WHOLE_BYTES as BYTES, ensure_backed};

/// Pages of the mapping.
const PAGES: usize = BYTES / PAGE_BYTES;
/// Pages of a piece.
const PIECE_PAGES: usize = 16;
/// With pages already present, touching those of one mapping takes only some microseconds: a batch
/// has up to this many mappings.
const MAX_OPS: usize = 4;
/// Without root 8 MiB may be locked on many systems.
const MAX_LOCKED_OPS: u64 = 3;

/// How pages are made present before they are used.
enum Technique {
    /// They are not.
    Off,
    /// A helper touches them; a process can do so only for those of a file.
    Helper(PageToucher, Option<File>),
    /// By mmap(2) itself (MAP_POPULATE).
    Populate,
    /// By mlock(2).
    Mlock,
}

/// 2 MiB that are mapped, prefaulted and touched.
struct Prefault {
    technique: Technique,
    /// Bytes mapped at a time.
    index: usize,
    /// Whether prefaulting is timed too.
    total: bool,
    regions: Vec<Region>,
    /// Faults that the kernel counts for this thread in the timed part.
    faults: u64,
    expected_faults: ExpectedFaults,
    _no_huge_pages: HugePagesDisabled,
}

pub(super) fn prefault(params: Params<'_>) -> Result<Work, Errno> {
    ensure_backed(MAX_OPS * BYTES)?;
    // Before the helper is created, which must not have huge pages either.
    let no_huge_pages = HugePagesDisabled::new()?;
    let cpu = params.context.other_cpu.or(params.context.cpu);
    let technique = match params.word("prefault") {
        "thread" => Technique::Helper(PageToucher::start_thread(cpu)?, None),
        "process" => {
            let file = memory_file((MAX_OPS * BYTES) as u64)?;
            Technique::Helper(PageToucher::start_process(&file, MAX_OPS * BYTES, cpu)?, Some(file))
        }
        "populate" => Technique::Populate,
        "mlock" => Technique::Mlock,
        _ => Technique::Off,
    };
    let max_ops =
        if matches!(technique, Technique::Mlock) { MAX_LOCKED_OPS } else { MAX_OPS as u64 };
    let total = params.word("cost") == "total";
    let faults = match &technique {
        // A page that a process has touched is in memory, but not in this process's page table.
        Technique::Off | Technique::Helper(_, Some(_)) => PAGES as u64,
        Technique::Helper(_, None) => 0,
        // The kernel counts what it maps for this thread as its faults, although none trapped.
        Technique::Populate | Technique::Mlock => {
            if total {
                PAGES as u64
            } else {
                0
            }
        }
    };
    let index = if params.word("chunk") == "all" { BYTES } else { PIECE_PAGES * PAGE_BYTES };
    let prefault = Prefault {
        technique,
        index,
        total,
        regions: Vec::with_capacity(MAX_OPS * BYTES / index),
        faults,
        expected_faults: ExpectedFaults::new(FaultKind::Any),
        _no_huge_pages: no_huge_pages,
    };
    Ok(Work::from_prepared_body(Shape::WithLoop, prefault)
        .with_max_batch_ops(max_ops)
        .with_op_count(PAGES as u64))
}

impl Prefault {
    /// Maps the piece that begins at `from`, and prefaults it.
    fn map_piece(&mut self, offset: usize) -> Result<Region, Errno> {
        let private = |flags| Region::at_hint(0, self.index, PageKind::Small, flags);
        match &mut self.technique {
            Technique::Off => private(0),
            Technique::Populate => private(libc::MAP_POPULATE),
            Technique::Mlock => {
                let region = private(0)?;
                region.lock()?;
                Ok(region)
            }
            Technique::Helper(helper, file) => {
                let region = match file {
                    Some(file) => Region::shared(file, offset as u64, self.index)?,
                    None => private(0)?,
                };
                helper.touch(&region, offset as u64)?;
                Ok(region)
            }
        }
    }
}

impl WorkBody for Prefault {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.regions.clear();
        if let Technique::Helper(helper, file) = &self.technique {
            helper.check_owner()?;
            if let Some(file) = file {
                // This frees all its pages.
                file.set_len(0)?;
                file.set_len((MAX_OPS * BYTES) as u64)?;
            }
        }
        if !self.total {
            for offset in (0..ops as usize * BYTES).step_by(self.index) {
                let region = self.map_piece(offset)?;
                self.regions.push(region);
            }
        }
        self.expected_faults.expect(ops * self.faults)
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.expected_faults.check()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let bytes = (iterations * u64::from(unroll)) as usize * BYTES;
        for (index, offset) in (0..bytes).step_by(self.index).enumerate() {
            if self.total {
                let ready = self.map_piece(offset);
                self.regions.push(
                    ready.map_err(|why| OpError { op: (offset / BYTES) as u64, errno: why })?,
                );
            }
            let Some(region) = self.regions.get(index) else {
                return Err(OpError { op: (offset / BYTES) as u64, errno: Errno::E2BIG });
            };
            region.touch_all(Access::Write);
        }
        Ok(())
    }
}
