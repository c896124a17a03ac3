//! Calls on file descriptors.

use std::fs::File;

use super::axes::{VIA, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::syscall::{libc_wrappers, prepared};

pub(super) const CLOSE_CLOSED: Bench = Bench {
    id: "syscall/close-closed",
    asks: "What does close cost on a descriptor that is not open?",
    op: "close(2) of an unused descriptor number below 64; failing with EBADF is the expected \
         result. Not included: finding the number.",
    expected: "a null system call plus 5 to 10 ns: a lock and a lookup of an empty slot",
    why: "A loop that closes the same descriptor repeatedly closes it once. After that the kernel \
          takes the lock of the descriptor table, finds the slot empty and fails with EBADF: \
          nothing is released and no kernel state changes. So this figure of study cs161-syscalls \
          is a null call plus a lookup, not the cost of closing a file, which is syscall/close.",
    calls: &[exactly("close", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA],
    in_price_list: false,
    source: "close(2); fs/file.c; study cs161-syscalls, option -x",
    build: |params| {
        if is_raw(params) {
            return prepared::close_closed_descriptor().map(Work::raw);
        }
        let closed = libc_wrappers::ClosedDescriptor::find()?;
        Ok(Work::with_loop(move || closed.close()))
    },
    ..Bench::DEFAULT
};

pub(super) const FCNTL: Bench = Bench {
    id: "syscall/fcntl",
    asks: "What does reading the flags of an open file cost?",
    op: "fcntl(2) with F_GETFL on /dev/null, by the raw instruction. Not included: opening it.",
    expected: "10 to 20 ns above a null system call: a descriptor lookup and the security hooks",
    calls: &[exactly("fcntl", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    needs: &[Need::readable("/dev/null")],
    source: "fcntl(2); fs/fcntl.c",
    build: |_| prepared::fcntl().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const LSEEK: Bench = Bench {
    id: "syscall/lseek",
    asks: "What does setting the file offset cost?",
    op: "lseek(2) to byte 1 of a memory file (memfd_create(2)), by the raw instruction. Not \
         included: creating the file.",
    expected: "20 ns above a null system call: a descriptor lookup, and a lock for the offset",
    calls: &[exactly("lseek", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    source: "lseek(2); fs/read_write.c",
    build: |_| prepared::lseek().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const WRITE: Bench = Bench {
    id: "syscall/write",
    asks: "What does the shortest write cost, to a device that discards it?",
    op: "write(2) of 1 byte to /dev/null. Not included: opening it.",
    expected: "40 ns above a null system call: descriptor lookup, permission checks, security \
               hooks, an indirect call",
    why: "The driver of /dev/null ignores the data and reports success. What remains is what every \
          write pays before it reaches a driver: the descriptor lookup, the checks of mode and \
          range, the security hooks, the fsnotify check, and the indirect call of the driver.",
    calls: &[exactly("write", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA],
    needs: &[Need::readable("/dev/null")],
    source: "write(2), null(4); fs/read_write.c; lmbench lat_syscall write",
    build: |params| {
        if is_raw(params) {
            return prepared::write().map(Work::raw);
        }
        let file = File::options().write(true).open("/dev/null")?;
        Ok(Work::with_loop(move || libc_wrappers::write(&file)))
    },
    ..Bench::DEFAULT
};

pub(super) const READ: Bench = Bench {
    id: "syscall/read",
    asks: "What does the shortest read cost, from a device that returns at once?",
    op: "read(2) of 1 byte from /dev/zero. Not included: opening it.",
    expected: "60 ns above a null system call: the cost of a write, and clearing a byte in user \
               memory",
    calls: &[exactly("read", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA],
    needs: &[Need::readable("/dev/zero")],
    source: "read(2), zero(4); fs/read_write.c; lmbench lat_syscall read",
    build: |params| {
        if is_raw(params) {
            return prepared::read().map(Work::raw);
        }
        let file = File::open("/dev/zero")?;
        Ok(Work::with_loop(move || libc_wrappers::read(&file)))
    },
    ..Bench::DEFAULT
};

pub(super) const PREAD: Bench = Bench {
    id: "syscall/pread",
    asks: "What does reading one byte of a file in memory cost?",
    op: "pread(2) of byte 0 of a memory file (memfd_create(2)), by the raw instruction. Not \
         included: creating the file, which has one page.",
    expected: "twice a null system call: the page is looked up in the page cache and pinned during \
               the copy",
    calls: &[exactly("pread64", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "pread(2); mm/shmem.c",
    build: |_| prepared::pread().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const FSTAT: Bench = Bench {
    id: "syscall/fstat",
    asks: "What does fstat of an open file cost?",
    op: "fstat(2) of /dev/null, by the raw instruction; with `via=libc` as this version of libc \
         implements it. Not included: opening it.",
    expected: "60 ns above a null system call; 50 ns more through libc where it uses newfstatat",
    why: "glibc 2.33 to 2.38 implements fstat() as newfstatat(2) with an empty path, which the \
          kernel first has to find empty; earlier and later versions call fstat(2).",
    calls: &[
        exactly("fstat", 1).when(&[("via", "raw")]),
        up_to("fstat", 1).when(&[("via", "libc")]),
        up_to("newfstatat", 1).when(&[("via", "libc")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA],
    needs: &[Need::readable("/dev/null")],
    source: "fstat(2); fs/stat.c; lmbench lat_syscall fstat",
    build: |params| {
        if is_raw(params) {
            return prepared::fstat().map(Work::raw);
        }
        let file = File::open("/dev/null")?;
        Ok(Work::with_loop(move || libc_wrappers::fstat(&file)))
    },
    ..Bench::DEFAULT
};

pub(super) const DUP_CLOSE: Bench = Bench {
    id: "syscall/dup-close",
    asks: "What does duplicating a file descriptor cost?",
    op: "dup(2) of a descriptor of /dev/null and close(2) of the copy, by the raw instruction. Not \
         included: opening it.",
    expected: "three times a null system call: two kernel entries, a slot allocated and freed, no \
               file released",
    calls: &[exactly("dup", 1), exactly("close", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "dup(2), close(2); fs/file.c",
    build: |_| prepared::dup_close().map(Work::raw_pair),
    ..Bench::DEFAULT
};

pub(super) const GETDENTS: Bench = Bench {
    id: "syscall/getdents",
    asks: "What does listing a small directory cost?",
    op: "lseek(2) to the start of an open directory with four entries, and getdents64(2), which \
         returns all of them, by the raw instruction. Not included: creating the directory, a \
         private one in the temporary directory, and opening it.",
    expected: "five times a null system call: two kernel entries, the directory lock, four entries \
               copied out",
    calls: &[exactly("lseek", 1), exactly("getdents64", 1)],
    floor: &[at_least(1, "syscall/lseek"), at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "getdents(2); fs/readdir.c",
    build: |_| prepared::getdents(TempFolder::new()?).map(Work::raw_pair),
    ..Bench::DEFAULT
};
