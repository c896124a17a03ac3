//! What is done to a measured process, or to the whole system, and undone.
//!
//! What this room is for: carrying out treatments that have been read. What it may not know: how a
//! treatment is written, and what is measured under it.

pub mod system;
