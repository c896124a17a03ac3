//! pH, process homeostasis (study 001, ph-2000): what each executable was seen to call, and what is
//! new in it.
//!
//! What this room is for: the monitor and the process that holds it, the profiles that it learns,
//! their files, the published rules and their constants, and the words between the tool and that
//! process. What it may not know: how any of it is printed, and what is measured meanwhile.

pub mod call_names;
#[cfg(feature = "ebpf")]
pub mod cleanup_process;
pub mod constants;
pub mod event;
pub mod executable_path;
#[cfg(feature = "ebpf")]
pub mod monitor;
#[cfg(feature = "ebpf")]
pub mod monitor_main;
pub mod monitor_process;
pub mod profile;
pub mod profile_file;
#[cfg(feature = "ebpf")]
pub mod profile_table;
pub mod requirements;
pub mod rules;
pub mod stopped_processes;
pub mod store;
pub mod training_progress;
