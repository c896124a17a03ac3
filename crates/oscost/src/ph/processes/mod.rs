//! The processes of the monitor, and those that it has stopped.

pub mod cleanup_process;
pub mod monitor_main;
pub mod monitor_process;
pub mod stopped_processes;
