//! Mapping a library in parts, as the dynamic linker does.

use crate::benchmarks::prelude::*;
use crate::kernel::memory::library::Library;

pub(super) const MAP_LIBRARY: Bench = Bench {
    id: "memory/map-library",
    asks: "What does mapping a library in parts cost, as the dynamic linker maps it?",
    op: "mmap(2) of a file in memory (memfd_create(2)) of `size` bytes, private and read-only; mmap(2) \
         with MAP_FIXED of three parts of it over that, with other protections, and of anonymous \
         memory over its end; and munmap(2) of all. No page is touched. Not included: creating the \
         file.",
    expected: "14 us on a virtual machine, at any size: 3 for the whole and the munmap, as \
               memory/map-file, and 2.5 for each part with its removal",
    why: "A mapping over a part of another one first splits that: two further areas are allocated, \
          inserted in the tree of the process's areas and in that of the mappings of the file, under \
          its lock, and the piece between them is unmapped. The munmap undoes it for each area, as an \
          exit does. memory/map-file replaces a mapping as a whole, and splits nothing.",
    calls: &[exactly("mmap", 5), exactly("munmap", 1)],
    floor: &[at_least(6, KERNEL_ENTRY)],
    compare_with: &["memory/map-file:onto=free,size=2097152"],
    axes: &[Axis {
        name: "size",
        sets: "bytes of the library",
        points: Points::Numbers(&[262_144, 2_097_152]),
        default_points: Points::Numbers(&[2_097_152]),
    }],
    needs: &[Need::resource(Resource::SmallPages)],
    source: "ld.so(8), mmap(2); glibc elf/dl-map-segments.h; mm/vma.c",
    build: |params| {
        Ok(Work::raw_loop(
            Library::new(params.number("size"))?,
            |library| library.map_and_unmap_by::<false>(),
            |library| library.map_and_unmap_by::<true>(),
        ))
    },
    ..Bench::DEFAULT
};
