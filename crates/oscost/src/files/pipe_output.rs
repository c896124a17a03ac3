//! Writing to a named pipe that another program reads.
//!
//! open(2) waits until a program opens the pipe to read, and write(2) until it has room; a signal
//! that a handler answers ends neither. So both are tried without waiting: a request to end is seen,
//! and a reader that never comes is an error.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::signals::end_is_requested;

/// How long a program that opens the pipe is waited for.
const OPENED_WITHIN: Duration = Duration::from_secs(60);
/// How long a reader is waited for where the end was requested before, each time it has to act.
const AFTER_END: Duration = Duration::from_secs(2);
/// How often it is looked at.
const STEP_MS: u16 = 50;

/// Writes all of it to the pipe.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let wait = ReaderWait::new(end_is_requested, OPENED_WITHIN);
    write_all(&mut open(path, &wait)?, bytes, &wait)
}

/// How long the program that reads is waited for.
struct ReaderWait<F> {
    end_is_requested: F,
    /// The end was requested before: an interrupted run is written to a reader that is there.
    was_requested: bool,
    opened_within: Duration,
}

impl<F: Fn() -> bool> ReaderWait<F> {
    fn new(end_is_requested: F, opened_within: Duration) -> Self {
        let was_requested = end_is_requested();
        Self { end_is_requested, was_requested, opened_within }
    }

    /// Whether a program may still open the pipe.
    fn for_opening(&self, begun: Instant) -> io::Result<()> {
        self.up_to(begun, Some(self.opened_within))
    }

    /// Whether it may still make room: a reader may be slow, such as a pager.
    fn for_room(&self, last_written: Instant) -> io::Result<()> {
        self.up_to(last_written, None)
    }

    fn up_to(&self, begun: Instant, limit: Option<Duration>) -> io::Result<()> {
        let limit = if self.was_requested { Some(AFTER_END) } else { limit };
        let is_late = limit.is_some_and(|limit| begun.elapsed() >= limit);
        let kind = match self.was_requested {
            true if is_late => ErrorKind::Interrupted,
            false if (self.end_is_requested)() => ErrorKind::Interrupted,
            false if is_late => ErrorKind::TimedOut,
            _ => return Ok(()),
        };
        Err(io::Error::new(kind, "it is a named pipe, and no program reads it"))
    }
}

fn open<F: Fn() -> bool>(path: &Path, wait: &ReaderWait<F>) -> io::Result<File> {
    let begun = Instant::now();
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                wait.for_opening(begun)?;
                std::thread::sleep(Duration::from_millis(STEP_MS.into()));
            }
            opened => return opened,
        }
    }
}

fn write_all<F: Fn() -> bool>(
    pipe: &mut File,
    bytes: &[u8],
    wait: &ReaderWait<F>,
) -> io::Result<()> {
    let mut rest = bytes;
    let mut last_written = Instant::now();
    while !rest.is_empty() {
        match pipe.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                rest = &rest[count..];
                last_written = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait.for_room(last_written)?;
                wait_a_step(pipe)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until the pipe has room, its reader is gone, or a signal comes, but for no more than a step.
fn wait_a_step(pipe: &File) -> io::Result<()> {
    let mut polled = [PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)];
    match poll(&mut polled, PollTimeout::from(STEP_MS)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read;
    use std::path::PathBuf;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use tempfile::TempDir;

    use super::*;

    /// More than a pipe takes at once.
    static LONG: [u8; 300_000] = [7; 300_000];

    fn pipe() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        (folder, path)
    }

    /// Opened for both, it is a reader that the writer need not wait for.
    fn reader_of(path: &Path) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    /// Requested after it was asked for once.
    fn requested_later() -> impl Fn() -> bool {
        let asked = Cell::new(false);
        move || asked.replace(true)
    }

    #[test]
    fn what_a_slow_reader_takes_is_written_completely_also_after_a_request_to_end() {
        for requested in [false, true] {
            let (_folder, path) = pipe();
            let mut reader = reader_of(&path);
            let read = std::thread::spawn(move || {
                let mut bytes = vec![0; LONG.len()];
                reader.read_exact(&mut bytes).unwrap();
                bytes
            });
            let wait = ReaderWait::new(|| requested, OPENED_WITHIN);
            write_all(&mut open(&path, &wait).unwrap(), &LONG, &wait).unwrap();
            assert!(read.join().unwrap() == LONG);
        }
    }

    #[test]
    fn a_reader_that_never_comes_is_an_error() {
        let (_folder, path) = pipe();
        let wait = ReaderWait::new(|| false, Duration::ZERO);
        let error = open(&path, &wait).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("no program reads it"), "{error}");
    }

    #[test]
    fn a_request_to_end_is_not_kept_waiting() {
        let (_folder, path) = pipe();
        let wait = ReaderWait::new(requested_later(), OPENED_WITHIN);
        assert_eq!(open(&path, &wait).unwrap_err().kind(), ErrorKind::Interrupted);
        // A reader that is there, and reads nothing.
        let _reader = reader_of(&path);
        let wait = ReaderWait::new(requested_later(), OPENED_WITHIN);
        let mut opened = open(&path, &wait).unwrap();
        let error = write_all(&mut opened, &LONG, &wait).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
}
