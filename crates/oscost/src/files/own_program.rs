//! The file of this program, by which it starts itself again and finds what lies beside it.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Its path: by the kernel's word, and without /proc by the name that it was started as.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe().or_else(|error| {
        started_as().ok_or_else(|| {
            let why = format!("the file of this program is unknown: {error}");
            io::Error::new(ErrorKind::NotFound, why)
        })
    })
}

fn started_as() -> Option<PathBuf> {
    let name = PathBuf::from(std::env::args_os().next()?);
    executable_started_as(&name, &std::env::var_os("PATH").unwrap_or_default())
}

/// The path of an executable by the name that it was started as: a bare name was found in PATH. The
/// current folder is not looked into, since anybody may have put a file there.
fn executable_started_as(name: &Path, path: &OsStr) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return std::path::absolute(name).ok();
    }
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_looked_up_in_absolute_folders_of_the_path_alone() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("oscost");
        std::fs::write(&tool, "").unwrap();
        let found =
            |name: &str, path: &str| executable_started_as(Path::new(name), OsStr::new(path));
        let path = format!(".::/no/such:{}", folder.path().display());
        assert_eq!(found("oscost", &path), Some(tool.clone()));
        assert_eq!(found("Cargo.toml", ".:"), None, "it is in the current folder");
        assert_eq!(found(tool.to_str().unwrap(), ""), Some(tool));
    }
}
