//! What changes or checks the privileges of a process: filters, capabilities, ids, keys.

use std::rc::Rc;
use std::time::Duration;

use kernel::probe::filter_install::PreparedFilter;
use kernel::process::{keyring, privileges};
use kernel::syscall::prepared::{self, Call};

use super::helper::{
    CHILD_CLOCK, EXIT, FAST_HELPER_ANSWER, FAST_HELPER_WAIT, FAST_OPS, FAST_ORDER, FAST_WAIT, FORK,
    HELPER_ANSWER, HELPER_CLOCK, HELPER_WAIT, LIBC_IN_CHILD, ORDER, REAP, SLOW_OPS, WAIT,
    if_permitted, in_helper, timed_in_child,
};
use super::prelude::*;
use crate::bench::PointFilter;

mod landlock;

use landlock::NO_LANDLOCK;

pub(super) const FAMILY: Family = Family {
    name: "security",
    about: "the cost of restricting a process, and of changing its credentials",
    benches: BENCHES,
};

/// The points of `security/keyctl` and of `security/no-new-privs`.
const ADD: PointFilter = &[("act", "add-unlink")];
const FIND: PointFilter = &[("act", "get-id")];
const SET: PointFilter = &[("act", "set")];
const GET: PointFilter = &[("act", "get")];

/// How long the worker sleeps while the kernel removes keys: an RCU grace period after an unlinking
/// its reference is dropped, and an ordinary user has 200 keys at most (kernel.keys.maxkeys).
const KEYS_PAUSE: Duration = Duration::from_millis(20);

/// The calls in a turn of the loop of [`make_eight_times`].
const CALLS_IN_TURN: u64 = 8;

/// Makes a call eight times, so that an eighth of the turn of the loop around it falls to each: a
/// call of 60 ns would show all of it.
#[inline(always)]
fn make_eight_times(call: &Call) -> Result<(), Errno> {
    let ready = call.ready();
    let four_times = || -> Result<(), Errno> {
        ready.make()?;
        ready.make()?;
        ready.make()?;
        ready.make()?;
        Ok(())
    };
    four_times()?;
    four_times()
}

const BENCHES: &[Bench] = &[
    Bench {
        id: "security/capget",
        asks: "What does reading the capabilities of a process cost?",
        op: "capget(2) of the calling thread, by the raw instruction. Not included: loop overhead.",
        expected: "120 ns: three sets are copied, and two words of each are written",
        calls: &[exactly("capget", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        in_price_list: false,
        source: "capget(2); kernel/capability.c",
        build: |_| if_permitted(Ok(Work::raw(prepared::capget())), "capget(2) is refused"),
        ..Bench::DEFAULT
    },
    Bench {
        id: "security/capset",
        asks: "What does setting the capabilities of a process cost?",
        op: "capset(2) of the sets that the calling thread has already, by the raw instruction. \
             Not included: loop overhead.",
        expected: "400 ns, and 100 ns more where the audit system records it",
        why: "Credentials are never changed in place, since others read them without locks: the \
              kernel copies all of them (170 bytes, and references to a user, a namespace, \
              keyrings and groups), changes the copy, publishes it, and frees the old one after an \
              RCU grace period. That nothing changes saves nothing.",
        calls: &[exactly("capset", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["security/capget", "security/setresuid"],
        in_price_list: false,
        source: "capset(2), Documentation/security/credentials.rst; kernel/cred.c",
        build: |_| if_permitted(prepared::capset_same().map(Work::raw), "capset(2) is refused"),
        ..Bench::DEFAULT
    },
    Bench {
        id: "security/setresuid",
        asks: "What does setting the user of a process cost?",
        op: "setresuid(2) of the three ids that the calling thread has already, by the raw \
             instruction, so that this thread alone is meant. Not included: loop overhead.",
        expected: "80 ns: since Linux 6.3 the kernel sees that nothing changes; 350 ns before",
        why: "Older kernels copy and publish the credentials in any case: see `security/capset`, \
              which still does. The C library's setresuid() also sends a signal to every other \
              thread, for the kernel knows the user of a thread only.",
        calls: &[exactly("setresuid", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["security/capset", "syscall/getuid"],
        in_price_list: false,
        source: "setresuid(2), nptl(7); __sys_setresuid in kernel/sys.c",
        build: |_| {
            let call = prepared::setresuid_same().map(Work::raw);
            if_permitted(call, "setresuid(2) is refused")
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "security/no-new-privs",
        asks: "What does giving up new privileges cost, and what does asking about it?",
        op: "prctl(2) with PR_GET_NO_NEW_PRIVS, by the raw instruction; or with \
             PR_SET_NO_NEW_PRIVS, by the raw instruction too, in a child of the worker that has \
             set it before, and times rounds of 1,024 calls, eight in each turn of its loop. Not \
             included: loop overhead, of which `act=set` has an eighth of a turn in each op; the \
             order for a round.",
        expected: "60 ns to ask, 65 ns to set: a bit of the thread, set atomically",
        calls: &[
            exactly("prctl", 1).when(GET),
            exactly("prctl", 1).by_peer().when(SET),
            FAST_ORDER.when(SET),
            FAST_WAIT.when(SET),
            FAST_HELPER_WAIT.when(SET),
            FAST_HELPER_ANSWER.when(SET),
            HELPER_CLOCK.when(SET),
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/prctl"],
        axes: &[Axis {
            name: "act",
            sets: "whether the flag is read or set",
            points: Points::Words(&["get", "set"]),
            default_points: Points::Words(&["get", "set"]),
        }],
        in_price_list: false,
        switches: true,
        // 2: by the raw instruction, eight times in each turn.
        rev: 2,
        source: "PR_SET_NO_NEW_PRIVS(2const); kernel/sys.c",
        build: |params| {
            let work = match params.word("act") {
                "set" => {
                    let turns = FAST_OPS / CALLS_IN_TURN;
                    let work = in_helper(params, turns, Duration::ZERO, || {
                        let set = prepared::set_no_new_privs();
                        Ok(move || make_eight_times(&set))
                    });
                    work.map(|work| work.with_op_count(FAST_OPS))
                }
                _ => Ok(Work::raw(prepared::get_no_new_privs())),
            };
            if_permitted(work, "prctl(2) is refused")
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "security/seccomp-install",
        asks: "What does installing a filter of system calls cost, by its length?",
        op: "seccomp(SECCOMP_SET_MODE_FILTER) by the raw instruction, of a classic BPF program \
             that loads the number of the call again and again and allows it. Each op is the first \
             filter that a child of its own installs, over those of the worker: filters add up, \
             and stay for as long as a process lives. Not included: the fork, `no_new_privs`, a \
             call with an invalid flag before it, by which its code and stack are in memory, and \
             the child's end.",
        expected: "10 us for 1 instruction, 15 us for 16, 120 us for 256",
        why: "The program is copied, checked, translated to eBPF and then to machine code, which \
              takes pages of their own where the processor may execute it. Since Linux 5.11 the \
              kernel also executes the program for each of its 450 system calls, to know which \
              are always allowed: that grows with the length. Afterwards an allowed call costs \
              next to nothing; before, it ran the program. The first filter of a process also \
              sets up its speculation controls, on kernels that are told so.",
        calls: &[
            exactly("seccomp", 2),
            exactly("prctl", 1),
            FORK,
            EXIT,
            REAP,
            LIBC_IN_CHILD,
            CHILD_CLOCK,
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "instructions",
            sets: "the length of the program",
            points: Points::Numbers(&[1, 16, 256]),
            default_points: Points::Numbers(&[1, 16, 256]),
        }],
        in_price_list: false,
        switches: true,
        source: "seccomp(2); seccomp_prepare_filter and seccomp_cache_prepare in kernel/seccomp.c",
        build: |params| {
            let filter = Rc::new(PreparedFilter::new(params.number("instructions")));
            let work = timed_in_child(params, move || {
                privileges::forbid_new_privileges()?;
                filter.install_nothing();
                let filter = Rc::clone(&filter);
                Ok(move || filter.install())
            });
            if_permitted(work, "no filter of system calls can be installed here")
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "security/landlock",
        asks: "What does preparing a sandbox of Landlock cost, before anything is restricted?",
        op: "landlock_create_ruleset(2) of an empty ruleset that governs the execution of files, \
             and close(2) of its descriptor, by the raw instruction. Not included: rules and \
             landlock_restrict_self(2); loop overhead.",
        expected: "1.2 us: an anonymous file and a structure, made and freed",
        why: "Most of it is the descriptor: an inode is shared, but the file is allocated, and \
              freed when close(2) drops the last reference, as for every file.",
        calls: &[exactly("landlock_create_ruleset", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        in_price_list: false,
        source: "landlock(7), landlock_create_ruleset(2); security/landlock/syscalls.c",
        build: |_| {
            let work = Work::raw_pair(prepared::landlock_ruleset_close());
            if_permitted(Ok(work), NO_LANDLOCK)
        },
        ..Bench::DEFAULT
    },
    landlock::RESTRICT,
    landlock::OPEN,
    Bench {
        id: "security/keyctl",
        asks: "What does the kernel's key store cost?",
        op: "with `act=get-id` keyctl(KEYCTL_GET_KEYRING_ID) of the thread's keyring; with \
             `act=add-unlink` add_key(2) of a key of one byte to it and keyctl(KEYCTL_UNLINK), \
             which takes it out again. Both by the raw instruction, in a child of the worker that \
             has a keyring of its own and times rounds of 1,024 or 16: the keyring ends with it. \
             Not included: the order for a round, and the removal of the keys' memory, which the \
             kernel defers: the worker sleeps for 20 ms before each round while it happens.",
        expected: "200 ns to find it; 3 us for a key",
        why: "A key is an object with an owner, permissions, a payload, a quota and a place in a \
              tree of all keys. Its last reference is dropped outside of the op, after an RCU \
              grace period; that wakes a kernel thread (key_garbage_collector), which searches the \
              tree for what it may free.",
        calls: &[
            exactly("keyctl", 1).by_peer(),
            exactly("add_key", 1).by_peer().when(ADD),
            ORDER.when(ADD),
            WAIT.when(ADD),
            HELPER_WAIT.when(ADD),
            HELPER_ANSWER.when(ADD),
            FAST_ORDER.when(FIND),
            FAST_WAIT.when(FIND),
            FAST_HELPER_WAIT.when(FIND),
            FAST_HELPER_ANSWER.when(FIND),
            HELPER_CLOCK,
        ],
        floor: &[at_least(1, KERNEL_ENTRY).when(FIND), at_least(2, KERNEL_ENTRY).when(ADD)],
        axes: &[Axis {
            name: "act",
            sets: "whether the keyring is looked up, or a key is added and dropped",
            points: Points::Words(&["get-id", "add-unlink"]),
            default_points: Points::Words(&["get-id", "add-unlink"]),
        }],
        in_price_list: false,
        switches: true,
        source: "keyctl(2), add_key(2), keyrings(7); security/keys/key.c",
        build: |params| {
            let work = match params.word("act") {
                "add-unlink" => in_helper(params, SLOW_OPS, KEYS_PAUSE, || {
                    keyring::create_thread_keyring()?;
                    Ok(keyring::add_and_unlink)
                }),
                _ => in_helper(params, FAST_OPS, Duration::ZERO, || {
                    keyring::create_thread_keyring()?;
                    Ok(keyring::find_thread_keyring)
                }),
            };
            if_permitted(
                work,
                "this kernel has no keys (CONFIG_KEYS), or a filter of system calls forbids them, \
                 as docker's does",
            )
        },
        ..Bench::DEFAULT
    },
];
