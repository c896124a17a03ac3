//! The kinds of idle descriptors, and what limits how many of them a machine allows.

use crate::kernel::Errno;
use crate::kernel::machine::resources;
use crate::kernel::process::limits;

/// The kind of the descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorKind {
    /// Read ends of pipes.
    Pipe,
    /// AF_UNIX stream sockets.
    SocketPair,
    /// TCP connections over loopback.
    Tcp,
    /// eventfd(2) counters.
    Eventfd,
}

impl DescriptorKind {
    /// The kernel memory of one at worst, both ends: for a connection it was observed with 120,000
    /// of them.
    fn kernel_bytes_each(self) -> u64 {
        match self {
            DescriptorKind::Pipe | DescriptorKind::SocketPair => 4_096,
            DescriptorKind::Tcp => 12_288,
            DescriptorKind::Eventfd => 1_024,
        }
    }

    /// Descriptors per item if both ends are in one process.
    pub(super) fn descriptors_each(self) -> u64 {
        if self == DescriptorKind::Eventfd { 1 } else { 2 }
    }
}

/// No descriptor is placed below this: the program's own are there.
pub(super) const MIN_NUMBER: u64 = 64;

/// How many descriptors of a kind one process can have with this limit.
pub fn max_descriptors(kind: DescriptorKind, limit: u64) -> u64 {
    let room = limit.saturating_sub(2 * MIN_NUMBER);
    // A tenth may be made ready, each of which needs its other end in this process; and a sixteenth
    // at least of the other ends must fit before they are handed to a child.
    if kind == DescriptorKind::Eventfd { room } else { room * 10 / 12 }
}

/// Checks that there is memory for `count` descriptors, with a reserve for others.
pub fn check_memory(count: u64, kind: DescriptorKind) -> Result<(), Errno> {
    /// The reserve for other programs.
    const SPARE: u64 = 64 << 20;
    let wanted = count * kind.kernel_bytes_each() + SPARE;
    match resources::available_bytes() {
        Some(left) if left < wanted => Err(Errno::unavailable(format!(
            "{} MiB of memory are available, and {count} descriptors may need {}: choose fewer \
             fds, or raise the control group's memory limit",
            left >> 20,
            wanted >> 20
        ))),
        _ => Ok(()),
    }
}

/// Adds a hint to an error of creating descriptors; other errors stay as they are.
pub fn explain_error(error: Errno, count: u64, kind: DescriptorKind) -> Errno {
    let limit = limits::raise_descriptor_limit().unwrap_or(0);
    match error {
        Errno::EMFILE => Errno::unavailable(format!(
            "{count} descriptors do not fit into a process here, which may have {limit}: \
             `sudo prlimit --pid $$ --nofile={0}:{0}` in the shell that starts oscost raises that, \
             or `ulimit -n`",
            2 * count + 2_048
        )),
        Errno(libc::ENFILE) => Errno::unavailable(format!(
            "{count} descriptors are more than the system has room for: \
             `sudo sysctl fs.file-max={}` makes room",
            4 * count + 1_000_000
        )),
        // connect(2) returns the one, bind(2) the other.
        Errno(libc::EADDRNOTAVAIL | libc::EADDRINUSE) if kind == DescriptorKind::Tcp => {
            Errno::unavailable(
                "no ports are left for connections over loopback, or it is down: \
             `sudo sysctl net.ipv4.ip_local_port_range=\"1024 65535\"`, `sudo ip link set lo up`"
                    .to_owned(),
            )
        }
        Errno(libc::ENETUNREACH) => {
            Errno::unavailable("loopback is down here: `sudo ip link set lo up`".to_owned())
        }
        Errno::ENOSPC => Errno::unavailable(format!(
            "{count} descriptors are more than a user may have in sets: `sudo sysctl \
             fs.epoll.max_user_watches={}` allows them",
            2 * count + 65_536
        )),
        Errno::ENOMEM | Errno(libc::ENOBUFS) => Errno::unavailable(format!(
            "not enough memory for {count} descriptors: choose fewer fds, or raise the memory limit"
        )),
        Errno::EAGAIN => Errno::unavailable(
            "the process limit is reached: see `ulimit -u` or the pids control group".to_owned(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_port_range_is_explained_for_either_errno() {
        for error in [libc::EADDRNOTAVAIL, libc::EADDRINUSE].map(Errno) {
            let text = explain_error(error, 1_000, DescriptorKind::Tcp).to_string();
            assert!(text.contains("ip_local_port_range"), "{text}");
            // Of pipes it would be an error like any other.
            assert_eq!(explain_error(error, 1_000, DescriptorKind::Pipe), error);
        }
    }
}
