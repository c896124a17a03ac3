//! Single pages that are not in memory and are read from a disk.

use std::fs::File;

use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region, drop_page_cache};

use super::super::prelude::*;
use super::expected_faults::{ExpectedFaults, FaultKind};
use super::walk;

/// The size of the mapping: small enough to be written and evicted quickly, and large enough that
/// no page is used twice in a short time.
const BYTES: usize = 4 << 20;

/// Where a page is read from.
enum Disk {
    /// A file created by the worker.
    File(File),
    /// Swap space.
    Swap,
}

/// One page at a time, evicted before it is touched.
struct ColdPages {
    region: Region,
    disk: Disk,
    order: Vec<u32>,
    next: usize,
    expected_faults: ExpectedFaults,
}

impl ColdPages {
    fn work(region: Region, disk: Disk) -> Result<Work, Errno> {
        let order = walk::touch_order(BYTES / PAGE_BYTES, "random");
        let mut pages = Self {
            region,
            disk,
            order,
            next: 0,
            expected_faults: ExpectedFaults::new(FaultKind::Major),
        };
        // If a page cannot be evicted, the case is unsupported.
        match pages.evict() {
            Err(Errno::UNVERIFIED) => Err(Errno::EOPNOTSUPP),
            other => {
                other.map(|()| Work::from_prepared_body(Shape::Cold, pages).with_max_batch_ops(1))
            }
        }
    }

    /// The next page.
    fn page(&self) -> u32 {
        self.order[self.next % self.order.len()]
    }

    /// Evicts the next page, and checks that it is not resident.
    fn evict(&mut self) -> Result<(), Errno> {
        let from = self.page() as usize * PAGE_BYTES;
        match &self.disk {
            Disk::File(file) => {
                // A mapped page is not dropped.
                self.region.advise(libc::MADV_DONTNEED)?;
                drop_page_cache(file)?;
            }
            Disk::Swap => {
                self.region.touch(&[self.page()], 1, Access::Write)?;
                self.region.advise_part(from, PAGE_BYTES, libc::MADV_PAGEOUT)?;
            }
        }
        match self.region.resident_pages_in(from, PAGE_BYTES)? {
            0 => Ok(()),
            _ => Err(Errno::UNVERIFIED),
        }
    }
}

impl WorkBody for ColdPages {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.next += 1;
        self.evict()?;
        self.expected_faults.expect(ops)
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.expected_faults.check()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        if iterations * u64::from(unroll) == 0 {
            return Ok(());
        }
        self.region.touch(&[self.page()], 1, Access::Read).map_err(|errno| OpError { op: 0, errno })
    }
}

/// A page of a file that is not in the page cache.
pub(super) fn evicted_file(params: Params<'_>) -> Result<Work, Errno> {
    let file = walk::filled_file(BYTES)?;
    // A dirty page is not dropped.
    file.sync_all()?;
    let region = Region::private_file(file.try_clone()?, BYTES)?;
    if params.word("readahead") == "off" {
        region.advise(libc::MADV_RANDOM)?;
    }
    ColdPages::work(region, Disk::File(file))
}

/// A page that was swapped out.
pub(super) fn swap_in(_params: Params<'_>) -> Result<Work, Errno> {
    ColdPages::work(Region::anonymous(BYTES, PageKind::Small)?, Disk::Swap)
}
