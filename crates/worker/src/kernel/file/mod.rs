//! Files and directories that benchmarks read, write, copy and rename; where they are placed, the
//! page cache, and mounts.

pub mod attribute;
pub mod copy;
pub mod directory;
pub mod entries;
pub mod extents;
pub mod fanotify;
pub mod first_reads;
pub mod inotify;
pub mod location;
pub mod loop_device;
pub mod mount;
pub mod mounted;
pub mod page_cache;
pub mod page_moves;
pub mod piece_file;
pub mod read;
pub mod record_lock;
pub mod scratch_file;
pub mod temp_folder;
pub mod tree;
pub(in crate::kernel) mod unnamed_file;
pub mod working_folder;
pub mod write;
