//! The processor, memory, disks, network cards, firmware and hypervisor.

pub(in crate::facts) mod cpu;
pub(in crate::facts) mod disks;
pub mod dmi;
pub(in crate::facts) mod memory;
pub(in crate::facts) mod network;
pub(in crate::facts) mod virtualization;
