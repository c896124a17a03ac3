//! Files: reading, writing and copying them, and operations on directories.

use crate::kernel::file::copy::{Copier, CopyMethod};
use crate::kernel::file::directory::{FileOperation, PopulatedFolder};
use crate::kernel::file::read::ReadMethod;
use crate::kernel::file::scratch_file::ScratchFile;
use crate::kernel::file::write::{SyncMethod, WriteMethod, Writer};

use super::prelude::*;
use crate::bench::{Floor, PointFilter};

mod advice;
mod axes;
mod body;
mod direct;
mod extents;
mod first_read;
mod moves;
mod state;
#[cfg(test)]
mod tests;

use axes::{CACHE, DIRECTORY, FILE_MIB, FILES, ONTO, WRITE_SIZE, WRITE_VIA, size};
use body::{Copies, DirectoryOps, Writes, location, reads, rereads};

pub(super) const FAMILY: Family = Family {
    name: "file",
    about: "the cost of reading, writing and copying files, and of directories",
    benches: BENCHES,
};

/// A slow disk takes a file at 25 MB/s, and it is written and read a few times.
const FILE_SETUP: PointFilter = &[("file_mib", "100000")];
/// A slow disk takes a millisecond to create and unlink a file.
const DIRECTORY_SETUP: PointFilter = &[("files", "1000")];
const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);
const NO_COLD_MEMORY: Need =
    Need::not_applicable("a file in memory cannot be cold").when(&[("directory", "tmpfs"), COLD]);
const COLD: (&str, &str) = ("cache", "cold");
const WARM: (&str, &str) = ("cache", "warm");

const DIRECT_IS_UNCACHED: &str = "O_DIRECT bypasses the cache, warm or cold: select cache=cold";
const NEVER_MAPPED: &str = "mapped pages are in memory: select via=mmap to read a cold file";
const NOT_EVICTED: &str = "a warm cache is not evicted";
const DIRECT: (&str, &str) = ("via", "direct");

const BENCHES: &[Bench] = &[
    Bench {
        id: "file/read",
        asks: "What does reading a file sequentially cost, `size` bytes at a time?",
        op: "a read of `size` bytes into a buffer that is reused, and loop overhead. via=read is \
             read(2); fread that of the C library, with its buffer of 4096; mmap memcpy(3) from a \
             mapping whose pages fault in the op, mapped from one whose pages have faulted before; \
             pread, readv (two halves), direct (pread with O_DIRECT), io-uring (one read submitted \
             and waited for). cache=warm: it continues through the file from batch to batch. \
             cache=cold: a sample is one whole pass, and its figure is per read. Not included: \
             writing the file, returning to its start, evicting it, and checking with cachestat(2) \
             that all or none of it is cached; what is read is compared with what was written.",
        expected: "warm, 64 bytes: read 250 ns, fread 5, mmap 3; 65536 bytes: 4 us by read and \
                   fread, 5 by mmap for its faults; cold 20 us for 65536 bytes on a virtual disk",
        why: "read(2) pays kernel entry and exit and a page cache lookup for each call, fread only \
              once per 4096 bytes: it is faster for small reads, and from 4096 bytes on it is \
              read(2) itself. A mapping takes no call, but a fault per 16 pages or more \
              (`minor-faults`), and none once its pages are mapped (via=mapped). Cold, the disk \
              and readahead dominate. In a virtual machine cold refers to this kernel's cache only \
              (HOST_WARM).",
        calls: &[
            exactly("read", 1).when(&[("via", "read")]),
            exactly("pread64", 1).when(&[("via", "pread")]),
            exactly("pread64", 1).when(&[DIRECT]),
            exactly("readv", 1).when(&[("via", "readv")]),
            exactly("io_uring_enter", 1).when(&[("via", "io-uring")]),
            once_per(512, "read").when(&[("via", "fread"), ("size", "8")]),
            once_per(256, "read").when(&[("via", "fread"), ("size", "16")]),
            once_per(128, "read").when(&[("via", "fread"), ("size", "32")]),
            once_per(64, "read").when(&[("via", "fread"), ("size", "64")]),
            once_per(32, "read").when(&[("via", "fread"), ("size", "128")]),
            once_per(16, "read").when(&[("via", "fread"), ("size", "256")]),
            once_per(8, "read").when(&[("via", "fread"), ("size", "512")]),
            once_per(4, "read").when(&[("via", "fread"), ("size", "1024")]),
            once_per(2, "read").when(&[("via", "fread"), ("size", "2048")]),
            exactly("read", 1).when(&[("via", "fread"), ("size", "4096")]),
            exactly("read", 1).when(&[("via", "fread"), ("size", "8192")]),
            exactly("read", 1).when(&[("via", "fread"), ("size", "16384")]),
            exactly("read", 1).when(&[("via", "fread"), ("size", "32768")]),
            exactly("read", 1).when(&[("via", "fread"), ("size", "65536")]),
        ],
        floor: READ_FLOOR,
        axes: &[
            Axis {
                name: "via",
                sets: "how it is read",
                points: Points::Words(&[
                    "read", "fread", "mmap", "mapped", "pread", "readv", "direct", "io-uring",
                ]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["read", "fread", "mmap"]),
                    price_list: &Points::Words(&["read", "mmap"]),
                },
            },
            size(
                "read size in bytes",
                Points::WithPriceList {
                    points: &Points::Numbers(&[4_096, 65_536]),
                    price_list: &Points::Numbers(&[4_096]),
                },
            ),
            CACHE,
            Axis {
                name: "evict",
                sets: "how the file is evicted: by advice for this file, by dropping the page \
                       cache of the whole system (root), or, as in the study, by filling memory",
                points: Points::Words(&["fadvise", "drop", "fill"]),
                default_points: Points::Implied("fadvise"),
            },
            DIRECTORY,
            FILE_MIB,
        ],
        needs: &[
            SMALL_PAGES,
            NO_COLD_MEMORY,
            Need::not_applicable(NOT_EVICTED).when(&[WARM, ("evict", "drop")]),
            Need::not_applicable(NOT_EVICTED).when(&[WARM, ("evict", "fill")]),
            Need::not_applicable(DIRECT_IS_UNCACHED).when(&[DIRECT, WARM]),
            Need::not_applicable(NEVER_MAPPED).when(&[("via", "mapped"), COLD]),
            Need::io_uring().when(&[("via", "io-uring")]),
        ],
        major_faults: true,
        bytes_axis: "size",
        setup_us: FILE_SETUP,
        source: "study sunos-1999, section 6 (figures 1 and 2); lmbench bw_file_rd",
        build: |params| {
            let via = match params.word("via") {
                "fread" => ReadMethod::Fread,
                "mmap" => ReadMethod::Mmap,
                "mapped" => ReadMethod::Mapped,
                "pread" => ReadMethod::Pread,
                "readv" => ReadMethod::Readv,
                "direct" => ReadMethod::Direct,
                "io-uring" => ReadMethod::Ring,
                _ => ReadMethod::Read,
            };
            reads(params, via, false)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/read-random",
        asks: "What does reading a file in random order cost?",
        op: "like file/read, but each read begins at another multiple of `size`: all of them once, \
             in a fixed pseudo-random order; the lookup in the table of the order is included. For \
             via=mmap a sample is always a whole pass. Not included: the same as there.",
        expected: "warm the same as sequentially, and a third more for large files, whose pages no \
                   processor cache holds; cold 60 us on a virtual disk, at any size",
        why: "Warm, the page cache finds any page equally fast. Cold, each read waits for the disk \
              once: the difference to file/read with cache=cold is what readahead saves.",
        calls: &[
            exactly("pread64", 1).when(&[("via", "pread")]),
            exactly("pread64", 1).when(&[DIRECT]),
            exactly("io_uring_enter", 1).when(&[("via", "io-uring")]),
        ],
        floor: &[
            at_least(1, KERNEL_ENTRY).when(&[("via", "pread")]),
            at_least(1, KERNEL_ENTRY).when(&[DIRECT]),
            at_least(1, KERNEL_ENTRY).when(&[("via", "io-uring")]),
            at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "pread"), SIZE_4K]),
        ],
        axes: &[
            Axis {
                name: "via",
                sets: "how it is read",
                points: Points::Words(&["pread", "mmap", "direct", "io-uring"]),
                default_points: Points::Words(&["pread", "mmap"]),
            },
            Axis {
                name: "size",
                sets: "read size in bytes",
                points: Points::Numbers(&[4_096, 16_384, 65_536]),
                default_points: Points::Numbers(&[4_096]),
            },
            CACHE,
            Axis {
                name: "evict",
                sets: "how the file is evicted",
                points: Points::Words(&["fadvise", "drop"]),
                default_points: Points::Implied("fadvise"),
            },
            DIRECTORY,
            FILE_MIB,
        ],
        needs: &[
            SMALL_PAGES,
            NO_COLD_MEMORY,
            Need::not_applicable(NOT_EVICTED).when(&[WARM, ("evict", "drop")]),
            Need::not_applicable(DIRECT_IS_UNCACHED).when(&[DIRECT, WARM]),
            Need::io_uring().when(&[("via", "io-uring")]),
        ],
        in_price_list: false,
        major_faults: true,
        bytes_axis: "size",
        setup_us: FILE_SETUP,
        source: "fio randread; study sunos-1999, section 6, reads in order only",
        build: |params| {
            let via = match params.word("via") {
                "mmap" => ReadMethod::Mmap,
                "direct" => ReadMethod::Direct,
                "io-uring" => ReadMethod::Ring,
                _ => ReadMethod::Pread,
            };
            reads(params, via, true)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/write",
        asks: "What does writing a file sequentially cost, `size` bytes at a time?",
        op: "a write of `size` bytes from a buffer, and loop overhead; it does not wait for a \
             disk. onto=old overwrites cached pages, onto=new appends to a file that was \
             truncated. Not included: truncating, returning to the start, and reading back what \
             was written last.",
        expected: "4096 bytes: 900 ns onto cached pages, twice that where each page has to be \
                   allocated, and 1.3 us more to reserve a block on ext4; fwrite of 64 bytes 10 ns",
        why: "A write ends in the page cache: the kernel writes to disk later. It pays kernel \
              entry and exit, a lock, the file system's accounting of the page (none on tmpfs), \
              and the copy; a page that was not cached has to be allocated too.",
        calls: &[
            exactly("write", 1).when(&[("via", "write")]),
            exactly("pwrite64", 1).when(&[("via", "pwrite")]),
            once_per(512, "write").when(&[("via", "fwrite"), ("size", "8")]),
            once_per(64, "write").when(&[("via", "fwrite"), ("size", "64")]),
            once_per(8, "write").when(&[("via", "fwrite"), ("size", "512")]),
            exactly("write", 1).when(&[("via", "fwrite"), SIZE_4K]),
            exactly("write", 1).when(&[("via", "fwrite"), ("size", "65536")]),
        ],
        floor: &[
            at_least(1, KERNEL_ENTRY).when(&[("via", "write")]),
            at_least(1, KERNEL_ENTRY).when(&[("via", "pwrite")]),
            at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "write"), SIZE_4K]),
        ],
        axes: &[WRITE_VIA, WRITE_SIZE, ONTO, DIRECTORY, FILE_MIB],
        needs: &[SMALL_PAGES],
        bytes_axis: "size",
        setup_us: FILE_SETUP,
        source: "write(2), fwrite(3); lmbench bw_file_wr",
        build: |params| {
            writer_work(params, SyncMethod::None, params.word("onto") == "new", Shape::WithLoop)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/write-sync",
        asks: "What does writing to a file and waiting until it is on disk cost?",
        op: "a write of `size` bytes to the next position of a file (a stream is flushed), and \
             fsync(2) or fdatasync(2) of it. Not included: the same as file/write, onto=old.",
        expected: "200 us on a virtual disk, 1 us on tmpfs; fdatasync saves nothing, since the \
                   file size does not change",
        why: "The call waits until the disk reports that it has the page and has flushed its own \
              cache: waiting, not work. Whether the report is true cannot be checked from here.",
        calls: &[
            exactly("write", 1).when(&[("via", "write")]),
            exactly("pwrite64", 1).when(&[("via", "pwrite")]),
            exactly("write", 1).when(&[("via", "fwrite")]),
            exactly("fsync", 1).when(&[("sync", "fsync")]),
            exactly("fdatasync", 1).when(&[("sync", "fdatasync")]),
        ],
        floor: &[at_least(2, KERNEL_ENTRY)],
        axes: &[
            WRITE_VIA,
            Axis {
                name: "size",
                sets: "write size in bytes",
                points: Points::Numbers(&[64, 4_096, 65_536]),
                default_points: Points::Numbers(&[4_096]),
            },
            Axis {
                name: "sync",
                sets: "the call that waits for the disk",
                points: Points::Words(&["fsync", "fdatasync"]),
                default_points: Points::Words(&["fsync"]),
            },
            DIRECTORY,
            FILE_MIB,
        ],
        needs: &[SMALL_PAGES],
        in_price_list: false,
        switches: true,
        bytes_axis: "size",
        setup_us: FILE_SETUP,
        source: "fsync(2); fio --fsync=1",
        build: |params| {
            let sync =
                if params.word("sync") == "fsync" { SyncMethod::All } else { SyncMethod::Data };
            writer_work(params, sync, false, Shape::SingleShot)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/copy",
        asks: "What does copying a file to another cost, and which calls avoid copies?",
        op: "`size` bytes from one file to the next position of another, both cached: read(2) and \
             write(2); copy_file_range(2); sendfile(2); splice(2) into a pipe and splice(2) out of \
             it. Not included: returning to the start, and comparing the result.",
        expected: "65536 bytes: 14 us by read and write; the others save one of two copies, so 9",
        why: "read and write copy twice, into the program and out of it, and enter the kernel \
              twice. The others pass pages through a pipe inside the kernel and copy once. On \
              btrfs, xfs and some network file systems copy_file_range shares the blocks and \
              copies nothing: then it is not the same op (the record names the file system).",
        calls: &[
            exactly("read", 1).when(&[("via", "read-write")]),
            exactly("write", 1).when(&[("via", "read-write")]),
            exactly("copy_file_range", 1).when(&[("via", "copy-file-range")]),
            exactly("sendfile", 1).when(&[("via", "sendfile")]),
            exactly("splice", 2).when(&[("via", "splice")]),
        ],
        floor: &[
            at_least(1, KERNEL_ENTRY),
            at_least(1, KERNEL_ENTRY).when(&[("via", "read-write")]),
            at_least(1, KERNEL_ENTRY).when(&[("via", "splice")]),
        ],
        axes: &[
            Axis {
                name: "via",
                sets: "how it is copied",
                points: Points::Words(&["read-write", "copy-file-range", "sendfile", "splice"]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&[
                        "read-write",
                        "copy-file-range",
                        "sendfile",
                        "splice",
                    ]),
                    price_list: &Points::Words(&["copy-file-range"]),
                },
            },
            Axis {
                name: "size",
                sets: "bytes per copy",
                points: Points::Numbers(&[4_096, 65_536, 1_048_576]),
                default_points: Points::Numbers(&[65_536]),
            },
            DIRECTORY,
            FILE_MIB,
        ],
        needs: &[SMALL_PAGES],
        bytes_axis: "size",
        setup_us: FILE_SETUP,
        source: "copy_file_range(2), sendfile(2), splice(2)",
        build: |params| {
            let method = match params.word("via") {
                "copy-file-range" => CopyMethod::CopyFileRange,
                "sendfile" => CopyMethod::Sendfile,
                "splice" => CopyMethod::Splice,
                _ => CopyMethod::ReadWrite,
            };
            let size = params.number("size") as usize;
            let copier =
                Copier::new(location(params), params.number("file_mib") << 20, method, size)?;
            let max_ops = copier.pieces();
            Ok(Work::from_prepared_body(Shape::WithLoop, Copies(copier))
                .with_max_batch_ops(max_ops))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/create-unlink",
        asks: "What does creating an empty file and unlinking it cost?",
        op: "openat(2) of a new name, close(2) and unlinkat(2), in a directory with `files` other \
             names, links of one file. Not included: creating the directory.",
        expected: "12 us on ext4 and 3 us on tmpfs, at any number of files: both look names up in \
                   a tree",
        why: "An inode is allocated, a name is added and removed, and the journal records both: \
              the disk is written later. A file system that scans its directories linearly would \
              depend on the number of files. ext4 skips inodes that were freed within the last \
              minute, one by one: after deleting a thousand files nearby, it takes five times as \
              long (the other names here are links of one file, so that no worker causes this for \
              the next).",
        calls: &[exactly("openat", 1), exactly("close", 1), exactly("unlinkat", 1)],
        floor: &[at_least(3, KERNEL_ENTRY)],
        axes: &[FILES, DIRECTORY],
        setup_us: DIRECTORY_SETUP,
        source: "open(2), unlink(2); lmbench lat_fs",
        build: |params| directory_work(params, FileOperation::CreateUnlink),
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/rename",
        asks: "What does renaming a file within its directory cost?",
        op: "renameat2(2) of one file among `files` to a new name, and in the next op back again. \
             Not included: creating the directory.",
        expected: "6 us on ext4, 1.5 us on tmpfs",
        why: "One name is removed and another added, under the rename lock of the whole file \
              system.",
        calls: &[exactly("renameat2", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[FILES, DIRECTORY],
        in_price_list: false,
        setup_us: DIRECTORY_SETUP,
        source: "rename(2)",
        build: |params| directory_work(params, FileOperation::Rename),
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/stat",
        asks: "What does stat of one file after another cost in a large directory?",
        op: "newfstatat(2) of another file each time, by its name in the directory. Not included: \
             creating the directory.",
        expected: "300 ns while the processor's caches hold the data structures, 600 ns at 100,000 \
                   files",
        why: "Names that were looked up stay in the dentry cache, and the file system is not \
              involved: what grows is that cache, beyond the processor's caches.",
        calls: &[exactly("newfstatat", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[FILES, DIRECTORY],
        setup_us: DIRECTORY_SETUP,
        source: "stat(2)",
        build: |params| directory_work(params, FileOperation::Stat),
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/reread",
        asks: "How large a file does the page cache keep?",
        op: "read(2) of 65536 bytes, in whole passes over a file that was just read: a sample is a \
             pass, its figure per read. Everything runs in a control group that may use \
             `limit_mib`; the file size is `share_pct` per cent of that. Not included: writing the \
             file, and the passes before.",
        expected: "4 us up to a share of 80 %, where the knee is, and from 110 % on the disk's 20 \
                   us",
        why: "What does not fit is evicted before it is read again. `file.cached` of the record \
              says how much was cached before each pass; the knee is where that drops below the \
              whole file. On a machine without such a group the cache is as large as its free \
              memory.",
        calls: &[exactly("read", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[
            Axis {
                name: "limit_mib",
                sets: "memory limit of the control group in MiB",
                points: Points::Numbers(&[64, 512]),
                default_points: Points::WithThorough {
                    points: &Points::Numbers(&[64]),
                    thorough: &Points::Numbers(&[512]),
                },
            },
            Axis {
                name: "share_pct",
                sets: "file size in per cent of that limit",
                points: Points::Numbers(SHARES_PCT),
                default_points: Points::WithThorough {
                    points: &Points::Numbers(&[50, 150]),
                    thorough: &Points::Numbers(SHARES_PCT),
                },
            },
        ],
        needs: &[SMALL_PAGES],
        in_price_list: false,
        switches: true,
        setup_us: &[("limit_mib", "60000")],
        source: "study sunos-1999, section 6: what is read again comes from the cache",
        build: |params| rereads(params.number("limit_mib"), params.number("share_pct")),
        ..Bench::DEFAULT
    },
    first_read::FIRST_READ,
    extents::EXTENTS,
    state::TRUNCATE,
    state::FALLOCATE,
    state::SYNC,
    state::FADVISE,
    advice::READAHEAD,
    advice::DONTNEED,
    direct::WRITE_DIRECT,
    state::STATX,
    state::CHMOD,
    moves::VECTORS,
    moves::SENDFILE,
    moves::SPLICE,
    moves::MSYNC,
];

/// File sizes in per cent of a control group's memory: enough of them to find a knee.
const SHARES_PCT: &[u64] = &[25, 40, 50, 60, 70, 75, 80, 90, 100, 110, 125, 150, 200];

const SIZE_4K: (&str, &str) = ("size", "4096");

/// A read by a system call: a null call, and at page sizes the copy.
const READ_FLOOR: &[Floor] = &[
    at_least(1, KERNEL_ENTRY).when(&[("via", "read")]),
    at_least(1, KERNEL_ENTRY).when(&[("via", "pread")]),
    at_least(1, KERNEL_ENTRY).when(&[("via", "readv")]),
    at_least(1, KERNEL_ENTRY).when(&[DIRECT]),
    at_least(1, KERNEL_ENTRY).when(&[("via", "io-uring")]),
    at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "read"), SIZE_4K]),
    at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "fread"), SIZE_4K]),
    at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "pread"), SIZE_4K]),
    at_least(1, "memory/copy:size=65536,by=string").when(&[("via", "read"), ("size", "65536")]),
];

fn directory_work(params: Params<'_>, act: FileOperation) -> Result<Work, Errno> {
    let folder = PopulatedFolder::new(location(params), params.number("files") as usize, act)?;
    let ops = DirectoryOps { folder, operation: act, how: RawCall::Inline };
    Ok(Work::from_body(Shape::WithLoop, ops))
}

fn writer_work(
    params: Params<'_>,
    sync: SyncMethod,
    appends: bool,
    shape: Shape,
) -> Result<Work, Errno> {
    let method = match params.word("via") {
        "fwrite" => WriteMethod::Fwrite,
        "pwrite" => WriteMethod::Pwrite,
        _ => WriteMethod::Write,
    };
    let file = ScratchFile::new(location(params), params.number("file_mib") << 20, false)?;
    Ok(Writes(Writer::new(file, method, sync, params.number("size") as usize, appends)?)
        .work(shape))
}
