//! What a place must offer of memory, disks and CPUs before some cases can be measured there.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that a place has or lacks. Sizes are in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Pages of 4096 bytes.
    SmallPages,
    /// Huge pages that a program may ask for with madvise(2).
    TransparentHugePages,
    /// So many MiB of huge pages of 2 MiB that nobody has taken yet.
    HugePages(u64),
    /// Room for so many MiB more in the process's address space, and in memory.
    Memory(u64),
    /// Leave to lock so many MiB into memory.
    LockedMemory(u64),
    /// Leave to handle one's own faults.
    Userfaultfd,
    /// A place to put pages that memory has no room for.
    Swap,
    /// Room for a file of so many MiB in the scratch folder.
    ScratchFile(u64),
    /// A scratch folder whose files have a disk behind them.
    ScratchOnDisk,
    /// A second CPU for a peer.
    SecondCpu,
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::SmallPages => write!(out, "pages of 4096 bytes"),
            Resource::TransparentHugePages => write!(out, "transparent huge pages for who asks"),
            Resource::HugePages(mib) => write!(out, "{mib} MiB of free huge pages of 2 MiB"),
            Resource::Memory(mib) => write!(out, "{mib} MiB of address space and of memory"),
            Resource::LockedMemory(mib) => write!(out, "leave to lock {mib} MiB into memory"),
            Resource::Userfaultfd => write!(out, "userfaultfd(2)"),
            Resource::Swap => write!(out, "swap space"),
            Resource::ScratchFile(mib) => write!(out, "room for {mib} MiB in the scratch folder"),
            Resource::ScratchOnDisk => write!(out, "a scratch folder on a disk"),
            Resource::SecondCpu => write!(out, "a second CPU"),
        }
    }
}
