//! Extended attributes, and watches.

use super::axes::{DIRECTORY, location};
use super::body::{Change, Changes, Watches};
use crate::benchmarks::prelude::*;
use crate::kernel::file::attribute::Attribute;
use crate::kernel::syscall::prepared;

pub(super) const XATTR: Bench = Bench {
    id: "directory/xattr",
    asks: "What does an extended attribute of a file cost?",
    op: "fgetxattr(2) of an attribute `user.oscost` of 16 bytes; fsetxattr(2) of it, each time of \
         another value; or flistxattr(2) of the names of all attributes. The file is open and has \
         no name. Not included: creating it, setting the attribute first, and what the journal \
         writes to the disk later.",
    expected: "get 300 ns and list 250 ns; set 5 us on ext4, in a journal transaction, and 600 ns \
               on tmpfs",
    why: "ext4 stores short attributes in the inode, behind its fields: reading searches them \
          under a lock, and setting writes the inode again. A set of the same value would do \
          nothing on ext4. tmpfs keeps them in a list (for users since Linux 6.6). Each call \
          copies the name in and asks the security module.",
    calls: &[
        exactly("fgetxattr", 1).when(&[("by", "get")]),
        exactly("fsetxattr", 1).when(&[("by", "set")]),
        exactly("flistxattr", 1).when(&[("by", "list")]),
    ],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[
        Axis {
            name: "by",
            sets: "what is done with the attribute",
            points: Points::Words(&["get", "set", "list"]),
            default_points: Points::Words(&["get", "set"]),
        },
        DIRECTORY,
    ],
    in_price_list: false,
    source: "xattr(7), setxattr(2); fs/xattr.c, fs/ext4/xattr.c",
    build: |params| {
        let mut attribute = Attribute::new(location(params))?;
        Ok(match params.word("by") {
            "set" => Work::with_loop(move || attribute.set()),
            "list" => Work::raw(prepared::flistxattr(attribute.into_file())),
            _ => Work::raw(prepared::fgetxattr(attribute.into_file(), Attribute::BYTES)),
        })
    },
    ..Bench::DEFAULT
};

pub(super) const INOTIFY: Bench = Bench {
    id: "directory/inotify",
    asks: "What does a watch of a directory add to the changes in it?",
    op: "change=create-unlink: openat(2) of a new name, close(2) and unlinkat(2); write: \
         pwrite64(2) of one byte onto a file's first. watch=present: an inotify instance watches \
         the directory for IN_CREATE, IN_DELETE and IN_MODIFY, and queues the events, two for \
         each file, and for the writes of a batch one, since equal events in succession are \
         merged. Not included: creating the watch, and reading and counting the events after a \
         batch of at most 1024 ops.",
    expected: "400 ns more for creating and unlinking, 200 ns for each event; 250 ns more for a \
               write, whose event is created, compared and freed",
    why: "Without a watch the kernel checks a flag of the directory. With one it allocates an \
          event with the name, takes the lock of the queue, compares the event with the last one, \
          and wakes whoever waits; the program that makes the change pays all of it, not the one \
          that watches. Reading the events costs that one another copy.",
    calls: &[
        exactly("openat", 1).when(&[("change", "create-unlink")]),
        exactly("close", 1).when(&[("change", "create-unlink")]),
        exactly("unlinkat", 1).when(&[("change", "create-unlink")]),
        exactly("pwrite64", 1).when(&[("change", "write")]),
    ],
    floor: &[
        at_least(3, KERNEL_ENTRY).when(&[("change", "create-unlink")]),
        at_least(1, KERNEL_ENTRY).when(&[("change", "write")]),
    ],
    compare_with: &["file/create-unlink:files=10"],
    axes: &[
        Axis {
            name: "change",
            sets: "what changes in the directory",
            points: Points::Words(&["create-unlink", "write"]),
            default_points: Points::Words(&["create-unlink", "write"]),
        },
        Axis {
            name: "watch",
            sets: "whether the directory is watched",
            points: Points::Words(&["absent", "present"]),
            default_points: Points::Words(&["absent", "present"]),
        },
        DIRECTORY,
    ],
    in_price_list: false,
    source: "inotify(7); fs/notify/fsnotify.c, fs/notify/inotify/inotify_fsnotify.c",
    build: |params| {
        let change = match params.word("change") {
            "write" => Change::Write,
            _ => Change::CreateUnlink,
        };
        Changes::work(location(params), change, params.word("watch") == "present")
    },
    ..Bench::DEFAULT
};

pub(super) const INOTIFY_WATCH: Bench = Bench {
    id: "directory/inotify-watch",
    asks: "What does watching a directory and ending that cost?",
    op: "inotify_add_watch(2) of a folder of its own, by a path of one component, for IN_CREATE, \
         and inotify_rm_watch(2), which queues an event. Not included: creating the folder and the \
         instance, and reading and counting the events after a batch of at most 1024 ops. What the \
         removed watch occupied is freed by a kernel thread afterwards, after a grace period of \
         RCU: that falls on later ops, and on the CPU of that thread.",
    expected: "1.5 us: a watch and its number are allocated, attached to the inode and the \
               instance under two locks, and detached",
    why: "A program that watches a tree adds a watch for each directory in it. The number comes \
          from a table of the instance, and the watch is found again by the inode: a watch of one \
          that is watched already would change its events only.",
    calls: &[exactly("inotify_add_watch", 1), exactly("inotify_rm_watch", 1)],
    floor: &[at_least(2, KERNEL_ENTRY)],
    in_price_list: false,
    // 2: another folder than the working one, which other programs may watch.
    rev: 2,
    source: "inotify(7); fs/notify/mark.c, fs/notify/inotify/inotify_user.c",
    build: |_| Watches::work(),
    ..Bench::DEFAULT
};
