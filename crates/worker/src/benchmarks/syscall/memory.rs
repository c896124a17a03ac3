//! Calls on the address space.

use crate::benchmarks::prelude::*;
use crate::kernel::syscall::prepared;

pub(super) const MMAP_MUNMAP: Bench = Bench {
    id: "syscall/mmap-munmap",
    asks: "What does mapping and unmapping one page cost?",
    op: "mmap(2) of a private anonymous page, which is never touched, and munmap(2) of it, by the \
         raw instruction. Not included: nothing; no memory is allocated, since that takes a fault.",
    expected: "six times a null system call: a gap is searched, an area is created, inserted and \
               removed",
    why: "The kernel finds a gap in the tree of the address space, creates an area, or extends an \
          adjacent one, and removes it again; both under the lock of the address space. No page is \
          allocated: the first touch would fault, and cost more than this.",
    calls: &[exactly("mmap", 1), exactly("munmap", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    in_price_list: false,
    source: "mmap(2); mm/mmap.c, mm/vma.c; lmbench lat_mmap",
    build: |_| Ok(Work::raw_pair(prepared::mmap_munmap())),
    ..Bench::DEFAULT
};

pub(super) const MPROTECT: Bench = Bench {
    id: "syscall/mprotect",
    asks: "What does making a page read-only and writable again cost?",
    op: "mprotect(2) of a touched page to read-only, and mprotect(2) to read and write, by the raw \
         instruction. Not included: mapping the page and touching it.",
    expected: "eight times a null system call: two kernel entries, two changes of an area, and TLB \
               invalidations",
    why: "Protection is a property of an area of the address space: a page whose protection \
          differs from its neighbours is split off into an area of its own or merged again, its \
          page table entry is rewritten, and the old translation is flushed from the TLB. In a \
          process with threads on other CPUs those are interrupted too; here there is one thread.",
    calls: &[exactly("mprotect", 2)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    in_price_list: false,
    source: "mprotect(2); mm/mprotect.c",
    build: |_| prepared::mprotect().map(Work::raw_pair),
    ..Bench::DEFAULT
};
