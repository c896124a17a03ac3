//! Files and directories of the user that several rooms share.
//!
//! Purpose: where a user's cache and data are, how one process at a time changes them, and how
//! files that the user names are read and written. It must not know what is kept there.

pub mod input_file;
pub mod lock;
pub mod output_file;
pub mod user_folder;
