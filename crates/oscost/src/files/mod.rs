//! Files and directories of the user that several rooms share.
//!
//! Purpose: where a user's cache and data are, how files are created there, how one process at a
//! time changes them, how a file that the user names is read or written, the null device, and the
//! file of this program. It must not know what is kept there.

mod attributes;
pub mod input_copy;
pub mod input_file;
pub mod lock;
mod new_file;
pub mod null_device;
pub mod open_folder;
pub mod output_file;
pub mod own_program;
mod pipe_output;
pub mod user_folder;
