//! /dev/null as the input or output of a program that is started.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;

const NULL_DEVICE: &str = "/dev/null";

/// Opens /dev/null. The standard library does too, but where it is missing, as in a bare chroot,
/// the error is then that of the program, which seems to be missing.
pub fn null_device() -> io::Result<Stdio> {
    open(Path::new(NULL_DEVICE)).map(Stdio::from)
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path).map_err(|error| {
        let path = path.display();
        let hint = format!("hint: `mknod -m 666 {NULL_DEVICE} c 1 3` as root makes it");
        io::Error::new(error.kind(), format!("{path} cannot be opened: {error}\n  {hint}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_named_with_the_way_to_make_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("null");
        let error = open(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let text = error.to_string();
        assert!(text.starts_with(&format!("{} cannot be opened", path.display())), "{text}");
        assert!(text.contains("\n  hint: `mknod"), "{text}");
        null_device().unwrap();
    }
}
