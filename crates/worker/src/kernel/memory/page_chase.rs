//! A walk that loads one word of each page, each load the address of the next.

use crate::kernel::Errno;
use crate::kernel::arch::memory;
use crate::kernel::memory::blocks::ScrambledOrder;
use crate::kernel::memory::region::{PAGE_BYTES, Region};

/// The size of a cache line on the supported machines.
const LINE_BYTES: usize = 64;

/// A cycle through every page of a region, in an order that no prefetcher predicts. In each of 64
/// successive pages the word lies in another line: at one offset all would compete for one set of
/// the first-level cache.
pub struct PageChase {
    region: Region,
    address: usize,
}

impl PageChase {
    /// Writes the cycle; the region has a power of two of pages, two at least.
    pub fn over(mut region: Region) -> Result<Self, Errno> {
        let pages = region.bytes() / PAGE_BYTES;
        if !pages.is_power_of_two() || pages < 2 {
            return Err(Errno::EINVAL);
        }
        let base = region.address();
        let line = |page: usize| page % (PAGE_BYTES / LINE_BYTES) * LINE_BYTES;
        let offset = |page: usize| page * PAGE_BYTES + line(page);
        let order = ScrambledOrder::with_bits(pages.ilog2());
        let nth = |index: usize| offset(order.nth((index % pages) as u64) as usize);
        let words = region.words_mut();
        for index in 0..pages {
            words[nth(index) / size_of::<u64>()] = (base + nth(index + 1)) as u64;
        }
        Ok(Self { address: base + nth(0), region })
    }

    /// Follows `iterations * copies` pointers, each a load of the address that the last one gave.
    #[inline(always)]
    pub fn step(&mut self, iterations: u64, copies: u32) {
        // SAFETY: the chain was written to the region, which lives as long as this.
        self.address = unsafe { memory::chase(self.address, iterations, copies) };
    }

    /// The page of the current address.
    pub fn current_page(&self) -> usize {
        (self.address - self.region.address()) / PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::memory::region::PageKind;

    #[test]
    fn a_cycle_visits_every_page_once_before_it_repeats() {
        for pages in [2, 16, 512] {
            let region = Region::anonymous(pages * PAGE_BYTES, PageKind::Small).unwrap();
            let mut chase = PageChase::over(region).unwrap();
            let mut seen = vec![false; pages];
            let first = chase.current_page();
            for _ in 0..pages {
                let page = chase.current_page();
                assert!(!seen[page], "page {page} comes twice in {pages}");
                seen[page] = true;
                chase.step(1, 1);
            }
            assert_eq!(chase.current_page(), first, "{pages}: the cycle is closed");
        }
        let region = Region::anonymous(3 * PAGE_BYTES, PageKind::Small).unwrap();
        assert!(PageChase::over(region).is_err());
    }
}
