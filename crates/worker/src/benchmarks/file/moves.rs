//! Vectors of buffers, and calls that move pages without copying them.

use crate::kernel::file::page_moves::{NullSender, PipeCall, PipeMover};
use crate::kernel::file::scratch_file::ScratchFile;
use crate::kernel::memory::synced_page::{SyncWait, SyncedPage};
use crate::kernel::syscall::prepared::{self, VectorCall};

use super::super::prelude::*;
use super::axes::DIRECTORY;
use super::body::{location, unless_refused};

const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

pub(super) const VECTORS: Bench = Bench {
    id: "file/vectors",
    asks: "What does each buffer of a vectored read or write add?",
    op: "preadv(2) or pwritev(2) of `vectors` adjacent buffers of 64 bytes each, at the start of a \
         memory file (memfd_create(2)), by the raw instruction. Not included: creating the file \
         and filling it.",
    expected: "300 ns with one buffer, 6 ns more for each further one",
    why: "The list of buffers is copied into the kernel and checked, and each is copied by itself. \
          Up to eight fit into a list on the kernel's stack; a longer list is allocated. A call \
          for each of the buffers would enter the kernel each time.",
    calls: &[
        exactly("preadv", 1).when(&[("via", "preadv")]),
        exactly("pwritev", 1).when(&[("via", "pwritev")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "via",
            sets: "the call",
            points: Points::Words(&["preadv", "pwritev"]),
            default_points: Points::Words(&["preadv", "pwritev"]),
        },
        Axis {
            name: "vectors",
            sets: "buffers of a call",
            points: Points::Items("buffer", &Points::Numbers(&[1, 8, 64])),
            default_points: Points::Numbers(&[1, 8, 64]),
        },
    ],
    in_price_list: false,
    source: "readv(2); import_iovec in lib/iov_iter.c",
    build: |params| {
        let call = match params.word("via") {
            "pwritev" => VectorCall::Pwritev,
            _ => VectorCall::Preadv,
        };
        prepared::vectors(call, params.number("vectors") as usize).map(Work::raw)
    },
    ..Bench::DEFAULT
};

pub(super) const SENDFILE: Bench = Bench {
    id: "file/sendfile",
    asks: "What does sending a cached file cost before a byte of it is copied?",
    op: "sendfile(2) of the first `size` bytes of a file of 1 MiB, all of it cached, to /dev/null, \
         which releases the pages, by the raw instruction. Not included: writing the file. To \
         another file it is file/copy, via=sendfile.",
    expected: "500 ns for 4096 bytes, 1.5 us for 65536",
    why: "The pages go through a pipe inside the kernel: for each a reference is taken in the page \
          cache and released by the receiver, and no byte is touched. What remains of a transfer \
          is what its receiver does.",
    calls: &[exactly("sendfile", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "size",
            sets: "bytes per call",
            points: Points::Numbers(&[4_096, 65_536]),
            default_points: Points::Numbers(&[4_096, 65_536]),
        },
        DIRECTORY,
    ],
    needs: &[SMALL_PAGES, Need::readable("/dev/null")],
    in_price_list: false,
    bytes_axis: "size",
    source: "sendfile(2); fs/splice.c",
    build: |params| {
        let mut file = ScratchFile::new(location(params), 1 << 20, false)?;
        file.warm()?;
        let sender = NullSender::new(file.file, params.number("size"))?;
        unless_refused(Work::with_loop(move || sender.send()), "sendfile(2)")
    },
    ..Bench::DEFAULT
};

pub(super) const SPLICE: Bench = Bench {
    id: "file/splice",
    asks: "What does moving pages through a pipe cost?",
    op: "`size` bytes into an empty pipe, by the raw instruction: by splice(2) of all that another \
         pipe holds, and in the next op back; by tee(2) of all that another pipe holds and keeps; \
         or by vmsplice(2) of pages of the program. What tee and vmsplice have put there is taken \
         out again by splice(2) to /dev/null. Not included: filling the first pipe.",
    expected: "4096 bytes: 250 ns by splice, 450 by tee and 600 by vmsplice; 65536 bytes: 500, \
               1000 and 2000 ns",
    why: "A pipe is a ring of references to pages. splice moves references from ring to ring, tee \
          copies them and counts one more reference for each page, and vmsplice finds the pages of \
          a range of addresses and pins them. No byte is copied.",
    calls: &[
        exactly("splice", 1),
        exactly("tee", 1).when(&[("via", "tee")]),
        exactly("vmsplice", 1).when(&[("via", "vmsplice")]),
    ],
    floor: &[
        at_least(1, KERNEL_ENTRY),
        at_least(1, KERNEL_ENTRY).when(&[("via", "tee")]),
        at_least(1, KERNEL_ENTRY).when(&[("via", "vmsplice")]),
    ],
    axes: &[
        Axis {
            name: "via",
            sets: "the call that fills the pipe",
            points: Points::Words(&["splice", "tee", "vmsplice"]),
            default_points: Points::Words(&["splice", "tee", "vmsplice"]),
        },
        Axis {
            name: "size",
            sets: "bytes per op",
            points: Points::Numbers(&[4_096, 65_536]),
            default_points: Points::Numbers(&[4_096, 65_536]),
        },
    ],
    needs: &[SMALL_PAGES, Need::readable("/dev/null")],
    in_price_list: false,
    bytes_axis: "size",
    source: "splice(2), tee(2), vmsplice(2); fs/splice.c",
    build: |params| {
        let call = match params.word("via") {
            "tee" => PipeCall::Tee,
            "vmsplice" => PipeCall::Vmsplice,
            _ => PipeCall::Splice,
        };
        let mut mover = match PipeMover::new(call, params.number("size") as usize) {
            Err(Errno::EPERM) => {
                return Ok(Work::unavailable(
                    "a pipe cannot hold so much: this user's pipes have all the pages that \
                     fs.pipe-user-pages-soft allows",
                ));
            }
            mover => mover?,
        };
        unless_refused(Work::with_loop(move || mover.run()), "moving pages")
    },
    ..Bench::DEFAULT
};

pub(super) const MSYNC: Bench = Bench {
    id: "file/msync",
    asks: "What does syncing a written page of a shared mapping cost where there is no disk?",
    op: "a store to a shared mapping of one page of a memory file (memfd_create(2)), and msync(2) \
         of the page with MS_SYNC or MS_ASYNC, by the raw instruction. Not included: mapping it. \
         With a disk the wait is that of file/write-sync.",
    expected: "250 ns by either",
    why: "MS_ASYNC does nothing but check the range: since Linux 2.6.19 the kernel knows of each \
          written page by itself. MS_SYNC also looks the file up and asks its file system to \
          sync, and a tmpfs has nothing to sync.",
    calls: &[exactly("msync", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "wait",
        sets: "whether the call waits (MS_SYNC) or not (MS_ASYNC)",
        points: Points::Words(&["sync", "async"]),
        default_points: Points::Words(&["sync", "async"]),
    }],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    source: "msync(2); mm/msync.c",
    build: |params| {
        let wait = if params.word("wait") == "sync" { SyncWait::Sync } else { SyncWait::Async };
        let mut page = SyncedPage::new(wait)?;
        Ok(Work::with_loop(move || page.store_and_sync()))
    },
    ..Bench::DEFAULT
};
