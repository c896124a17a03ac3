//! Targets: from their text to a session with their host.

pub(super) mod connect;
pub(super) mod numa;
pub(super) mod peer;
pub(super) mod prepare;
pub(super) mod requested_cpu;
pub(super) mod resolve;
pub(super) mod slurm;
pub(super) mod slurm_nodes;
pub(super) mod vm;
