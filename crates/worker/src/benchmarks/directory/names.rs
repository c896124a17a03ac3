//! Names: adding, changing and removing them, and finding that one does not exist.

use std::ffi::CString;
use std::fs::File;

use super::axes::{DIRECTORY, location, tried, tried_work};
use super::body::{NewNames, Replacements};
use crate::benchmarks::prelude::*;
use crate::kernel::file::entries::{Entry, Folder, Lookup, close};
use crate::kernel::syscall::prepared;

pub(super) const MKDIR_RMDIR: Bench = Bench {
    id: "directory/mkdir-rmdir",
    asks: "What does creating a directory and removing it cost?",
    op: "mkdirat(2) of a new name in a directory that is otherwise empty, and unlinkat(2) of it \
         with AT_REMOVEDIR. Not included: creating and opening the directory around it, and what \
         the journal writes to the disk later.",
    expected: "25 us on ext4, 3 us on tmpfs: twice what an empty file costs on ext4, where a \
               directory takes a block",
    why: "A directory is an inode and, on most disk file systems, a block with its first two \
          entries; both are allocated, recorded in the journal and freed, and the number of links \
          of the directory around it changes twice. rmdir also has to find it empty, and removes \
          what the dentry cache holds of its names. ext4 chooses the block group of a directory by \
          a search (Orlov), and skips inodes that were freed within the last minute, as it does \
          for files.",
    calls: &[exactly("mkdirat", 1), exactly("unlinkat", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    compare_with: &["file/create-unlink:files=10"],
    axes: &[DIRECTORY],
    source: "mkdir(2), rmdir(2); fs/namei.c; lmbench lat_fs; will-it-scale",
    build: |params| {
        let folder = Folder::new(location(params))?;
        let op = move || {
            let entry = folder.entry(c"made");
            entry.make_folder()?;
            entry.remove_folder()
        };
        tried(op, "mkdir(2)")
    },
    ..Bench::DEFAULT
};

pub(super) const LINK_UNLINK: Bench = Bench {
    id: "directory/link-unlink",
    asks: "What does another name for an existing file cost?",
    op: "linkat(2) of an empty file to a new name in the same directory, and unlinkat(2) of that \
         name, by which the file keeps its first. Not included: creating both, and what the \
         journal writes to the disk later.",
    expected: "6 us on ext4, 1.5 us on tmpfs: half of file/create-unlink, since no inode is \
               allocated or freed",
    why: "A name is added and removed, and the link count of the inode changes twice. What \
          file/create-unlink costs beyond this is the inode itself, and opening and closing it.",
    calls: &[exactly("linkat", 1), exactly("unlinkat", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    compare_with: &["file/create-unlink:files=10"],
    axes: &[DIRECTORY],
    in_price_list: false,
    source: "link(2), unlink(2); fs/namei.c",
    build: |params| {
        let folder = Folder::new(location(params))?;
        close(folder.entry(c"file").create()?)?;
        let op = move || {
            let another = folder.entry(c"another");
            folder.entry(c"file").link_as(another)?;
            another.unlink()
        };
        tried(op, "link(2)")
    },
    ..Bench::DEFAULT
};

pub(super) const SYMLINK_UNLINK: Bench = Bench {
    id: "directory/symlink-unlink",
    asks: "What does a symbolic link cost, created and removed?",
    op: "symlinkat(2) of a new name with the content `file`, and unlinkat(2) of it. Not included: \
         creating the directory, and what the journal writes to the disk later.",
    expected: "11 us on ext4, 2.5 us on tmpfs: as an empty file, without opening and closing it",
    why: "A symbolic link is an inode of its own. A content this short is stored in it (ext4: \
          below 60 bytes), so no block is allocated.",
    calls: &[exactly("symlinkat", 1), exactly("unlinkat", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    compare_with: &["file/create-unlink:files=10"],
    axes: &[DIRECTORY],
    in_price_list: false,
    source: "symlink(2), unlink(2); fs/namei.c",
    build: |params| {
        let folder = Folder::new(location(params))?;
        let op = move || {
            let entry = folder.entry(c"link");
            entry.link_to(c"file")?;
            entry.unlink()
        };
        tried(op, "symlink(2)")
    },
    ..Bench::DEFAULT
};

pub(super) const READLINK: Bench = Bench {
    id: "directory/readlink",
    asks: "What does reading a symbolic link cost?",
    op: "readlinkat(2) of a link whose content has `content_bytes` bytes, into a buffer of 4096, \
         by the raw instruction. Not included: creating the link, whose content is cached.",
    expected: "250 ns for 8 bytes; 100 ns more for 200 on ext4, the same on tmpfs",
    why: "The name is looked up, the access time is checked, and the content copied out. A short \
          content is in the inode; a longer one (ext4: from 60 bytes) is a page of the page cache, \
          which has to be found and referenced.",
    calls: &[exactly("readlinkat", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "content_bytes",
            sets: "length of the link's content in bytes",
            points: Points::Numbers(&[8, 200]),
            default_points: Points::Numbers(&[8]),
        },
        DIRECTORY,
    ],
    source: "readlink(2); fs/stat.c, fs/namei.c",
    build: |params| {
        let folder = Folder::new(location(params))?;
        let bytes = params.number("content_bytes") as usize;
        let content = CString::new(vec![b'x'; bytes]).map_err(|_| Errno::EINVAL)?;
        match folder.entry(c"link").link_to(&content) {
            Err(error) if error.is_unavailable() => {
                return Ok(Work::unavailable(format!(
                    "no symbolic link can be created in this directory: {error}"
                )));
            }
            created => created?,
        }
        Ok(Work::raw(prepared::readlink_in(folder, c"link", bytes)))
    },
    ..Bench::DEFAULT
};

pub(super) const RENAME: Bench = Bench {
    id: "directory/rename",
    asks: "What does renaming a file across directories, or onto another, cost?",
    op: "renameat2(2). kind=across: a file from one directory to another beside it, under the same \
         name, and in the next op back; replace: a file onto the name of another empty file, which \
         is freed, as programs save a file; exchange: two files of one directory get each other's \
         name (RENAME_EXCHANGE). Not included: creating files and directories; with kind=replace \
         a new file for each op before a batch of at most 256; what the journal writes to the \
         disk later.",
    expected: "across 7 us on ext4 and 1.7 us on tmpfs, a fifth more than within a directory \
               (file/rename); replace half as much again, for the inode that it frees; exchange \
               as across",
    why: "Within a directory one lock is enough. Across two the kernel takes the rename lock of \
          the file system, so that no directory can become its own ancestor meanwhile, and the \
          locks of both directories. A replaced file loses its last link: its inode is freed in \
          the call.",
    calls: &[exactly("renameat2", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["file/rename:files=10"],
    axes: &[
        Axis {
            name: "kind",
            sets: "what the new name is: free in another directory, another file's, or exchanged",
            points: Points::Words(&["across", "replace", "exchange"]),
            default_points: Points::Words(&["across", "replace"]),
        },
        DIRECTORY,
    ],
    in_price_list: false,
    source: "rename(2); fs/namei.c, Documentation/filesystems/directory-locking.rst",
    build: |params| {
        let location = location(params);
        match params.word("kind") {
            "replace" => Replacements::work(location),
            "exchange" => {
                let folder = Folder::new(location)?;
                close(folder.entry(c"one").create()?)?;
                close(folder.entry(c"other").create()?)?;
                let op = move || folder.entry(c"one").exchange_with(folder.entry(c"other"));
                tried(op, "renameat2(2) with RENAME_EXCHANGE")
            }
            _ => across(Folder::new(location)?),
        }
    },
    ..Bench::DEFAULT
};

/// Renames of a file from one subfolder to another, and back.
fn across(folder: Folder) -> Result<Work, Errno> {
    let subfolder = |name| -> Result<File, Errno> {
        let entry = folder.entry(name);
        entry.make_folder()?;
        Ok(entry.open_folder()?.into())
    };
    let (mut from, mut to) = (subfolder(c"here")?, subfolder(c"there")?);
    close(Entry::new(&from, c"file").create()?)?;
    let op = move || {
        Entry::new(&from, c"file").rename_to(Entry::new(&to, c"file"))?;
        std::mem::swap(&mut from, &mut to);
        // Keeps the folder until both are closed.
        let _ = &folder;
        Ok(())
    };
    tried(op, "rename(2) from one directory to another")
}

pub(super) const MISSING: Bench = Bench {
    id: "directory/missing",
    asks: "What does looking up a name that does not exist cost?",
    op: "openat(2), newfstatat(2) or faccessat(2) of a name of one component that does not exist \
         in an open directory; failing with ENOENT is the expected result. state=seen: the same \
         name again and again; new: a name that was never looked up, in an empty directory, and \
         the look-up of the next name in a list. Not included: a new directory before each batch \
         of at most 256 new names.",
    expected: "seen 250 ns on ext4, open 100 ns more, for the struct file that it allocates first; \
               on tmpfs 150 ns more; new 1 us on ext4",
    why: "The kernel remembers that a name does not exist: a negative dentry answers the next \
          look-up, and no file system is asked. This is what a search along PATH or for a \
          library costs. tmpfs keeps no negative dentries, since its names are nowhere but in \
          the dentry cache: each look-up allocates a dentry, and frees it.",
    calls: &[
        exactly("openat", 1).when(&[("by", "open")]),
        exactly("newfstatat", 1).when(&[("by", "stat")]),
        exactly("faccessat", 1).when(&[("by", "access")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["syscall/access"],
    axes: &[
        Axis {
            name: "by",
            sets: "the call that looks the name up",
            points: Points::Words(&["open", "stat", "access"]),
            default_points: Points::WithPriceList {
                points: &Points::Words(&["open", "stat"]),
                price_list: &Points::Words(&["stat"]),
            },
        },
        Axis {
            name: "state",
            sets: "whether the name was looked up before",
            points: Points::Words(&["seen", "new"]),
            default_points: Points::Words(&["seen"]),
        },
        DIRECTORY,
    ],
    source: "path_resolution(7); fs/dcache.c, fs/namei.c, fs/libfs.c (simple_lookup)",
    build: |params| {
        let by = match params.word("by") {
            "stat" => Lookup::Stat,
            "access" => Lookup::Access,
            _ => Lookup::Open,
        };
        if params.word("state") == "new" {
            return NewNames::work(location(params), by);
        }
        let folder = Folder::new(location(params))?;
        let work = Work::raw_loop(
            folder,
            move |folder| folder.entry(c"missing").look_up_missing(by),
            move |folder| folder.entry(c"missing").look_up_missing_by::<true>(by),
        );
        tried_work(work, "a look-up")
    },
    ..Bench::DEFAULT
};
