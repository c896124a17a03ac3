//! Calls on paths, and opening and closing one by one.

use std::cell::Cell;
use std::ffi::CStr;
use std::rc::Rc;

use super::{DOOR, STATE, VIA, in_state, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::file::temp_folder::Folder;
use crate::kernel::process::limits;
use crate::kernel::syscall::{self, libc_wrappers, prepared};

/// A file that is always there, and that no file system on a disk stands behind.
const NULL: &CStr = c"/dev/null";

pub(super) const ACCESS: Bench = Bench {
    id: "syscall/access",
    asks: "What does it cost to ask whether a file may be read?",
    op: "access(2) of /dev/null for reading, made as faccessat(2), by the bare instruction. \
         Outside: nothing.",
    expected: "three times the bare door: a walk of two names, and credentials made for the question",
    calls: &[exactly("faccessat", 1)],
    floor: &[at_least(1, DOOR)],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "access(2); fs/open.c",
    build: |_| Ok(Work::raw(prepared::access(NULL))),
    ..Bench::DEFAULT
};

pub(super) const STAT: Bench = Bench {
    id: "syscall/stat",
    asks: "What does it cost to be told about a file by its path?",
    op: "stat(2) of /dev/null, made as newfstatat(2), as the library does. Outside: nothing; at \
         `state=cold` an eviction before each op, which takes memory of twice the last-level \
         cache, at most 256 MiB.",
    expected: "three times the bare door: the path copied in, two names walked, 144 bytes copied out; \
            cold twenty times that",
    why: "The path is copied into the kernel and walked name by name. Each name is hashed and \
          looked up in the dentry cache under RCU, with a check of the right to search its folder \
          and, at /dev, a step over to the file system that is mounted there. Then the inode is \
          asked, and what it says is laid out and copied to the caller. Nothing is locked and \
          nothing allocated but the buffer for the path.",
    calls: &[exactly("newfstatat", 1)],
    floor: &[at_least(1, DOOR)],
    axes: &[VIA, STATE],
    needs: &[Need::readable("/dev/null")],
    source: "stat(2); fs/stat.c, fs/namei.c; lmbench lat_syscall stat",
    build: |at| {
        let work = match is_raw(at) {
            true => Work::raw(prepared::stat(NULL)),
            false => Work::with_loop(|| libc_wrappers::stat(NULL)),
        };
        in_state(at, work)
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN: Bench = Bench {
    id: "syscall/open",
    asks: "What does opening a file cost, without closing it?",
    op: "open(2) of /dev/null for reading, made as openat(2), by the bare instruction, and keeping \
         its number. Outside: closing what the last batch opened; a batch has at most 256 ops.",
    expected: "two thirds of open and close together",
    why: "The kernel copies the path in, takes the lowest free slot of the descriptor table, \
          allocates a struct file, walks the path through the dentry cache with a check of rights \
          at each name, asks security modules, has the device prepare itself, and puts the file \
          into the slot: three allocations and half a dozen atomic counts, which close gives back.",
    calls: &[exactly("openat", 1)],
    floor: &[at_least(1, DOOR)],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "open(2); fs/open.c, fs/namei.c, fs/file.c",
    build: |_| {
        let shelf = Rc::new(Shelf::new()?);
        let emptied = Rc::clone(&shelf);
        let most = shelf.room();
        let open = move || shelf.put(syscall::open(NULL)?);
        Ok(Work::with_loop(open)
            .with_preparation(move |_| emptied.clear())
            .with_max_batch_ops(most))
    },
    ..Bench::DEFAULT
};

pub(super) const CLOSE: Bench = Bench {
    id: "syscall/close",
    asks: "What does closing an open file cost, without opening it?",
    op: "close(2) of a descriptor of /dev/null, by the bare instruction, and looking up which is \
         next. Outside: opening as many as the batch has ops, at most 256.",
    expected: "a third of open and close together: the last one who held the file releases it",
    why: "The slot of the descriptor table is emptied under its lock. Nobody else holds the file: \
          its release is put on the list of what the task does on its way back to user mode, and \
          there the device, the dentry and the mount are let go, and the struct file is freed. A \
          close of a duplicate does none of this (see syscall/dup-close), nor does one that fails \
          (syscall/close-closed).",
    calls: &[exactly("close", 1)],
    floor: &[at_least(1, DOOR)],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "close(2); fs/file.c, fs/file_table.c",
    build: |_| {
        let shelf = Rc::new(Shelf::new()?);
        let filled = Rc::clone(&shelf);
        let most = shelf.room();
        let fill = move |ops| {
            filled.clear()?;
            (0..ops).try_for_each(|_| filled.put(syscall::open(NULL)?))
        };
        let close = move || syscall::close(shelf.take().ok_or(Errno::EBADF)?).map(drop);
        Ok(Work::with_loop(close).with_preparation(fill).with_max_batch_ops(most))
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN_CLOSE: Bench = Bench {
    id: "syscall/open-close",
    asks: "What does it cost to open a file that is always there, and to close it?",
    op: "open(2) of /dev/null for reading, made as openat(2), and close(2). Outside: nothing; at \
         `state=cold` an eviction before each op, which takes memory of twice the last-level \
         cache, at most 256 MiB.",
    expected: "ten times the bare door: a path walk, a struct file, a slot in the table",
    why: "Opening changes the kernel's state: the path is copied in, the lowest free slot of the \
          descriptor table is found, a struct file is allocated, the path is walked name by name \
          with a check of rights at each, security modules are asked, the device prepares itself, \
          and the file is put into the slot. Closing takes all of that back. Study cs161-syscalls \
          found 754 times an empty function for the pair, and 136 for a close that fails, which \
          changes nothing.",
    calls: &[exactly("openat", 1), exactly("close", 1)],
    floor: &[at_least(2, DOOR)],
    axes: &[VIA, STATE],
    needs: &[Need::readable("/dev/null")],
    source: "open(2), close(2); study cs161-syscalls, option -o",
    build: |at| {
        let work = match is_raw(at) {
            true => Work::repeat(|| {
                let fd = syscall::open(NULL)?;
                syscall::close(fd).map(drop)
            }),
            false => Work::repeat(|| syscall::libc_open_close(NULL)),
        };
        in_state(at, work)
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN_DEPTH: Bench = Bench {
    id: "syscall/open-depth",
    asks: "What does each further folder on the way to a file add to opening it?",
    op: "open(2) for reading, made as openat(2) from an open folder, of an empty file by a path of \
         so many names, and close(2), by the bare instruction. Outside: making the files, in a \
         private folder among the temporary ones.",
    expected: "30 ns a name: a hash, a look-up in the dentry cache, a check of rights",
    why: "All folders on the way are in the dentry cache, so that no file system is asked: a name \
          is hashed, found in the cache under RCU, and its folder's rights are checked. The \
          difference of the two rows is seven such steps.",
    calls: &[exactly("openat", 1), exactly("close", 1)],
    floor: &[at_least(2, DOOR)],
    axes: &[Axis {
        name: "depth",
        sets: "how many names the path has",
        points: Points::Numbers(&[1, 8]),
        default_points: Points::Numbers(&[1, 8]),
    }],
    in_price_list: false,
    source: "open(2), path_resolution(7); fs/namei.c",
    build: |at| {
        let path = if at.number("depth") == 1 { Folder::NEAR } else { Folder::FAR };
        prepared::open_close_in(Folder::new()?, path).map(Work::raw_pair)
    },
    ..Bench::DEFAULT
};

/// Descriptors that the ops of a batch open, or close, one by one.
struct Shelf {
    fds: Vec<Cell<i64>>,
    held: Cell<usize>,
}

impl Shelf {
    /// Batches of this many ops last for over 50 us; more descriptors would only make for more
    /// untimed work.
    const MOST: u64 = 256;
    /// What the worker itself has open, several times over.
    const OTHERS: u64 = 32;

    /// A shelf with as much room as the limit of this process leaves.
    fn new() -> Result<Self, Errno> {
        let room = limits::descriptors()?.saturating_sub(Self::OTHERS).min(Self::MOST);
        if room == 0 {
            return Err(Errno::EMFILE);
        }
        Ok(Self { fds: (0..room).map(|_| Cell::new(0)).collect(), held: Cell::new(0) })
    }

    fn room(&self) -> u64 {
        self.fds.len() as u64
    }

    fn put(&self, fd: i64) -> Result<(), Errno> {
        let held = self.held.get();
        self.fds.get(held).ok_or(Errno::E2BIG)?.set(fd);
        self.held.set(held + 1);
        Ok(())
    }

    fn take(&self) -> Option<i64> {
        let last = self.held.get().checked_sub(1)?;
        self.held.set(last);
        self.fds.get(last).map(Cell::get)
    }

    /// Closes all that it holds.
    fn clear(&self) -> Result<(), Errno> {
        while let Some(fd) = self.take() {
            syscall::close(fd)?;
        }
        Ok(())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        // Each was opened here; nobody is left to be told otherwise.
        let _ = self.clear();
    }
}
