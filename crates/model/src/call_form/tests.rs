//! The forms of made-up calls.

use std::collections::BTreeMap;

use super::*;
use crate::call_classes::class_of;

/// A task with descriptors 3, a file, 4, a pipe, and 5, a duplicate of another one; paths and words by
/// address.
struct MadeUpTask(BTreeMap<u64, &'static str>);

impl TaskView for MadeUpTask {
    fn descriptor(&mut self, fd: u64) -> String {
        match fd {
            3 | 5 => "file",
            4 => "pipe",
            _ => "none",
        }
        .to_owned()
    }

    fn is_shared(&mut self, fd: u64) -> bool {
        fd == 5
    }

    /// As if each file had 100 bytes, and a pipe, too.
    fn appends(&mut self, _fd: u64, bytes: u64) -> bool {
        bytes > 100
    }

    fn has_loader(&mut self) -> bool {
        true
    }

    fn argument_bytes(&mut self) -> Option<u64> {
        Some(3_000)
    }

    fn mappings(&mut self) -> Option<u64> {
        Some(25)
    }

    fn path(&mut self, address: u64) -> Option<Vec<u8>> {
        self.0.get(&address).map(|path| path.as_bytes().to_vec())
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        match address {
            1 => Some(CLONE_THREAD),
            6 => Some(0),
            7 => Some(O_DIRECTORY),
            8 => Some(O_CREAT | 1),
            _ => None,
        }
    }

    fn descriptors_in_sets(&mut self, args: [u64; 6]) -> Option<u64> {
        // Sets at 64, with all descriptors of the first word, and at 128, with 70 alone.
        descriptors_in_sets(args, |address| match address {
            64 => Some(u64::MAX),
            72 | 128 => Some(0),
            136 => Some(1 << 6),
            _ => None,
        })
    }
}

fn error_name(number: i32) -> String {
    match number {
        2 => "ENOENT",
        9 => "EBADF",
        10 => "ECHILD",
        11 => "EAGAIN",
        25 => "ENOTTY",
        _ => "?",
    }
    .to_owned()
}

fn returned(name: &str, args: [u64; 6], value: i64) -> ReturnedCall {
    let mut task = MadeUpTask(BTreeMap::from([(1, ""), (2, "/usr/./lib//x"), (5, "x")]));
    let begun = BegunCall::new(name, class_of(name), args, &mut task);
    begun.returned(value, value < 0, error_name, &mut task)
}

fn form(name: &str, args: [u64; 6], value: i64) -> String {
    returned(name, args, value).key.form
}

#[test]
fn a_form_has_the_words_of_the_script_that_counts_programs() {
    let create = O_CREAT | 1;
    let directory = O_DIRECTORY;
    let unnamed = O_TMPFILE | 2;
    let anonymous = MAP_ANONYMOUS | 2;
    let fixed = anonymous | MAP_FIXED;
    let vfork = 0x100 | CLONE_VFORK;
    for (name, args, value, expected) in [
        ("read", [4, 0, 9, 0, 0, 0], 9, "read pipe"),
        ("read", [4, 0, 9, 0, 0, 0], -11, "read pipe EAGAIN"),
        ("read", [4, 0, 9, 0, 0, 0], -512, "read pipe"),
        ("write", [3, 0, 100, 0, 0, 0], 100, "write file"),
        ("write", [3, 0, 101, 0, 0, 0], 101, "write append file"),
        ("write", [3, 0, 101, 0, 0, 0], -11, "write append file EAGAIN"),
        ("write", [4, 0, 101, 0, 0, 0], 101, "write pipe"),
        ("pwrite64", [3, 0, 101, 0, 0, 0], 101, "pwrite64 file"),
        ("close", [9, 0, 0, 0, 0, 0], -9, "close none EBADF"),
        ("close", [3, 0, 0, 0, 0, 0], 0, "close file"),
        ("close", [5, 0, 0, 0, 0, 0], 0, "close shared file"),
        ("openat", [0, 2, 0, 0, 0, 0], 3, "openat file"),
        ("openat", [0, 2, create, 0, 0, 0], 3, "openat create"),
        ("openat", [0, 2, create, 0, 0, 0], 4, "openat pipe"),
        ("openat", [0, 2, unnamed, 0, 0, 0], 3, "openat create"),
        ("openat", [0, 2, directory, 0, 0, 0], 3, "openat directory"),
        ("openat", [0, 2, create, 0, 0, 0], -2, "openat ENOENT"),
        ("openat2", [0, 2, 6, 24, 0, 0], 3, "openat2 file"),
        ("openat2", [0, 2, 7, 24, 0, 0], 3, "openat2 directory"),
        ("openat2", [0, 2, 8, 24, 0, 0], 3, "openat2 create"),
        ("openat2", [0, 2, 8, 24, 0, 0], 4, "openat2 pipe"),
        ("openat2", [0, 2, 8, 24, 0, 0], -2, "openat2 ENOENT"),
        ("openat2", [0, 2, 9, 24, 0, 0], -14, "openat2 ?"),
        ("openat2", [0, 2, 9, 24, 0, 0], 3, "openat2 unknown"),
        ("newfstatat", [3, 1, 0, 0x1000, 0, 0], 0, "newfstatat empty file"),
        ("newfstatat", [3, 2, 0, 0x1000, 0, 0], -2, "newfstatat ENOENT"),
        ("statx", [3, 1, 0x1000, 0, 0, 0], 0, "statx empty file"),
        ("statx", [3, 2, 0, 0, 0, 0], 0, "statx"),
        ("statx", [3, 2, 0x1000, 0, 0, 0], -2, "statx ENOENT"),
        ("fcntl", [3, 1_030, 0, 0, 0, 0], 5, "fcntl F_DUPFD_CLOEXEC"),
        ("fcntl", [3, 2, 1, 0, 0, 0], -9, "fcntl F_SETFD EBADF"),
        ("ioctl", [1, 0x5401, 0, 0, 0, 0], -25, "ioctl TCGETS ENOTTY"),
        ("ioctl", [1, 0x1234, 0, 0, 0, 0], 0, "ioctl 0x1234"),
        ("mmap", [0, 8, 0, anonymous, 0, 0], 4_096, "mmap anonymous"),
        ("mmap", [0, 8, 0, fixed, 0, 0], 4_096, "mmap anonymous fixed"),
        ("mmap", [0, 8, 0, 2, 3, 0], 4_096, "mmap file"),
        ("futex", [0, 0x80 | 9, 0, 0, 0, 0], -110, "futex wait"),
        ("futex", [0, 0x80, 0, 0, 0, 0], 0, "futex wait"),
        ("futex", [0, 0x80, 0, 0, 0, 0], -512, "futex wait"),
        ("futex", [0, 0x80, 0, 0, 0, 0], -11, "futex wait EAGAIN"),
        ("futex", [0, 0x81, 0, 0, 0, 0], 1, "futex wake waiter"),
        ("futex", [0, 0x81, 0, 0, 0, 0], 0, "futex wake"),
        ("futex", [0, 0x81, 0, 0, 0, 0], -14, "futex wake"),
        ("futex", [0, 0x84, 0, 0, 0, 0], 2, "futex requeue"),
        ("clone", [0x11, 0, 0, 0, 0, 0], 7, "clone process"),
        ("clone", [vfork, 0, 0, 0, 0, 0], 7, "clone vfork"),
        ("clone3", [1, 88, 0, 0, 0, 0], 7, "clone3 thread"),
        ("clone", [0x11, 0, 0, 0, 0, 0], -513, "clone process RESTART"),
        ("clone3", [1, 88, 0, 0, 0, 0], -11, "clone3 thread EAGAIN"),
        ("fork", [0; 6], -513, "fork RESTART"),
        ("vfork", [0; 6], -11, "vfork EAGAIN"),
        ("fork", [0; 6], 7, "fork"),
        ("socket", [1, 0, 0, 0, 0, 0], 3, "socket AF_UNIX"),
        ("execve", [2, 0, 0, 0, 0, 0], -2, "execve ENOENT"),
        ("execve", [2, 0, 0, 0, 0, 0], 0, "execve dynamic"),
        ("getpid", [0; 6], 7, "getpid"),
        ("wait4", [0; 6], -10, "wait4 ECHILD"),
    ] {
        assert_eq!(form(name, args, value), expected);
    }
}

#[test]
fn sizes_are_those_of_results_or_of_ranges_and_a_failed_call_has_none() {
    let of = |name: &str, args, value| {
        let returned = returned(name, args, value);
        (returned.key.bytes, returned.moved)
    };
    assert_eq!(of("write", [4, 0, 9_000, 0, 0, 0], 5_000), (Some(8_192), 5_000));
    assert_eq!(of("read", [3, 0, 9_000, 0, 0, 0], 0), (Some(0), 0));
    assert_eq!(of("read", [3, 0, 9_000, 0, 0, 0], -5), (None, 0));
    assert_eq!(of("munmap", [0, 65_536, 0, 0, 0, 0], 0), (Some(65_536), 65_536));
    assert_eq!(of("getpid", [0; 6], 7), (None, 0));
    // Arguments and environment, if the program was executed.
    assert_eq!(of("execve", [2, 0, 0, 0, 0, 0], 0), (Some(4_096), 3_000));
    assert_eq!(of("execve", [2, 0, 0, 0, 0, 0], -2), (None, 0));
}

#[test]
fn descriptors_are_no_bytes() {
    let of = |value| {
        let ReturnedCall { key, moved } = returned("poll", [1, 100, 0, 0, 0, 0], value);
        (key.form, key.bytes, key.descriptors, moved)
    };
    assert_eq!(of(1), ("poll".to_owned(), None, Some(128), 100));
    assert_eq!(of(-11), ("poll EAGAIN".to_owned(), None, None, 0));
}

#[test]
fn messages_are_no_bytes() {
    for name in ["sendmmsg", "recvmmsg"] {
        let of = |value| {
            let ReturnedCall { key, moved } = returned(name, [3, 1, 9, 0, 0, 0], value);
            (key.bytes, key.descriptors, key.messages, moved)
        };
        assert_eq!(of(3), (None, None, Some(4), 3), "{name}");
        assert_eq!(of(-11), (None, None, None, 0), "{name}");
    }
}

#[test]
fn the_ready_descriptors_of_an_epoll_set_are_its_size() {
    let of = |value| {
        let ReturnedCall { key, moved } = returned("epoll_wait", [3, 1, 64, 0, 0, 0], value);
        (key.bytes, key.descriptors, moved)
    };
    assert_eq!([of(0), of(3), of(-4)], [(None, Some(0), 0), (None, Some(4), 3), (None, None, 0)]);
}

#[test]
fn the_size_of_a_process_that_is_copied_is_the_number_of_its_mappings() {
    let of = |name: &str, flags: u64, value: i64| {
        let ReturnedCall { key, moved } = returned(name, [flags, 0, 0, 0, 0, 0], value);
        assert_eq!((key.bytes, key.descriptors), (None, None), "{name}");
        (key.mappings, moved)
    };
    let copied = (Some(32), 25);
    assert_eq!([of("fork", 0, 7), of("clone", 0x11, 7)], [copied; 2]);
    // The structure of clone3(2) at 2 cannot be read.
    assert_eq!(of("clone3", 2, 7), copied);
    // Threads share the memory, as some processes do; the parent of a vfork waits for its child.
    let shared = (None, 0);
    for flags in [CLONE_VM | CLONE_THREAD, CLONE_VM, CLONE_VM | CLONE_VFORK, CLONE_VFORK] {
        assert_eq!(of("clone", flags, 7), shared, "{flags:#x}");
    }
    assert_eq!([of("vfork", 0, 7), of("fork", 0, -11), of("clone", 0x11, -513)], [shared; 3]);
}

#[test]
fn a_descriptor_in_several_sets_is_one_and_beyond_the_bound_none() {
    let of = |args: [u64; 6]| {
        let ReturnedCall { key, moved } = returned("select", args, 1);
        (key.descriptors, moved)
    };
    assert_eq!(of([10, 64, 0, 64, 0, 0]), (Some(16), 10));
    assert_eq!(of([64, 0, 64, 128, 0, 0]), (Some(64), 64));
    assert_eq!(of([70, 64, 128, 0, 0, 0]), (Some(64), 64));
    assert_eq!(of([71, 64, 128, 0, 0, 0]), (Some(128), 65));
    // It only sleeps; a set that cannot be read; a bound that the kernel refuses.
    assert_eq!(of([0, 0, 0, 0, 0, 0]), (Some(0), 0));
    assert_eq!(of([200, 64, 0, 0, 0, 0]), (None, 0));
    assert_eq!(of([u64::from(u32::MAX), 64, 0, 0, 0, 0]), (Some(0), 0));
    assert_eq!(set_bound([5_000, 0, 0, 0, 0, 0]), 5_000);
}

#[test]
fn the_depth_of_a_path_is_that_of_its_components() {
    let of = |path| returned("openat", [0, path, 0, 0, 0, 0], 3).key.depth;
    assert_eq!([of(2), of(5), of(1), of(9)], [Some(3), Some(1), Some(0), None]);
}

#[test]
fn threads_are_told_from_processes() {
    let mut task = MadeUpTask(BTreeMap::new());
    let mut is_thread = |name: &str, flags| {
        let args = [flags, 0, 0, 0, 0, 0];
        BegunCall::new(name, class_of(name), args, &mut task).is_of_thread()
    };
    assert!(is_thread("clone", CLONE_THREAD) && is_thread("clone3", 1));
    assert!(!is_thread("clone", 0x11) && !is_thread("vfork", 0) && !is_thread("clone3", 2));
}
