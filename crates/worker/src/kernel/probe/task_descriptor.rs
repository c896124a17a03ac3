//! What the descriptors of another task refer to, as /proc tells it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;

use oscost_model::descriptor_kind::{NO_DESCRIPTOR, kind_of_anonymous_inode, kind_of_protocol};

/// The kind of a task's descriptor: `file`, `directory`, `pipe`, `tcp`, `udp`, `unix`, `eventfd`,
/// `tty`, `proc`, `device`, or the kernel's name of another one; [`NO_DESCRIPTOR`] if it is not
/// open; `None` if that cannot be found out.
pub fn descriptor_kind(task: u32, fd: i32) -> Option<String> {
    let path = format!("/proc/{task}/fd/{fd}");
    let target = match fs::read_link(&path) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some(NO_DESCRIPTOR.to_owned()),
        Err(_) => return None,
    };
    let target = target.to_string_lossy();
    match kind_of_target(&target) {
        Target::Kind(kind) => Some(kind),
        Target::Socket => protocol(&path),
        Target::Path => kind_of_path(&path, &target),
    }
}

/// Whether so many bytes from the position of a task's descriptor on, or from the end of a file that was
/// opened with O_APPEND, end beyond the end of its regular file; `None` if that cannot be found out.
pub fn ends_beyond_file(task: u32, fd: i32, bytes: u64) -> Option<bool> {
    let file = fs::metadata(format!("/proc/{task}/fd/{fd}")).ok()?;
    let text = fs::read_to_string(format!("/proc/{task}/fdinfo/{fd}")).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let position: u64 = field("pos:")?.parse().ok()?;
    let flags = i32::from_str_radix(field("flags:")?, 8).ok()?;
    let begin = if flags & libc::O_APPEND != 0 { file.len() } else { position };
    Some(file.is_file() && bytes > 0 && begin.saturating_add(bytes) > file.len())
}

/// What the link of a descriptor says.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Kind(String),
    Socket,
    Path,
}

fn kind_of_target(target: &str) -> Target {
    if let Some(name) = target.strip_prefix("anon_inode:") {
        return Target::Kind(kind_of_anonymous_inode(name));
    }
    match target.split_once(":[") {
        Some(("socket", _)) => Target::Socket,
        // `pipe:[1]`, `pidfd:[2]`, and namespaces, which are files of their own.
        Some((kind @ ("pipe" | "pidfd"), _)) => Target::Kind(kind.to_owned()),
        _ if target.starts_with("/proc/") || target.starts_with("/sys/") => {
            Target::Kind("proc".to_owned())
        }
        _ => Target::Path,
    }
}

/// The protocol of a socket.
fn protocol(path: &str) -> Option<String> {
    let mut name = [0; 32];
    let length = rustix::fs::getxattr(path, c"system.sockprotoname", &mut name[..]).ok()?;
    Some(kind_of_protocol(&String::from_utf8_lossy(&name[..length])))
}

/// The kind of what has a path.
fn kind_of_path(path: &str, target: &str) -> Option<String> {
    let kind = fs::metadata(path).ok()?.file_type();
    let name = if kind.is_dir() {
        "directory"
    } else if kind.is_fifo() {
        "pipe"
    } else if kind.is_char_device() {
        if target.contains("/pts/") || target.contains("tty") { "tty" } else { "device" }
    } else if kind.is_block_device() {
        "device"
    } else {
        "file"
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn descriptors_are_told_apart() {
        let of = |of: &dyn AsRawFd| descriptor_kind(std::process::id(), of.as_raw_fd()).unwrap();
        assert_eq!(of(&File::open("/proc/self/stat").unwrap()), "proc");
        assert_eq!(of(&File::open("/dev/null").unwrap()), "device");
        assert_eq!(of(&File::open("/").unwrap()), "directory");
        assert_eq!(of(&File::open("/proc/self/exe").unwrap()), "file");
        assert_eq!(of(&std::io::pipe().unwrap().0), "pipe");
        assert_eq!(descriptor_kind(std::process::id(), 1 << 20).as_deref(), Some(NO_DESCRIPTOR));
        assert_eq!(descriptor_kind(std::process::id(), -1).as_deref(), Some(NO_DESCRIPTOR));
    }

    #[test]
    fn a_write_beyond_the_end_of_a_file_is_told_by_its_position() {
        use std::io::{Seek, SeekFrom, Write};
        let path = std::env::temp_dir().join(format!("oscost-beyond-{}", std::process::id()));
        let mut file = File::create_new(&path).unwrap();
        let appending = File::options().append(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let of = |of: &dyn AsRawFd, bytes: u64| {
            ends_beyond_file(std::process::id(), of.as_raw_fd(), bytes)
        };
        assert_eq!([of(&file, 0), of(&file, 1)], [Some(false), Some(true)]);
        file.write_all(&[0; 100]).unwrap();
        file.seek(SeekFrom::Start(90)).unwrap();
        assert_eq!([of(&file, 10), of(&file, 11)], [Some(false), Some(true)]);
        assert_eq!([of(&appending, 0), of(&appending, 1)], [Some(false), Some(true)]);
        assert_eq!(of(&std::io::pipe().unwrap().1, 1), Some(false));
        assert_eq!(ends_beyond_file(std::process::id(), -1, 1), None);
    }

    #[test]
    fn sockets_have_the_kind_of_their_protocol() {
        let of = |of: &dyn AsRawFd| descriptor_kind(std::process::id(), of.as_raw_fd());
        let (one, _other) = UnixStream::pair().unwrap();
        if of(&one).is_none() {
            return eprintln!("skipped: the protocols of sockets cannot be read");
        }
        assert_eq!(of(&one).as_deref(), Some("unix"));
        if let Ok(socket) = TcpListener::bind("127.0.0.1:0") {
            assert_eq!(of(&socket).as_deref(), Some("tcp"));
        }
        if let Ok(socket) = UdpSocket::bind("127.0.0.1:0") {
            assert_eq!(of(&socket).as_deref(), Some("udp"));
        }
    }

    #[test]
    fn links_of_other_kinds_are_read() {
        for (target, kind) in [
            ("anon_inode:[eventfd]", "eventfd"),
            ("anon_inode:inotify", "inotify"),
            ("pidfd:[12]", "pidfd"),
            ("/sys/kernel", "proc"),
        ] {
            assert_eq!(kind_of_target(target), Target::Kind(kind.to_owned()));
        }
        assert_eq!(kind_of_target("socket:[3]"), Target::Socket);
        for target in ["/a:[b", "mnt:[4]", "/dev/null"] {
            assert_eq!(kind_of_target(target), Target::Path);
        }
    }
}
