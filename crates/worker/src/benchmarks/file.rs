//! Files: read, written, copied, and found among others.

use crate::kernel::file::copy::{Carry, Copier};
use crate::kernel::file::directory::{Act, Many};
use crate::kernel::file::read::Via;
use crate::kernel::file::scratch_file::Laid;
use crate::kernel::file::write::{Put, Sync, Writer};
use crate::kernel::memory::blocks::Order;

use super::prelude::*;
use crate::bench::{Floor, When};

mod body;
#[cfg(test)]
mod tests;

use body::{Again, Among, Copies, Writes, place, reads};

pub(super) const FAMILY: Family = Family {
    name: "file",
    about: "what it costs to read, write and copy a file, and to find one",
    benches: BENCHES,
};

/// A slow disk takes a file at 25 MB/s, and it is written and read a few times.
const LAYING: When = &[("file_mib", "100000")];
/// A slow one takes a millisecond to make and unlink a file.
const MAKING: When = &[("files", "1000")];
const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);
const NO_COLD_MEMORY: Need =
    Need::not_applicable("a file in memory has no colder place").when(&[("where", "tmpfs"), COLD]);
const COLD: (&str, &str) = ("cache", "cold");
const WARM: (&str, &str) = ("cache", "warm");

const WHERE: Axis = Axis {
    name: "where",
    sets: "where the file lies: in the folder in which oscost was started, or in a tmpfs",
    points: Points::Words(&["here", "tmpfs"]),
    default_points: Points::Implied("here"),
};
const CACHE: Axis = Axis {
    name: "cache",
    sets: "whether the page cache holds all of the file, or nothing of it, when it is read",
    points: Points::Words(&["warm", "cold"]),
    default_points: Points::Words(&["warm"]),
};
const FILE_MIB: Axis = Axis {
    name: "file_mib",
    sets: "length of the file in MiB; study sunos-1999 had 128",
    points: Points::Numbers(&[1, 8, 128, 512]),
    default_points: Points::Numbers(&[8]),
};

/// Bytes of an op, from 8 to 65536: the sizes of study sunos-1999.
const fn size(sets: &'static str, usual: Points) -> Axis {
    let points = Points::Numbers(&[
        8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536,
    ]);
    Axis { name: "size", sets, points, default_points: usual }
}

/// An order of so many pieces, a power of two, that no readahead knows.
fn order(pieces: usize) -> Vec<u32> {
    let order = Order::of(pieces.ilog2());
    (0..pieces as u64).map(|piece| order.scrambled(piece) as u32).collect()
}

const PAST: &str = "O_DIRECT reads past the cache, warm or cold: cache=cold is its point";
const NEVER_MAPPED: &str =
    "pages that are mapped are in memory: via=mmap is what reads a cold file";
const NOT_EVICTED: &str = "nothing is evicted from a cache that is wanted warm";
const DIRECT: (&str, &str) = ("via", "direct");

const BENCHES: &[Bench] = &[
    Bench {
        id: "file/read",
        asks: "What does it cost to read a file from beginning to end, `size` bytes at a time?",
        op: "a read of `size` bytes into a buffer that is reused, and the turn of the loop. \
             via=read is read(2); fread the C library's, with its buffer of 4096; mmap \
             memcpy(3) out of a mapping whose pages fault in the op, mapped one whose pages \
             have faulted before; pread, readv (two halves), direct (pread of O_DIRECT), \
             io-uring (one read submitted and waited for). cache=warm: it goes on through the \
             file from batch to batch. cache=cold: a sample is one whole pass, and its figure \
             per read. Outside: laying the file, going back to its beginning, evicting it, and \
             looking with cachestat(2) that all or nothing of it is cached; what is read is \
             compared with what was written.",
        expected: "warm, 64 bytes: read 250 ns, fread 5, mmap 3; 65536 bytes: 4 us by read and \
                fread, 5 by mmap for its faults; cold 20 us for 65536 bytes on a virtual disk",
        why: "read(2) pays the door and a look into the page cache for each call, fread only \
              once in 4096 bytes: it wins while reads are small, and from 4096 bytes on it is \
              read(2) itself. A mapping pays no call, but a fault for 16 pages or more \
              (`minor-faults`), and no more once its pages are mapped (via=mapped). Cold, the \
              disk and readahead decide. In a virtual machine cold means this kernel's cache \
              alone (HOST_WARM).",
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
                sets: "by what it is read",
                points: Points::Words(&[
                    "read", "fread", "mmap", "mapped", "pread", "readv", "direct", "io-uring",
                ]),
                default_points: Points::Words(&["read", "fread", "mmap"]),
            },
            size("bytes of a read", Points::Numbers(&[4_096])),
            CACHE,
            Axis {
                name: "evict",
                sets: "how the cache is made to forget the file: by advice for this file, by \
                       dropping everybody's cache (root), or as the study did, by filling memory",
                points: Points::Words(&["fadvise", "drop", "fill"]),
                default_points: Points::Implied("fadvise"),
            },
            WHERE,
            FILE_MIB,
        ],
        needs: &[
            SMALL_PAGES,
            NO_COLD_MEMORY,
            Need::not_applicable(NOT_EVICTED).when(&[WARM, ("evict", "drop")]),
            Need::not_applicable(NOT_EVICTED).when(&[WARM, ("evict", "fill")]),
            Need::not_applicable(PAST).when(&[DIRECT, WARM]),
            Need::not_applicable(NEVER_MAPPED).when(&[("via", "mapped"), COLD]),
            Need::io_uring().when(&[("via", "io-uring")]),
        ],
        major_faults: true,
        bytes_axis: "size",
        setup_us: LAYING,
        source: "study sunos-1999, section 6 (figures 1 and 2); lmbench bw_file_rd",
        build: |at| {
            let via = match at.word("via") {
                "fread" => Via::Fread,
                "mmap" => Via::Mmap,
                "mapped" => Via::Mapped,
                "pread" => Via::Pread,
                "readv" => Via::Readv,
                "direct" => Via::Direct,
                "io-uring" => Via::Ring,
                _ => Via::Read,
            };
            reads(at, via, false)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/read-random",
        asks: "What does it cost to read a file in an order that no readahead knows?",
        op: "as file/read, but each read begins at another multiple of `size`: all of them \
             once, in a fixed order that looks like chance; the look into the table of the \
             order is inside. Of via=mmap a sample is always a whole pass. Outside: as there.",
        expected: "warm as in order, and a third more for large files, whose pages no cache of the \
                processor holds; cold 60 us on a virtual disk, whatever the size",
        why: "Warm, the page cache finds any page equally fast. Cold, each read waits for the \
              disk once: what readahead saves in order is the difference to file/read at \
              cache=cold.",
        calls: &[
            exactly("pread64", 1).when(&[("via", "pread")]),
            exactly("pread64", 1).when(&[DIRECT]),
            exactly("io_uring_enter", 1).when(&[("via", "io-uring")]),
        ],
        floor: &[
            at_least(1, "syscall/invalid").when(&[("via", "pread")]),
            at_least(1, "syscall/invalid").when(&[DIRECT]),
            at_least(1, "syscall/invalid").when(&[("via", "io-uring")]),
            at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "pread"), SIZE_4K]),
        ],
        axes: &[
            Axis {
                name: "via",
                sets: "by what it is read",
                points: Points::Words(&["pread", "mmap", "direct", "io-uring"]),
                default_points: Points::Words(&["pread", "mmap"]),
            },
            Axis {
                name: "size",
                sets: "bytes of a read",
                points: Points::Numbers(&[4_096, 16_384, 65_536]),
                default_points: Points::Numbers(&[4_096]),
            },
            CACHE,
            Axis {
                name: "evict",
                sets: "how the cache is made to forget the file",
                points: Points::Words(&["fadvise", "drop"]),
                default_points: Points::Implied("fadvise"),
            },
            WHERE,
            FILE_MIB,
        ],
        needs: &[
            SMALL_PAGES,
            NO_COLD_MEMORY,
            Need::not_applicable(NOT_EVICTED).when(&[WARM, ("evict", "drop")]),
            Need::not_applicable(PAST).when(&[DIRECT, WARM]),
            Need::io_uring().when(&[("via", "io-uring")]),
        ],
        in_price_list: false,
        major_faults: true,
        bytes_axis: "size",
        setup_us: LAYING,
        source: "fio randread; study sunos-1999, section 6, reads in order only",
        build: |at| {
            let via = match at.word("via") {
                "mmap" => Via::Mmap,
                "direct" => Via::Direct,
                "io-uring" => Via::Ring,
                _ => Via::Pread,
            };
            reads(at, via, true)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/write",
        asks: "What does it cost to write a file from beginning to end, `size` bytes at a time?",
        op: "a write of `size` bytes from a buffer, and the turn of the loop; nobody waits for \
             a disk. onto=old overwrites pages that are cached, onto=new appends to a file that \
             was emptied. Outside: emptying, going back, and reading back what was written last.",
        expected: "4096 bytes: 900 ns onto cached pages, twice that where each page has to be \
                found, and 1.3 us more to reserve a block on ext4; fwrite of 64 bytes 10 ns",
        why: "A write goes to the page cache and is done: the disk is written later, by others. \
              What it pays is the door, a lock, the file system's account of the page (none on \
              tmpfs), and the copy; a page that was not there has to be found too.",
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
            at_least(1, "syscall/invalid").when(&[("via", "write")]),
            at_least(1, "syscall/invalid").when(&[("via", "pwrite")]),
            at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "write"), SIZE_4K]),
        ],
        axes: &[PUT, WRITE_SIZE, ONTO, WHERE, FILE_MIB],
        needs: &[SMALL_PAGES],
        bytes_axis: "size",
        setup_us: LAYING,
        source: "write(2), fwrite(3); lmbench bw_file_wr",
        build: |at| writer(at, Sync::None, at.word("onto") == "new", Shape::WithLoop),
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/write-sync",
        asks: "What does it cost to write to a file and to know that its disk has it?",
        op: "a write of `size` bytes onto the next place of a file (a stream is flushed), and \
             fsync(2) or fdatasync(2) of it. Outside: as file/write, onto=old.",
        expected: "200 us on a virtual disk, 1 us on tmpfs; fdatasync saves nothing, since the \
                length stays",
        why: "The call waits until the disk says that it has the page and has emptied its own \
              cache: a wait, not work. What the disk says is all that anybody here can know.",
        calls: &[
            exactly("write", 1).when(&[("via", "write")]),
            exactly("pwrite64", 1).when(&[("via", "pwrite")]),
            exactly("write", 1).when(&[("via", "fwrite")]),
            exactly("fsync", 1).when(&[("sync", "fsync")]),
            exactly("fdatasync", 1).when(&[("sync", "fdatasync")]),
        ],
        floor: &[at_least(2, "syscall/invalid")],
        axes: &[
            PUT,
            Axis {
                name: "size",
                sets: "bytes of a write",
                points: Points::Numbers(&[64, 4_096, 65_536]),
                default_points: Points::Numbers(&[4_096]),
            },
            Axis {
                name: "sync",
                sets: "what waits for the disk",
                points: Points::Words(&["fsync", "fdatasync"]),
                default_points: Points::Words(&["fsync"]),
            },
            WHERE,
            FILE_MIB,
        ],
        needs: &[SMALL_PAGES],
        in_price_list: false,
        switches: true,
        bytes_axis: "size",
        setup_us: LAYING,
        source: "fsync(2); fio --fsync=1",
        build: |at| {
            let sync = if at.word("sync") == "fsync" { Sync::All } else { Sync::Data };
            writer(at, sync, false, Shape::SingleShot)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/copy",
        asks: "What does it cost to copy a file to another, and who is spared the copying?",
        op: "`size` bytes from one file onto the next place of another, both cached: read(2) \
             and write(2); copy_file_range(2); sendfile(2); splice(2) into a pipe and splice(2) \
             out of it. Outside: going back, and comparing what has arrived.",
        expected: "65536 bytes: 14 us by read and write; the others save a copy of two, so 9",
        why: "read and write copy twice, into the program and out of it, and pass the door \
              twice. The others hand pages through a pipe inside the kernel and copy once. On \
              btrfs, xfs and some networks copy_file_range shares the blocks and copies \
              nothing: then it is not the same act (the file system stands in the record).",
        calls: &[
            exactly("read", 1).when(&[("via", "read-write")]),
            exactly("write", 1).when(&[("via", "read-write")]),
            exactly("copy_file_range", 1).when(&[("via", "copy-file-range")]),
            exactly("sendfile", 1).when(&[("via", "sendfile")]),
            exactly("splice", 2).when(&[("via", "splice")]),
        ],
        floor: &[
            at_least(1, "syscall/invalid"),
            at_least(1, "syscall/invalid").when(&[("via", "read-write")]),
            at_least(1, "syscall/invalid").when(&[("via", "splice")]),
        ],
        axes: &[
            Axis {
                name: "via",
                sets: "by what it is copied",
                points: Points::Words(&["read-write", "copy-file-range", "sendfile", "splice"]),
                default_points: Points::Words(&[
                    "read-write",
                    "copy-file-range",
                    "sendfile",
                    "splice",
                ]),
            },
            Axis {
                name: "size",
                sets: "bytes of a copy",
                points: Points::Numbers(&[4_096, 65_536, 1_048_576]),
                default_points: Points::Numbers(&[65_536]),
            },
            WHERE,
            FILE_MIB,
        ],
        needs: &[SMALL_PAGES],
        in_price_list: false,
        bytes_axis: "size",
        setup_us: LAYING,
        source: "copy_file_range(2), sendfile(2), splice(2)",
        build: |at| {
            let carry = match at.word("via") {
                "copy-file-range" => Carry::CopyFileRange,
                "sendfile" => Carry::Sendfile,
                "splice" => Carry::Splice,
                _ => Carry::ReadWrite,
            };
            let size = at.number("size") as usize;
            let copier = Copier::new(place(at), at.number("file_mib") << 20, carry, size)?;
            let most = copier.pieces();
            Ok(Work::from_prepared_body(Shape::WithLoop, Copies(copier)).with_max_batch_ops(most))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/create-unlink",
        asks: "What does it cost to make an empty file in a folder and to take it away again?",
        op: "openat(2) of a new name, close(2) and unlinkat(2), in a folder of `files` other \
             names, links of one file. Outside: making the folder.",
        expected: "12 us on ext4 and 3 us on tmpfs, whatever the number of files: both look names \
                up in a tree",
        why: "An inode is found, a name is entered and struck out, and the journal notes both: \
              the disk hears of it later. A file system that reads its folders from end to end \
              would show the number of files. ext4 passes over inodes that were freed in the last \
              minute, one by one: who has just deleted a thousand files nearby pays five times \
              as much (the other names here are links of one file, so that no worker does that to \
              the next).",
        calls: &[exactly("openat", 1), exactly("close", 1), exactly("unlinkat", 1)],
        floor: &[at_least(3, "syscall/invalid")],
        axes: &[FILES, WHERE],
        setup_us: MAKING,
        source: "open(2), unlink(2); lmbench lat_fs",
        build: |at| many(at, Act::CreateUnlink),
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/rename",
        asks: "What does it cost to rename a file in its folder?",
        op: "renameat2(2) of one file among `files` to a new name, and at the next op back \
             again. Outside: making the folder.",
        expected: "6 us on ext4, 1.5 us on tmpfs",
        why: "One name is struck out and another entered, under the lock of the whole file \
              system's renames.",
        calls: &[exactly("renameat2", 1)],
        floor: &[at_least(1, "syscall/invalid")],
        axes: &[FILES, WHERE],
        in_price_list: false,
        setup_us: MAKING,
        source: "rename(2)",
        build: |at| many(at, Act::Rename),
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/stat",
        asks: "What does it cost to look at one file after another in a folder of many?",
        op: "newfstatat(2) of another file each time, by its name in the folder. Outside: \
             making the folder.",
        expected: "300 ns while the processor's caches hold what is looked at, 600 ns at 100,000 \
                files",
        why: "Names that were looked up stay in the kernel's table of names, and no file system \
              is asked: what grows is the table, out of the processor's caches.",
        calls: &[exactly("newfstatat", 1)],
        floor: &[at_least(1, "syscall/invalid")],
        axes: &[FILES, WHERE],
        in_price_list: false,
        setup_us: MAKING,
        source: "stat(2)",
        build: |at| many(at, Act::Stat),
        ..Bench::DEFAULT
    },
    Bench {
        id: "file/reread",
        asks: "How large a file does the page cache keep?",
        op: "read(2) of 65536 bytes, in whole passes over a file that was just read: a sample \
             is a pass, its figure per read. All of it happens in a control group that may use \
             `limit_mib`; the file has `share_pct` per cent of that. Outside: laying the file, \
             and the passes before.",
        expected: "4 us up to a share of 80 %; there is the knee, and from 110 % on the disk's 20 \
                us",
        why: "What does not fit is evicted before it is read again. `file.cached` of the record \
              says how much was there before each pass; the knee is where that falls below all. \
              On a machine without such a group the cache is as large as its free memory.",
        calls: &[exactly("read", 1)],
        floor: &[at_least(1, "syscall/invalid")],
        axes: &[
            Axis {
                name: "limit_mib",
                sets: "memory of the control group, in MiB",
                points: Points::Numbers(&[64, 512]),
                default_points: Points::WithThorough {
                    points: &Points::Numbers(&[64]),
                    thorough: &Points::Numbers(&[512]),
                },
            },
            Axis {
                name: "share_pct",
                sets: "the file's length, in per cent of that",
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
        build: |at| Again::work(at.number("limit_mib"), at.number("share_pct")),
        ..Bench::DEFAULT
    },
];

/// Files as large as these parts of a control group's memory: enough of them to find a knee.
const SHARES_PCT: &[u64] = &[25, 40, 50, 60, 70, 75, 80, 90, 100, 110, 125, 150, 200];

const SIZE_4K: (&str, &str) = ("size", "4096");

/// A read by a call: the door, and at the sizes of pages the copy.
const READ_FLOOR: &[Floor] = &[
    at_least(1, "syscall/invalid").when(&[("via", "read")]),
    at_least(1, "syscall/invalid").when(&[("via", "pread")]),
    at_least(1, "syscall/invalid").when(&[("via", "readv")]),
    at_least(1, "syscall/invalid").when(&[DIRECT]),
    at_least(1, "syscall/invalid").when(&[("via", "io-uring")]),
    at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "read"), SIZE_4K]),
    at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "fread"), SIZE_4K]),
    at_least(1, "memory/copy:size=4096,by=string").when(&[("via", "pread"), SIZE_4K]),
    at_least(1, "memory/copy:size=65536,by=string").when(&[("via", "read"), ("size", "65536")]),
];

const PUT: Axis = Axis {
    name: "via",
    sets: "by what it is written",
    points: Points::Words(&["write", "fwrite", "pwrite"]),
    default_points: Points::Words(&["write"]),
};
const WRITE_SIZE: Axis = Axis {
    name: "size",
    sets: "bytes of a write",
    points: Points::Numbers(&[8, 64, 512, 4_096, 65_536]),
    default_points: Points::Numbers(&[4_096]),
};
const ONTO: Axis = Axis {
    name: "onto",
    sets: "whether pages are overwritten that are there, or the file grows",
    points: Points::Words(&["old", "new"]),
    default_points: Points::Words(&["old"]),
};
const FILES: Axis = Axis {
    name: "files",
    sets: "files in the folder",
    points: Points::Numbers(&[10, 100, 1_000, 10_000, 100_000]),
    default_points: Points::Numbers(&[100]),
};

fn many(at: Params<'_>, act: Act) -> Result<Work, Errno> {
    let many = Many::new(place(at), at.number("files") as usize, act)?;
    Ok(Work::from_body(Shape::WithLoop, Among(many, act)))
}

fn writer(at: Params<'_>, sync: Sync, anew: bool, shape: Shape) -> Result<Work, Errno> {
    let put = match at.word("via") {
        "fwrite" => Put::Fwrite,
        "pwrite" => Put::Pwrite,
        _ => Put::Write,
    };
    let laid = Laid::new(place(at), at.number("file_mib") << 20, false)?;
    Ok(Writes(Writer::new(laid, put, sync, at.number("size") as usize, anew)?).work(shape))
}
