//! Namespaces: making, entering and leaving them, and the maps of a user namespace.

use std::time::Duration;

use kernel::process::namespace::{self, MapFiles, MapTexts, NamespaceFile, Namespaces};
use kernel::process::spawn;

use super::helper::{
    CHILD_CLOCK, EXIT, FAST_HELPER_ANSWER, FAST_HELPER_WAIT, FAST_OPS, FAST_ORDER, FAST_WAIT, FORK,
    HELPER_ANSWER, HELPER_CLOCK, HELPER_WAIT, LIBC_IN_CHILD, ORDER, REAP, SLOW_OPS, WAIT,
    if_permitted, in_helper, timed_in_child,
};
use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "namespace",
    about: "the cost of making and entering the namespaces of containers",
    benches: BENCHES,
};

/// Why no namespace can be made.
const REFUSED: &str = "namespaces cannot be made here: it takes CAP_SYS_ADMIN, or user namespaces \
                       for ordinary users (sysctls user.max_user_namespaces, \
                       kernel.unprivileged_userns_clone, \
                       kernel.apparmor_restrict_unprivileged_userns), and a kernel and a filter of \
                       system calls that allow this kind";

/// The capability that makes namespaces without a user namespace.
const ADMIN: Need = Need::capability(Capability::SysAdmin);

const USER_NAMESPACE: Axis = Axis {
    name: "user_namespace",
    sets: "the user namespace that the new namespaces belong to: the worker's own, which takes \
           CAP_SYS_ADMIN, or one that the same call makes, as for an ordinary user",
    points: Points::Words(&["own", "new"]),
    default_points: Points::Words(&["own", "new"]),
};

const BENCHES: &[Bench] = &[
    Bench {
        id: "namespace/clone",
        asks: "What does a new namespace add to the creation of a process?",
        op: "clone(2) by the raw instruction, with CLONE_VM, SIGCHLD and the flag of the \
             namespace; in the child exit(2) at once, which is the end of the namespace's last \
             user; in the parent wait4(2). `process/clone-vm` is the same without a namespace. \
             Not included: what the kernel defers to its own threads, which is most of the end of \
             `net`, `ipc`, `pid` and `user`: the worker sleeps before each batch of 16 while it \
             happens (20 ms for `net`, 2 ms for others; not for uts and cgroup alone).",
        expected: "25 us, as without a namespace, for uts and cgroup; 30 us for ipc, pid and user; \
                   60 us for mount, 100 us for net; a user namespace adds 3 us",
        why: "A namespace is a structure in the kernel. For uts it is a copy of 400 bytes. For \
              mount every mount is copied, so that its cost grows with their number, and their \
              removal waits for an expedited RCU grace period. For net every part of the network \
              stack that is loaded sets up its tables, and a loopback device is made; the kernel \
              thread that later removes them holds the lock (rtnl_mutex) for which the next one \
              waits.",
        calls: &[exactly("clone", 1), exactly("exit", 1), exactly("wait4", 1)],
        floor: &[at_least(1, "process/clone-vm")],
        compare_with: &["process/clone-vm"],
        axes: &[
            Axis {
                name: "kind",
                sets: "the kind of namespace",
                points: Points::Words(&["uts", "ipc", "net", "mount", "pid", "user", "cgroup"]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&[
                        "uts", "ipc", "net", "mount", "pid", "user", "cgroup",
                    ]),
                    price_list: &Points::Words(&["user"]),
                },
            },
            Axis {
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["own", "new"]),
                    price_list: &Points::Words(&["new"]),
                },
                ..USER_NAMESPACE
            },
        ],
        needs: &[
            ADMIN.when(&[("user_namespace", "own")]),
            Need::not_applicable("a user namespace is a new one in any case")
                .when(&[("kind", "user"), ("user_namespace", "own")]),
        ],
        switches: true,
        source: "clone(2), namespaces(7); create_new_namespaces in kernel/nsproxy.c",
        build: |params| {
            let kind = kind_of(params)?;
            make_by_clone(params, kind, pause_after(kind))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "namespace/unshare",
        asks: "What does it cost a process to leave a namespace for a new one?",
        op: "unshare(2) with the flag of the namespace, by the raw instruction, in a child of the \
             worker that has done so before: the old namespace loses its last user within the \
             call. The child has all capabilities of a user namespace of its own, where that is \
             allowed. It times rounds of 16. Not included: the order for a round, and what the \
             kernel defers to its own threads, which is most of the end of `net` and `ipc`: the \
             worker sleeps before each round while it happens (20 ms for `net`, 2 ms for others).",
        expected: "1 us for uts, time and cgroup, 5 us for ipc, 40 us for mount, 80 us for net",
        why: "Without a process around it, the figure is the namespace's structure alone: made, \
              and for most kinds freed. `mount` copies every mount of the old namespace, and waits \
              for an expedited RCU grace period when it drops them. The namespaces of processes \
              and of users are not here: the first can be left once by a process, and the second \
              nests, at most 32 deep.",
        calls: &[
            exactly("unshare", 1).by_peer(),
            ORDER,
            WAIT,
            HELPER_WAIT,
            HELPER_ANSWER,
            HELPER_CLOCK,
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "kind",
            sets: "the kind of namespace",
            points: Points::Words(&["uts", "ipc", "net", "mount", "cgroup", "time"]),
            default_points: Points::Words(&["uts", "ipc", "net", "mount", "cgroup", "time"]),
        }],
        needs: &[ADMIN],
        in_price_list: false,
        switches: true,
        source: "unshare(2), time_namespaces(7); ksys_unshare in kernel/fork.c",
        build: |params| {
            let kind = kind_of(params)?;
            let work = in_helper(params, SLOW_OPS, pause_after(kind), move || {
                namespace::enter_new_unmapped(kind)?;
                Ok(move || namespace::unshare(kind))
            });
            if_permitted(work, REFUSED)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "namespace/setns",
        asks: "What does entering an existing namespace cost?",
        op: "setns(2) by the raw instruction, to the namespace that the process is in already, \
             through a descriptor of /proc/self/ns; in a child of the worker with namespaces of \
             its own, which times rounds of 1,024; for `pid` the child is in the worker's, which \
             takes CAP_SYS_ADMIN there. Not included: opening the descriptor, and the order for a \
             round.",
        expected: "0.6 us; 1 us for mount, whose root and working folder are looked up; some 1.5 \
                   us for time, which maps another page of clock data",
        why: "The kernel prepares a new set of namespaces, checks capabilities in two user \
              namespaces, and then replaces the set of the process. That it is the same namespace \
              saves nothing. Credentials are copied for a user namespace only. `pid` is the \
              namespace of children to come; `time` changes the page from which the vDSO reads the \
              offsets of the clocks.",
        calls: &[
            exactly("setns", 1).by_peer(),
            FAST_ORDER,
            FAST_WAIT,
            FAST_HELPER_WAIT,
            FAST_HELPER_ANSWER,
            HELPER_CLOCK,
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "kind",
            sets: "the kind of namespace",
            points: Points::Words(&["uts", "ipc", "net", "mount", "pid", "cgroup", "time"]),
            default_points: Points::Words(&["uts", "ipc", "net", "mount"]),
        }],
        needs: &[ADMIN],
        in_price_list: false,
        switches: true,
        source: "setns(2); kernel/nsproxy.c",
        build: |params| {
            let kind = kind_of(params)?;
            let work = in_helper(params, FAST_OPS, Duration::ZERO, move || {
                // Nobody is in a new one of processes before it has a first process.
                if kind != Namespaces::PID {
                    namespace::enter_new_unmapped(kind)?;
                }
                let own = NamespaceFile::own(kind)?;
                Ok(move || own.enter())
            });
            if_permitted(work, REFUSED)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "namespace/container",
        asks: "What do all the namespaces of a container cost together?",
        op: "clone(2) by the raw instruction, with CLONE_VM, SIGCHLD and the flags of six \
             namespaces: uts, ipc, net, mount, pid and cgroup; in the child exit(2) at once; in \
             the parent wait4(2). Not included: what a container runtime does besides (mounts, \
             control groups, devices, filters), and what the kernel defers to its own threads: \
             the worker sleeps for 20 ms before each batch of 16 while it happens.",
        expected: "200 us: net and mount are most of it",
        why: "It is about the sum of `namespace/clone` over the kinds, less the process that each \
              of them creates. A container's start takes thousands of times longer, for a runtime \
              is a program that starts others.",
        calls: &[exactly("clone", 1), exactly("exit", 1), exactly("wait4", 1)],
        floor: &[at_least(1, "process/clone-vm")],
        compare_with: &["namespace/clone:kind=net,user_namespace=own"],
        axes: &[USER_NAMESPACE],
        needs: &[ADMIN.when(&[("user_namespace", "own")])],
        in_price_list: false,
        switches: true,
        source: "clone(2), namespaces(7)",
        build: |params| make_by_clone(params, Namespaces::CONTAINER, NET_PAUSE),
        ..Bench::DEFAULT
    },
    Bench {
        id: "namespace/maps",
        asks: "What does mapping the ids of a user namespace cost?",
        op: "three write(2) in a new user namespace: a line to uid_map, `deny` to setgroups, and a \
             line to gid_map, as an ordinary user must; each maps the worker's own id to itself. \
             Each op is timed in a child of its own, since a map can be written once. Not \
             included: the fork, unshare(2), opening the files, and the child's end.",
        expected: "3 us: each line is parsed, checked and published",
        calls: &[
            exactly("write", 4),
            exactly("unshare", 1),
            exactly("openat", 3),
            exactly("close", 3),
            exactly("geteuid", 1),
            exactly("getegid", 1),
            FORK,
            EXIT,
            REAP,
            LIBC_IN_CHILD,
            CHILD_CLOCK,
        ],
        floor: &[at_least(3, KERNEL_ENTRY)],
        needs: &[Need::capability(Capability::SetFcap)],
        in_price_list: false,
        switches: true,
        source: "user_namespaces(7); map_write in kernel/user_namespace.c",
        build: |params| {
            let work = timed_in_child(params, || {
                let texts = MapTexts::of_own_ids();
                namespace::unshare(Namespaces::USER)?;
                let files = MapFiles::open()?;
                files.write_nothing();
                Ok(move || files.write(&texts))
            });
            if_permitted(work, REFUSED)
        },
        ..Bench::DEFAULT
    },
];

/// How long the worker sleeps while the kernel removes network namespaces: each of them waits for
/// RCU grace periods, and is removed with those that came in meanwhile.
const NET_PAUSE: Duration = Duration::from_millis(20);
/// The same of other kinds.
const PAUSE: Duration = Duration::from_millis(2);

/// The namespaces of one batch: their removal fits into the pause before the next.
const MAX_BATCH: u64 = 16;

/// The kind at a point.
fn kind_of(params: Params<'_>) -> Result<Namespaces, Errno> {
    Namespaces::of_word(params.word("kind")).ok_or(Errno::EINVAL)
}

fn pause_after(kind: Namespaces) -> Duration {
    match kind {
        Namespaces::NET => NET_PAUSE,
        // They are freed at once.
        Namespaces::UTS | Namespaces::CGROUP | Namespaces::TIME => Duration::ZERO,
        _ => PAUSE,
    }
}

/// The work of a process that is made in new namespaces and exits.
fn make_by_clone(
    params: Params<'_>,
    namespaces: Namespaces,
    pause: Duration,
) -> Result<Work, Errno> {
    // A user namespace is freed by a kernel thread, whatever else is made with it.
    let (namespaces, pause) = match params.word("user_namespace") {
        "new" => (namespaces.with(Namespaces::USER), pause.max(PAUSE)),
        _ => (namespaces, pause),
    };
    let work = Work::with_loop(move || spawn::reap(namespace::clone_vm(namespaces)?));
    let work = if pause.is_zero() {
        work
    } else {
        let sleep = move |_: u64| {
            std::thread::sleep(pause);
            Ok(())
        };
        work.with_preparation(sleep).with_max_batch_ops(MAX_BATCH)
    };
    if_permitted(Ok(work), REFUSED)
}
