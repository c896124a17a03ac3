//! Whether another process sleeps, from /proc.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{PeerProcess, sched_yield};

/// Waits until a child sleeps, so that its start is not counted.
pub fn wait_until_asleep(child: &PeerProcess) -> Result<(), Errno> {
    let state = ProcessState::open(child.id())?;
    loop {
        if state.is_asleep()? {
            return Ok(());
        }
        child.check_running()?;
        sched_yield()?;
    }
}

/// A process's state and context switches, from /proc.
pub struct ProcessState {
    state: File,
    status: File,
}

impl ProcessState {
    /// Opens the state of a process.
    pub fn open(pid: u32) -> Result<Self, Errno> {
        let open = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            File::open(&path).map_err(|error| {
                Errno::unavailable(format!(
                    "whether a process waits is read from {path}, which cannot be opened: {error}; \
                     `mount -t proc proc /proc` where there is none"
                ))
            })
        };
        Ok(Self { state: open("stat")?, status: open("status")? })
    }

    /// Whether it is in interruptible sleep.
    pub fn is_asleep(&self) -> Result<bool, Errno> {
        let mut text = [0; 96];
        let given = self.state.read_at(&mut text, 0)?;
        // The name is in parentheses and may contain some; it has 15 bytes at most.
        let text = &text[..given];
        let behind = text.iter().rposition(|&byte| byte == b')').map(|at| at + 2);
        Ok(behind.and_then(|at| text.get(at)) == Some(&b'S'))
    }

    /// Its voluntary context switches.
    pub fn voluntary_switches(&self) -> Result<u64, Errno> {
        let mut text = [0; 4_096];
        let given = self.status.read_at(&mut text, 0)?;
        let text = std::str::from_utf8(&text[..given]).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|line| line.trim().parse().ok()).ok_or(Errno::EPROTO)
    }
}
