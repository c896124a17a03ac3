//! Calls on pages that are present, and allocation by the C library.

use crate::kernel::event::process_state::wait_until_asleep;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::memory::allocation::malloc_free;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};
use crate::kernel::process;
use crate::kernel::syscall::prepared;

use super::super::prelude::*;
use super::body::touched_region;

const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

/// Pages that a call is about.
const PAGES: Axis = Axis {
    name: "pages",
    sets: "pages of 4 KiB, each of which is present",
    points: Points::Items("page", &Points::Numbers(&[1, 256])),
    default_points: Points::Numbers(&[1, 256]),
};

pub(super) const MADVISE: Bench = Bench {
    id: "memory/madvise",
    asks: "What does advice about pages that stay mapped cost?",
    op: "madvise(2) of `size` bytes, every page of which was written before: MADV_WILLNEED, \
         MADV_COLD or MADV_FREE; successive parts of a mapping of 4 MiB. Not included: mapping it \
         anew and writing each page before each batch, and what reclaim does later.",
    expected: "one page: 200 ns by willneed, 400 by cold and free; each further page 5 ns by \
               willneed, 40 by cold, 60 by free",
    why: "willneed reads back what is in swap: here it only walks the page table. cold clears the \
          mark that a page was accessed and moves it to the list of inactive pages, on which new \
          pages are anyway since Linux 5.9 (not with the multi-generational LRU); free also clears \
          the mark that it was written, so that reclaim may drop it unless it is written again. \
          Allocators use free where the memory may be needed soon: MADV_DONTNEED \
          (memory/dontneed) costs more for each page, and a fault when it is touched again.",
    calls: &[exactly("madvise", 1)],
    floor: &[at_least(1, NULL_CALL)],
    axes: &[
        Axis {
            name: "advice",
            sets: "the advice",
            points: Points::Words(&["willneed", "cold", "free"]),
            default_points: Points::Words(&["willneed", "cold", "free"]),
        },
        Axis {
            name: "size",
            sets: "bytes that the advice is about",
            points: Points::Numbers(&[4_096, 65_536]),
            default_points: Points::Numbers(&[4_096, 65_536]),
        },
    ],
    needs: &[SMALL_PAGES, Need::resource(Resource::Memory(16))],
    in_price_list: false,
    source: "madvise(2); mm/madvise.c",
    build: |params| {
        let advice = match params.word("advice") {
            "cold" => libc::MADV_COLD,
            "free" => libc::MADV_FREE,
            _ => libc::MADV_WILLNEED,
        };
        advise(advice, params.number("size") as usize)
    },
    ..Bench::DEFAULT
};

/// Pages that advice is given about, piece by piece.
struct Advice {
    region: Region,
    advice: i32,
    piece: usize,
    offset: usize,
}

fn advise(advice: i32, piece: usize) -> Result<Work, Errno> {
    /// A thousand single pages: enough for a batch.
    const BYTES: usize = 4 << 20;
    let region = Region::anonymous(BYTES, PageKind::Small)?;
    region.touch_part(0, piece, Access::Write)?;
    match region.advise_part(0, piece, advice) {
        Err(Errno::EINVAL) => {
            return Ok(Work::unavailable(
                "this kernel does not know the advice: MADV_FREE is of Linux 4.5, MADV_COLD of 5.4",
            ));
        }
        done => done?,
    }
    let work =
        Work::from_prepared_body(Shape::WithLoop, Advice { region, advice, piece, offset: 0 });
    Ok(work.with_max_batch_ops((BYTES / piece) as u64))
}

impl WorkBody for Advice {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        // Fresh pages: one that had such advice before, and was written since, is on another list.
        self.offset = 0;
        self.region.remap()?;
        self.region.touch_part(0, ops as usize * self.piece, Access::Write)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            let result = self.region.advise_part(self.offset, self.piece, self.advice);
            result.map_err(|errno| OpError { op, errno })?;
            self.offset += self.piece;
        }
        Ok(())
    }
}

pub(super) const MLOCK: Bench = Bench {
    id: "memory/mlock",
    asks: "What does locking pages into memory and unlocking them cost?",
    op: "mlock(2) of `pages` pages that are present, and munlock(2), by the raw instruction. Not \
         included: mapping and touching.",
    expected: "1.5 us for a page; 80 ns more for each further one",
    why: "Two changes of the mapping's flags, under a lock of the address space; and each page \
          moves to the list of those that reclaim does not visit, and back.",
    calls: &[exactly("mlock", 1), exactly("munlock", 1)],
    floor: &[at_least(2, NULL_CALL)],
    axes: &[PAGES],
    needs: &[
        SMALL_PAGES,
        // A default limit of 64 KiB allows a page.
        Need::resource(Resource::LockedMemory(1)).when(&[("pages", "256")]),
    ],
    in_price_list: false,
    source: "mlock(2); mm/mlock.c",
    build: |params| {
        let region = touched_region(params.number("pages") as usize * PAGE_BYTES)?;
        let pair = prepared::mlock_munlock(region);
        match pair.ready().make() {
            Err(error @ (Errno::EPERM | Errno::ENOMEM | Errno::EAGAIN)) => {
                return Ok(Work::unavailable(format!(
                    "a page cannot be locked into memory ({error}): raise RLIMIT_MEMLOCK \
                     (`ulimit -l`)"
                )));
            }
            done => done?,
        }
        Ok(Work::raw_pair(pair))
    },
    ..Bench::DEFAULT
};

pub(super) const MINCORE: Bench = Bench {
    id: "memory/mincore",
    asks: "What does asking which pages are in memory cost?",
    op: "mincore(2) of `pages` pages that are present, by the raw instruction. Not included: \
         mapping and touching.",
    expected: "200 ns for a page; 2 ns more for each further one",
    why: "The kernel walks the page table, writes a byte for each page to a page of its own, and \
          copies that out.",
    calls: &[exactly("mincore", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[PAGES],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    source: "mincore(2); mm/mincore.c",
    build: |params| {
        let region = touched_region(params.number("pages") as usize * PAGE_BYTES)?;
        if region.resident_pages()? as u64 != params.number("pages") {
            return Err(Errno::UNVERIFIED);
        }
        Ok(Work::raw(prepared::mincore(region)))
    },
    ..Bench::DEFAULT
};

pub(super) const MERGE: Bench = Bench {
    id: "memory/merge",
    asks: "What does it cost to offer pages for merging with equal ones, and to withdraw them?",
    op: "madvise(2) MADV_MERGEABLE of `pages` pages that are present, no two of which are equal, \
         and MADV_UNMERGEABLE, by the raw instruction. Not included: mapping and writing them; \
         merging, which a thread of the kernel (ksmd) does later and on its own time, if it runs \
         (/sys/kernel/mm/ksm/run), and the fault by which a write separates a merged page.",
    expected: "600 ns for a page and both calls; 30 ns more for each further one",
    why: "The first call sets a flag of the mapping, and once per process puts it on the list that \
          ksmd walks. The second one clears the flag, and walks the page table for pages that were \
          merged, each of which gets a copy of its own: here there is none. Hypervisors and \
          container hosts call the first one once; what they pay is the CPU time of ksmd, and a \
          copy at the first write to a merged page (fault/copy-on-write).",
    calls: &[exactly("madvise", 2)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[PAGES],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    source: "madvise(2); Documentation/admin-guide/mm/ksm.rst; mm/ksm.c: ksm_madvise",
    build: |params| {
        let mut region = touched_region(params.number("pages") as usize * PAGE_BYTES)?;
        let pages = region.words_mut().chunks_exact_mut(PAGE_BYTES / size_of::<u64>());
        for (page, words) in pages.enumerate() {
            words[0] = 1 + page as u64;
        }
        let pair = prepared::merge_unmerge(region);
        let made = pair.ready().make();
        match made {
            Ok(()) => Ok(Work::raw_pair(pair)),
            Err(Errno::EINVAL) => {
                Ok(Work::unavailable("this kernel does not merge equal pages (CONFIG_KSM)"))
            }
            Err(error) if error.is_unavailable() => {
                Ok(Work::unavailable(format!("madvise(2) MADV_MERGEABLE is refused here: {error}")))
            }
            Err(error) => Err(error),
        }
    },
    ..Bench::DEFAULT
};

pub(super) const PROCESS_VM_READV: Bench = Bench {
    id: "memory/process-vm-readv",
    asks: "What does reading the memory of another process cost?",
    op: "process_vm_readv(2) of `size` bytes, by the raw instruction: from a sleeping child, which \
         has written its pages, or from the caller itself. Not included: creating the child.",
    expected: "500 ns for 8 bytes from a child, 400 from itself; 65536 bytes 4 us",
    why: "The call finds the process and checks whether the caller may trace it, takes the lock of \
          its address space, and looks up and pins each page before it copies. Debuggers and \
          profilers read stacks this way, and some libraries large messages.",
    calls: &[exactly("process_vm_readv", 1)],
    floor: &[
        at_least(1, KERNEL_ENTRY),
        at_least(1, "memory/copy:size=65536,by=string").when(&[("size", "65536")]),
    ],
    axes: &[
        Axis {
            name: "size",
            sets: "bytes read",
            points: Points::Numbers(&[8, 4_096, 65_536]),
            default_points: Points::Numbers(&[8, 4_096, 65_536]),
        },
        Axis {
            name: "from",
            sets: "whose memory is read",
            points: Points::Words(&["child", "self"]),
            default_points: Points::Words(&["child"]),
        },
    ],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    bytes_axis: "size",
    source: "process_vm_readv(2); mm/process_vm_access.c",
    build: |params| {
        or_unavailable(read_process(params.number("size") as usize, params.word("from") == "child"))
    },
    ..Bench::DEFAULT
};

/// Reads of a child's memory, or of this process's.
fn read_process(bytes: usize, from_child: bool) -> Result<Work, Errno> {
    /// What is written to the first byte of each page: by this process, then by the child.
    const WRITTEN: [u8; 2] = [7, 9];
    let room = bytes.next_multiple_of(PAGE_BYTES);
    let mut from = touched_region(room)?;
    let mut write = |value| {
        let mut offsets = (0..room).step_by(PAGE_BYTES);
        offsets.try_for_each(|offset| from.set_byte(offset, value))
    };
    write(WRITTEN[0])?;
    let child = if from_child {
        let write = &mut write;
        let child = PeerProcess::start(None, move || {
            write(WRITTEN[1])?;
            process::pause_forever()
        })?;
        wait_until_asleep(&child)?;
        Some(child)
    } else {
        None
    };
    let pid = child.as_ref().map_or_else(std::process::id, PeerProcess::id);
    let expected = WRITTEN[usize::from(from_child)];
    match prepared::process_vm_readv(pid, from, bytes, expected, child) {
        Err(error) if error.is_unavailable() => Ok(Work::unavailable(format!(
            "reading the memory of an own process is refused ({error}): by Yama \
             (kernel.yama.ptrace_scope above 1), by a seccomp filter, or since the kernel has no \
             process_vm_readv(2)"
        ))),
        call => call.map(Work::raw),
    }
}

pub(super) const MALLOC: Bench = Bench {
    id: "memory/malloc",
    asks: "What do malloc and free of the C library cost?",
    op: "malloc(3) of `size` bytes, and free(3) of the block, which is not touched; the same \
         again, so that the allocator has what it freed last. Not included: its first growth.",
    expected: "15 ns for 16 and 1024 bytes, 30 ns for 131072; 2 us for 67108864, which is a \
               mapping of its own",
    why: "glibc keeps a few freed blocks of each size up to 1032 bytes for each thread, and hands \
          out the last of them: no lock, no search. Larger blocks come from the heap, which grows \
          by brk(2) and is trimmed again. A block of 128 KiB is at first a mapping of its own; at \
          its first free(3) glibc raises that threshold, to at most 32 MiB, so that later ones \
          come from the heap. What is larger is always mapped (mmap(2), munmap(2), and a fault for \
          the page that has the block's header). Programs with another allocator pay otherwise.",
    calls: &[
        up_to("brk|mmap|munmap", 2).when(&[("size", "131072")]),
        exactly("mmap", 1).when(&[("size", "67108864")]),
        exactly("munmap", 1).when(&[("size", "67108864")]),
    ],
    floor: &[at_least(2, KERNEL_ENTRY).when(&[("size", "67108864")])],
    axes: &[Axis {
        name: "size",
        sets: "block size in bytes",
        points: Points::Numbers(&[16, 1_024, 131_072, 67_108_864]),
        default_points: Points::Numbers(&[16, 1_024, 131_072]),
    }],
    needs: &[Need::resource(Resource::Memory(80)).when(&[("size", "67108864")])],
    in_price_list: false,
    source: "malloc(3), mallopt(3); glibc malloc/malloc.c",
    build: |params| {
        let bytes = params.number("size") as usize;
        malloc_free(bytes)?;
        Ok(Work::repeat(move || malloc_free(bytes)))
    },
    ..Bench::DEFAULT
};
