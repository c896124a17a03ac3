//! Properties of the file that the ops of a worker used.

use serde::{Deserialize, Serialize};

/// A worker's file: its file system, and how many of its pages were cached before passes over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileObservation {
    /// The file system's number (`f_type` of statfs(2)).
    pub filesystem: u64,
    /// The number of pages of the file.
    pub pages: u64,
    /// How often the worker checked the page cache.
    pub checks: u64,
    /// The minimum number of cached pages.
    pub min_cached: u64,
    /// The maximum number of cached pages.
    pub max_cached: u64,
    /// Whether the file was to be uncached.
    pub cold: bool,
}

impl FileObservation {
    /// Adds the result of a check: the number of cached pages.
    pub fn add_check(&mut self, cached: u64) {
        self.min_cached = if self.checks == 0 { cached } else { self.min_cached.min(cached) };
        self.max_cached = self.max_cached.max(cached);
        self.checks += 1;
    }

    /// Combines the observations of two workers; the file system is that of `self`.
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

/// What stores the files of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A block device of this machine, as far as it is visible.
    Disk,
    /// Memory.
    Memory,
    /// Another machine.
    Network,
    /// Other file systems.
    Overlay,
    /// Not known from the number.
    Unknown,
}

impl Backing {
    /// The name in the record.
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

/// A file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its name; its magic number in hexadecimal if that is not known here.
    pub name: String,
    /// What stores its files.
    pub backing: Backing,
}

/// Magic numbers of file systems (linux/magic.h and their own sources), names and backing.
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

/// The file system with a magic number.
pub fn file_system(number: u64) -> FileSystem {
    // `f_type` is a signed word, so some numbers arrive sign-extended.
    let number = number & 0xffff_ffff;
    match FILE_SYSTEMS.iter().find(|&&(magic, ..)| magic == number) {
        Some(&(_, name, backing)) => FileSystem { name: name.to_owned(), backing },
        None => FileSystem { name: format!("{number:#x}"), backing: Backing::Unknown },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_and_an_overlay_are_never_called_a_disk() {
        for (number, name, backing) in [
            (0xef53, "ext4", Backing::Disk),
            (0x6969, "nfs", Backing::Network),
            (0xffff_ffff_ff53_4d42, "cifs", Backing::Network),
            (0x794c_7630, "overlay", Backing::Overlay),
            (0x0102_1994, "tmpfs", Backing::Memory),
            (0x6573_5546, "fuse", Backing::Unknown),
            (0x1234, "0x1234", Backing::Unknown),
        ] {
            assert_eq!(file_system(number), FileSystem { name: name.to_owned(), backing });
        }
    }

    #[test]
    fn checks_keep_the_minimum_and_the_maximum() {
        let mut one = FileObservation { pages: 8, ..FileObservation::default() };
        assert_eq!(one.merged_with(one), one, "no checks");
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
