//! Calls on descriptors.

use std::fs::File;

use super::{DOOR, VIA, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::file::temp_folder::Folder;
use crate::kernel::syscall::{libc_wrappers, prepared};

pub(super) const CLOSE_CLOSED: Bench = Bench {
    id: "syscall/close-closed",
    asks: "What does close cost when there is nothing to close?",
    op: "close(2) of a number below 64 that no descriptor has; that it fails with EBADF is what is \
         right. Outside: finding the number.",
    expected: "the bare door and 5 to 10 ns: a lock, and a look into an empty slot",
    why: "A loop that closes the same descriptor over and over closes it once. From then on the \
          kernel takes the lock of the descriptor table, finds the slot empty and fails with \
          EBADF: nothing is released, and no state of the kernel changes. So this figure of study \
          cs161-syscalls is the door and a look, not the price of closing, which is in \
          syscall/close.",
    calls: &[exactly("close", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    axes: &[VIA],
    source: "close(2); fs/file.c; study cs161-syscalls, option -x",
    build: |at| {
        if is_raw(at) {
            return prepared::close_closed().map(Work::raw);
        }
        let closed = libc_wrappers::Closed::find()?;
        Ok(Work::with_loop(move || closed.close()))
    },
    ..Bench::DEFAULT
};

pub(super) const FCNTL: Bench = Bench {
    id: "syscall/fcntl",
    asks: "What does it cost to ask for the flags of an open file?",
    op: "fcntl(2) with F_GETFL on /dev/null, by the bare instruction. Outside: opening it.",
    expected: "10 to 20 ns above the bare door: the descriptor is looked up, and modules are asked",
    calls: &[exactly("fcntl", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "fcntl(2); fs/fcntl.c",
    build: |_| prepared::fcntl().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const LSEEK: Bench = Bench {
    id: "syscall/lseek",
    asks: "What does it cost to set a file's position?",
    op: "lseek(2) to byte 1 of a file in memory (memfd_create(2)), by the bare instruction. \
         Outside: making the file.",
    expected: "20 ns above the bare door: the descriptor, and a lock for the position",
    calls: &[exactly("lseek", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    in_price_list: false,
    source: "lseek(2); fs/read_write.c",
    build: |_| prepared::lseek().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const WRITE: Bench = Bench {
    id: "syscall/write",
    asks: "What does the shortest write cost, to a device that throws it away?",
    op: "write(2) of 1 byte to /dev/null. Outside: opening it.",
    expected: "40 ns above the bare door: the descriptor, the rights, the modules, an indirect call",
    why: "The driver of /dev/null looks at nothing and says that all was written. What is left is \
          what every write pays before its driver is reached: the descriptor is looked up, mode \
          and range are checked, security modules are asked, watchers of the file are looked for, \
          and the driver is called through a pointer.",
    calls: &[exactly("write", 1)],
    floor: &[at_least(1, DOOR)],
    axes: &[VIA],
    needs: &[Need::readable("/dev/null")],
    source: "write(2), null(4); fs/read_write.c; lmbench lat_syscall write",
    build: |at| {
        if is_raw(at) {
            return prepared::write().map(Work::raw);
        }
        let file = File::options().write(true).open("/dev/null")?;
        Ok(Work::with_loop(move || libc_wrappers::write(&file)))
    },
    ..Bench::DEFAULT
};

pub(super) const READ: Bench = Bench {
    id: "syscall/read",
    asks: "What does the shortest read cost, from a device that has it at once?",
    op: "read(2) of 1 byte from /dev/zero. Outside: opening it.",
    expected: "60 ns above the bare door: what write pays, and a byte that is cleared in user memory",
    calls: &[exactly("read", 1)],
    floor: &[at_least(1, DOOR)],
    axes: &[VIA],
    needs: &[Need::readable("/dev/zero")],
    source: "read(2), zero(4); fs/read_write.c; lmbench lat_syscall read",
    build: |at| {
        if is_raw(at) {
            return prepared::read().map(Work::raw);
        }
        let file = File::open("/dev/zero")?;
        Ok(Work::with_loop(move || libc_wrappers::read(&file)))
    },
    ..Bench::DEFAULT
};

pub(super) const PREAD: Bench = Bench {
    id: "syscall/pread",
    asks: "What does it cost to read a byte of a file that is in memory?",
    op: "pread(2) of byte 0 of a file in memory (memfd_create(2)), by the bare instruction. \
         Outside: making the file, which has a page.",
    expected: "twice the bare door: the page is looked up in the file's tree, and held while it is \
            copied",
    calls: &[exactly("pread64", 1)],
    floor: &[at_least(1, DOOR)],
    in_price_list: false,
    source: "pread(2); mm/shmem.c",
    build: |_| prepared::pread().map(Work::raw),
    ..Bench::DEFAULT
};

pub(super) const FSTAT: Bench = Bench {
    id: "syscall/fstat",
    asks: "What does it cost to be told about an open file?",
    op: "fstat(2) of /dev/null, by the bare instruction; through the library as its version makes \
         it. Outside: opening it.",
    expected: "60 ns above the bare door; the library's 50 ns more, where it takes the way of stat",
    why: "glibc 2.33 to 2.38 makes fstat() of newfstatat(2) with an empty path, which the kernel \
          first has to see to be empty; before and after them it makes fstat(2).",
    calls: &[
        exactly("fstat", 1).when(&[("via", "raw")]),
        up_to("fstat", 1).when(&[("via", "libc")]),
        up_to("newfstatat", 1).when(&[("via", "libc")]),
    ],
    floor: &[at_least(1, DOOR)],
    axes: &[VIA],
    needs: &[Need::readable("/dev/null")],
    source: "fstat(2); fs/stat.c; lmbench lat_syscall fstat",
    build: |at| {
        if is_raw(at) {
            return prepared::fstat().map(Work::raw);
        }
        let file = File::open("/dev/null")?;
        Ok(Work::with_loop(move || libc_wrappers::fstat(&file)))
    },
    ..Bench::DEFAULT
};

pub(super) const DUP_CLOSE: Bench = Bench {
    id: "syscall/dup-close",
    asks: "What does a second descriptor of an open file cost?",
    op: "dup(2) of a descriptor of /dev/null and close(2) of the new one, by the bare instruction. \
         Outside: opening it.",
    expected: "three times the bare door: two entries, a slot taken and given back, no file released",
    calls: &[exactly("dup", 1), exactly("close", 1)],
    floor: &[at_least(2, "syscall/invalid")],
    needs: &[Need::readable("/dev/null")],
    in_price_list: false,
    source: "dup(2), close(2); fs/file.c",
    build: |_| prepared::dup_close().map(Work::raw_pair),
    ..Bench::DEFAULT
};

pub(super) const GETDENTS: Bench = Bench {
    id: "syscall/getdents",
    asks: "What does it cost to list a small folder?",
    op: "lseek(2) to the beginning of an open folder of four names, and getdents64(2), which brings \
         them all, by the bare instruction. Outside: making the folder, a private one among the \
         temporary files, and opening it.",
    expected: "five times the bare door: two entries, the folder's lock, four names copied out",
    calls: &[exactly("lseek", 1), exactly("getdents64", 1)],
    floor: &[at_least(1, "syscall/lseek"), at_least(1, DOOR)],
    in_price_list: false,
    source: "getdents(2); fs/readdir.c",
    build: |_| prepared::getdents(Folder::new()?).map(Work::raw_pair),
    ..Bench::DEFAULT
};
