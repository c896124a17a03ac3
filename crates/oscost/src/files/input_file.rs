//! Files that the user names to be read: regular files, completely and up to a limit.
//!
//! Opening a named pipe waits for a writer, and reading a device may never end, or change it
//! (`/dev/watchdog`). So they are refused before they are opened. Descriptors that the user handed
//! over (`/dev/stdin`, `/dev/fd/63` of `<(command)` in a shell) are read whatever they are.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What names the descriptors of this process.
const DESCRIPTOR_FOLDERS: [&str; 2] = ["/dev/fd", "/proc/self/fd"];
/// The standard input of this process.
pub const STDIN: &str = "/dev/stdin";

/// Opens a file for reading; anything but a regular file or a descriptor of this process is an
/// error.
pub fn open(path: &Path) -> io::Result<File> {
    if is_descriptor(path) {
        let file = File::open(path)?;
        return match file.metadata()?.is_dir() {
            true => Err(ErrorKind::IsADirectory.into()),
            false => Ok(file),
        };
    }
    check_kind(&std::fs::metadata(path)?)?;
    // Another file may have taken its place since: a named pipe is then opened without waiting.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY)
        .open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole file, but at most one byte more than `max_bytes`: the caller refuses what is
/// longer.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a path names a descriptor of this process, which is another one in other processes.
pub fn is_descriptor(path: &Path) -> bool {
    let in_folder = path.parent().is_some_and(|folder| {
        DESCRIPTOR_FOLDERS.iter().any(|descriptors| folder == Path::new(descriptors))
    });
    in_folder || path == Path::new(STDIN)
}

fn check_kind(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let (kind, next) = kind_of(metadata.file_type());
    let why = format!("it is {kind}, not a regular file; {next}");
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

/// What a file is, and what to do instead.
fn kind_of(kind: FileType) -> (&'static str, &'static str) {
    const COPY: &str = "copy what it gives to a file, and name that";
    match kind {
        kind if kind.is_dir() => ("a directory", "name a file in it"),
        kind if kind.is_fifo() => ("a named pipe", COPY),
        kind if kind.is_socket() => ("a socket", "name a file"),
        _ => ("a device", COPY),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_regular_file_is_read_up_to_one_byte_beyond_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "12345").unwrap();
        symlink("file", &link).unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        assert_eq!(read(&link, 3).unwrap(), b"1234");
        assert_eq!(read(&file, u64::MAX).unwrap(), b"12345");
        let absent = read(&folder.path().join("absent"), 5).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let (fifo, socket, link) =
            (folder.path().join("fifo"), folder.path().join("socket"), folder.path().join("link"));
        mkfifo(&fifo, Mode::S_IRWXU).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        symlink("fifo", &link).unwrap();
        for (path, words) in [
            (fifo.as_path(), "a named pipe, not a regular file; copy"),
            (&link, "a named pipe, not a regular file; copy"),
            (&socket, "a socket, not a regular file"),
            (folder.path(), "a directory, not a regular file; name a file in it"),
            (Path::new("/dev/zero"), "a device, not a regular file; copy"),
        ] {
            let error = read(path, 5).unwrap_err();
            assert!(error.to_string().contains(words), "{path:?}: {error}");
        }
    }

    #[test]
    fn a_descriptor_of_this_process_is_read_whatever_it_is() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        for folder in DESCRIPTOR_FOLDERS {
            assert!(is_descriptor(&Path::new(folder).join("3")));
        }
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read(Path::new(&path), 10).unwrap(), b"text");
        let folder = File::open("/").unwrap();
        let path = format!("/dev/fd/{}", folder.as_raw_fd());
        assert_eq!(open(Path::new(&path)).unwrap_err().kind(), ErrorKind::IsADirectory);
    }
}
