//! The holder of a lock, as /proc shows it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use oscost_model::machine_lock::{LockHolder, MAX_PROC_BYTES, Process};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// The holder of this process id, and of this user if the kernel has named it.
pub(super) fn holder(pid: i32, uid: Option<u32>) -> LockHolder {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    // /proc may hide the processes of other users (hidepid), kill(2) does not.
    let exists = Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH));
    let executable = std::fs::read_link(folder.join("exe")).ok();
    let process = Process { pid, uid, exists, executable: executable.as_deref() };
    LockHolder::new(process, |name| text(&folder.join(name), MAX_PROC_BYTES))
}

/// The beginning of a file.
pub(super) fn text(path: &Path, max_bytes: u64) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(max_bytes).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
