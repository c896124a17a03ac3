//! What a worker saw of the file that its ops worked on.

use serde::{Deserialize, Serialize};

/// What a worker saw of its file: where it lay, and what the page cache held of it whenever the worker
/// looked, before passes over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSeen {
    /// The file system's number (`f_type` of statfs(2)).
    pub filesystem: u64,
    /// Pages that the file has.
    pub pages: u64,
    /// How often the worker looked.
    pub looks: u64,
    /// The fewest of its pages that the cache held then.
    pub cached_least: u64,
    /// The most of them.
    pub cached_most: u64,
    /// Whether it was wanted cold.
    pub cold: bool,
}

impl FileSeen {
    /// Takes note of one more look.
    pub fn look(&mut self, cached: u64) {
        self.cached_least = if self.looks == 0 { cached } else { self.cached_least.min(cached) };
        self.cached_most = self.cached_most.max(cached);
        self.looks += 1;
    }

    /// What two workers saw. They looked at files alike: where those lay is the first one's word.
    #[must_use]
    pub fn and(self, other: FileSeen) -> FileSeen {
        match (self.looks, other.looks) {
            (_, 0) => self,
            (0, _) => other,
            _ => FileSeen {
                looks: self.looks + other.looks,
                cached_least: self.cached_least.min(other.cached_least),
                cached_most: self.cached_most.max(other.cached_most),
                ..self
            },
        }
    }
}

/// What stands behind the files of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
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

impl Behind {
    /// The word of the record.
    pub fn text(self) -> &'static str {
        match self {
            Behind::Disk => "disk",
            Behind::Memory => "memory",
            Behind::Network => "network",
            Behind::Overlay => "overlay",
            Behind::Unknown => "unknown",
        }
    }
}

/// Numbers of file systems (linux/magic.h, and their own sources), names, and what is behind them.
const FILE_SYSTEMS: &[(u64, &str, Behind)] = &[
    (0xef53, "ext4", Behind::Disk),
    (0x5846_5342, "xfs", Behind::Disk),
    (0x9123_683e, "btrfs", Behind::Disk),
    (0xf2f5_2010, "f2fs", Behind::Disk),
    (0x2fc1_2fc1, "zfs", Behind::Disk),
    (0xca45_1a4e, "bcachefs", Behind::Disk),
    (0x4d44, "vfat", Behind::Disk),
    (0x2011_bab0, "exfat", Behind::Disk),
    (0x7366_746e, "ntfs3", Behind::Disk),
    (0x5265_4973, "reiserfs", Behind::Disk),
    (0x3153_464a, "jfs", Behind::Disk),
    (0x0102_1994, "tmpfs", Behind::Memory),
    (0x8584_58f6, "ramfs", Behind::Memory),
    (0x6969, "nfs", Behind::Network),
    (0xff53_4d42, "cifs", Behind::Network),
    (0xfe53_4d42, "smb2", Behind::Network),
    (0x517b, "smb", Behind::Network),
    (0x0102_1997, "9p", Behind::Network),
    (0x5346_414f, "afs", Behind::Network),
    (0x7375_7245, "coda", Behind::Network),
    (0x00c3_6400, "ceph", Behind::Network),
    (0x0bd0_0bd0, "lustre", Behind::Network),
    (0x4750_4653, "gpfs", Behind::Network),
    (0x0116_1970, "gfs2", Behind::Network),
    (0x7461_636f, "ocfs2", Behind::Network),
    (0x786f_4256, "vboxsf", Behind::Network),
    (0x794c_7630, "overlay", Behind::Overlay),
    (0x6175_6673, "aufs", Behind::Overlay),
    (0xf15f, "ecryptfs", Behind::Overlay),
    (0x6573_5546, "fuse", Behind::Unknown),
];

/// The name of a file system, and what is behind its files.
pub fn file_system(number: u64) -> (String, Behind) {
    // The kernel's type is as wide as a word, and some of the numbers have come with their sign.
    let number = number & 0xffff_ffff;
    match FILE_SYSTEMS.iter().find(|&&(of, ..)| of == number) {
        Some(&(_, name, behind)) => (name.to_owned(), behind),
        None => (format!("{number:#x}"), Behind::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_and_an_overlay_are_never_called_a_disk() {
        for (number, name, behind) in [
            (0xef53, "ext4", Behind::Disk),
            (0x6969, "nfs", Behind::Network),
            (0xffff_ffff_ff53_4d42, "cifs", Behind::Network),
            (0x794c_7630, "overlay", Behind::Overlay),
            (0x0102_1994, "tmpfs", Behind::Memory),
            (0x6573_5546, "fuse", Behind::Unknown),
            (0x1234, "0x1234", Behind::Unknown),
        ] {
            assert_eq!(file_system(number), (name.to_owned(), behind));
        }
    }

    #[test]
    fn looks_add_up_to_the_fewest_and_the_most() {
        let mut one = FileSeen { pages: 8, ..FileSeen::default() };
        assert_eq!(one.and(one), one, "nobody has looked");
        one.look(5);
        let mut other = one;
        other.look(7);
        one.look(3);
        let both = one.and(other);
        assert_eq!((both.looks, both.cached_least, both.cached_most), (4, 3, 7));
        assert_eq!(FileSeen::default().and(other), other);
        assert_eq!(other.and(FileSeen::default()), other);
    }
}
