//! Kinds of descriptors, by what the kernel calls that which they refer to.

/// The kind of a regular file.
pub const FILE: &str = "file";
/// The kind of a descriptor that is not open.
pub const NO_DESCRIPTOR: &str = "none";
/// The kind of a descriptor that cannot be looked up.
pub const UNKNOWN_KIND: &str = "unknown";

/// The kind of a file that a call has read from a disk, for which it waited; of one that was in memory
/// it is `file`. A tracer does not tell them apart.
pub const DISK_FILE: &str = "disk";

/// The kind of an anonymous inode by its name, which is `[eventfd]`, but `inotify`.
pub fn kind_of_anonymous_inode(name: &str) -> String {
    name.trim_matches(['[', ']']).to_owned()
}

/// The kind of a socket by the kernel's name of its protocol: `TCPv6`, `UNIX-STREAM`.
pub fn kind_of_protocol(name: &str) -> String {
    let name = name.trim_end_matches('\0').to_ascii_lowercase();
    let name = name.split('-').next().unwrap_or_default();
    name.strip_suffix("v6").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_and_anonymous_inodes_have_short_names() {
        let kinds = ["TCPv6\0", "UNIX-STREAM", "NETLINK"].map(kind_of_protocol);
        assert_eq!(kinds, ["tcp", "unix", "netlink"]);
        let kinds = ["[eventfd]", "inotify", ""].map(kind_of_anonymous_inode);
        assert_eq!(kinds, ["eventfd", "inotify", ""]);
    }
}
