//! A profile shaped like Docker's default profile, for a container without additional
//! capabilities.
//!
//! It is derived from Docker's documentation of the blocked system calls, not from its profile
//! file: an allow list of all other calls, an errno for the rest, and argument checks for a few.

use oscost_model::call_names::Arch;

use super::profile::{Action, Condition, Op, Profile, Rule};

const EPERM: u16 = 1;
const ENOSYS: u16 = 38;

/// Blocked system calls, for the documented reasons: they require a capability that the container
/// lacks, bypass the filter, or are obsolete.
const BLOCKED: &[&str] = &[
    // The kernel: modules, kexec, log, BPF programs, performance events.
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
    // Mounts, and the names of the machine.
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
    // Namespaces.
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
    // Keys, which have no namespace.
    "add_key",
    "keyctl",
    "request_key",
    // The system time.
    "settimeofday",
    "stime",
    "clock_settime",
    "clock_adjtime",
    // System calls that bypass the filter.
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    // Obsolete.
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
/// PER_LINUX, PER_LINUX32, UNAME26, both of these, and the query of the current one.
const PERSONALITIES: [u64; 5] = [0x0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];
/// AF_VSOCK: sockets to the hypervisor.
const VSOCK: u64 = 40;

/// The profile for an architecture: its calls in the order of their numbers.
pub fn profile(arch: Arch) -> Profile {
    let when = |op, value| vec![Condition { argument: 0, op, value }];
    let rules = arch.calls().filter(|(_, name)| !BLOCKED.contains(name)).flat_map(|(_, name)| {
        let (alternatives, action) = match name {
            "clone" => (vec![when(Op::MaskedEq(0), NEW_NAMESPACES)], Action::Allow),
            // Its flags are in memory, where a filter cannot check them: C libraries fall back to
            // clone.
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
    Profile { default: Action::Errno(EPERM), other_abis_get_default: true, rules: rules.collect() }
}
