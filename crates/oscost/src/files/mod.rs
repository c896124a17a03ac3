//! Files and directories of the user that several rooms share.
//!
//! Purpose: where a user's cache and data are, how one process at a time changes them, how a file
//! that the user names is written, and the null device. It must not know what is kept there.

pub mod lock;
pub mod null_device;
pub mod output_file;
pub mod user_folder;
