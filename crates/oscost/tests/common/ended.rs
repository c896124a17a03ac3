//! Waits for the end of a command, and ends one that hangs.

use std::io::{ErrorKind, Read};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the output of a command may stay open after its end.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(10);

/// A command that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Ended {
    /// Waits for the end of a command and of its output. One that takes too long is killed; the error
    /// has what it has written.
    pub(crate) fn of(mut child: Child, patience: Duration) -> Result<Self, String> {
        let deadline = Instant::now() + patience;
        let (stdout, stderr) = (Output::of(child.stdout.take()), Output::of(child.stderr.take()));
        let hang = |what: &str| Err(format!("{what}:\n{}\n{}", stdout.so_far(), stderr.so_far()));
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    return hang("it hangs");
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let deadline = Instant::now() + OUTPUT_PATIENCE;
        while !(stdout.is_closed() && stderr.is_closed()) {
            if Instant::now() > deadline {
                return hang(&format!("{status}, but another process holds its output"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { status, stdout: stdout.all(), stderr: stderr.all() })
    }
}

/// A pipe, read by a thread: either pipe of a command may fill up.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Output {
    /// Reads a pipe to its end; one that was taken is empty.
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut chunk = [0; 16 << 10];
            loop {
                match pipe.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(length) => read.lock().unwrap().extend_from_slice(&chunk[..length]),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}"),
                }
            }
        });
        Self { bytes, reader }
    }

    fn is_closed(&self) -> bool {
        self.reader.is_finished()
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    fn all(self) -> Vec<u8> {
        self.reader.join().unwrap();
        std::mem::take(&mut *self.bytes.lock().unwrap())
    }
}
