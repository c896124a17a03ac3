//! Requirements of cases on memory, disks and CPUs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A resource of the target. Sizes are in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// A page size of 4096 bytes.
    SmallPages,
    /// Transparent huge pages by madvise(2).
    TransparentHugePages,
    /// Free huge pages of 2 MiB, in MiB.
    HugePages(u64),
    /// Additional address space and memory, in MiB.
    Memory(u64),
    /// Permission to lock memory, in MiB.
    LockedMemory(u64),
    /// Permission to use userfaultfd(2).
    Userfaultfd,
    /// Swap space.
    Swap,
    /// Free space in the scratch folder, in MiB.
    ScratchFile(u64),
    /// A scratch folder on a disk.
    ScratchOnDisk,
    /// A second CPU for a peer.
    SecondCpu,
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::SmallPages => write!(out, "pages of 4096 bytes"),
            Resource::TransparentHugePages => write!(out, "transparent huge pages by madvise(2)"),
            Resource::HugePages(mib) => write!(out, "{mib} MiB of free huge pages of 2 MiB"),
            Resource::Memory(mib) => write!(out, "{mib} MiB of address space and memory"),
            Resource::LockedMemory(mib) => write!(out, "permission to lock {mib} MiB of memory"),
            Resource::Userfaultfd => write!(out, "userfaultfd(2)"),
            Resource::Swap => write!(out, "swap space"),
            Resource::ScratchFile(mib) => {
                write!(out, "{mib} MiB of free space in the scratch folder")
            }
            Resource::ScratchOnDisk => write!(out, "a scratch folder on a disk"),
            Resource::SecondCpu => write!(out, "a second CPU"),
        }
    }
}
