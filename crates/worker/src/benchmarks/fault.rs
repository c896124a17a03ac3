//! Touching pages that are not there yet.

use crate::kernel::memory::protection_fault::Forbidden;

use super::prelude::*;

mod claim;
mod cold;
mod prefault;
mod walk;

pub(super) const FAMILY: Family = Family {
    name: "fault",
    about: "what it costs to touch a page that is not there yet, or not ours to write",
    benches: BENCHES,
};

const ORDER: Axis = Axis {
    name: "order",
    sets: "in which order the pages of the mapping are touched",
    points: Points::Words(&["ascending", "random"]),
    default_points: Points::Words(&["ascending"]),
};

/// What every mapping here takes: the largest is 64 MiB.
const ROOM: Need = Need::resource(Resource::Memory(80));
const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

/// A helper is asked, and has answered, once in so many pages.
macro_rules! asked {
    ($call:literal, $helper:literal, $pages:literal, $chunk:literal) => {
        once_per($pages, $call).when(&[("prefault", $helper), ("cost", "total"), ("chunk", $chunk)])
    };
}

const BENCHES: &[Bench] = &[
    Bench {
        id: "fault/zero-fill",
        asks: "What does the first touch of a page of fresh memory cost?",
        op: "one byte written to (access=write), or read from, one 4 KiB page of a private \
             anonymous mapping of 8 MiB, each page of which is touched once: the fault, and going \
             on. A batch touches the next pages of the mapping; with huge pages one fault serves \
             512 of them, and the figure is still that of 4 KiB. Outside: mmap(2), madvise(2) and \
             munmap(2), and one round through as much memory, so that no hypervisor has yet to back \
             what the kernel hands out. With map=inside a batch is whole mappings of 2 MiB: mmap, for pages=thp \
             madvise, every page touched, munmap; shared out over the 512 pages. pages=4k rules \
             out huge ones. Reading pages=thp takes 64 MiB, since one page of zeros serves them \
             all.",
        expected: "300 ns a write: 100 for the trap, 100 for the page and its accounts, 50 and more \
                for clearing it; a read maps the page of zeros for half of that; by huge pages a \
                write costs 80 ns per 4 KiB, nearly all of it clearing, and a read next to \
                nothing; mapping inside adds 50 ns per page, nearly all of it munmap's",
        why: "The processor finds no page table entry and traps into the kernel, which finds the \
              mapping that the address belongs to, takes a free page, clears it, charges it to its \
              control group and enters it. A read needs no page of its own: the one page of zeros \
              that all share is entered. A huge page is one trap for 512 times the memory: the \
              trap vanishes, the clearing stays.",
        calls: &[
            once_per(512, "mmap").when(&[("map", "inside")]),
            once_per(512, "munmap").when(&[("map", "inside")]),
            once_per(512, "madvise").when(&[("map", "inside"), ("pages", "thp")]),
        ],
        floor: &[
            at_least(1, "memory/clear:size=4096,by=string").when(&[("access", "write")]),
            at_least(1, "fault/zero-fill:access=read,pages=4k,map=outside,order=ascending").when(
                &[("access", "write"), ("pages", "4k"), ("map", "outside"), ("order", "ascending")],
            ),
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
                sets: "pages of 4 KiB, transparent huge pages (MADV_HUGEPAGE), huge pages out of \
                       the pool (MAP_HUGETLB)",
                points: Points::Words(&["4k", "thp", "hugetlb"]),
                default_points: Points::Words(&["4k", "thp"]),
            },
            Axis {
                name: "map",
                sets: "whether mapping and unmapping are inside the clock",
                points: Points::Words(&["outside", "inside"]),
                default_points: Points::Words(&["outside"]),
            },
            ORDER,
        ],
        needs: &[
            SMALL_PAGES,
            ROOM,
            Need::resource(Resource::TransparentHugePages).when(&[("pages", "thp")]),
            Need::resource(Resource::HugePages(8)).when(&[("pages", "hugetlb")]),
            Need::not_applicable(
                "in random order nearly every touch meets a huge page that is there",
            )
            .when(&[("pages", "thp"), ("order", "random")]),
            Need::not_applicable(
                "in random order nearly every touch meets a huge page that is there",
            )
            .when(&[("pages", "hugetlb"), ("order", "random")]),
        ],
        source: "study sunos-1999, section 5; mm/memory.c do_anonymous_page()",
        build: walk::zero_fill,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/copy-on-write",
        asks: "What does the first write to a page cost that fork(2) has made shared?",
        op: "one byte written to a 4 KiB page of an anonymous mapping of 8 MiB that was written \
             before a fork, each page once: the fault, the copy, and going on. With child=exited \
             the child is gone by then, and the page is ours alone again: the same fault without a \
             copy. Outside: the fork, the child's end, and the first page after each fork.",
        expected: "400 ns with a copy, more than a fresh page, since a page is read as well as \
                written; without the copy the bare trap shows: 150 ns",
        why: "fork(2) takes the right to write from both; whoever writes first traps. While the \
              other still lives the kernel takes a free page, copies 4096 bytes into it, and makes \
              this CPU forget the old translation. When the other is gone, it only gives the right \
              back: that is close to what any fault costs before it does anything.",
        floor: &[at_least(1, "memory/copy:size=4096,by=string").when(&[("child", "lives")])],
        axes: &[
            Axis {
                name: "child",
                sets: "whether the child still holds the pages",
                points: Points::Words(&["lives", "exited"]),
                default_points: Points::Words(&["lives"]),
            },
            ORDER,
        ],
        needs: &[SMALL_PAGES, ROOM],
        source: "fork(2); mm/memory.c do_wp_page()",
        build: walk::copy_on_write,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/file-minor",
        asks: "What does the first touch of a mapped file's page cost that lies in the cache?",
        op: "one byte read from a private mapping of 8 MiB of a file all of whose pages are cached \
             (mincore(2) looked, untimed). The kernel maps up to 16 pages around the one that was \
             asked for: with stride=65536 every touch faults and gets 16 pages, with stride=4096 \
             every page is touched and one in 16 faults. Outside: mmap(2) and munmap(2).",
        expected: "600 ns for a fault that maps 16 pages; so 40 ns for each page of a walk",
        why: "The page is there: the kernel looks it up in the file's cache and enters it, and its \
              neighbours with it, since the trap is paid already (mm/filemap.c, \
              filemap_map_pages). No page is taken, none is cleared, none is copied.",
        axes: &[Axis {
            name: "stride",
            sets: "bytes from one touch to the next",
            points: Points::Numbers(&[4_096, 65_536]),
            default_points: Points::Numbers(&[65_536]),
        }],
        needs: &[SMALL_PAGES, ROOM, Need::resource(Resource::ScratchFile(16))],
        source: "mmap(2); study sunos-1999, section 6; mm/memory.c do_fault_around()",
        build: walk::cached_file,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/file-major",
        asks: "What does the touch of a mapped file's page cost that must come from the disk?",
        op: "one byte read from a mapped file's page that was dropped from the mapping and from \
             the cache just before (posix_fadvise DONTNEED; mincore(2) looked), each page in its \
             turn, in random order, in a file of 4 MiB: the fault, the disk, and going on. With \
             readahead=off (MADV_RANDOM) one page is fetched, with readahead=on its neighbourhood. \
             Outside: writing the file and its way to the disk; the eviction. It is cold for this \
             kernel alone: a hypervisor's cache or the disk's own may well hold it.",
        expected: "80 us from a virtual disk whose host has it cached; with readahead twice that, for \
                128 KiB",
        why: "The thread sleeps until a disk has answered: the fault is a small part of it. The \
              figure is the disk's, its queue's, and that of two switches.",
        axes: &[Axis {
            name: "readahead",
            sets: "whether the kernel fetches what lies around the page",
            points: Points::Words(&["off", "on"]),
            default_points: Points::Words(&["off"]),
        }],
        needs: &[
            SMALL_PAGES,
            ROOM,
            Need::resource(Resource::ScratchFile(16)),
            Need::resource(Resource::ScratchOnDisk),
        ],
        in_price_list: false,
        switches: true,
        major_faults: true,
        source: "posix_fadvise(2), mincore(2); mm/filemap.c filemap_fault()",
        build: cold::evicted_file,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/protection",
        asks: "What does a forbidden write cost that a handler hears of?",
        op: "a store to a page mapped for reading only; the trap; the kernel's refusal as SIGSEGV; \
             an empty handler; rt_sigreturn(2) to the store, which fails again: that is the next \
             op. At the end of a batch the handler turns the store's address to a page that may be \
             written. Outside: mmap(2), mprotect(2), sigaction(2).",
        expected: "700 ns: a trap, a signal frame written and read with all vector registers, and a \
                system call",
        why: "This is how garbage collectors, checkpointers and sandboxes watch memory. Dearer \
              than the fault is the message: the kernel saves all registers on the program's \
              stack, runs the handler, and fetches them back when it returns by a system call of \
              its own.",
        calls: &[exactly("rt_sigreturn", 1)],
        floor: &[at_least(1, "syscall/getppid:via=raw")],
        needs: &[SMALL_PAGES],
        source: "mprotect(2), sigaction(2), rt_sigreturn(2); lmbench lat_sig prot",
        build: |_| {
            let page = Forbidden::new()?;
            Ok(Work::from_body(Shape::WithLoop, Protection { page }))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/userfaultfd",
        asks: "What does a fault cost that another thread of the program resolves?",
        op: "one byte written to a missing 4 KiB page of a mapping of 8 MiB, each page once; a \
             thread of our own waits in read(2) of a userfaultfd, hears of it, and fills the page \
             in (UFFDIO_COPY); the writer goes on. Outside: registering, and dropping the pages \
             (madvise DONTNEED).",
        expected: "5 us on one CPU: two switches, a read and an ioctl; on two CPUs what waking a CPU \
                costs twice, 50 us on a virtual machine",
        why: "The faulting thread sleeps in the fault; the handler wakes, reads a message, copies, \
              and wakes it: two switches and two system calls about one page. Live migration and \
              some collectors pay this for the right to decide what lies in a page. Older \
              kernels count such a fault as a major one, since it had to wait.",
        floor: &[
            at_least(2, "syscall/getppid:via=raw"),
            at_least(1, "memory/copy:size=4096,by=string"),
        ],
        axes: &[Axis {
            name: "peer_cpu",
            sets: "where the handling thread runs: on the same CPU, or on another",
            points: Points::Words(&["same", "other"]),
            default_points: Points::Words(&["same", "other"]),
        }],
        needs: &[
            SMALL_PAGES,
            ROOM,
            Need::resource(Resource::Userfaultfd),
            Need::resource(Resource::SecondCpu).when(&[("peer_cpu", "other")]),
        ],
        in_price_list: false,
        switches: true,
        major_faults: true,
        source: "userfaultfd(2), ioctl_userfaultfd(2)",
        build: walk::userfaultfd,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/swap-in",
        asks: "What does the touch of a page cost that was swapped out?",
        op: "one byte read from an anonymous page that was paged out just before (madvise \
             MADV_PAGEOUT; mincore(2) looked), each page in its turn, in random order, in a \
             mapping of 4 MiB: the fault, the disk, and going on. Outside: writing the page and \
             paging it out.",
        expected: "as fault/file-major; from compressed memory (zram) 5 us",
        why: "As fault/file-major: the figure is that of what stands behind the swap space.",
        needs: &[SMALL_PAGES, ROOM, Need::resource(Resource::Swap)],
        in_price_list: false,
        switches: true,
        major_faults: true,
        source: "madvise(2); mm/memory.c do_swap_page()",
        build: cold::swap_in,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/prefault",
        asks: "What do the cures for page faults leave to be paid, and what do they cost in all?",
        op: "2 MiB of fresh memory, each 4 KiB page of which the foreground writes to once; the \
             figure is per page. cost=foreground: those writes alone, when the cure has been \
             applied. cost=total: mapping, the cure and the writes, until the last one is done, as \
             the foreground's clock shows it. The cures: none; a thread or a process that touches \
             every page first, on another CPU where there is one, while the foreground waits (a \
             process can only do that for shared memory: a memfd); MAP_POPULATE; mlock(2). \
             chunk=pieces maps, cures and writes 16 pages at a time. Outside: unmapping; and with \
             cost=foreground all but the writes.",
        expected: "in the foreground 300 ns without a cure, 10 with a thread, populate or mlock, but \
                200 with a process: its faults are not ours; in all, populate and mlock save the \
                trap (200 ns), a thread or process adds its own trap to everything; by pieces the \
                wake-ups cost more than the faults",
        why: "Whoever touches a page first pays for it; a cure moves the payment. A thread shares \
              the page table, so nothing is left. A process has a page table of its own: the page \
              is in memory, but each touch of ours still traps to find it. MAP_POPULATE and \
              mlock(2) do the same work in a loop inside the kernel, and so save the traps.",
        calls: &[
            once_per(512, "mmap").when(&[("cost", "total"), ("chunk", "all")]),
            once_per(16, "mmap").when(&[("cost", "total"), ("chunk", "pieces")]),
            once_per(512, "mlock").when(&[
                ("prefault", "mlock"),
                ("cost", "total"),
                ("chunk", "all"),
            ]),
            once_per(16, "mlock").when(&[
                ("prefault", "mlock"),
                ("cost", "total"),
                ("chunk", "pieces"),
            ]),
            asked!("write", "thread", 512, "all"),
            asked!("read", "thread", 512, "all"),
            asked!("write", "process", 512, "all"),
            asked!("read", "process", 512, "all"),
            asked!("write", "thread", 16, "pieces"),
            asked!("read", "thread", 16, "pieces"),
            asked!("write", "process", 16, "pieces"),
            asked!("read", "process", 16, "pieces"),
        ],
        floor: &[at_least(1, "memory/clear:size=4096,by=string").when(&[("cost", "total")])],
        axes: &[
            Axis {
                name: "prefault",
                sets: "the cure",
                points: Points::Words(&["none", "thread", "process", "populate", "mlock"]),
                default_points: Points::Words(&["none", "thread", "process", "populate", "mlock"]),
            },
            Axis {
                name: "chunk",
                sets: "whether it is all mapped at once, or 64 KiB at a time",
                points: Points::Words(&["all", "pieces"]),
                default_points: Points::Words(&["all"]),
            },
            Axis {
                name: "cost",
                sets: "what is inside the clock: what is left, or everything",
                points: Points::Words(&["foreground", "total"]),
                default_points: Points::Words(&["foreground", "total"]),
            },
        ],
        needs: &[
            SMALL_PAGES,
            ROOM,
            Need::resource(Resource::LockedMemory(7)).when(&[("prefault", "mlock")]),
        ],
        in_price_list: false,
        switches: true,
        source: "study sunos-1999, sections 5 and 7; mmap(2), mlock(2)",
        build: prefault::prefault,
        ..Bench::DEFAULT
    },
];

/// A batch is as many faults in a row.
struct Protection {
    page: Forbidden,
}

impl WorkBody for Protection {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        let faults = turns * u64::from(copies);
        match self.page.fault(faults) {
            0 => Ok(()),
            left => Err(OpError { op: faults - left, errno: Errno::UNPROVEN }),
        }
    }
}
