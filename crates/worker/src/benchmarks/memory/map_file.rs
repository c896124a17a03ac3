//! Mapping a file, as the dynamic linker maps libraries.

use crate::benchmarks::prelude::*;
use crate::kernel::syscall::prepared;

pub(super) const MAP_FILE: Bench = Bench {
    id: "memory/map-file",
    asks: "What does mapping a file cost, into free memory or over a mapping?",
    op: "onto=free: mmap(2) of a file in memory (memfd_create(2)) of `size` bytes, private and \
         read-only, and munmap(2); onto=mapping: mmap(2) with MAP_FIXED over the same mapping of \
         the op before, as the dynamic linker maps the parts of a library over the whole. No page \
         is touched. Not included: creating the file.",
    expected: "1.5 us for both calls, 1.5 us over a mapping, at any size: 0.5 us more than \
               anonymous memory, since the area is inserted in the file's tree of mappings",
    why: "Beside what an anonymous mapping takes, the kernel takes a reference of the file, calls \
          its mmap function, and inserts the area in the tree of those that map the file, under \
          the lock of that tree. The pages are mapped by faults: fault/file-minor.",
    calls: &[exactly("mmap", 1), exactly("munmap", 1).when(&[("onto", "free")])],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "onto",
            sets: "what the mapping is put over: free memory, or a mapping",
            points: Points::Words(&["free", "mapping"]),
            default_points: Points::WithPriceList {
                points: &Points::Words(&["free", "mapping"]),
                price_list: &Points::Words(&["free"]),
            },
        },
        Axis {
            name: "size",
            sets: "bytes mapped",
            points: Points::Numbers(&[4_096, 2_097_152]),
            default_points: Points::Numbers(&[2_097_152]),
        },
    ],
    needs: &[Need::resource(Resource::SmallPages)],
    source: "mmap(2); mm/vma.c; lmbench lat_mmap",
    build: |params| {
        let bytes = params.number("size");
        match params.word("onto") {
            "free" => prepared::map_file_unmap(bytes).map(Work::raw_pair),
            _ => prepared::map_file_over(bytes).map(Work::raw),
        }
    },
    ..Bench::DEFAULT
};
