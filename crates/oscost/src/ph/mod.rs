//! pH, process homeostasis (study 001, ph-2000): what each executable was seen to call, and what is
//! new in it.
//!
//! What this room is for: the monitor and the process that holds it, the profiles that it learns,
//! their files, the published rules and their constants, and the words between the tool and that
//! process. What it may not know: how any of it is printed, and what is measured meanwhile.

#[cfg(feature = "ebpf")]
pub mod book;
pub mod constants;
pub mod event;
#[cfg(feature = "ebpf")]
pub mod guard;
pub mod here;
#[cfg(feature = "ebpf")]
pub mod hold;
pub mod holder;
#[cfg(feature = "ebpf")]
pub mod monitor;
pub mod names;
pub mod profile;
pub mod rules;
pub mod stops;
pub mod store;
pub mod target;
pub mod text;
pub mod track;
