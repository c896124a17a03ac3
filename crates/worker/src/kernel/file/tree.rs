//! A tree of many files or folders in memory, and calls on one of them after another, by paths of
//! several components relative to the top of the tree.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use oscost_model::raw_call::RawCall;

use crate::kernel::arch::syscall_by;
use crate::kernel::errno::raw_result;
use crate::kernel::file::entries::{Folder, close};
use crate::kernel::file::location::Location;
use crate::kernel::file::scratch_file::repeat;
use crate::kernel::{Errno, OpError};

/// The entries of a folder: as many as most folders of programs have, or fewer.
const FAN_OUT: usize = 16;
/// The lowest components of a path that differ between entries; those above them are folders of one
/// entry.
const BRANCHED_LEVELS: usize = 3;
/// A letter and seven digits.
const COMPONENT_BYTES: usize = 8;
/// An odd prime: steps of it visit each of a power of two of entries, and no neighbours in
/// succession.
const STRIDE: usize = 7_919;

/// What is at the ends of the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Files of so many bytes.
    File(usize),
    /// Empty folders.
    Folder,
}

/// A call on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeCall {
    /// newfstatat(2).
    Stat,
    /// openat(2) of a file for reading, and close(2).
    OpenFile,
    /// openat(2) of a folder with O_DIRECTORY, and close(2).
    OpenFolder,
}

/// A private tree, removed on drop.
pub struct Tree {
    top: Folder,
    leaf: Leaf,
    depth: usize,
    entries: usize,
    next_entry: usize,
}

impl Tree {
    /// Each byte of its files.
    pub const CONTENT: u8 = 1;

    /// A tree of a power of two of entries, whose paths have `depth` components.
    ///
    /// It is in a tmpfs: to delete thousands of files on a disk would make later ones expensive
    /// there (see [`PopulatedFolder`](super::directory::PopulatedFolder)), and what is cached of
    /// paths and files is the same.
    #[inline(never)]
    pub fn new(leaf: Leaf, entries: usize, depth: usize) -> Result<Self, Errno> {
        if !entries.is_power_of_two() || depth == 0 {
            return Err(Errno::EINVAL);
        }
        let top = Folder::new(Location::Tmpfs)?;
        let tree = Self { top, leaf, depth, entries, next_entry: 0 };
        match tree.fill() {
            Err(Errno::ENOSPC | Errno(libc::EDQUOT)) => Err(Errno::unavailable(format!(
                "the tmpfs of /dev/shm has no space for {entries} files: `sudo mount -o \
                 remount,size=50% /dev/shm`"
            ))),
            filled => filled.map(|()| tree),
        }
    }

    fn fill(&self) -> Result<(), Errno> {
        let content = match self.leaf {
            Leaf::File(bytes) => vec![Self::CONTENT; bytes],
            Leaf::Folder => Vec::new(),
        };
        let mut last_folder = String::new();
        for number in 0..self.entries {
            let path = self.path(number);
            if let Some((folder, _)) = path.rsplit_once('/')
                && folder != last_folder
            {
                self.make_folders(folder)?;
                folder.clone_into(&mut last_folder);
            }
            let path = terminated(path)?;
            match self.leaf {
                Leaf::Folder => self.top.entry(&path).make_folder()?,
                Leaf::File(0) => close(self.top.entry(&path).create()?)?,
                Leaf::File(_) => {
                    File::from(self.top.entry(&path).create()?).write_all_at(&content, 0)?;
                }
            }
        }
        Ok(())
    }

    /// Makes a folder and those above it, as far as they do not exist.
    fn make_folders(&self, path: &str) -> Result<(), Errno> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            match self.top.entry(&terminated(path[..end].to_owned())?).make_folder() {
                Ok(()) | Err(Errno(libc::EEXIST)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The path of an entry.
    fn path(&self, number: usize) -> String {
        let branched = self.depth.min(BRANCHED_LEVELS);
        let only = std::iter::repeat_n(0, self.depth - branched);
        let branches = (0..branched).map(|level| {
            let of_level = number / FAN_OUT.pow((branched - 1 - level) as u32);
            // The highest of them has as many entries as are left.
            if level == 0 { of_level } else { of_level % FAN_OUT }
        });
        let components = only.chain(branches).map(|at| format!("f{at:07}"));
        components.collect::<Vec<String>>().join("/")
    }

    /// The number of the next entry.
    fn take_next(&mut self) -> usize {
        let number = self.next_entry;
        self.next_entry = (number + STRIDE) % self.entries;
        number
    }

    /// Opens the next entry, which is a file, for reading.
    pub fn open_next_file(&mut self) -> Result<OwnedFd, Errno> {
        let number = self.take_next();
        let path = terminated(self.path(number))?;
        self.top.entry(&path).open_to_read()
    }
}

fn terminated(path: String) -> Result<CString, Errno> {
    CString::new(path).map_err(|_| Errno::EINVAL)
}

/// Calls on one entry of a tree after another.
pub struct TreeCalls {
    tree: Tree,
    call: TreeCall,
    /// The paths of a batch, each with its NUL: as in a program, the caller has just written them.
    paths: Vec<u8>,
    next_path: usize,
    stat: Box<libc::stat>,
}

impl TreeCalls {
    /// Calls on `entries` entries whose paths have `depth` components.
    #[inline(never)]
    pub fn new(call: TreeCall, entries: usize, depth: usize) -> Result<Self, Errno> {
        let leaf = if call == TreeCall::OpenFolder { Leaf::Folder } else { Leaf::File(0) };
        let tree = Tree::new(leaf, entries, depth)?;
        // SAFETY: all-zero bits are a valid stat.
        let stat = Box::new(unsafe { std::mem::zeroed() });
        Ok(Self { tree, call, paths: Vec::new(), next_path: 0, stat })
    }

    /// Names the entries of the next `ops` calls.
    pub fn prepare(&mut self, ops: u64) {
        self.paths.clear();
        self.next_path = 0;
        for _ in 0..ops {
            let number = self.tree.take_next();
            self.paths.extend(self.tree.path(number).into_bytes());
            self.paths.push(0);
        }
    }

    /// Makes `ops` calls that were prepared, in this way.
    pub fn run(&mut self, how: RawCall, ops: u64) -> Result<(), OpError> {
        match how {
            RawCall::Inline => repeat(ops, |_| self.make::<false>()),
            RawCall::Function => repeat(ops, |_| self.make::<true>()),
        }
    }

    #[inline(always)]
    fn make<const FUNCTION: bool>(&mut self) -> Result<(), Errno> {
        if self.next_path >= self.paths.len() {
            return Err(Errno::E2BIG);
        }
        let path = self.paths.as_ptr() as u64 + self.next_path as u64;
        self.next_path += self.tree.depth * (COMPONENT_BYTES + 1);
        let top = self.tree.top.file().as_raw_fd() as u64;
        let read_only = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        match self.call {
            TreeCall::Stat => {
                let args = [top, path, &raw mut *self.stat as u64, 0, 0, 0];
                // SAFETY: the path is NUL-terminated, and one stat is written.
                let result = unsafe { syscall_by::<FUNCTION>(libc::SYS_newfstatat, args) };
                raw_result(result).map(drop)
            }
            TreeCall::OpenFile => open_close::<FUNCTION>([top, path, read_only, 0, 0, 0]),
            TreeCall::OpenFolder => {
                let folder = read_only | libc::O_DIRECTORY as u64;
                open_close::<FUNCTION>([top, path, folder, 0, 0, 0])
            }
        }
    }
}

/// openat(2) of a path that lives as long as the call and creates nothing, and close(2).
#[inline(always)]
fn open_close<const FUNCTION: bool>(args: [u64; 6]) -> Result<(), Errno> {
    // SAFETY: the callers pass a NUL-terminated path; the descriptor is new, and nothing else refers
    // to it.
    unsafe {
        let fd = raw_result(syscall_by::<FUNCTION>(libc::SYS_openat, args))? as u64;
        raw_result(syscall_by::<FUNCTION>(libc::SYS_close, [fd, 0, 0, 0, 0, 0])).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::kernel::process::in_own_process;

    #[test]
    fn paths_have_so_many_components_and_folders_have_few_entries() {
        in_own_process(|| {
            for (entries, depth) in [(64, 1), (64, 2), (512, 3), (512, 6)] {
                let tree = Tree::new(Leaf::File(0), entries, depth).unwrap();
                let paths: BTreeSet<String> = (0..entries).map(|it| tree.path(it)).collect();
                assert_eq!(paths.len(), entries, "{entries} at {depth}");
                for path in &paths {
                    assert_eq!(path.split('/').count(), depth, "{path}");
                    assert_eq!(path.len() + 1, depth * (COMPONENT_BYTES + 1), "{path}");
                    let path = terminated(path.clone()).unwrap();
                    assert!(tree.top.entry(&path).open_to_read().is_ok(), "{path:?}");
                }
                let folders: BTreeSet<&str> =
                    paths.iter().filter_map(|it| Some(it.rsplit_once('/')?.0)).collect();
                let expected = if depth == 1 { 0 } else { entries / FAN_OUT };
                assert_eq!(folders.len(), expected, "{entries} at {depth}");
            }
            for (entries, depth) in [(0, 1), (3, 1), (64, 0)] {
                let error = Tree::new(Leaf::Folder, entries, depth).err();
                assert_eq!(error, Some(Errno::EINVAL), "{entries} at {depth}");
            }
        });
    }

    #[test]
    fn each_entry_is_visited_before_one_is_visited_again() {
        in_own_process(|| {
            let mut calls = TreeCalls::new(TreeCall::Stat, 64, 6).unwrap();
            for how in RawCall::ALL {
                let mut inodes = BTreeSet::new();
                for _ in 0..64 {
                    calls.prepare(1);
                    calls.run(how, 1).unwrap();
                    inodes.insert(calls.stat.st_ino);
                }
                assert_eq!(inodes.len(), 64, "{how:?}");
            }
        });
    }

    #[test]
    fn no_call_is_made_beyond_those_that_were_prepared() {
        in_own_process(|| {
            for call in [TreeCall::Stat, TreeCall::OpenFile, TreeCall::OpenFolder] {
                let mut calls = TreeCalls::new(call, 64, 2).unwrap();
                calls.prepare(100);
                assert_eq!(calls.run(RawCall::Inline, 60), Ok(()), "{call:?}");
                assert_eq!(calls.run(RawCall::Function, 40), Ok(()), "{call:?}");
                let beyond = calls.run(RawCall::Inline, 1);
                assert_eq!(beyond.map_err(|at| at.errno), Err(Errno::E2BIG), "{call:?}");
            }
        });
    }

    #[test]
    fn files_have_their_bytes() {
        in_own_process(|| {
            let mut tree = Tree::new(Leaf::File(5_000), 16, 3).unwrap();
            for _ in 0..16 {
                let file = File::from(tree.open_next_file().unwrap());
                assert_eq!(file.metadata().unwrap().len(), 5_000);
            }
        });
    }
}
