//! The file of a program that is named without a path.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The file that execvp(3) would execute in this process, after it had failed in each earlier folder of
/// PATH. `None` of a path, without PATH, and if no folder has such a file.
pub(super) fn program_file(name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    file_in(&env::var_os("PATH")?, name)
}

fn file_in(folders: &OsStr, name: &str) -> Option<PathBuf> {
    // The working directory may be one of them, by an empty name or a relative one.
    let in_folder = |folder: PathBuf| Path::new(".").join(folder).join(name);
    env::split_paths(folders).map(in_folder).find(|file| is_executable(file))
}

/// Whether this user may execute it. A folder passes the first test.
fn is_executable(file: &Path) -> bool {
    access(file, Access::EXEC_OK).is_ok() && fs::metadata(file).is_ok_and(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_in_each_folder_and_a_path_is_not() {
        let found = |folders: &str, name: &str| file_in(OsStr::new(folders), name);
        let shell = Some(PathBuf::from("/bin/sh"));
        assert_eq!(found("/bin", "sh"), shell);
        assert_eq!(found(":/no/such/folder:/bin", "sh"), shell, "not in the working directory");
        assert_eq!(found("/no/such/folder", "sh"), None);
        assert_eq!(found("", "sh"), None);
        assert_eq!(found("/", "bin"), None, "a folder");
        assert_eq!([program_file("/bin/sh"), program_file("")], [None, None]);
    }
}
