//! Mappings, and what memory itself gives: the floors of everything that copies.

use std::cell::Cell;
use std::rc::Rc;

use crate::kernel::memory::blocks::{Act, Blocks, By};
use crate::kernel::memory::region::{Heap, Pages, Region};

use super::prelude::*;

mod body;

pub(super) const FAMILY: Family = Family {
    name: "memory",
    about: "what it costs to change a mapping, and how fast memory itself is",
    benches: BENCHES,
};

/// What the mappings of the calls take, all of their pages touched.
const ROOM: Need = Need::resource(Resource::Memory(80));
const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);
const THP: Need = Need::resource(Resource::TransparentHugePages).when(&[("pages", "thp")]);

/// Bytes that a call is about.
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
        asks: "What does it cost to map fresh memory and to give it back untouched?",
        op: "mmap(2) of `size` bytes, private and anonymous, and munmap(2). No page of it is \
             touched. Outside: nothing.",
        expected: "1 us for both at any size: a mapping is a note, and nobody has come for its \
                   pages",
        why: "The kernel finds a gap, notes the mapping in its tree, and takes the note out again. \
              How large it is shows nowhere, until its pages are touched (fault/zero-fill, \
              map=inside).",
        calls: &[exactly("mmap", 1), exactly("munmap", 1)],
        floor: &[at_least(2, "syscall/getppid:via=raw")],
        axes: &[call_size("bytes mapped")],
        needs: &[SMALL_PAGES, ROOM],
        source: "mmap(2); lmbench lat_mmap",
        build: |at| {
            let bytes = at.number("size") as usize;
            Ok(Work::with_loop(move || Region::at_hint(0, bytes, Pages::Small, 0)?.unmap()))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/mprotect",
        asks: "What does it cost to take away the right to write to memory, and to give it back?",
        op: "mprotect(2) of `size` bytes to read only, and mprotect(2) back; every page of them is \
             there and has been written to. Outside: mapping and touching.",
        expected: "1 us for a page; 15 ns more for each further page, since both ways each entry of \
                the page table is changed",
        why: "The kernel walks the page table twice, changes each entry, and makes every CPU that \
              runs the program forget its translations: with more threads on more CPUs that is an \
              interrupt to each of them.",
        calls: &[exactly("mprotect", 2)],
        floor: &[at_least(2, "syscall/getppid:via=raw")],
        axes: &[call_size("bytes whose right changes")],
        needs: &[SMALL_PAGES, ROOM],
        source: "mprotect(2); mm/mprotect.c",
        build: |at| {
            let region = body::touched(at.number("size") as usize)?;
            Ok(Work::with_loop(move || {
                region.allow_writing(false)?;
                region.allow_writing(true)
            }))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/brk",
        asks: "What does it cost to grow the heap and to shrink it again?",
        op: "brk(2) to `size` bytes beyond the heap's end, and brk(2) back; both ends are what was \
             asked for. No page of it is touched. Outside: nothing.",
        expected: "as memory/mmap-munmap, 800 ns: the oldest way to the same note",
        why: "The heap is a mapping that only grows at its end: the kernel lengthens the note and \
              cuts it off again.",
        calls: &[exactly("brk", 2)],
        floor: &[at_least(2, "syscall/getppid:via=raw")],
        axes: &[call_size("bytes by which it grows")],
        needs: &[SMALL_PAGES, ROOM],
        source: "brk(2); mm/mmap.c",
        build: |at| {
            let bytes = at.number("size");
            // Where it ends is looked up before each batch: the library may have moved it since.
            let heap = Rc::new(Cell::new(Heap::here()?));
            heap.get().grow_and_shrink(bytes)?;
            let end = Rc::clone(&heap);
            let work = Work::with_loop(move || heap.get().grow_and_shrink(bytes));
            Ok(work.with_preparation(move |_| Heap::here().map(|now| end.set(now))))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/dontneed",
        asks: "What does it cost to give pages back but keep the mapping?",
        op: "madvise(2) MADV_DONTNEED of `size` bytes, every page of which is there; each byte of \
             the mapping in its turn. Outside: touching them again, and looking that they were gone \
             (mincore(2)).",
        expected: "300 ns for a page, 60 ns more for each further one: a fault's accounts backwards, \
                without the clearing",
        why: "Each entry of the page table is emptied, the CPU forgets its translation, and each \
              page goes back to the free ones. Allocators do this to look small; the next touch \
              pays fault/zero-fill again.",
        calls: &[exactly("madvise", 1)],
        floor: &[at_least(1, "syscall/getppid:via=raw")],
        axes: &[call_size("bytes given back")],
        needs: &[SMALL_PAGES, ROOM],
        source: "madvise(2); mm/madvise.c",
        build: |at| body::dontneed(at.number("size") as usize),
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/mremap",
        asks: "What does it cost to move pages to another address without copying them?",
        op: "mremap(2) of `size` bytes, every page of which is there, onto another mapping of \
             ours; the next op moves them back. The range that was left stays mapped and empty \
             (MREMAP_DONTUNMAP). Outside: mapping, touching, and a look whether they have arrived.",
        expected: "2 us for a page, 20 ns more for each further one; 2 MiB at a time by moving their \
                page table whole, where the kernel does that",
        why: "This is how realloc(3) grows large blocks: the entries of the page table move, the \
              bytes do not. What a copy would have cost is memory/copy.",
        calls: &[exactly("mremap", 1)],
        floor: &[at_least(1, "syscall/getppid:via=raw")],
        axes: &[call_size("bytes moved")],
        needs: &[SMALL_PAGES, ROOM],
        source: "mremap(2); mm/mremap.c",
        build: |at| body::mremap(at.number("size") as usize),
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/clear",
        asks: "What does it cost to fill a block of memory with zeros?",
        op: "one block of `size` bytes at the beginning of a page, over and over: as warm as a \
             block of that size stays. by=string is the processor's own instruction (rep stosb; on \
             aarch64 pairs of registers), by=library the C library's memset; and the loop \
             over the ops, a few core cycles. Outside: mapping and the first touch.",
        expected: "25 ns for 4096 bytes: 64 bytes a core cycle and the instruction's start",
        why: "What a kernel does to every fresh page, at its cheapest: into the first cache.",
        axes: &[
            Axis {
                name: "size",
                sets: "bytes of the block",
                points: Points::Numbers(&[64, 512, 4_096, 65_536, 2_097_152, 67_108_864]),
                default_points: Points::Numbers(&[4_096]),
            },
            Axis {
                name: "by",
                sets: "by what it is filled",
                points: Points::Words(&["library", "string"]),
                default_points: Points::Words(&["string"]),
            },
        ],
        needs: &[SMALL_PAGES, Need::resource(Resource::Memory(160)).when(&[("size", "67108864")])],
        source: "memset(3); arch/x86/lib/clear_page_64.S",
        build: |at| {
            let mut blocks = Blocks::new(at.number("size") as usize)?;
            let by = if at.word("by") == "library" { By::Library } else { By::String };
            Ok(Work::with_loop(move || {
                blocks.clear(by);
                Ok(())
            }))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/copy",
        asks: "What does it cost to copy a block of memory?",
        op: "a copy of `size` bytes from one block to another, each at the beginning of a page, \
             over and over: as warm as two blocks of that size stay. by=library is the C library's \
             memcpy, by=string the processor's own instruction (rep movsb; on aarch64 a byte at a \
             time), by=registers a loop of 256 bytes a turn, over registers of 32 bytes where the \
             processor has AVX2 and of 16 elsewhere, by=stream the same with stores past the \
             caches and a fence; what either leaves over is by=string. But for by=string the loop \
             over the ops, a few core cycles, is inside. Pages of 4 KiB. Outside: mapping and the first \
             touch.",
        expected: "35 ns for 4096 bytes by any of them but past the caches, which takes 200; from the \
                size on that no cache holds 10 GB/s, and past the caches half as much again",
        why: "Whatever moves bytes between programs, files and kernels moves them so, and cannot \
              be cheaper than this. Small copies are their start; large ones are the bandwidth of \
              the cache that holds both blocks. A store past the caches saves fetching a line only \
              to overwrite it, and loses what a cache would have kept.",
        axes: &[
            Axis {
                name: "size",
                sets: "bytes of the block",
                points: Points::Numbers(&[
                    8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768,
                    65_536, 131_072, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
                ]),
                default_points: Points::Numbers(&[4_096]),
            },
            Axis {
                name: "by",
                sets: "by what it is copied",
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
        asks: "How long does a load take whose address the last load gave, by how much memory is \
               in use?",
        op: "one load of the next line's address, in a cycle through every line of `size` bytes, \
             in an order that no prefetcher knows. Outside: laying the cycle; the loop, beside \
             which every load runs.",
        expected: "1 ns in the first cache, 4 in the second, 15 in the third, 100 in memory; with \
                huge pages the same within the reach of the translation cache, and a third less \
                beyond it",
        why: "One load waits for the other, so nothing overlaps: what shows is the distance to the \
              cache, or to the memory, that holds `size` bytes. Beyond what the translation cache \
              covers each load also walks the page table, which huge pages make short.",
        axes: &[
            Axis {
                name: "size",
                sets: "bytes that the cycle goes through",
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
            ROOM,
            Need::resource(Resource::Memory(160)).when(&[("size", "134217728")]),
            Need::resource(Resource::Memory(320)).when(&[("size", "268435456")]),
            Need::resource(Resource::Memory(640)).when(&[("size", "536870912")]),
            Need::resource(Resource::Memory(1_200)).when(&[("size", "1073741824")]),
        ],
        in_price_list: false,
        source: "lmbench lat_mem_rd; Drepper, What every programmer should know about memory, 2007",
        build: |at| body::latency(at.number("size") as usize, at.word("pages") == "thp"),
        ..Bench::DEFAULT
    },
    Bench {
        id: "memory/bandwidth",
        asks: "How many bytes a second does one CPU read, write and copy, by how much memory is in \
               use?",
        op: "bytes read into registers (act=read), written from them (act=write), copied to a \
             second block as large (act=copy), or copied with stores past the caches and a fence \
             (act=stream): round and round through blocks of `size` bytes, 256 bytes a turn, over \
             registers of 32 bytes where the processor has AVX2 and of 16 elsewhere; pages of 4 \
             KiB. A byte copied counts once. Outside: mapping and the first touch; all that is \
             fixed a batch, which the slope over once and twice the bytes takes out.",
        expected: "200 GB/s read and 130 written from the first cache; 20 GB/s read and 10 written or \
                copied from memory, 15 past the caches",
        why: "The slope against bytes: what a long stream gets from the cache that holds it. To \
              write a line an ordinary store fetches it first, so that a copy moves three bytes \
              for each one; a store past the caches moves two.",
        unit: oscost_model::unit::Unit::BytesPerSecond,
        axes: &[
            Axis {
                name: "act",
                sets: "what is done with the bytes",
                points: Points::Words(&["read", "write", "copy", "stream"]),
                default_points: Points::Words(&["read", "write", "copy", "stream"]),
            },
            Axis {
                name: "size",
                sets: "bytes of a block",
                points: Points::Numbers(&[
                    4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
                ]),
                default_points: Points::Numbers(&[16_384, 67_108_864]),
            },
        ],
        needs: &[SMALL_PAGES, Need::resource(Resource::Memory(160)).when(&[("size", "67108864")])],
        in_price_list: false,
        source: "lmbench bw_mem; STREAM (McCalpin 1995)",
        build: |at| {
            let mut blocks = Blocks::new(at.number("size") as usize)?;
            let act = match at.word("act") {
                "read" => Act::Read,
                "write" => Act::Write,
                "copy" => Act::Copy,
                _ => Act::Stream,
            };
            Ok(Work::transfer(move |bytes| {
                blocks.transfer(act, bytes);
                Ok(())
            }))
        },
        ..Bench::DEFAULT
    },
];

/// The floor of other copies is compiled by itself and unrolled: next to a copy of 8 bytes a choice
/// at each op shows.
fn copy(at: Params<'_>) -> Result<Work, Errno> {
    let mut blocks = Blocks::new(at.number("size") as usize)?;
    let by = match at.word("by") {
        "library" => By::Library,
        "registers" => By::Registers,
        "stream" => By::Stream,
        _ => {
            return Ok(Work::repeat(move || {
                blocks.copy(By::String);
                Ok(())
            }));
        }
    };
    Ok(Work::with_loop(move || {
        blocks.copy(by);
        Ok(())
    }))
}
