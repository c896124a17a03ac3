//! Mappings, and the speed of memory itself: the floor of everything that copies.

use std::cell::Cell;
use std::rc::Rc;

use crate::kernel::memory::blocks::{BlockOperation, Blocks, CopyMethod};
use crate::kernel::memory::region::{Heap, PageKind, Region};

use super::prelude::*;

mod body;
mod cache;
mod calls;
mod map_file;
mod map_library;
mod nodes;
mod stream;

pub(super) const FAMILY: Family = Family {
    name: "memory",
    about: "the cost of changing mappings, and the speed of memory",
    benches: BENCHES,
};

/// Memory that the mappings of the calls need, with all pages touched.
const MEMORY: Need = Need::resource(Resource::Memory(80));
const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);
const THP: Need = Need::resource(Resource::TransparentHugePages).when(&[("pages", "thp")]);

/// The size that a call operates on.
const fn call_size(sets: &'static str) -> Axis {
    Axis {
        name: "size",
        sets,
        points: Points::Numbers(&[4_096, 65_536, 2_097_152, 8_388_608]),
        default_points: Points::Numbers(&[65_536]),
    }
}

const BENCHES: &[Bench] = &[
    Bench {
        id: "memory/mmap-munmap",
        asks: "What does mapping fresh memory and unmapping it untouched cost?",
        op: "mmap(2) of `size` bytes, private and anonymous, and munmap(2). No page is touched. \
             Not included: nothing.",
        expected: "1 us for both at any size: a mapping is only recorded, and no page is allocated",
        why: "The kernel finds a gap, records the mapping in its tree, and removes the record \
              again. The size makes no difference until the pages are touched (fault/zero-fill, \
              map=inside).",
        calls: &[exactly("mmap", 1), exactly("munmap", 1)],
        floor: &[at_least(2, NULL_CALL)],
        axes: &[call_size("bytes mapped")],
        needs: &[SMALL_PAGES, MEMORY],
        source: "mmap(2); lmbench lat_mmap",
        build: |params| {
            let bytes = params.number("size") as usize;
            Ok(Work::with_loop(move || Region::at_hint(0, bytes, PageKind::Small, 0)?.unmap()))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/mprotect",
        asks: "What does making memory read-only and writable again cost?",
        op: "mprotect(2) of `size` bytes to read-only, and mprotect(2) back; every page is present \
             and has been written to. Not included: mapping and touching.",
        expected: "1 us for a page; 15 ns more for each further page, since each page table entry \
                   is changed both times",
        why: "The kernel walks the page table twice, changes each entry, and flushes the TLB of \
              every CPU that runs the program: with more threads on more CPUs that is an interrupt \
              to each of them.",
        calls: &[exactly("mprotect", 2)],
        floor: &[at_least(2, NULL_CALL)],
        axes: &[call_size("bytes whose protection changes")],
        needs: &[SMALL_PAGES, MEMORY],
        source: "mprotect(2); mm/mprotect.c",
        build: |params| {
            let region = body::touched_region(params.number("size") as usize)?;
            Ok(Work::with_loop(move || {
                region.set_writable(false)?;
                region.set_writable(true)
            }))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/brk",
        asks: "What does growing and shrinking the heap cost?",
        op: "brk(2) to `size` bytes beyond the end of the heap, and brk(2) back; both results are \
             checked. No page is touched. Not included: nothing.",
        expected: "the same as memory/mmap-munmap, 800 ns: an older interface to the same \
                   operation",
        why: "The heap is a mapping that only grows at its end: the kernel extends the record and \
              truncates it again.",
        calls: &[exactly("brk", 2)],
        floor: &[at_least(2, NULL_CALL)],
        axes: &[call_size("bytes by which it grows")],
        needs: &[SMALL_PAGES, MEMORY],
        source: "brk(2); mm/mmap.c",
        build: |params| {
            let bytes = params.number("size");
            // The end is looked up before each batch: libc may have moved it since.
            let heap = Rc::new(Cell::new(Heap::current()?));
            heap.get().grow_and_shrink(bytes)?;
            let end = Rc::clone(&heap);
            let work = Work::with_loop(move || heap.get().grow_and_shrink(bytes));
            Ok(work.with_preparation(move |_| Heap::current().map(|now| end.set(now))))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/dontneed",
        asks: "What does freeing pages while keeping the mapping cost?",
        op: "madvise(2) MADV_DONTNEED of `size` bytes, every page of which is present; successive \
             parts of the mapping. Not included: touching them again, and checking that they \
             were freed (mincore(2)).",
        expected: "300 ns for a page, 60 ns more for each further one: a fault's accounting in \
                   reverse, without the clearing",
        why: "Each page table entry is cleared, the TLB is flushed, and each page is freed. \
              Allocators do this to reduce their resident size; the next touch costs \
              fault/zero-fill again.",
        calls: &[exactly("madvise", 1)],
        floor: &[at_least(1, NULL_CALL)],
        axes: &[call_size("bytes freed")],
        needs: &[SMALL_PAGES, MEMORY],
        source: "madvise(2); mm/madvise.c",
        build: |params| body::dontneed(params.number("size") as usize),
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/mremap",
        asks: "What does moving pages to another address without copying them cost?",
        op: "mremap(2) of `size` bytes, every page of which is present, onto another mapping of \
             the worker; the next op moves them back. The old range stays mapped and empty \
             (MREMAP_DONTUNMAP), and both keep their page tables below 2 MiB. Not included: \
             mapping, touching, and checking that they have arrived.",
        expected: "2 us for a page, 20 ns more for each further one; 2 MiB at a time by moving \
                   their page table as a whole, where the kernel does that",
        why: "realloc(3) grows large blocks this way: the page table entries move, the bytes do \
              not. A copy would have cost memory/copy.",
        calls: &[exactly("mremap", 1)],
        floor: &[at_least(1, NULL_CALL)],
        axes: &[call_size("bytes moved")],
        needs: &[SMALL_PAGES, MEMORY],
        in_price_list: false,
        source: "mremap(2); mm/mremap.c",
        build: |params| body::mremap(params.number("size") as usize),
        rev: 2,
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/clear",
        asks: "What does zeroing a block of memory cost?",
        op: "one page-aligned block of `size` bytes, repeatedly: as warm as a block of that size \
             stays. by=string is the processor's string instruction (rep stosb; on aarch64 pairs \
             of registers), by=library memset of the C library; plus the loop over the ops, a few \
             core cycles. Not included: mapping and the first touch.",
        expected: "25 ns for 4096 bytes: 64 bytes per core cycle and the startup of the \
                   instruction",
        why: "What a kernel does to every fresh page, at its cheapest: in the first-level cache.",
        axes: &[
            Axis {
                name: "size",
                sets: "block size in bytes",
                points: Points::Numbers(&[64, 512, 4_096, 65_536, 2_097_152, 67_108_864]),
                default_points: Points::Numbers(&[4_096]),
            },
            Axis {
                name: "by",
                sets: "how it is zeroed",
                points: Points::Words(&["library", "string"]),
                default_points: Points::Words(&["string"]),
            },
        ],
        needs: &[SMALL_PAGES, Need::resource(Resource::Memory(160)).when(&[("size", "67108864")])],
        source: "memset(3); arch/x86/lib/clear_page_64.S",
        build: |params| {
            let mut blocks = Blocks::new(params.number("size") as usize)?;
            let by = if params.word("by") == "library" {
                CopyMethod::Library
            } else {
                CopyMethod::String
            };
            Ok(Work::with_loop(move || {
                blocks.clear(by);
                Ok(())
            }))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/copy",
        asks: "What does copying a block of memory cost?",
        op: "a copy of `size` bytes from one block to another, both page-aligned, repeatedly: as \
             warm as two blocks of that size stay. by=library is memcpy of the C library, \
             by=string the processor's string instruction (rep movsb; on aarch64 one byte at a \
             time), by=registers a loop of 256 bytes per iteration, with registers of 32 bytes \
             where the processor has AVX2 and of 16 elsewhere, by=stream the same with \
             non-temporal stores and a fence; both copy the remainder with by=string. Except for \
             by=string the loop over the ops, a few core cycles, is included. Pages of 4 KiB. Not \
             included: mapping and the first touch.",
        expected: "35 ns for 4096 bytes by all except by=stream, which takes 200; from the size on \
                   that no cache holds 10 GB/s, and by=stream one and a half times that",
        why: "Programs, file systems and kernels move bytes this way, and cannot be faster than \
              this. For small copies the startup dominates; for large ones the bandwidth of the \
              cache that holds both blocks. A non-temporal store saves reading a line only to \
              overwrite it, and loses what a cache would have kept.",
        axes: &[
            Axis {
                name: "size",
                sets: "block size in bytes",
                points: Points::Numbers(&[
                    8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768,
                    65_536, 131_072, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
                ]),
                default_points: Points::Numbers(&[4_096]),
            },
            Axis {
                name: "by",
                sets: "how it is copied",
                points: Points::Words(&["library", "string", "registers", "stream"]),
                default_points: Points::Words(&["string"]),
            },
        ],
        needs: &[SMALL_PAGES, Need::resource(Resource::Memory(160)).when(&[("size", "67108864")])],
        source: "memcpy(3); lmbench bw_mem",
        build: copy,
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/latency",
        asks: "How long does a dependent load take, by working-set size?",
        op: "one load of the next line's address, in a cycle through every line of `size` bytes, \
             in an order that no prefetcher predicts. Not included: building the cycle; loop \
             overhead, which overlaps with every load.",
        expected: "1 ns in the first-level cache, 4 in the second, 15 in the third, 100 in memory; \
                   with huge pages the same within the reach of the TLB, and a third less beyond \
                   it",
        why: "Each load waits for the previous one, so nothing overlaps: the figure is the latency \
              of the cache, or of the memory, that holds `size` bytes. Beyond the reach of the TLB \
              each load also walks the page table, which is shorter with huge pages.",
        axes: &[
            Axis {
                name: "size",
                sets: "bytes in the cycle",
                points: Points::Numbers(&[
                    4_096,
                    8_192,
                    16_384,
                    32_768,
                    65_536,
                    131_072,
                    262_144,
                    524_288,
                    1_048_576,
                    2_097_152,
                    4_194_304,
                    8_388_608,
                    16_777_216,
                    33_554_432,
                    67_108_864,
                    134_217_728,
                    268_435_456,
                    536_870_912,
                    1_073_741_824,
                ]),
                default_points: Points::Numbers(&[16_384, 524_288, 8_388_608, 134_217_728]),
            },
            Axis {
                name: "pages",
                sets: "pages of 4 KiB, or transparent huge pages (MADV_HUGEPAGE)",
                points: Points::Words(&["4k", "thp"]),
                default_points: Points::Words(&["4k", "thp"]),
            },
        ],
        needs: &[
            SMALL_PAGES,
            THP,
            MEMORY,
            Need::resource(Resource::Memory(160)).when(&[("size", "134217728")]),
            Need::resource(Resource::Memory(320)).when(&[("size", "268435456")]),
            Need::resource(Resource::Memory(640)).when(&[("size", "536870912")]),
            Need::resource(Resource::Memory(1_200)).when(&[("size", "1073741824")]),
        ],
        in_price_list: false,
        source: "lmbench lat_mem_rd; Drepper, What every programmer should know about memory, 2007",
        build: |params| {
            body::latency(params.number("size") as usize, params.word("pages") == "thp")
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/bandwidth",
        asks: "How many bytes per second can one CPU read, write and copy, by working-set size?",
        op: "bytes read into registers (act=read), written from them (act=write), copied to a \
             second block of the same size (act=copy), or copied with non-temporal stores and a \
             fence (act=stream): repeatedly through blocks of `size` bytes, 256 bytes per \
             iteration, with registers of 32 bytes where the processor has AVX2 and of 16 \
             elsewhere; pages of 4 KiB. A copied byte counts once. Not included: mapping and the \
             first touch; fixed costs of a batch, which the slope over once and twice the bytes \
             removes.",
        expected: "200 GB/s read and 130 written from the first-level cache; 20 GB/s read and 10 \
                   written or copied from memory, 15 with non-temporal stores",
        why: "The slope against bytes is what a long stream gets from the cache that holds it. An \
              ordinary store reads the line before it overwrites it, so a copy moves three bytes \
              for each one; with non-temporal stores it moves two.",
        unit: Unit::BytesPerSecond,
        axes: &[
            Axis {
                name: "act",
                sets: "operation",
                points: Points::Words(&["read", "write", "copy", "stream"]),
                default_points: Points::Words(&["read", "write", "copy", "stream"]),
            },
            Axis {
                name: "size",
                sets: "block size in bytes",
                points: Points::Numbers(&[
                    4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
                ]),
                default_points: Points::Numbers(&[16_384, 67_108_864]),
            },
        ],
        needs: &[SMALL_PAGES, Need::resource(Resource::Memory(160)).when(&[("size", "67108864")])],
        in_price_list: false,
        source: "lmbench bw_mem; STREAM (McCalpin 1995)",
        build: |params| {
            let mut blocks = Blocks::new(params.number("size") as usize)?;
            let act = match params.word("act") {
                "read" => BlockOperation::Read,
                "write" => BlockOperation::Write,
                "copy" => BlockOperation::Copy,
                _ => BlockOperation::Stream,
            };
            Ok(Work::transfer(move |bytes| {
                blocks.transfer(act, bytes);
                Ok(())
            }))
        },
        ..Bench::DEFAULT
    },
    map_file::MAP_FILE,
    map_library::MAP_LIBRARY,
    calls::MADVISE,
    calls::MLOCK,
    calls::MINCORE,
    calls::MERGE,
    calls::PROCESS_VM_READV,
    calls::MALLOC,
    cache::TLB,
    cache::LINE_TRANSFER,
    stream::STREAM,
    nodes::MOVE_PAGES,
    nodes::POLICY,
];

/// by=string, the floor of other copies, is compiled separately and unrolled: next to a copy of 8
/// bytes a branch per op would show.
fn copy(params: Params<'_>) -> Result<Work, Errno> {
    let mut blocks = Blocks::new(params.number("size") as usize)?;
    let by = match params.word("by") {
        "library" => CopyMethod::Library,
        "registers" => CopyMethod::Registers,
        "stream" => CopyMethod::Stream,
        _ => {
            return Ok(Work::repeat(move || {
                blocks.copy(CopyMethod::String);
                Ok(())
            }));
        }
    };
    Ok(Work::with_loop(move || {
        blocks.copy(by);
        Ok(())
    }))
}
