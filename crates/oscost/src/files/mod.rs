//! Files and directories of the user that several rooms share.
//!
//! Purpose: where a user's cache and data are, and how one process at a time changes them. It must
//! not know what is kept there.

pub mod lock;
pub mod user_folder;
