//! The processes of the monitor, and those that it has stopped.

#[cfg(feature = "ebpf")]
pub mod cleanup_process;
#[cfg(feature = "ebpf")]
pub mod monitor_main;
pub mod monitor_process;
pub mod stopped_processes;
