//! What a worker saw of the file that its ops worked on.

use serde::{Deserialize, Serialize};

/// What a worker saw of its file: where it lay, and what the page cache held of it whenever the worker
/// looked, before passes over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileObservation {
    /// The file system's number (`f_type` of statfs(2)).
    pub filesystem: u64,
    /// Pages that the file has.
    pub pages: u64,
    /// How often the worker looked.
    pub checks: u64,
    /// The fewest of its pages that the cache held then.
    pub min_cached: u64,
    /// The most of them.
    pub max_cached: u64,
    /// Whether it was wanted cold.
    pub cold: bool,
}

impl FileObservation {
    /// Takes note of one more look.
    pub fn add_check(&mut self, cached: u64) {
        self.min_cached = if self.checks == 0 { cached } else { self.min_cached.min(cached) };
        self.max_cached = self.max_cached.max(cached);
        self.checks += 1;
    }

    /// What two workers saw. They looked at files alike: where those lay is the first one's word.
    #[must_use]
    pub fn merged_with(self, other: FileObservation) -> FileObservation {
        match (self.checks, other.checks) {
            (_, 0) => self,
            (0, _) => other,
            _ => FileObservation {
                checks: self.checks + other.checks,
                min_cached: self.min_cached.min(other.min_cached),
                max_cached: self.max_cached.max(other.max_cached),
                ..self
            },
        }
    }
}

/// What stands behind the files of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A device of this machine's, as far as this machine knows.
    Disk,
    /// Memory.
    Memory,
    /// Another machine.
    Network,
    /// Other file systems, of any kind.
    Overlay,
    /// Nobody can tell from its number.
    Unknown,
}

impl Backing {
    /// The word of the record.
    pub fn text(self) -> &'static str {
        match self {
            Backing::Disk => "disk",
            Backing::Memory => "memory",
            Backing::Network => "network",
            Backing::Overlay => "overlay",
            Backing::Unknown => "unknown",
        }
    }
}

/// Numbers of file systems (linux/magic.h, and their own sources), names, and what is behind them.
const FILE_SYSTEMS: &[(u64, &str, Backing)] = &[
    (0xef53, "ext4", Backing::Disk),
    (0x5846_5342, "xfs", Backing::Disk),
    (0x9123_683e, "btrfs", Backing::Disk),
    (0xf2f5_2010, "f2fs", Backing::Disk),
    (0x2fc1_2fc1, "zfs", Backing::Disk),
    (0xca45_1a4e, "bcachefs", Backing::Disk),
    (0x4d44, "vfat", Backing::Disk),
    (0x2011_bab0, "exfat", Backing::Disk),
    (0x7366_746e, "ntfs3", Backing::Disk),
    (0x5265_4973, "reiserfs", Backing::Disk),
    (0x3153_464a, "jfs", Backing::Disk),
    (0x0102_1994, "tmpfs", Backing::Memory),
    (0x8584_58f6, "ramfs", Backing::Memory),
    (0x6969, "nfs", Backing::Network),
    (0xff53_4d42, "cifs", Backing::Network),
    (0xfe53_4d42, "smb2", Backing::Network),
    (0x517b, "smb", Backing::Network),
    (0x0102_1997, "9p", Backing::Network),
    (0x5346_414f, "afs", Backing::Network),
    (0x7375_7245, "coda", Backing::Network),
    (0x00c3_6400, "ceph", Backing::Network),
    (0x0bd0_0bd0, "lustre", Backing::Network),
    (0x4750_4653, "gpfs", Backing::Network),
    (0x0116_1970, "gfs2", Backing::Network),
    (0x7461_636f, "ocfs2", Backing::Network),
    (0x786f_4256, "vboxsf", Backing::Network),
    (0x794c_7630, "overlay", Backing::Overlay),
    (0x6175_6673, "aufs", Backing::Overlay),
    (0xf15f, "ecryptfs", Backing::Overlay),
    (0x6573_5546, "fuse", Backing::Unknown),
];

/// The name of a file system, and what is behind its files.
pub fn file_system(number: u64) -> (String, Backing) {
    // The kernel's type is as wide as a word, and some of the numbers have come with their sign.
    let number = number & 0xffff_ffff;
    match FILE_SYSTEMS.iter().find(|&&(of, ..)| of == number) {
        Some(&(_, name, behind)) => (name.to_owned(), behind),
        None => (format!("{number:#x}"), Backing::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_and_an_overlay_are_never_called_a_disk() {
        for (number, name, behind) in [
            (0xef53, "ext4", Backing::Disk),
            (0x6969, "nfs", Backing::Network),
            (0xffff_ffff_ff53_4d42, "cifs", Backing::Network),
            (0x794c_7630, "overlay", Backing::Overlay),
            (0x0102_1994, "tmpfs", Backing::Memory),
            (0x6573_5546, "fuse", Backing::Unknown),
            (0x1234, "0x1234", Backing::Unknown),
        ] {
            assert_eq!(file_system(number), (name.to_owned(), behind));
        }
    }

    #[test]
    fn looks_add_up_to_the_fewest_and_the_most() {
        let mut one = FileObservation { pages: 8, ..FileObservation::default() };
        assert_eq!(one.merged_with(one), one, "nobody has looked");
        one.add_check(5);
        let mut other = one;
        other.add_check(7);
        one.add_check(3);
        let both = one.merged_with(other);
        assert_eq!((both.checks, both.min_cached, both.max_cached), (4, 3, 7));
        assert_eq!(FileObservation::default().merged_with(other), other);
        assert_eq!(other.merged_with(FileObservation::default()), other);
    }
}
