//! Profiles of executables: in memory, in files, in the tables of the BPF programs.

pub mod profile;
pub mod profile_file;
#[cfg(feature = "ebpf")]
pub mod profile_table;
pub mod store;
pub mod training_progress;
