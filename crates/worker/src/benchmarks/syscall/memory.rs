//! Calls on the address space.

use super::DOOR;
use crate::benchmarks::prelude::*;
use crate::kernel::syscall::prepared;

pub(super) const MMAP_MUNMAP: Bench = Bench {
    id: "syscall/mmap-munmap",
    asks: "What does it cost to get a page of address space, and to give it back?",
    op: "mmap(2) of a private anonymous page, which nobody touches, and munmap(2) of it, by the \
         bare instruction. Outside: nothing; no memory comes, since that takes a fault.",
    expected: "six times the bare door: a gap is searched for, an area is made, entered and removed",
    why: "The kernel finds a gap in the tree of the address space, makes an area, or lengthens the \
          neighbour where that fits, and takes it out again; both under the lock of the address \
          space. No page is there yet: the first touch would fault, and cost more than this.",
    calls: &[exactly("mmap", 1), exactly("munmap", 1)],
    floor: &[at_least(2, DOOR)],
    source: "mmap(2); mm/mmap.c, mm/vma.c; lmbench lat_mmap",
    build: |_| Ok(Work::raw_pair(prepared::mmap_munmap())),
    ..Bench::DEFAULT
};

pub(super) const MPROTECT: Bench = Bench {
    id: "syscall/mprotect",
    asks: "What does it cost to make a page read-only, and writable again?",
    op: "mprotect(2) of a touched page to reading alone, and mprotect(2) to reading and writing, \
         by the bare instruction. Outside: mapping the page and touching it.",
    expected: "eight times the bare door: two entries, two changes of an area, and the page's \
            translation is thrown away",
    why: "Rights belong to an area of the address space: a page with others than its neighbours \
          has its area split off or joined again, the entry of its page table is rewritten, and \
          the processor must forget the old translation. On a process with threads on other CPUs \
          those are interrupted too; here there is one thread.",
    calls: &[exactly("mprotect", 2)],
    floor: &[at_least(2, DOOR)],
    in_price_list: false,
    source: "mprotect(2); mm/mprotect.c",
    build: |_| prepared::mprotect().map(Work::raw_pair),
    ..Bench::DEFAULT
};
