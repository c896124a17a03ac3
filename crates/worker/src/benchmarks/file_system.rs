//! The same acts on different file systems.
//!
//! ext4, xfs and btrfs lie in an image in memory, on a loop device: there is no disk to wait for,
//! and figures of the three compare the code of the file systems. A child mounts them, and the
//! overlay, in a mount namespace of its own, and passes their root folder to the worker.

use crate::kernel::file::entries::{Folder, close};
use crate::kernel::file::location::Location;
use crate::kernel::file::mounted::FileSystem;
use crate::kernel::file::piece_file::{PieceFile, PieceOperation};
use crate::kernel::syscall::prepared;

use super::helper::if_permitted;
use super::pieces::Pieces;
use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "file-system",
    about: "the cost of the same acts on different file systems",
    benches: BENCHES,
};

const FS: Axis = Axis {
    name: "fs",
    sets: "the file system: a tmpfs; that of the directory in which oscost was started (disk); an \
           empty folder of a tmpfs over another (overlay); or ext4, xfs and btrfs, each new, in an \
           image of 512 MiB in memory, on a loop device",
    points: Points::Words(&["tmpfs", "disk", "overlay", "ext4", "xfs", "btrfs"]),
    default_points: Points::Words(&["tmpfs", "disk", "overlay", "ext4", "xfs", "btrfs"]),
};

const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);
/// The capability that mounts, in the worker of root.
const ADMIN: Need = Need::capability(Capability::SysAdmin);
const MOUNTS: [Need; 4] = [
    ADMIN.when(&[("fs", "overlay")]),
    ADMIN.when(&[("fs", "ext4")]),
    ADMIN.when(&[("fs", "xfs")]),
    ADMIN.when(&[("fs", "btrfs")]),
];

/// Changes of names between two syncs: thousands would fill the journal, so that some op waits for
/// it.
const MAX_CHANGES: u64 = 256;
/// As many if that takes no longer than some 3 ms: with ten, as in a batch of the usual 50 us, the
/// sync would cool the caches for most ops, and begin a transaction in a large part of them.
const MIN_CHANGES: u64 = 128;
/// Ops that wait for a disk: at 10 ms each a batch lasts less than a second.
const MAX_SYNCS: u64 = 64;
/// Pieces of files, as large as pages.
const PIECE_BYTES: usize = 4_096;

const REFUSED: &str = "the directory's file system, or a filter of system calls, refuses an op";

/// What all benchmarks of this family have in common.
const COMMON: Bench = Bench { axes: &[FS], needs: &MOUNTS, in_price_list: false, ..Bench::DEFAULT };
/// The same of those that read and write pages.
const ON_PAGES: Bench =
    Bench { needs: &[MOUNTS[0], MOUNTS[1], MOUNTS[2], MOUNTS[3], SMALL_PAGES], ..COMMON };

const BENCHES: &[Bench] = &[
    Bench {
        id: "file-system/stat",
        asks: "What does stat of a file cost on different file systems?",
        op: "newfstatat(2) of an empty file by its name in an open directory, by the raw \
             instruction. Not included: making and mounting the file system, and creating the \
             file.",
        expected: "some 250 ns on all but two: btrfs 350 ns, overlay 500 ns, for each of them asks \
                   further",
        why: "The dentry cache answers the lookup, and the status is copied from the inode in \
              memory. btrfs also counts the bytes that wait for their place on the disk, under a \
              lock; an overlay asks the file system below, with the rights of the one who mounted \
              it.",
        calls: &[exactly("newfstatat", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["file/stat:files=10"],
        source: "stat(2); the function getattr of each file system",
        build: |params| {
            work(params, |folder| {
                close(folder.entry(c"file").create()?)?;
                Ok(Work::raw(prepared::stat_in(folder, c"file".into())))
            })
        },
        ..COMMON
    },
    Bench {
        id: "file-system/open-close",
        asks: "What does opening and closing a file cost on different file systems?",
        op: "openat(2) for reading of an empty file by its name in an open directory, and \
             close(2), by the raw instruction. Not included: making and mounting the file system, \
             and creating the file.",
        expected: "some 500 ns on all but overlay, there some 1.2 us",
        why: "The kernel's own part, the lookup and a struct file, is most of it; the file \
              systems add a check or a counter. An overlay opens a second file, of the file system \
              below, and closes it.",
        calls: &[exactly("openat", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["directory/open:by=openat"],
        source: "open(2); the function open of each file system",
        build: |params| {
            work(params, |folder| {
                close(folder.entry(c"file").create()?)?;
                Ok(Work::raw_pair(prepared::open_close_file(folder, c"file")))
            })
        },
        ..COMMON
    },
    Bench {
        id: "file-system/read",
        asks: "What does reading a cached page of a file cost on different file systems?",
        op: "pread64(2) of the next 4096 bytes of a file of 1 MiB, all of which is cached, by the \
             raw instruction. Not included: making and mounting the file system, and writing the \
             file.",
        expected: "some 350 ns on all: overlay 100 ns more, and xfs 20 ns for its lock",
        why: "All of them use the page cache's own function. xfs takes the inode's lock for \
              reading around it, so that no read sees half of a write; an overlay calls the file \
              system below with the rights of the one who mounted it.",
        calls: &[exactly("pread64", 1)],
        floor: &[at_least(1, KERNEL_ENTRY), at_least(1, "memory/copy:size=4096,by=string")],
        compare_with: &["file/read:via=pread,size=4096,cache=warm,file_mib=8"],
        source: "pread(2); filemap_read in mm/filemap.c",
        build: |params| pieces(params, PieceOperation::Read),
        ..ON_PAGES
    },
    Bench {
        id: "file-system/write",
        asks: "What does overwriting a cached page of a file cost on different file systems?",
        op: "pwrite64(2) of 4096 bytes onto the next page of a file of 1 MiB, all of which is \
             cached, and on its disk as well, by the raw instruction. Not included: making and \
             mounting the file system, writing the file first, and syncing it before each batch \
             of at most 256, one for each page; between batches, reading back what was written \
             last.",
        expected: "some 500 ns on tmpfs, 700 ns on overlay, 900 ns on ext4 and xfs, 3 us on btrfs",
        why: "A page is locked, copied into and marked dirty, and the inode gets new times. tmpfs \
              has nothing to write back, and does little else. ext4 and xfs know where the page \
              belongs on the disk. btrfs never overwrites: it reserves room for a new block, its \
              checksum and the trees that lead to it, and notes the range.",
        calls: &[exactly("pwrite64", 1)],
        floor: &[at_least(1, KERNEL_ENTRY), at_least(1, "memory/copy:size=4096,by=string")],
        compare_with: &["file/write:via=pwrite,size=4096,onto=old,file_mib=8"],
        source: "pwrite(2); generic_perform_write in mm/filemap.c, fs/iomap/buffered-io.c, \
                 fs/btrfs/file.c",
        build: |params| pieces(params, PieceOperation::Write),
        ..ON_PAGES
    },
    Bench {
        id: "file-system/fsync",
        asks: "What does fsync of one changed page cost on different file systems?",
        op: "pwrite64(2) of 4096 bytes onto the next page of a file of 1 MiB, all of which is \
             cached, and fsync(2), by the raw instruction. In an image the disk is memory: a \
             kernel thread (loop) copies what is written. Not included: making and mounting the \
             file system, and writing the file first; between batches, reading back what was \
             written last.",
        expected: "some 600 ns on tmpfs, 1 us on overlay, 40 us on ext4 and xfs, 150 us on btrfs; \
                   on a disk 200 us to 5 ms",
        why: "The page is written to its place, then the inode's new times to the journal, and \
              each is waited for: a request to the disk, a flush of its cache, a wakeup of the \
              caller. ext4 commits the whole transaction by a thread of its own, xfs a log of its \
              changes; btrfs writes the page to a new place and a tree of what changed. Where the \
              disk is memory the waits are switches between threads.",
        calls: &[exactly("pwrite64", 1), exactly("fsync", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["file/write-sync:via=pwrite,size=4096,sync=fsync,file_mib=8"],
        switches: true,
        source: "fsync(2); fs/ext4/fsync.c, fs/xfs/xfs_file.c, fs/btrfs/tree-log.c",
        build: |params| Ok(pieces(params, PieceOperation::WriteSync)?.with_max_batch_ops(MAX_SYNCS)),
        ..ON_PAGES
    },
    Bench {
        id: "file-system/create-unlink",
        asks: "What does creating and unlinking a file cost on different file systems?",
        op: "openat(2) of a new empty file, close(2) and unlinkat(2), by the raw instruction. Not \
             included: making and mounting the file system; syncing the directory before each \
             batch of at most 256, by which the journal is written. xfs frees the inode in a \
             kernel thread, which runs on the same CPU: most of that falls into the batch.",
        expected: "some 3 us on tmpfs, 8 us on ext4, 10 us on overlay, 15 us on xfs and 20 us on \
                   btrfs",
        why: "An inode is allocated and freed, and a name added and removed. tmpfs does this in \
              memory alone; the others change blocks of their trees, tables and bitmaps, and copy \
              each into a transaction once. ext4 skips inodes that were freed within the last \
              minute, one by one, so that its figure grows with the number of ops before. In btrfs \
              each change is an item in a tree, some of them later (delayed items). An overlay \
              creates the file in the upper folder with the rights of the one who mounted it, and \
              an inode of its own besides.",
        calls: &[exactly("openat", 1), exactly("close", 1), exactly("unlinkat", 1)],
        floor: &[at_least(3, KERNEL_ENTRY)],
        compare_with: &["file/create-unlink:files=10"],
        // To the thread of xfs: a batch that it interrupts is not to be dropped.
        switches: true,
        source: "open(2), unlink(2); fs/namei.c; lmbench lat_fs; filebench",
        build: |params| {
            changes(params, |folder| {
                Ok(move || {
                    let entry = folder.entry(c"created");
                    close(entry.create()?)?;
                    entry.unlink()
                })
            })
        },
        ..COMMON
    },
    Bench {
        id: "file-system/mkdir-rmdir",
        asks: "What does creating and removing a directory cost on different file systems?",
        op: "mkdirat(2) of a new name and unlinkat(2) of it with AT_REMOVEDIR, by the raw \
             instruction. Not included: as file-system/create-unlink.",
        expected: "some 3 us on tmpfs, 15 us on ext4, 15 us on xfs, 20 us on btrfs, and 50 us on \
                   overlay",
        why: "On ext4 a directory takes a block, on xfs a few entries are in the inode itself. An \
              overlay makes the directory in the upper folder and marks it, by an extended \
              attribute, as hiding what is below; before it removes it, it looks for the name in \
              the folder below.",
        calls: &[exactly("mkdirat", 1), exactly("unlinkat", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["directory/mkdir-rmdir"],
        // As create-unlink.
        switches: true,
        source: "mkdir(2), rmdir(2); fs/namei.c, fs/overlayfs/dir.c",
        build: |params| {
            changes(params, |folder| {
                Ok(move || {
                    let entry = folder.entry(c"made");
                    entry.make_folder()?;
                    entry.remove_folder()
                })
            })
        },
        ..COMMON
    },
    Bench {
        id: "file-system/rename",
        asks: "What does renaming a file within its directory cost on different file systems?",
        op: "renameat2(2) of an empty file to a new name in its directory, and in the next op back \
             again, by the raw instruction. Not included: as file-system/create-unlink.",
        expected: "some 1 us on tmpfs, 4 us on ext4 and xfs, 12 us on btrfs, 8 us on overlay",
        why: "A name is removed and another added in one transaction. In btrfs a name is three \
              items: by its hash, by its place in the directory, and from the file back to the \
              directory. An overlay asks whether a folder below has either name, and renames in \
              the upper folder.",
        calls: &[exactly("renameat2", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["file/rename:files=10"],
        source: "rename(2); fs/namei.c, fs/overlayfs/dir.c",
        build: |params| {
            changes(params, |folder| {
                close(folder.entry(c"one").create()?)?;
                let (mut from, mut to) = (c"one", c"other");
                Ok(move || {
                    folder.entry(from).rename_to(folder.entry(to))?;
                    std::mem::swap(&mut from, &mut to);
                    Ok(())
                })
            })
        },
        ..COMMON
    },
];

/// An empty directory of the file system that the point names; ext4 has a `lost+found` in it.
fn folder(params: Params<'_>) -> Result<Folder, Errno> {
    match params.word("fs") {
        "tmpfs" => Folder::new(Location::Tmpfs),
        "disk" => Folder::new(Location::UserFolder),
        "overlay" => FileSystem::Overlay.folder(),
        "ext4" => FileSystem::Ext4.folder(),
        "xfs" => FileSystem::Xfs.folder(),
        "btrfs" => FileSystem::Btrfs.folder(),
        _ => Err(Errno::EINVAL),
    }
}

/// Work in the directory that the point names, or why there is none.
fn work(
    params: Params<'_>,
    make: impl FnOnce(Folder) -> Result<Work, Errno>,
) -> Result<Work, Errno> {
    if_permitted(folder(params).and_then(make), REFUSED)
}

/// Work that changes names of the directory, which is synced before each batch.
fn changes<O: FnMut() -> Result<(), Errno> + 'static>(
    params: Params<'_>,
    make_op: impl FnOnce(Folder) -> Result<O, Errno>,
) -> Result<Work, Errno> {
    work(params, |folder| {
        let synced = folder.file().try_clone()?;
        Ok(Work::with_loop(make_op(folder)?)
            .with_preparation(move |_| Ok(synced.sync_all()?))
            .with_min_batch_ops(MIN_CHANGES)
            .with_max_batch_ops(MAX_CHANGES))
    })
}

/// Work on the pages of a file in the directory.
fn pieces(params: Params<'_>, act: PieceOperation) -> Result<Work, Errno> {
    work(params, |folder| {
        let file = folder.entry(c"file").create_to_read_and_write()?.into();
        let file = PieceFile::new(file, act, PIECE_BYTES)?;
        Ok(Pieces::work(file, Some(folder), Shape::WithLoop))
    })
}
