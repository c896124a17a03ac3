//! pH, process homeostasis (study ph-2000): learning the system-call sequences of each executable,
//! and detecting new ones.
//!
//! Purpose: the monitor and its process, the profiles that it learns, their files, the published
//! rules and their constants, and the protocol between the tool and that process. It must not know
//! how anything is printed, or what is measured meanwhile.

pub mod call_names;
pub mod constants;
pub mod event;
pub mod executable_path;
#[cfg(feature = "ebpf")]
pub mod monitor;
pub mod processes;
pub mod profiles;
pub mod requirements;
pub mod rules;
