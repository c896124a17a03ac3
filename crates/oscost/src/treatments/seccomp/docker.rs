//! The shape of Docker's default profile, for a container without further rights.
//!
//! It is made from what Docker's pages say of the calls that its profile blocks, not from its file:
//! an allow-list of all calls but those, an errno for the rest, and a look at the arguments of a
//! few.

use oscost_model::call_names::Arch;

use super::profile::{Action, Condition, Op, Profile, Rule};

const EPERM: u16 = 1;
const ENOSYS: u16 = 38;

/// Calls that a container does not get, for reasons that the pages name: a right that it does not
/// have (to administer, to trace others, to load code or time into the kernel), a way around the
/// filter, or a call that nobody uses any more.
const BLOCKED: &[&str] = &[
    // The kernel itself: its modules, its successor, its log, its programs, its performance.
    "init_module",
    "finit_module",
    "delete_module",
    "create_module",
    "query_module",
    "get_kernel_syms",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "syslog",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "lookup_dcookie",
    "acct",
    "quotactl",
    "quotactl_fd",
    "fanotify_init",
    "vhangup",
    "iopl",
    "ioperm",
    // Mounts and names of the machine.
    "mount",
    "umount",
    "umount2",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "pivot_root",
    "swapon",
    "swapoff",
    "sethostname",
    "setdomainname",
    "open_by_handle_at",
    // Namespaces of others, or new ones.
    "setns",
    "unshare",
    // Other processes.
    "kcmp",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "move_pages",
    "migrate_pages",
    "mbind",
    "get_mempolicy",
    "set_mempolicy",
    "set_mempolicy_home_node",
    // Keys, which belong to no namespace.
    "add_key",
    "keyctl",
    "request_key",
    // The time of all.
    "settimeofday",
    "stime",
    "clock_settime",
    "clock_adjtime",
    // A way to make calls that no filter sees.
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    // Out of use.
    "nfsservctl",
    "uselib",
    "ustat",
    "sysfs",
    "_sysctl",
    "vm86",
    "vm86old",
    "afs_syscall",
    "getpmsg",
    "putpmsg",
    "security",
    "tuxcall",
    "vserver",
    "epoll_ctl_old",
    "epoll_wait_old",
];

/// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
const NEW_NAMESPACES: u64 = 0x7e02_0000;
/// PER_LINUX, PER_LINUX32, UNAME26, both of these, and the question what it is now.
const PERSONALITIES: [u64; 5] = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];
/// AF_VSOCK: a way to the machine below.
const VSOCK: u64 = 40;

/// The profile, for a processor: its calls in the order of their numbers.
pub fn profile(arch: Arch) -> Profile {
    let when = |op, value| vec![Condition { argument: 0, op, value }];
    let rules = arch.calls().filter(|(_, name)| !BLOCKED.contains(name)).flat_map(|(_, name)| {
        let (alternatives, action) = match name {
            "clone" => (vec![when(Op::MaskedEq(0), NEW_NAMESPACES)], Action::Allow),
            // Its flags are in memory, where no filter sees them: C libraries then take clone.
            "clone3" => (vec![Vec::new()], Action::Errno(ENOSYS)),
            "personality" => {
                (PERSONALITIES.iter().map(|value| when(Op::Eq, *value)).collect(), Action::Allow)
            }
            "socket" => (vec![when(Op::Ne, VSOCK)], Action::Allow),
            _ => (vec![Vec::new()], Action::Allow),
        };
        let rule = move |conditions| Rule { names: vec![name.to_owned()], conditions, action };
        alternatives.into_iter().map(rule)
    });
    Profile { default: Action::Errno(EPERM), foreign: true, rules: rules.collect() }
}
