//! Directories: the calls that change their names, read them, and resolve paths through them.
//!
//! Where the file system does the work, the directory is the user's or a tmpfs, as in the family
//! `file`; where only the dentry cache does, it is in the temporary directory.

use super::prelude::{Bench, Family};

mod axes;
mod body;
mod names;
mod notices;
mod paths;
mod reading;
#[cfg(test)]
mod tests;
mod tree;
mod watches;

pub(super) const FAMILY: Family = Family {
    name: "directory",
    about: "the cost of changing and reading directories, and of path lookups",
    benches: BENCHES,
};

const BENCHES: &[Bench] = &[
    paths::GETCWD,
    paths::CHDIR,
    paths::PATH_DEPTH,
    tree::TREE,
    names::MISSING,
    names::READLINK,
    paths::SYMLINK_CHAIN,
    paths::OPEN,
    reading::OPEN_CLOSE,
    reading::CLOSE,
    reading::GETDENTS,
    names::LINK_UNLINK,
    names::SYMLINK_UNLINK,
    names::RENAME,
    names::MKDIR_RMDIR,
    watches::XATTR,
    watches::INOTIFY,
    watches::INOTIFY_WATCH,
    notices::FANOTIFY,
];
