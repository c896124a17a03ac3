//! First touches that are timed one by one, with something untimed between two of them.

use crate::kernel::cpu::black_box::{consume, opaque};
use crate::kernel::cpu::memory_walk::{MemoryWalk, SPREAD_WALK_BYTES};
use crate::kernel::memory::region::{Access, PAGE_BYTES, Region};

use super::super::prelude::*;
use super::expected_faults::{ExpectedFaults, FaultKind};

/// The walk of a program that computes on its own data between two touches: 1 MiB of lines, which replace
/// what a second-level cache holds, in 4,096 pages, at least as many as tables of translations hold
/// (TLB). A compiler that computes for 100 us between two touches reads some 10,000 lines. After twice as
/// many, over 32 MiB, touches took 4 to 16 us on a guest: such a walk also empties the last level of
/// cache, as far as its neighbours leave it one. It takes some 70 us, and a worker makes some twenty.
const WALK_BYTES: usize = SPREAD_WALK_BYTES;
/// All workers walk in one order: which sets of a cache the lines share is up to their physical
/// pages.
const SEED: u64 = 1;

/// The next page of a mapping, touched alone.
struct SingleTouches {
    region: Region,
    walk: MemoryWalk,
    next: usize,
    expected_faults: ExpectedFaults,
}

/// First touches of the pages of a mapping; `between` is the word of the axis.
pub(super) fn single_touches(region: Region, between: &str) -> Result<Work, Errno> {
    // No walk: the touches differ from those after one in nothing else.
    let walk_bytes = if between == "walk" { WALK_BYTES } else { 0 };
    let touches = SingleTouches::new(region, walk_bytes)?;
    Ok(Work::from_prepared_body(Shape::Cold, touches).with_max_batch_ops(1))
}

impl SingleTouches {
    fn new(region: Region, walk_bytes: usize) -> Result<Self, Errno> {
        let walk = MemoryWalk::new(walk_bytes, SEED)?;
        // As if all had been touched: the first op makes them fresh.
        let next = region.bytes() / PAGE_BYTES;
        let expected_faults = ExpectedFaults::new(FaultKind::Any);
        Ok(Self { region, walk, next, expected_faults })
    }

    /// Maps all pages anew, and touches half of them and one more, untimed: nothing else warms up
    /// the code of ops of this shape; the pages that were freed last are given first, and are in a
    /// cache; and the page in the middle of a large mapping needs a page table.
    fn refresh(&mut self) -> Result<(), Errno> {
        self.region.remap()?;
        self.next = self.region.bytes() / PAGE_BYTES / 2 + 1;
        self.region.touch_part(0, self.next * PAGE_BYTES, Access::Write)
    }
}

impl WorkBody for SingleTouches {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        if self.next + ops as usize > self.region.bytes() / PAGE_BYTES {
            self.refresh()?;
        }
        self.expected_faults.expect(ops)?;
        // Last, since a system call would bring a part of the kernel back into the caches. Without
        // rseq(2) the engine makes some after it, in all cases alike: a walk then does less. Were
        // its pages absent, their faults would be counted, and be far more than expected.
        self.walk.walk();
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.expected_faults.check()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let failed = |errno| OpError { op: 0, errno };
        // The engine runs no op directly before the clock: all but the touch is done then, too, so
        // that what this process needs for it is there again after a walk.
        let ops = (iterations * u64::from(unroll)) as usize;
        let next = [opaque(self.next as u64) as u32];
        let pages = next.get(..ops).ok_or(failed(Errno::E2BIG))?;
        self.next += ops;
        consume(self.region.address() as u64);
        consume(self.region.bytes() as u64);
        self.region.touch(pages, 1, Access::Write).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use crate::benchmarks::find;
    use crate::benchmarks::tests::{all_points, is_not_applicable};
    use crate::kernel::memory::region::PageKind;

    use super::*;

    fn of_pages(pages: usize, walk_bytes: usize) -> SingleTouches {
        let region = Region::anonymous(pages * PAGE_BYTES, PageKind::Small).unwrap();
        SingleTouches::new(region, walk_bytes).unwrap()
    }

    #[test]
    fn an_op_touches_the_next_page_and_the_mapping_begins_anew_at_its_end() {
        let mut touches = of_pages(16, 0);
        for before in [9, 10, 11, 12, 13, 14, 15, 9, 10] {
            touches.prepare(1).unwrap();
            touches.run(0, 1).unwrap();
            assert_eq!(touches.region.resident_pages(), Ok(before));
            touches.run(1, 1).unwrap();
            touches.verify().unwrap();
            assert_eq!(touches.region.resident_pages(), Ok(before + 1));
        }
    }

    #[test]
    fn the_pages_of_a_walk_are_there_before_it_and_an_op_without_a_fault_is_an_error() {
        // An absent page of the walk would be a fault beyond the one of the op: 4,096 are too many.
        let mut touches = of_pages(16, WALK_BYTES);
        touches.prepare(1).unwrap();
        touches.run(1, 1).unwrap();
        assert_eq!(touches.verify(), Ok(()));
        touches.prepare(1).unwrap();
        touches.run(0, 1).unwrap();
        assert_eq!(touches.verify(), Err(Errno::UNVERIFIED));
    }

    #[test]
    fn several_touches_are_not_run_as_one() {
        let mut touches = of_pages(16, 0);
        touches.prepare(1).unwrap();
        let next = touches.next;
        assert_eq!(touches.run(2, 1).unwrap_err().errno, Errno::E2BIG);
        assert_eq!(touches.next, next);
    }

    #[test]
    fn touches_are_single_where_they_write_to_small_pages_in_ascending_order() {
        let definition = find("fault/zero-fill").unwrap().definition();
        let points = all_points(&definition).into_iter();
        let single = points.filter(|point| {
            point.get("between").is_some() && !is_not_applicable(&definition, point)
        });
        let usual = "access=write,pages=4k,map=outside,order=ascending";
        let expected = [
            format!("{usual},between=clock"),
            format!("{usual},between=walk"),
            format!("{usual},mapping_mib=64,between=clock"),
            format!("{usual},mapping_mib=64,between=walk"),
        ];
        assert_eq!(single.map(|point| point.to_string()).collect::<Vec<_>>(), expected);
    }
}
