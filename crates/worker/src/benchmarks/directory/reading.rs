//! Opening, reading and closing a directory.

use super::axes::{DIRECTORY, location};
use super::body::Closes;
use crate::bench::PointFilter;
use crate::benchmarks::prelude::*;
use crate::kernel::file::entries::{Folder, Listing, numbered_names};
use crate::kernel::syscall::prepared;

/// A slow disk takes a millisecond to add a name.
const SETUP: PointFilter = &[("files", "1000")];

pub(super) const GETDENTS: Bench = Bench {
    id: "directory/getdents",
    asks: "What does reading a whole directory cost?",
    op: "lseek(2) of an open directory with `files` names of eight characters to its start, and \
         getdents64(2) into a buffer of 32 KiB, that of the C library, until it returns 0; the \
         bytes that it returned are added up and compared. Not included: creating the names, links \
         of one file, opening the directory, and passing over the entries as readdir(3) does.",
    expected: "10 files 1.5 us; 60 ns for each further name on tmpfs and 100 ns on ext4, which \
               sorts them by their hashes",
    why: "A buffer takes 1023 such names, so 1000 files need two calls, of which the second only \
          finds the end, and 10,000 need eleven. ext4 reads a directory in the order of hashes: it \
          first collects the names of a block in a tree. tmpfs walks the dentries under a lock, \
          or since Linux 6.6 an index of offsets. syscall/getdents reads four entries by one call, \
          which is not told that there are no more.",
    calls: &[
        exactly("lseek", 1),
        exactly("getdents64", 2).when(&[("files", "10")]),
        exactly("getdents64", 2).when(&[("files", "100")]),
        // A file system in user space, or of a host, may return a page at a time.
        up_to("getdents64", 20).when(&[("files", "1000")]),
        up_to("getdents64", 200).when(&[("files", "10000")]),
    ],
    floor: &[at_least(1, "syscall/lseek"), at_least(2, KERNEL_ENTRY)],
    compare_with: &["syscall/getdents"],
    axes: &[
        Axis {
            name: "files",
            sets: "number of files in the directory",
            points: Points::Items("file", &Points::Numbers(&[10, 100, 1_000, 10_000])),
            default_points: Points::WithPriceList {
                points: &Points::Numbers(&[10, 100, 1_000]),
                price_list: &Points::Numbers(&[100]),
            },
        },
        DIRECTORY,
    ],
    setup_us: SETUP,
    source: "getdents(2); fs/readdir.c, fs/ext4/dir.c, fs/libfs.c",
    build: |params| {
        let (folder, files) = (Folder::new(location(params))?, params.number("files"));
        folder.add_files(&numbered_names(files as usize)?)?;
        let listing = Listing::new(folder.file().try_clone()?, files)?;
        // The folder is kept for as long as it is read.
        Ok(Work::raw_loop(
            (listing, folder),
            |(listing, _)| listing.read(),
            |(listing, _)| listing.read_by::<true>(),
        ))
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN_CLOSE: Bench = Bench {
    id: "directory/open-close",
    asks: "What does opening a directory and closing it cost?",
    op: "openat(2) with O_DIRECTORY of an empty directory by a name of one component, and \
         close(2), by the raw instruction; nothing is read. Not included: creating it.",
    expected: "800 ns on ext4 and tmpfs, as a regular file",
    why: "A struct file is allocated, the name is walked, and the file system's open function is \
          called: ext4 allocates the state of a later reading here, tmpfs a cursor among the \
          dentries (until Linux 6.6). The close frees both.",
    calls: &[exactly("openat", 1), exactly("close", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    compare_with: &["directory/open:by=openat", "syscall/open-depth:depth=1"],
    axes: &[DIRECTORY],
    source: "open(2), opendir(3); fs/ext4/dir.c, fs/libfs.c",
    build: |params| {
        let folder = Folder::new(location(params))?;
        folder.entry(c"empty").make_folder()?;
        Ok(Work::raw_pair(prepared::open_close_folder(folder, c"empty")))
    },
    ..Bench::DEFAULT
};

pub(super) const CLOSE: Bench = Bench {
    id: "directory/close",
    asks: "What does closing a directory cost, and does it matter whether it was read?",
    op: "close(2) of a descriptor of a directory with 100 files, and taking it from a list. \
         after=open: it was only opened; read: it was read to its end. Not included: opening and \
         reading as often as the batch has ops, at most 256.",
    expected: "300 ns after opening; after reading 3 us more on ext4, which frees a node for each \
               name, and the same on tmpfs",
    why: "ext4 keeps the names of the block that it read last, sorted by their hashes, until it \
          reads the next one: the close frees them, one allocation each. Closing a descriptor of \
          a file that was only read frees nothing of the kind (syscall/close).",
    calls: &[exactly("close", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["syscall/close"],
    axes: &[
        Axis {
            name: "after",
            sets: "what was done with the directory before it is closed",
            points: Points::Words(&["open", "read"]),
            default_points: Points::Words(&["open", "read"]),
        },
        DIRECTORY,
    ],
    in_price_list: false,
    source: "close(2), closedir(3); fs/ext4/dir.c (ext4_release_dir)",
    build: |params| Closes::work(location(params), params.word("after") == "read"),
    ..Bench::DEFAULT
};
