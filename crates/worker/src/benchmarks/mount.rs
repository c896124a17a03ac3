//! Mounts: making and removing them, and asking about them.

use std::time::Duration;

use kernel::file::mount::{Mount, PrivateFolders, chroot_to_root, read_mountinfo};
use kernel::process::namespace::{self, Namespaces, Privilege};
use kernel::syscall::prepared;

use super::helper::{
    FAST_HELPER_ANSWER, FAST_HELPER_WAIT, FAST_OPS, FAST_ORDER, FAST_WAIT, HELPER_ANSWER,
    HELPER_CLOCK, HELPER_WAIT, ORDER, SLOW_OPS, WAIT, if_permitted, in_helper,
};
use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "mount",
    about: "the cost of mounting and unmounting, and of asking about file systems",
    benches: BENCHES,
};

/// Why nothing can be mounted.
const REFUSED: &str = "nothing can be mounted here: it takes CAP_SYS_ADMIN, or user namespaces for \
                       ordinary users (sysctls user.max_user_namespaces, \
                       kernel.unprivileged_userns_clone, \
                       kernel.apparmor_restrict_unprivileged_userns), and a filter of system calls \
                       that allows mount(2)";

/// Why an overlay cannot be mounted.
const NO_OVERLAY: &str = "an overlay cannot be mounted here: it takes a kernel with overlayfs, and \
                          Linux 5.11 for ordinary users";
/// The same of one with an upper layer.
const NO_UPPER: &str = "an overlay that can be written cannot be mounted here: it writes extended \
                        attributes that take CAP_SYS_ADMIN outside of user namespaces, and a \
                        kernel with overlayfs";

/// Why the root cannot be changed.
const NO_PIVOT: &str = "the root cannot be changed here: it takes what mount/tmpfs takes, and a \
                        root that is mounted on the initial file system, not that itself";
/// Why no root folder can be set.
const NO_CHROOT: &str = "no root folder can be set here: it takes user namespaces for ordinary \
                         users, and a filter of system calls that allows chroot(2)";

/// The capability that mounts without a user namespace.
const ADMIN: Need = Need::capability(Capability::SysAdmin);

/// The calls of an op that mounts and unmounts once.
const MOUNT_CALLS: &[ExpectedCall] = &[
    exactly("mount", 1).by_peer(),
    exactly("umount2", 1).by_peer(),
    ORDER,
    WAIT,
    HELPER_WAIT,
    HELPER_ANSWER,
    HELPER_CLOCK,
];

const BENCHES: &[Bench] = &[
    Bench {
        id: "mount/tmpfs",
        asks: "What does mounting and unmounting an empty file system cost?",
        op: "mount(2) of a new tmpfs on an empty folder and umount2(2), by the raw instruction, in \
             a child of the worker that has a mount namespace of its own, and times rounds of 16. \
             The end of the file system is part of it: the kernel frees it before umount2 returns. \
             Not included: the order for a round.",
        expected: "40 us, most of it the wait of umount2 for an expedited RCU grace period",
        why: "A path walk without locks (RCU) may still stand on the mount that is removed, so \
              that umount2 waits until every CPU has passed a point at which it cannot. The \
              kernel speeds that up by an interrupt to each CPU that is busy: the figure grows \
              with their number. A new tmpfs is a superblock, an inode, a dentry, and counters for \
              each CPU.",
        calls: MOUNT_CALLS,
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["mount/bind"],
        needs: &[ADMIN],
        in_price_list: false,
        switches: true,
        source: "mount(2), umount2(2), tmpfs(5); namespace_unlock in fs/namespace.c",
        build: |params| if_permitted(mounts(params, Mount::new_tmpfs()), REFUSED),
        ..Bench::DEFAULT
    },
    Bench {
        id: "mount/bind",
        asks: "What does showing a folder at a second place cost?",
        op: "mount(2) with MS_BIND of a folder on an empty one and umount2(2), by the raw \
             instruction, in a child of the worker that has a mount namespace of its own, and \
             times rounds of 16. Not included: the order for a round.",
        expected: "30 us: as for a tmpfs, without the file system",
        why: "No file system is made: the mount is all that is new, and its removal is the wait \
              that `mount/tmpfs` describes.",
        calls: MOUNT_CALLS,
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["mount/tmpfs"],
        needs: &[ADMIN],
        in_price_list: false,
        switches: true,
        source: "mount(2), umount2(2); do_loopback in fs/namespace.c",
        build: |params| if_permitted(mounts(params, Mount::bind()), REFUSED),
        ..Bench::DEFAULT
    },
    Bench {
        id: "mount/overlay",
        asks: "What does laying one folder over another cost, as for a container's files?",
        op: "mount(2) of an overlay of two empty folders of a tmpfs and umount2(2), by the raw \
             instruction, in a child of the worker that has a mount namespace of its own, and \
             times rounds of 16. With `upper=none` neither folder can be written; with \
             `upper=tmpfs` the upper one can, which takes a folder for unfinished files as well. \
             Not included: the order for a round.",
        expected: "50 us; 150 us with an upper layer, which is tried out",
        why: "The layers are looked up and kept by private mounts. For an upper layer the kernel \
              also makes and removes files in it, to see whether its file system can do what an \
              overlay needs (RENAME_WHITEOUT, extended attributes, unnamed files).",
        calls: MOUNT_CALLS,
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["mount/tmpfs"],
        axes: &[Axis {
            name: "upper",
            sets: "the file system of the layer that can be written",
            points: Points::Words(&["none", "tmpfs"]),
            default_points: Points::Words(&["none", "tmpfs"]),
        }],
        needs: &[ADMIN],
        in_price_list: false,
        switches: true,
        source: "mount(2), overlayfs.rst of the kernel's documentation; fs/overlayfs/super.c",
        build: |params| match params.word("upper") {
            "tmpfs" => {
                let work = in_helper(params, SLOW_OPS, Duration::ZERO, || {
                    let folders = PrivateFolders::enter()?;
                    if folders.privilege() == Privilege::InUserNamespace {
                        return Err(Errno::EPERM);
                    }
                    let overlay = Mount::overlay_with_upper();
                    Ok(move || overlay.mount_and_unmount())
                });
                if_permitted(work, NO_UPPER)
            }
            _ => if_permitted(mounts(params, Mount::overlay_of_two()), NO_OVERLAY),
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "mount/pivot-root",
        asks: "What does changing the root file system of a container cost?",
        op: "two pivot_root(2) by the raw instruction: one makes a tmpfs the root and puts the \
             former root into a folder of it, the other undoes both; in a child of the worker that \
             has a mount namespace of its own, and times rounds of 16. Not included: mounting the \
             tmpfs, and the order for a round.",
        expected: "some 15 us for both on a machine with 200 threads, and some 30 ns more for each \
                   further thread, in all containers",
        why: "Two mounts change places in the tree, under the lock of all mounts; nothing is \
              copied, and no grace period is waited for. Then the kernel walks the list of all \
              threads of the machine to move those whose root or working folder was the former \
              root (chroot_fs_refs), and takes a lock of each: that grows with the machine's load. \
              A container's start has one such call, and an unmounting of the former root.",
        calls: &[
            exactly("pivot_root", 2).by_peer(),
            ORDER,
            WAIT,
            HELPER_WAIT,
            HELPER_ANSWER,
            HELPER_CLOCK,
        ],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["mount/bind", "mount/chroot"],
        needs: &[ADMIN],
        in_price_list: false,
        switches: true,
        source: "pivot_root(2); fs/namespace.c, chroot_fs_refs in fs/fs_struct.c",
        build: |params| {
            let work = in_helper(params, SLOW_OPS, Duration::ZERO, || {
                let root = PrivateFolders::enter()?.as_root()?;
                Ok(move || root.pivot_and_return())
            });
            if_permitted(work, NO_PIVOT)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "mount/chroot",
        asks: "What does setting the root folder of a process cost?",
        op: "chroot(2) to `/`, by the raw instruction, in a child of the worker that has all \
             capabilities of a user namespace of its own, where that is allowed, and times rounds \
             of 1,024. Not included: the order for a round.",
        expected: "some 0.4 us: a path walk of no step, a check of permissions, and a pointer that \
                   is exchanged",
        why: "The folder's and its mount's references are counted up, those of the former root \
              down; that they are the same saves nothing. No other process is concerned, and no \
              mount moves: see `mount/pivot-root`.",
        calls: &[
            exactly("chroot", 1).by_peer(),
            FAST_ORDER,
            FAST_WAIT,
            FAST_HELPER_WAIT,
            FAST_HELPER_ANSWER,
            HELPER_CLOCK,
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        needs: &[ADMIN],
        in_price_list: false,
        switches: true,
        source: "chroot(2); fs/open.c, fs/fs_struct.c",
        build: |params| {
            let work = in_helper(params, FAST_OPS, Duration::ZERO, || {
                namespace::enter_new_unmapped(Namespaces::MOUNT)?;
                Ok(chroot_to_root)
            });
            if_permitted(work, NO_CHROOT)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "mount/statfs",
        asks: "What does asking for the free space of a file system cost?",
        op: "statfs(2) by the raw instruction, of `/` or of `/proc`. Not included: loop overhead.",
        expected: "0.5 us for /; 0.4 us for /proc, which has no space to count",
        why: "A path walk of one step, then the file system's own function: that of a disk's file \
              system adds up counters that each CPU has a part of, approximately.",
        calls: &[exactly("statfs", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "of",
            sets: "the file system: that of the root folder, or procfs",
            points: Points::Words(&["root", "proc"]),
            default_points: Points::Words(&["root", "proc"]),
        }],
        needs: &[Need::readable("/proc/self/mountinfo").when(&[("of", "proc")])],
        in_price_list: false,
        source: "statfs(2); fs/statfs.c",
        build: |params| {
            let path = if params.word("of") == "proc" { c"/proc" } else { c"/" };
            if_permitted(Ok(Work::raw(prepared::statfs(path))), "statfs(2) is refused")
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "mount/mountinfo-read",
        asks: "What does reading the list of mounts cost?",
        op: "open of /proc/self/mountinfo, read(2) until its end with a buffer of 64 KiB, and \
             close(2), by the raw instruction, in a child of the worker that has a mount namespace \
             of its own, and times rounds of 16. Its list has a line for each mount of the worker, \
             one of the child, and those that `added_mounts` adds. Not included: the order for a \
             round.",
        expected: "20 us for the 30 mounts of a server; 50 us more for another 100",
        why: "The kernel writes each line anew: for each mount it walks from the mount's root up \
              to the root of the file system to find its path, twice. A read returns at most a \
              page. systemd and container runtimes read this list after each mount.",
        calls: &[
            exactly("openat", 1).by_peer(),
            exactly("close", 1).by_peer(),
            // Those of the orders among them.
            up_to("read", 64).by_peer(),
            ORDER,
            WAIT,
            HELPER_ANSWER,
            HELPER_CLOCK,
        ],
        floor: &[at_least(4, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "added_mounts",
            sets: "how many mounts are added to those of the worker",
            points: Points::Numbers(&[0, 100]),
            default_points: Points::Numbers(&[0, 100]),
        }],
        needs: &[ADMIN, Need::readable("/proc/self/mountinfo")],
        in_price_list: false,
        switches: true,
        source: "proc_pid_mountinfo(5); fs/proc_namespace.c",
        build: |params| {
            let added = params.number("added_mounts");
            let work = in_helper(params, SLOW_OPS, Duration::ZERO, move || {
                PrivateFolders::enter()?.add_mounts(added)?;
                let mut room = vec![0; 1 << 16];
                Ok(move || match read_mountinfo(&mut room)? {
                    0 => Err(Errno::EPROTO),
                    _ => Ok(()),
                })
            });
            if_permitted(work, REFUSED)
        },
        ..Bench::DEFAULT
    },
];

/// The work of a mount that is made and removed.
fn mounts(params: Params<'_>, mount: Mount) -> Result<Work, Errno> {
    in_helper(params, SLOW_OPS, Duration::ZERO, move || {
        PrivateFolders::enter()?;
        Ok(move || mount.mount_and_unmount())
    })
}
