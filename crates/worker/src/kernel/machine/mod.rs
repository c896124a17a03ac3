//! One machine: what it offers of memory, disks and CPUs, its control groups, the lock that one run
//! holds on it, and what its first process must do.

pub mod cgroup;
pub mod cpu_group;
pub mod init;
pub mod lock;
pub mod resources;
