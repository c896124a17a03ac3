//! The tool that thinks.
pub mod stats;
