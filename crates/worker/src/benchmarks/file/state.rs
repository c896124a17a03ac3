//! Calls on the state of a file: its length, its blocks, its attributes, its cached pages.

use crate::kernel::file::location::unnamed_file;
use crate::kernel::file::scratch_file::ScratchFile;
use crate::kernel::syscall::prepared::{self, AttributeCall, StatusCall, SyncCall};

use super::super::prelude::*;
use super::axes::DIRECTORY;
use super::body::{location, unless_refused};

/// The length of the files of this file's benchmarks, unless an axis sets it.
const FILE_BYTES: u64 = 1 << 20;

/// Allocations between two syncs. With 256 of 1 MiB 256 MiB wait for the journal; without a limit
/// all of the disk might.
const MAX_ALLOCATIONS: u64 = 256;

const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

pub(super) const TRUNCATE: Bench = Bench {
    id: "file/truncate",
    asks: "What does growing an empty file and emptying it again cost?",
    op: "ftruncate(2) of an empty file to 4096 bytes, which allocates nothing, and ftruncate(2) \
         back to 0, by the raw instruction. Not included: creating the file; the journal of a disk \
         is written later.",
    expected: "1 us on tmpfs, 5 us on ext4, most of it for the way back",
    why: "To grow is to set a number in the inode: what lies between is a hole. To shrink, the \
          kernel also removes the pages beyond the new end from every mapping and from the page \
          cache, and frees their blocks; it looks for them even where there are none. ext4 writes \
          the inode into a transaction of its journal both times.",
    calls: &[exactly("ftruncate", 2)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[DIRECTORY],
    in_price_list: false,
    source: "ftruncate(2); fs/open.c, mm/truncate.c",
    build: |params| {
        let file = unnamed_file(location(params), 4_096)?;
        file.set_len(0)?;
        let work = Work::raw_pair(prepared::truncate(file, 4_096));
        unless_refused(work, "ftruncate(2)")
    },
    ..Bench::DEFAULT
};

pub(super) const FALLOCATE: Bench = Bench {
    id: "file/fallocate",
    asks: "What does allocating the blocks of a file in advance and freeing them cost?",
    op: "fallocate(2) of the first `size` bytes of a file, which are a hole, and fallocate(2) with \
         FALLOC_FL_PUNCH_HOLE of the same bytes; both with FALLOC_FL_KEEP_SIZE, by the raw \
         instruction. No byte is written. Not included: creating the file of 1 MiB, and syncing it \
         before each batch of at most 256, since ext4 gives freed blocks to nobody before its \
         journal is written.",
    expected: "on ext4 10 us, at any size; on tmpfs 1.5 us for 4096 bytes and 100 us for 1048576",
    why: "ext4 allocates an extent: one record for all its blocks, marked as not written. A tmpfs \
          has pages for blocks: each is allocated and freed, and punching a hole first unmaps it \
          from every process. Database systems and virtual disks do both.",
    calls: &[exactly("fallocate", 2)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "size",
            sets: "bytes that are allocated and freed",
            points: Points::Numbers(&[4_096, 1_048_576]),
            default_points: Points::Numbers(&[4_096, 1_048_576]),
        },
        DIRECTORY,
    ],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    source: "fallocate(2); fs/ext4/extents.c, mm/shmem.c",
    build: |params| {
        let file = unnamed_file(location(params), FILE_BYTES)?;
        file.set_len(FILE_BYTES)?;
        let synced = file.try_clone()?;
        let work = Work::raw_pair(prepared::allocate_and_punch(file, params.number("size")))
            .with_preparation(move |_| Ok(synced.sync_all()?))
            .with_max_batch_ops(MAX_ALLOCATIONS);
        unless_refused(work, "fallocate(2), or punching a hole,")
    },
    ..Bench::DEFAULT
};

pub(super) const SYNC: Bench = Bench {
    id: "file/sync",
    asks: "What does syncing a file cost that has nothing to write?",
    op: "fsync(2), fdatasync(2), or sync_file_range(2) with all three of its phases, of a file of \
         1 MiB that was synced before, by the raw instruction. Not included: writing it and \
         syncing it. A file with something to write is file/write-sync.",
    expected: "300 ns on tmpfs; on ext4 400 ns if the file system knows that its disk needs no \
               flush, 100 us for the flush if not; sync_file_range never flushes: 300 ns",
    why: "A program that syncs after each step, to be safe, pays for this where the step changed \
          nothing. The kernel looks for dirty pages by their marks in the page cache and finds \
          none; then the file system asks its journal whether the last transaction of this file \
          is on disk. Where the disk has a cache of its own, ext4 and xfs may flush that even so.",
    calls: &[
        exactly("fsync", 1).when(&[("via", "fsync")]),
        exactly("fdatasync", 1).when(&[("via", "fdatasync")]),
        exactly("sync_file_range", 1).when(&[("via", "sync-file-range")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "via",
            sets: "the call that waits for the disk",
            points: Points::Words(&["fsync", "fdatasync", "sync-file-range"]),
            default_points: Points::Words(&["fsync", "fdatasync", "sync-file-range"]),
        },
        DIRECTORY,
    ],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    switches: true,
    source: "fsync(2), sync_file_range(2); fs/sync.c, fs/ext4/fsync.c",
    build: |params| {
        let call = match params.word("via") {
            "fdatasync" => SyncCall::Fdatasync,
            "sync-file-range" => SyncCall::SyncFileRange,
            _ => SyncCall::Fsync,
        };
        let file = ScratchFile::new(location(params), FILE_BYTES, false)?.file;
        unless_refused(Work::raw(prepared::sync_clean(call, file)), "syncing")
    },
    ..Bench::DEFAULT
};

pub(super) const FADVISE: Bench = Bench {
    id: "file/fadvise",
    asks: "What does asking the kernel to read ahead cost if all of it is cached?",
    op: "posix_fadvise(2) with POSIX_FADV_WILLNEED of the first `size` bytes of a file of 1 MiB, \
         all of which is cached, by the raw instruction. Not included: writing the file.",
    expected: "200 ns for 4096 bytes; for 1048576 bytes 3 us on a disk, and no more than for 4096 \
               on tmpfs, which ignores the advice",
    why: "The kernel looks each page up in the page cache, in pieces of 2 MiB at most, and reads \
          those that are missing: here none. So the advice costs something also where it was not \
          needed.",
    calls: &[exactly("fadvise64", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "size",
            sets: "bytes that the advice is about",
            points: Points::Numbers(&[4_096, 1_048_576]),
            default_points: Points::Numbers(&[4_096, 1_048_576]),
        },
        DIRECTORY,
    ],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    source: "posix_fadvise(2); mm/fadvise.c, mm/readahead.c",
    build: |params| {
        let mut file = ScratchFile::new(location(params), FILE_BYTES, false)?;
        file.warm()?;
        let work = Work::raw(prepared::will_need(file.file, params.number("size")));
        unless_refused(work, "posix_fadvise(2)")
    },
    ..Bench::DEFAULT
};

pub(super) const STATX: Bench = Bench {
    id: "file/statx",
    asks: "What do the calls that return the status of a file cost?",
    op: "newfstatat(2), which is stat(2), or statx(2) of the same fields, of the working folder by \
         the path `.`, by the raw instruction. Not included: nothing.",
    expected: "250 ns by newfstatat and by statx",
    why: "Both look up the path, which here is the shortest that there is, and ask the file \
          system. statx returns more fields, in a larger structure, of which the caller selects \
          those that it needs; a network file system can save a question to its server, and a \
          local one has all of them at hand.",
    calls: &[
        exactly("newfstatat", 1).when(&[("via", "newfstatat")]),
        exactly("statx", 1).when(&[("via", "statx")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "via",
        sets: "the call",
        points: Points::Words(&["newfstatat", "statx"]),
        default_points: Points::Words(&["newfstatat", "statx"]),
    }],
    in_price_list: false,
    source: "stat(2), statx(2); fs/stat.c",
    build: |params| {
        let call = match params.word("via") {
            "statx" => StatusCall::Statx,
            _ => StatusCall::Newfstatat,
        };
        unless_refused(Work::raw(prepared::status(call, c".")), "the status")
    },
    ..Bench::DEFAULT
};

pub(super) const CHMOD: Bench = Bench {
    id: "file/chmod",
    asks: "What does setting attributes of a file cost?",
    op: "fchmod(2), fchown(2), or utimensat(2) by descriptor, of an unnamed file, with the values \
         that it has already, by the raw instruction. Not included: creating the file; the journal \
         of a disk is written later.",
    expected: "400 ns on tmpfs, 1.5 us on ext4",
    why: "The kernel does not compare: it takes the lock of the inode, asks the security modules, \
          sets the value and the time of the change, and tells the file system, which writes the \
          inode into a transaction of its journal.",
    calls: &[
        exactly("fchmod", 1).when(&[("via", "fchmod")]),
        exactly("fchown", 1).when(&[("via", "fchown")]),
        exactly("utimensat", 1).when(&[("via", "utimensat")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "via",
            sets: "the call",
            points: Points::Words(&["fchmod", "fchown", "utimensat"]),
            default_points: Points::Words(&["fchmod", "fchown", "utimensat"]),
        },
        DIRECTORY,
    ],
    in_price_list: false,
    source: "chmod(2), chown(2), utimensat(2); notify_change in fs/attr.c",
    build: |params| {
        let call = match params.word("via") {
            "fchown" => AttributeCall::Fchown,
            "utimensat" => AttributeCall::Utimensat,
            _ => AttributeCall::Fchmod,
        };
        let file = unnamed_file(location(params), 4_096)?;
        unless_refused(Work::raw(prepared::attributes(call, file)?), "setting attributes")
    },
    ..Bench::DEFAULT
};
