//! The first touch of anonymous pages.

use super::super::prelude::*;
use super::walk::{self, MEMORY, ORDER, SMALL_PAGES};

const MAPPING_OF_HUGE_PAGES: Need =
    Need::not_applicable("of huge pages the mapping has 8 MiB, or 64 if they are read");
const TIMED_ALONE: Need = Need::not_applicable(
    "touches are timed one by one only where they write to pages of 4 KiB in ascending order, in a \
     mapping that is not made in the op",
);
/// 64 MiB, and 16 of the walk.
const MEMORY_OF_WALK: Need = Need::resource(Resource::Memory(96));

pub(super) const ZERO_FILL: Bench = Bench {
    id: "fault/zero-fill",
    asks: "What does the first touch of an anonymous page cost?",
    op: "one byte written to (access=write), or read from, one 4 KiB page of a private \
         anonymous mapping of 8 MiB, each page of which is touched once: the fault and its \
         return. A batch touches the next pages of the mapping; with huge pages one fault \
         serves 512 of them, and the figure is still per 4 KiB. Not included: mmap(2), \
         madvise(2) and munmap(2), and one pass over as much memory before, so that a \
         hypervisor does not have to back what the kernel allocates. With map=inside a batch \
         is whole mappings of 2 MiB: mmap, for pages=thp madvise, every page touched, munmap; \
         divided by the 512 pages. pages=4k disables huge pages. Reading with pages=thp takes \
         64 MiB, since one huge zero page serves all of them. With mapping_mib=64 the mapping has \
         64 MiB with pages of 4 KiB, too. With between=clock and between=walk each touch is timed \
         alone, in the second half of the mapping, whose first half is touched before, untimed. \
         With between=walk, untimed, before each touch 16,384 lines of other memory are read, one \
         in each KiB of 16 MiB of small pages, in random order, eight reads at a time: some \
         70 us. After it the code and data of the process that the touch needs are brought \
         back, without a touch: what is displaced is the kernel's. What reading the clock takes \
         in an empty interval is subtracted; what its fences keep apart, some tens of ns, is in \
         the figures of both. A process times some twenty touches in a row, and its value is \
         their median: what few of them take is left out, which is the refill of the CPU's list \
         of free pages (one touch in 63) and a new page of the page table (one in 512).",
    expected: "300 ns per write: 100 for the trap, 100 for allocating and accounting the page, \
               50 and more for clearing it; in a guest, whose addresses go through the \
               hypervisor's page tables as well, 1 to 2 us; a read maps the zero page for half \
               of that; with huge pages a write costs 80 ns per 4 KiB, nearly all of it \
               clearing, and a read next to nothing; map=inside adds 50 ns per page, nearly \
               all of it munmap; mapping_mib=64 adds 400 to 500 ns per write where the last \
               level of cache has 32 MiB, and nothing per read; between=clock adds some tens of \
               ns, and between=walk 1 to 1.5 us more in a guest, so that a write takes 3.4 to 4.3 us \
               there with mapping_mib=64",
    why: "The processor finds no page table entry and traps into the kernel, which finds the \
          mapping of the address, allocates a free page, clears it, charges it to its control \
          group and installs it. A read needs no page of its own: the shared zero page is \
          mapped. A huge page is one trap for 512 times the memory: the trap becomes \
          negligible, the clearing remains. The pages of a mapping that was removed are given \
          to the next one: of 8 MiB the caches still hold the pages and their structures, of 64 \
          a part or nothing, as of the pages of a program that touches much memory once. Between \
          two touches such a program works on its data: after a walk through memory the kernel's \
          code and data come from the last level of cache, and the processor has lost the \
          translations of their addresses (TLB). It walks the page tables, in a guest each level \
          by the hypervisor's tables too, up to 24 reads for one address. A walk through data \
          does not displace everything: the kernel's code stays in the first-level cache of \
          code, and its translations in a TLB of code that is separate from that of data. On an \
          EPYC with Linux \
          6.18, in C, a first touch took 2.2 us after a walk through 1 MiB, 2.7 us after 4 MiB, \
          and 3.1 us after 1 MiB of lines that are spread over 16 MiB.",
    calls: &[
        once_per(512, "mmap").when(&[("map", "inside")]),
        once_per(512, "munmap").when(&[("map", "inside")]),
        once_per(512, "madvise").when(&[("map", "inside"), ("pages", "thp")]),
    ],
    floor: &[
        at_least(1, "memory/clear:size=4096,by=string").when(&[("access", "write")]),
        at_least(1, "fault/zero-fill:access=read,pages=4k,map=outside,order=ascending").when(&[
            ("access", "write"),
            ("pages", "4k"),
            ("map", "outside"),
            ("order", "ascending"),
        ]),
    ],
    axes: &[
        Axis {
            name: "access",
            sets: "how a page is touched",
            points: Points::Words(&["write", "read"]),
            default_points: Points::Words(&["write", "read"]),
        },
        Axis {
            name: "pages",
            sets: "pages of 4 KiB, transparent huge pages (MADV_HUGEPAGE), or huge pages from \
                   the pool (MAP_HUGETLB)",
            points: Points::Words(&["4k", "thp", "hugetlb"]),
            default_points: Points::Words(&["4k", "thp"]),
        },
        Axis {
            name: "map",
            sets: "whether mapping and unmapping are included",
            points: Points::Words(&["outside", "inside"]),
            default_points: Points::Words(&["outside"]),
        },
        ORDER,
        Axis {
            name: "mapping_mib",
            sets: "MiB of the mapping, and so whether a cache still holds the page that a touch \
                   gets; 64: hardly, as in a program that touches much memory; implied: usual, \
                   8 of pages of 4 KiB, which were freed lately and are in a cache",
            points: Points::Numbers(&[64]),
            default_points: Points::Implied("usual"),
        },
        Axis {
            name: "between",
            sets: "what the process does between two touches; implied: nothing, so that they are \
                   timed together; clock: it reads the clock, so that each is timed alone; walk: \
                   it also reads 16,384 lines in 4,096 other pages, as a program does that works \
                   on its data",
            points: Points::Words(&["nothing", "clock", "walk"]),
            default_points: Points::Implied("nothing"),
        },
    ],
    needs: &[
        SMALL_PAGES,
        MEMORY,
        MEMORY_OF_WALK.when(&[("between", "walk")]),
        TIMED_ALONE.when(&[("access", "read"), ("between", "clock")]),
        TIMED_ALONE.when(&[("access", "read"), ("between", "walk")]),
        TIMED_ALONE.when(&[("pages", "thp"), ("between", "clock")]),
        TIMED_ALONE.when(&[("pages", "thp"), ("between", "walk")]),
        TIMED_ALONE.when(&[("pages", "hugetlb"), ("between", "clock")]),
        TIMED_ALONE.when(&[("pages", "hugetlb"), ("between", "walk")]),
        TIMED_ALONE.when(&[("map", "inside"), ("between", "clock")]),
        TIMED_ALONE.when(&[("map", "inside"), ("between", "walk")]),
        TIMED_ALONE.when(&[("order", "random"), ("between", "clock")]),
        TIMED_ALONE.when(&[("order", "random"), ("between", "walk")]),
        MAPPING_OF_HUGE_PAGES.when(&[("pages", "thp"), ("mapping_mib", "64")]),
        MAPPING_OF_HUGE_PAGES.when(&[("pages", "hugetlb"), ("mapping_mib", "64")]),
        Need::not_applicable("a mapping that is mapped in the op has 2 MiB")
            .when(&[("map", "inside"), ("mapping_mib", "64")]),
        Need::resource(Resource::TransparentHugePages).when(&[("pages", "thp")]),
        Need::resource(Resource::HugePages(8)).when(&[("pages", "hugetlb")]),
        Need::not_applicable(
            "in random order nearly every touch hits a huge page that is already mapped",
        )
        .when(&[("pages", "thp"), ("order", "random")]),
        Need::not_applicable(
            "in random order nearly every touch hits a huge page that is already mapped",
        )
        .when(&[("pages", "hugetlb"), ("order", "random")]),
    ],
    source: "study sunos-1999, section 5; arch/x86/mm/fault.c exc_page_fault(); mm/memory.c \
             do_anonymous_page()",
    build: walk::zero_fill,
    ..Bench::DEFAULT
};
