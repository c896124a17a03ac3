//! Work bodies whose ops need preparation before each batch.

use crate::kernel::memory::blocks::PointerChase;
use crate::kernel::memory::region::{Access, HUGE_BYTES, PAGE_BYTES, PageKind, Region};
use crate::kernel::process::usage;

use super::super::prelude::*;

/// The minor faults of this thread so far.
fn faults() -> Result<u64, Errno> {
    usage::thread().map(|usage| usage.minor_faults)
}

/// A mapping of this many bytes, with all pages present.
pub(super) fn touched_region(bytes: usize) -> Result<Region, Errno> {
    let region = Region::anonymous(bytes, PageKind::Small)?;
    region.touch_all(Access::Write);
    Ok(region)
}

/// Pages that are freed, piece by piece.
struct Discard {
    region: Region,
    piece: usize,
    offset: usize,
}

/// `MADV_DONTNEED` of pieces of this many bytes.
pub(super) fn dontneed(piece: usize) -> Result<Work, Errno> {
    /// Eight ops of the largest size; enough for a batch of small ones.
    const BYTES: usize = 64 << 20;
    /// Maximum ops of a batch of single pages: their pages are touched before it.
    const MAX_OPS: usize = 1_024;
    let bytes = BYTES.min(MAX_OPS * piece);
    let region = Region::anonymous(bytes, PageKind::Small)?;
    let work = Work::from_prepared_body(Shape::WithLoop, Discard { region, piece, offset: 0 });
    Ok(work.with_max_batch_ops((bytes / piece) as u64))
}

impl WorkBody for Discard {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.offset = 0;
        self.region.touch_part(0, ops as usize * self.piece, Access::Write)
    }

    fn verify(&mut self) -> Result<(), Errno> {
        match self.region.resident_pages_in(0, self.offset)? {
            0 => Ok(()),
            _ => Err(Errno::UNVERIFIED),
        }
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            let result = self.region.advise_part(self.offset, self.piece, libc::MADV_DONTNEED);
            result.map_err(|errno| OpError { op, errno })?;
            self.offset += self.piece;
        }
        Ok(())
    }
}

/// Pages that move back and forth between two mappings.
struct PageMove {
    mapped: Region,
    reserved: Region,
    /// They keep the page tables of both ranges. Without them the kernel would free the table of a
    /// range that has its 2 MiB for itself, and allocate it again at the next op; whether it has
    /// depends on where the kernel placed the worker's image.
    _guards: [Region; 2],
}

/// `mremap(2)` of this many bytes.
pub(super) fn mremap(bytes: usize) -> Result<Work, Errno> {
    let reserved = Region::anonymous(bytes, PageKind::Small)?;
    let mapped = touched_region(bytes)?;
    let guards = [mapped.guard_page()?, reserved.guard_page()?];
    let mut moves = PageMove { mapped, reserved, _guards: guards };
    match moves.run_once() {
        // MREMAP_DONTUNMAP requires Linux 5.7.
        Err(Errno::EINVAL) => Err(Errno::EOPNOTSUPP),
        other => other.map(|()| Work::from_body(Shape::WithLoop, moves)),
    }
}

impl PageMove {
    #[inline(always)]
    fn run_once(&mut self) -> Result<(), Errno> {
        self.mapped.swap_by_mremap(&mut self.reserved)
    }
}

impl WorkBody for PageMove {
    fn verify(&mut self) -> Result<(), Errno> {
        // All pages are in one mapping, and none in the other.
        let pages = self.mapped.bytes() / PAGE_BYTES;
        let moved = self.mapped.resident_pages()? == pages && self.reserved.resident_pages()? == 0;
        if moved && self.mapped.byte(0)? == 1 { Ok(()) } else { Err(Errno::UNVERIFIED) }
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.run_once().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }
}

/// A walk from line to line.
struct Walk(PointerChase);

/// A cycle through this many bytes.
pub(super) fn latency(bytes: usize, huge: bool) -> Result<Work, Errno> {
    let (pages, page_bytes) =
        if huge { (PageKind::Transparent, HUGE_BYTES) } else { (PageKind::Small, PAGE_BYTES) };
    let region = Region::anonymous(bytes.next_multiple_of(page_bytes), pages)?;
    let faults_before = faults()?;
    region.touch_all(Access::Write);
    // One fault per page of the requested size; plus a few of the worker's own.
    let pages = (region.bytes() / page_bytes) as u64;
    if !(pages..pages + 16).contains(&(faults()? - faults_before)) {
        return Err(Errno::UNVERIFIED);
    }
    Ok(Work::from_body(Shape::Repeat, Walk(PointerChase::over(region, bytes)?)))
}

impl WorkBody for Walk {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.0.step(iterations, unroll);
        Ok(())
    }
}
