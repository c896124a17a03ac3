//! The facts of a study's machine, and their counterparts of this machine.

/// A fact of a study's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFact {
    /// Its name, as published.
    pub name: String,
    /// What was published of it.
    pub published: String,
    /// Its counterpart.
    pub counterpart: Counterpart,
    /// A remark about it.
    pub note: Option<String>,
}

/// What a fact of a study's machine is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counterpart {
    /// A fact of this machine.
    Fact(FactKind),
    /// Nothing, and why.
    Nothing(String),
}

/// A fact of this machine, as `oscost machine` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    /// The processor's model.
    CpuModel,
    /// Its instruction set.
    InstructionSet,
    /// The length of a cycle of its core, estimated.
    CycleTime,
    /// Its first data cache.
    L1Data,
    /// Its first instruction cache.
    L1Instruction,
    /// Its second cache.
    L2,
    /// Its third cache.
    L3,
    /// Its external clock.
    BusClock,
    /// The disk's model.
    DiskModel,
    /// The disk's capacity.
    DiskCapacity,
    /// The disk's cache.
    DiskCache,
    /// Its revolutions.
    DiskRotation,
    /// Its heads and discs.
    DiskHeads,
    /// Its seek times.
    DiskSeek,
    /// The latency of its rotation.
    DiskLatency,
    /// The rate of its link.
    DiskRate,
    /// The memory's size.
    MemoryCapacity,
    /// Its channels.
    MemoryChannels,
    /// The rate of its modules.
    MemoryFrequency,
    /// Their width.
    MemoryWidth,
    /// The swap space.
    Swap,
    /// The network card's model.
    NetworkModel,
    /// The rate of its link.
    NetworkRate,
    /// The distribution.
    Distribution,
    /// The kernel.
    Kernel,
}
