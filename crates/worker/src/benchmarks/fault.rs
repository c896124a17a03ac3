//! Page faults: the first touch of pages, and forbidden writes.

use crate::kernel::memory::protection_fault::ProtectedPage;

use self::walk::{MEMORY, ORDER, SMALL_PAGES};
use super::prelude::*;

mod cold;
mod expected_faults;
mod prefault;
mod single_touch;
mod walk;
mod zero_fill;

pub(super) const FAMILY: Family = Family {
    name: "fault",
    about: "the cost of page faults: pages that are not present, or not writable",
    benches: BENCHES,
};

/// The calls that request the work of a helper, and wait for it: once per this many pages.
macro_rules! helper_calls {
    ($call:literal, $helper:literal, $pages:literal, $chunk:literal) => {
        once_per($pages, $call).when(&[("prefault", $helper), ("cost", "total"), ("chunk", $chunk)])
    };
}

const BENCHES: &[Bench] = &[
    zero_fill::ZERO_FILL,
    Bench {
        id: "fault/copy-on-write",
        asks: "What does the first write to a page shared by fork(2) cost?",
        op: "one byte written to a 4 KiB page of an anonymous mapping of 8 MiB that was written \
             before a fork, each page once: the fault, the copy, and its return. With child=exited \
             the child has already exited, and the page is exclusive again: the same fault without \
             a copy. Not included: the fork, the child's exit, and the first page after each fork.",
        expected: "400 ns with a copy, more than a fresh page, since a page is read as well as \
                   written; without the copy only the trap remains: 150 ns",
        why: "fork(2) write-protects the page in both processes; the first to write traps. While \
              the other still holds the page the kernel allocates a free page, copies 4096 bytes \
              into it, and flushes the old translation of this CPU. Once the other has exited, the \
              kernel only makes the page writable again: that is close to the minimum cost of any \
              fault.",
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
        needs: &[SMALL_PAGES, MEMORY],
        source: "fork(2); mm/memory.c do_wp_page()",
        build: walk::copy_on_write,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/file-minor",
        asks: "What does the first touch of a mapped file page in the page cache cost?",
        op: "one byte read from a private mapping of 8 MiB of a file whose pages are all cached \
             (checked with mincore(2), untimed). The kernel maps up to 16 pages around the \
             faulting one: with stride=65536 every touch faults and maps 16 pages, with \
             stride=4096 every page is touched and one in 16 faults. Not included: mmap(2) and \
             munmap(2).",
        expected: "600 ns for a fault that maps 16 pages; so 40 ns per page of a sequential walk",
        why: "The page is in memory: the kernel looks it up in the page cache and maps it, and its \
              neighbours with it, since the trap is already paid for (mm/filemap.c, \
              filemap_map_pages). No page is allocated, cleared or copied.",
        axes: &[Axis {
            name: "stride",
            sets: "bytes from one touch to the next",
            points: Points::Numbers(&[4_096, 65_536]),
            default_points: Points::Numbers(&[65_536]),
        }],
        needs: &[SMALL_PAGES, MEMORY, Need::resource(Resource::ScratchFile(16))],
        source: "mmap(2); study sunos-1999, section 6; mm/memory.c do_fault_around()",
        build: walk::cached_file,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/file-major",
        asks: "What does the touch of a mapped file page that has to be read from disk cost?",
        op: "one byte read from a mapped file page that was dropped from the mapping and from the \
             page cache just before (posix_fadvise DONTNEED; checked with mincore(2)), one page \
             after the other, in random order, in a file of 4 MiB: the fault, the disk, and the \
             return. With readahead=off (MADV_RANDOM) one page is read, with readahead=on its \
             neighbours too. Not included: writing the file to disk; the eviction. The page is \
             cold for this kernel only: a hypervisor's or the disk's own cache may still hold it.",
        expected: "80 us from a virtual disk whose host has it cached; with readahead twice that, \
                   for 128 KiB",
        why: "The thread sleeps until the disk has answered: the fault is a small part. The figure \
              is that of the disk, its queue, and two context switches.",
        axes: &[Axis {
            name: "readahead",
            sets: "whether the kernel also reads the pages around the faulting one",
            points: Points::Words(&["off", "on"]),
            default_points: Points::Words(&["off"]),
        }],
        needs: &[
            SMALL_PAGES,
            MEMORY,
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
        asks: "What does a forbidden write that a handler catches cost?",
        op: "a store to a read-only page; the trap; its delivery as SIGSEGV; an empty handler; \
             rt_sigreturn(2) to the store, which faults again: that is the next op. At the end of \
             a batch the handler redirects the store to a writable page. Not included: mmap(2), \
             mprotect(2), sigaction(2).",
        expected: "700 ns: a trap, a signal frame written and read with all vector registers, and \
                   a system call",
        why: "Garbage collectors, checkpointers and sandboxes track memory this way. Delivery is \
              more expensive than the fault: the kernel saves all registers on the user stack, \
              runs the handler, and restores them when it returns by a system call.",
        calls: &[exactly("rt_sigreturn", 1)],
        floor: &[at_least(1, NULL_CALL)],
        needs: &[SMALL_PAGES],
        source: "mprotect(2), sigaction(2), rt_sigreturn(2); lmbench lat_sig prot",
        build: |_| {
            let page = ProtectedPage::new()?;
            Ok(Work::from_body(Shape::WithLoop, Protection { page }))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/userfaultfd",
        asks: "What does a fault that another thread of the program resolves cost?",
        op: "one byte written to a missing 4 KiB page of a mapping of 8 MiB, each page once; a \
             handler thread of the program waits in read(2) of a userfaultfd, receives the event, \
             and fills the page in (UFFDIO_COPY); the writer continues. Not included: registering, \
             and dropping the pages (madvise DONTNEED).",
        expected: "5 us on one CPU: two switches, a read and an ioctl; on two CPUs twice the cost \
                   of waking a CPU, 50 us on a virtual machine",
        why: "The faulting thread sleeps in the fault; the handler wakes, reads a message, copies, \
              and wakes it: two switches and two system calls for one page. Live migration and \
              some garbage collectors pay this to control the content of a page. Older kernels \
              count such a fault as a major one, because it slept.",
        floor: &[at_least(2, NULL_CALL), at_least(1, "memory/copy:size=4096,by=string")],
        axes: &[Axis {
            name: "peer_cpu",
            sets: "where the handler thread runs: on the same CPU, or on another one",
            points: Points::Words(&["same", "other"]),
            default_points: Points::Words(&["same", "other"]),
        }],
        needs: &[
            SMALL_PAGES,
            MEMORY,
            Need::resource(Resource::Userfaultfd),
            Need::capability(Capability::SysPtrace),
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
        asks: "What does the touch of a swapped-out page cost?",
        op: "one byte read from an anonymous page that was swapped out just before (madvise \
             MADV_PAGEOUT; checked with mincore(2)), one page after the other, in random order, in \
             a mapping of 4 MiB: the fault, the disk, and the return. Not included: writing the \
             page and swapping it out.",
        expected: "the same as fault/file-major; from compressed memory (zram) 5 us",
        why: "As fault/file-major: the figure is that of the swap device.",
        needs: &[SMALL_PAGES, MEMORY, Need::resource(Resource::Swap)],
        in_price_list: false,
        switches: true,
        major_faults: true,
        source: "madvise(2); mm/memory.c do_swap_page()",
        build: cold::swap_in,
        ..Bench::DEFAULT
    },
    Bench {
        id: "fault/prefault",
        asks: "How much of the fault cost do prefaulting techniques leave, and what do they cost \
               in total?",
        op: "2 MiB of fresh memory, each 4 KiB page of which the foreground writes to once; the \
             figure is per page. cost=foreground: those writes alone, after prefaulting. \
             cost=total: mapping, prefaulting and the writes, until the last one is done, by the \
             foreground's clock. The techniques: none; a thread or a process that touches every \
             page first, on another CPU if there is one, while the foreground waits (a process can \
             do that only for shared memory: a memfd); MAP_POPULATE; mlock(2). chunk=pieces maps, \
             prefaults and writes 16 pages at a time. Not included: unmapping; and with \
             cost=foreground everything except the writes.",
        expected: "in the foreground 300 ns without prefaulting, 10 with a thread, populate or \
                   mlock, but 200 with a process: its faults do not fill our page table; in total, \
                   populate and mlock save the trap (200 ns), a thread or process adds its own \
                   traps to everything; with pieces the wake-ups cost more than the faults",
        why: "The first process to touch a page pays for it; prefaulting moves the payment. A \
              thread shares the page table, so nothing remains. A process has its own page table: \
              the page is in memory, but each touch of the foreground still traps to map it. \
              MAP_POPULATE and mlock(2) do the same work in a loop inside the kernel, and so save \
              the traps.",
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
            helper_calls!("write", "thread", 512, "all"),
            helper_calls!("read", "thread", 512, "all"),
            helper_calls!("write", "process", 512, "all"),
            helper_calls!("read", "process", 512, "all"),
            helper_calls!("write", "thread", 16, "pieces"),
            helper_calls!("read", "thread", 16, "pieces"),
            helper_calls!("write", "process", 16, "pieces"),
            helper_calls!("read", "process", 16, "pieces"),
        ],
        floor: &[at_least(1, "memory/clear:size=4096,by=string").when(&[("cost", "total")])],
        axes: &[
            Axis {
                name: "prefault",
                sets: "prefaulting technique",
                points: Points::Words(&["none", "thread", "process", "populate", "mlock"]),
                default_points: Points::Words(&["none", "thread", "process", "populate", "mlock"]),
            },
            Axis {
                name: "chunk",
                sets: "whether everything is mapped at once, or 64 KiB at a time",
                points: Points::Words(&["all", "pieces"]),
                default_points: Points::Words(&["all"]),
            },
            Axis {
                name: "cost",
                sets: "what is timed: the remaining faults, or everything",
                points: Points::Words(&["foreground", "total"]),
                default_points: Points::Words(&["foreground", "total"]),
            },
        ],
        needs: &[
            SMALL_PAGES,
            MEMORY,
            Need::resource(Resource::LockedMemory(7)).when(&[("prefault", "mlock")]),
        ],
        in_price_list: false,
        switches: true,
        source: "study sunos-1999, sections 5 and 7; mmap(2), mlock(2)",
        build: prefault::prefault,
        ..Bench::DEFAULT
    },
];

/// A batch is that many consecutive faults.
struct Protection {
    page: ProtectedPage,
}

impl WorkBody for Protection {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let faults = iterations * u64::from(unroll);
        match self.page.fault(faults) {
            0 => Ok(()),
            left => Err(OpError { op: faults - left, errno: Errno::UNVERIFIED }),
        }
    }
}
