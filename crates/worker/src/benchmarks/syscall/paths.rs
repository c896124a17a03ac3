//! Calls on paths, and opening and closing separately.

use std::cell::Cell;
use std::ffi::CStr;
use std::rc::Rc;

use super::axes::{STATE, VIA, in_state, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::process::limits;
use crate::kernel::syscall::{self, libc_wrappers, prepared};

/// A file that always exists and is not on a disk file system.
const NULL: &CStr = c"/dev/null";

pub(super) const ACCESS: Bench = Bench {
    id: "syscall/access",
    asks: "What does checking the read permission of a file cost?",
    op: "access(2) of /dev/null for reading, called as faccessat(2), by the raw instruction. Not \
         included: nothing.",
    expected: "three times a null system call: a walk of two path components, and credentials \
               prepared for the check",
    calls: &[exactly("faccessat", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "access(2); fs/open.c",
    build: |_| Ok(Work::raw(prepared::access(NULL))),
    ..Bench::DEFAULT
};

pub(super) const STAT: Bench = Bench {
    id: "syscall/stat",
    asks: "What does stat of a path cost?",
    op: "stat(2) of /dev/null, called as newfstatat(2), as libc does. Not included: nothing; with \
         `state=cold` the eviction before each op, which needs memory of twice the last-level \
         cache, at most 256 MiB.",
    expected: "three times a null system call: the path copied in, two components walked, 144 \
               bytes copied out; cold twenty times that",
    why: "The path is copied into the kernel and walked component by component. Each is hashed and \
          looked up in the dentry cache under RCU, with a check of search permission on its \
          directory and, at /dev, a crossing into the file system mounted there. Then the inode is \
          read, and its attributes are formatted and copied to the caller. Nothing is locked, and \
          only the buffer for the path is allocated.",
    calls: &[exactly("newfstatat", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA, STATE],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "stat(2); fs/stat.c, fs/namei.c; lmbench lat_syscall stat",
    build: |params| {
        let work = match is_raw(params) {
            true => Work::raw(prepared::stat(NULL)),
            false => Work::with_loop(|| libc_wrappers::stat(NULL)),
        };
        in_state(params, work)
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN: Bench = Bench {
    id: "syscall/open",
    asks: "What does opening a file cost, without closing it?",
    op: "open(2) of /dev/null for reading, called as openat(2), by the raw instruction, and \
         storing its number. Not included: closing what the last batch opened; a batch has at most \
         256 ops.",
    expected: "two thirds of open and close together",
    why: "The kernel copies the path in, allocates the lowest free slot of the descriptor table \
          and a struct file, walks the path through the dentry cache with a permission check for \
          each component, calls the security hooks and the open function of the device, and \
          installs the file in the slot: three allocations and half a dozen atomic reference \
          counts, which close releases.",
    calls: &[exactly("openat", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "open(2); fs/open.c, fs/namei.c, fs/file.c",
    build: |_| {
        let descriptors = Rc::new(DescriptorStack::new()?);
        let to_empty = Rc::clone(&descriptors);
        let max_ops = descriptors.capacity();
        let open = move || descriptors.push(syscall::open(NULL)?);
        Ok(Work::with_loop(open)
            .with_preparation(move |_| to_empty.close_all())
            .with_max_batch_ops(max_ops))
    },
    ..Bench::DEFAULT
};

pub(super) const CLOSE: Bench = Bench {
    id: "syscall/close",
    asks: "What does closing an open file cost, without opening it?",
    op: "close(2) of a descriptor of /dev/null, by the raw instruction, and looking up which one \
         is next. Not included: opening as many as the batch has ops, at most 256.",
    expected: "a third of open and close together: the last reference releases the file",
    why: "The slot of the descriptor table is cleared under its lock. This was the last reference: \
          the release is queued as task work for the return to user mode, and there the device, \
          the dentry and the mount are released and the struct file is freed. Closing a duplicate \
          does none of this (see syscall/dup-close), nor does a close that fails \
          (syscall/close-closed).",
    calls: &[exactly("close", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "close(2); fs/file.c, fs/file_table.c",
    build: |_| {
        let descriptors = Rc::new(DescriptorStack::new()?);
        let to_fill = Rc::clone(&descriptors);
        let max_ops = descriptors.capacity();
        let fill = move |ops| {
            to_fill.close_all()?;
            (0..ops).try_for_each(|_| to_fill.push(syscall::open(NULL)?))
        };
        let close = move || syscall::close(descriptors.pop().ok_or(Errno::EBADF)?).map(drop);
        Ok(Work::with_loop(close).with_preparation(fill).with_max_batch_ops(max_ops))
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN_CLOSE: Bench = Bench {
    id: "syscall/open-close",
    asks: "What does opening and closing a file that always exists cost?",
    op: "open(2) of /dev/null for reading, called as openat(2), and close(2). Not included: \
         nothing; with `state=cold` the eviction before each op, which needs memory of twice the \
         last-level cache, at most 256 MiB.",
    expected: "ten times a null system call: a path walk, a struct file, a slot in the table",
    why: "Opening changes kernel state: the path is copied in, the lowest free slot of the \
          descriptor table is found, a struct file is allocated, the path is walked component by \
          component with a permission check for each, the security hooks and the open function of \
          the device are called, and the file is installed in the slot. Closing reverses all of \
          that. Study cs161-syscalls found 754 times an empty function for the pair, and 136 for a \
          close that fails, which changes nothing.",
    calls: &[exactly("openat", 1), exactly("close", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[VIA, STATE],
    needs: &[Need::readable("/dev/null")],
    source: "open(2), close(2); study cs161-syscalls, option -o",
    build: |params| {
        let work = match is_raw(params) {
            true => Work::repeat(|| {
                let fd = syscall::open(NULL)?;
                syscall::close(fd).map(drop)
            }),
            false => Work::repeat(|| syscall::libc_open_close(NULL)),
        };
        in_state(params, work)
    },
    ..Bench::DEFAULT
};

pub(super) const OPEN_DEPTH: Bench = Bench {
    id: "syscall/open-depth",
    asks: "What does each further directory in a path add to opening a file?",
    op: "open(2) for reading, called as openat(2) relative to an open directory, of an empty file \
         by a path of `depth` components, and close(2), by the raw instruction. Not included: \
         creating the files, in a private directory in the temporary directory.",
    expected: "30 ns per component: a hash, a lookup in the dentry cache, a permission check",
    why: "All directories of the path are in the dentry cache, so no file system is involved: a \
          component is hashed, found in the cache under RCU, and the permission of its directory \
          is checked. The difference of the two rows is seven such steps.",
    calls: &[exactly("openat", 1), exactly("close", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "depth",
        sets: "number of components in the path",
        points: Points::Numbers(&[1, 8]),
        default_points: Points::Numbers(&[1, 8]),
    }],
    in_price_list: false,
    source: "open(2), path_resolution(7); fs/namei.c",
    build: |params| {
        let path = if params.number("depth") == 1 {
            TempFolder::SHALLOW_PATH
        } else {
            TempFolder::DEEP_PATH
        };
        prepared::open_close_in(TempFolder::new()?, path).map(Work::raw_pair)
    },
    ..Bench::DEFAULT
};

/// Descriptors that the ops of a batch open or close one by one.
struct DescriptorStack {
    fds: Vec<Cell<i64>>,
    used: Cell<usize>,
}

impl DescriptorStack {
    /// Batches of this many ops last more than 50 us; more descriptors would only add untimed work.
    const MAX_DESCRIPTORS: u64 = 256;
    /// An upper bound, with a margin, of the descriptors that the worker itself has open.
    const RESERVED_DESCRIPTORS: u64 = 32;

    /// Capacity as far as the descriptor limit of this process allows.
    fn new() -> Result<Self, Errno> {
        let capacity = limits::raise_descriptor_limit()?
            .saturating_sub(Self::RESERVED_DESCRIPTORS)
            .min(Self::MAX_DESCRIPTORS);
        if capacity == 0 {
            return Err(Errno::EMFILE);
        }
        Ok(Self { fds: (0..capacity).map(|_| Cell::new(0)).collect(), used: Cell::new(0) })
    }

    fn capacity(&self) -> u64 {
        self.fds.len() as u64
    }

    fn push(&self, fd: i64) -> Result<(), Errno> {
        let used = self.used.get();
        self.fds.get(used).ok_or(Errno::E2BIG)?.set(fd);
        self.used.set(used + 1);
        Ok(())
    }

    fn pop(&self) -> Option<i64> {
        let last = self.used.get().checked_sub(1)?;
        self.used.set(last);
        self.fds.get(last).map(Cell::get)
    }

    /// Closes all descriptors that it holds.
    fn close_all(&self) -> Result<(), Errno> {
        while let Some(fd) = self.pop() {
            syscall::close(fd)?;
        }
        Ok(())
    }
}

impl Drop for DescriptorStack {
    fn drop(&mut self) {
        // Each descriptor was opened here, and a drop cannot report an error.
        let _ = self.close_all();
    }
}
