//! Files and directories that benchmarks read, write, copy and rename; where they are placed, and
//! the page cache.

pub mod copy;
pub mod directory;
pub mod location;
pub mod page_cache;
pub mod read;
pub mod scratch_file;
pub mod temp_folder;
pub(in crate::kernel) mod unnamed_file;
pub mod write;
