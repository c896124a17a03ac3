//! Opens a file that the user names to be read: a FIFO would wait for a writer that may never come,
//! and a device may have no end.

use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Folders of descriptors that are open already, such as the pipe of a shell's `<(COMMAND)`: they
/// have a writer, and are read up to the limit of the reader.
const DESCRIPTOR_FOLDERS: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

/// Opens a regular file, or one of the descriptors that this process was given.
pub fn open(path: &Path) -> io::Result<File> {
    if DESCRIPTOR_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
        return File::open(path);
    }
    // With O_NONBLOCK a FIFO is opened without a writer; regular files do not know it.
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
    let file = match file {
        // A socket cannot be opened at all.
        Err(error) if error.raw_os_error() == Some(nix::libc::ENXIO) => {
            return Err(refusal("socket"));
        }
        opened => opened?,
    };
    match name(file.metadata()?.file_type()) {
        None => Ok(file),
        Some(kind) => Err(refusal(kind)),
    }
}

/// What a file is that cannot be read as one.
fn name(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("directory"),
        kind if kind.is_fifo() => Some("FIFO"),
        kind if kind.is_socket() => Some("socket"),
        _ => Some("device"),
    }
}

fn refusal(kind: &str) -> io::Error {
    let text = format!("it is a {kind}, not a regular file");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn only_regular_files_and_open_descriptors_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        nix::unistd::mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink(at("fifo"), at("link")).unwrap();
        let refused = |path: &Path| open(path).unwrap_err().to_string();
        assert_eq!(refused(&at("fifo")), "it is a FIFO, not a regular file");
        assert_eq!(refused(&at("link")), "it is a FIFO, not a regular file");
        assert_eq!(refused(&at("socket")), "it is a socket, not a regular file");
        assert_eq!(refused(folder.path()), "it is a directory, not a regular file");
        assert_eq!(refused(Path::new("/dev/zero")), "it is a device, not a regular file");
        let mut text = String::new();
        open(&at("file")).unwrap().read_to_string(&mut text).unwrap();
        let (pipe, writer) = std::io::pipe().unwrap();
        drop(writer);
        open(Path::new(&format!("/dev/fd/{}", pipe.as_raw_fd()))).unwrap();
        assert_eq!(text, "text");
    }
}
