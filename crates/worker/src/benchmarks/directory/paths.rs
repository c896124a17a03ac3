//! Paths: their resolution, and the working directory.

use std::ffi::CString;

use crate::benchmarks::prelude::*;
use crate::kernel::file::entries::{Folder, close};
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::syscall::prepared::{self, OpenCall};

pub(super) const CHDIR: Bench = Bench {
    id: "directory/chdir",
    asks: "What does changing the working directory cost?",
    op: "chdir(2) to /etc, or fchdir(2) to it as an open directory, by the raw instruction; from \
         the second op on the process is there already. Not included: opening it, and returning \
         to the worker's directory.",
    expected: "chdir 300 ns, a walk of one component and a permission check; fchdir 150 ns",
    why: "The path is copied in and walked; fchdir saves that. Then both check the search \
          permission, replace the working directory under the lock of the process's `fs_struct`, \
          and release the old one.",
    calls: &[
        exactly("chdir", 1).when(&[("by", "chdir")]),
        exactly("fchdir", 1).when(&[("by", "fchdir")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "by",
        sets: "whether the directory is named by its path, or is open",
        points: Points::Words(&["chdir", "fchdir"]),
        default_points: Points::Words(&["chdir", "fchdir"]),
    }],
    needs: &[Need::readable("/etc")],
    in_price_list: false,
    source: "chdir(2); fs/open.c, fs/fs_struct.c",
    build: |params| match params.word("by") {
        "fchdir" => prepared::fchdir().map(Work::raw),
        _ => prepared::chdir().map(Work::raw),
    },
    ..Bench::DEFAULT
};

pub(super) const GETCWD: Bench = Bench {
    id: "directory/getcwd",
    asks: "What does asking for the working directory cost?",
    op: "getcwd(2) into a buffer of 4096 bytes, by the raw instruction, in a directory whose path \
         has `depth` components: /etc, or one in the temporary directory. Not included: creating \
         it, and changing to it and back.",
    expected: "depth 1: 200 ns; 10: 350 ns, about 15 ns for each further component",
    why: "The kernel stores no path: it walks from the directory up to the root, under a sequence \
          lock, writes each name before the last into a page, and copies the result out. A name of \
          the temporary directory is longer than one of a component below it.",
    calls: &[exactly("getcwd", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "depth",
        sets: "number of components in the directory's path",
        points: Points::Items("component", &Points::Numbers(&[1, 10])),
        default_points: Points::Numbers(&[1, 10]),
    }],
    needs: &[Need::readable("/etc")],
    in_price_list: false,
    source: "getcwd(2); fs/d_path.c",
    build: |params| prepared::getcwd(params.number("depth") as usize).map(Work::raw),
    ..Bench::DEFAULT
};

/// The name of a call that aarch64 does not have: its rows are skipped there.
const OPEN_NAME: &str = if cfg!(target_arch = "x86_64") { "open" } else { "openat" };

pub(super) const OPEN: Bench = Bench {
    id: "directory/open",
    asks: "What does opening and closing a regular file cost, and does the call matter?",
    op: "open(2), openat(2) or openat2(2) for reading of an empty file in the working directory, \
         by its name alone, and close(2), by the raw instruction. Not included: creating the file \
         in a private directory in the temporary directory, and changing to it and back.",
    expected: "800 ns by each of them; openat2 20 ns more, to copy in what says how",
    why: "The C library's open() calls openat(2); all three share do_sys_openat2 in the kernel. \
          syscall/open-close opens a device by an absolute path, on another file system; a regular \
          file is opened by its file system, which may check encryption, quota or a layer below.",
    calls: &[
        exactly(OPEN_NAME, 1).when(&[("by", "open")]),
        exactly("openat", 1).when(&[("by", "openat")]),
        exactly("openat2", 1).when(&[("by", "openat2")]),
        exactly("close", 1),
    ],
    floor: &[at_least(2, KERNEL_ENTRY)],
    compare_with: &["syscall/open-close:via=raw", "syscall/open-depth:depth=1"],
    axes: &[Axis {
        name: "by",
        sets: "the call that opens the file",
        points: Points::Words(&["open", "openat", "openat2"]),
        default_points: Points::WithPriceList {
            points: &Points::Words(&["openat", "openat2"]),
            price_list: &Points::Words(&["openat"]),
        },
    }],
    source: "open(2), openat2(2); fs/open.c, fs/namei.c; lmbench lat_syscall open",
    build: |params| {
        let by = match params.word("by") {
            "open" => OpenCall::Open,
            "openat2" => OpenCall::Openat2,
            _ => OpenCall::Openat,
        };
        prepared::open_close_by(by)?.tried(params.word("by")).map(Work::raw_pair)
    },
    ..Bench::DEFAULT
};

pub(super) const SYMLINK_CHAIN: Bench = Bench {
    id: "directory/symlink-chain",
    asks: "What does each symbolic link on the way to a file cost?",
    op: "newfstatat(2) of the first of `links` symbolic links in one directory, each with the name \
         of the next as its content and the last with that of a file, by the raw instruction. Not \
         included: creating them, in a private directory in the temporary directory.",
    expected: "50 ns per link",
    why: "Each link is found in the dentry cache, its permissions are checked, and its content, \
          which is in the inode, is walked as a path from the directory of the link. After 40 \
          links the kernel gives up with ELOOP. Where the access time of a link is old or not \
          cached, the walk leaves the mode in which it takes no references.",
    calls: &[exactly("newfstatat", 1)],
    floor: &[at_least(1, "directory/path-depth:depth=1")],
    axes: &[Axis {
        name: "links",
        sets: "number of symbolic links, one leading to the next",
        points: Points::Items("link", &Points::Numbers(&[1, 8, 39])),
        default_points: Points::Numbers(&[1, 8, 39]),
    }],
    in_price_list: false,
    source: "symlink(7), path_resolution(7); fs/namei.c",
    build: |params| {
        let folder = Folder::temporary()?;
        let mut content = TempFolder::SHALLOW_PATH.to_owned();
        for link in 1..=params.number("links") {
            let name = text(format!("link-{link}"))?;
            match folder.entry(&name).link_to(&content) {
                Err(error) if error.is_unavailable() => {
                    return Ok(Work::unavailable(format!(
                        "no symbolic link can be created in the temporary directory: {error}"
                    )));
                }
                created => created?,
            }
            content = name;
        }
        Ok(Work::raw(prepared::stat_in(folder, content)))
    },
    ..Bench::DEFAULT
};

pub(super) const PATH_DEPTH: Bench = Bench {
    id: "directory/path-depth",
    asks: "What does each directory in a path add to stat?",
    op: "newfstatat(2) of an empty file, relative to an open directory, by a path of `depth` \
         components, by the raw instruction. Not included: creating the file, in a private \
         directory in the temporary directory.",
    expected: "depth 1: 200 ns; 20 ns for each further component",
    why: "A component is hashed, found in the dentry cache under RCU, and the search permission of \
          its directory is checked: no lock, no reference, no file system. syscall/open-depth has \
          the same walk in an open, whose own cost is five times that of stat. A layered file \
          system such as overlayfs may have to confirm each dentry.",
    calls: &[exactly("newfstatat", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["syscall/open-depth:depth=8"],
    axes: &[Axis {
        name: "depth",
        sets: "number of components in the path",
        points: Points::Items("component", &Points::Numbers(&[1, 4, 16])),
        default_points: Points::Numbers(&[1, 4, 16]),
    }],
    in_price_list: false,
    source: "stat(2), path_resolution(7); fs/namei.c",
    build: |params| {
        let folder = Folder::temporary()?;
        let mut path = String::new();
        for _ in 1..params.number("depth") {
            path.push('d');
            folder.entry(&text(path.clone())?).make_folder()?;
            path.push('/');
        }
        let path = text(path + "empty")?;
        close(folder.entry(&path).create()?)?;
        Ok(Work::raw(prepared::stat_in(folder, path)))
    },
    ..Bench::DEFAULT
};

fn text(text: String) -> Result<CString, Errno> {
    CString::new(text).map_err(|_| Errno::EINVAL)
}
