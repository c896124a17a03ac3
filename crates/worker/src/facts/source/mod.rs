//! Where facts come from: files of /proc and /sys, and how they are read.

pub mod gzip;
pub(in crate::facts) mod parse;
pub(in crate::facts) mod reader;
pub(in crate::facts) mod roots;
pub(in crate::facts) mod unreadable;
