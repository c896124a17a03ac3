//! A second thread or process that touches pages on request.

use std::fs::File;
use std::io::{Read, Write};
use std::thread::JoinHandle;

use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::memory::region::{Access, Region};
use crate::kernel::process;

/// Waits for requests, touches the pages and replies.
pub struct PageToucher {
    requests: Option<File>,
    replies: File,
    agent: Agent,
    /// The process that started it: a fork of that one has no such thread, and the process is
    /// another's child.
    owner: u32,
}

enum Agent {
    Thread(Option<JoinHandle<()>>),
    Process(u32),
}

/// A request: start and length, each as eight little-endian bytes.
type Request = [u8; 16];

impl PageToucher {
    /// Starts a thread, which touches mappings of this process. It is pinned to `cpu` if given.
    pub fn start_thread(cpu: Option<u32>) -> Result<Self, Errno> {
        let (mut requests, ask) = pipe()?;
        let (answer, mut done) = pipe()?;
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            if cpu.is_some_and(|cpu| affinity::pin(cpu).is_err()) {
                return;
            }
            // It ends with the stream of requests.
            let _ = serve(&mut requests, &mut done, |at, bytes| {
                // SAFETY: the requester owns the region, and waits until it is touched.
                unsafe { Region::touch_foreign(at, bytes) };
                Ok(())
            });
        })?;
        let (ask, owner) = (Some(ask), std::process::id());
        Ok(Self { requests: ask, replies: answer, agent: Agent::Thread(Some(thread)), owner })
    }

    /// Starts a process, which touches its own mapping of the first `bytes` of a file.
    pub fn start_process(file: &File, bytes: usize, cpu: Option<u32>) -> Result<Self, Errno> {
        let (mut requests, ask) = pipe()?;
        let (answer, mut done) = pipe()?;
        let parent = std::process::id();
        // It inherits our ends of the pipes too, and so never sees them closed: it dies with its
        // parent, and `drop` kills it.
        let pid = process::fork(|| {
            let lost = process::die_with_parent(parent).is_err()
                || cpu.is_some_and(|cpu| affinity::pin(cpu).is_err());
            let Ok(region) = Region::shared(file, 0, bytes) else { return 1 };
            let touch = |at: usize, bytes: usize| region.touch_part(at, bytes, Access::Write);
            match lost {
                true => 1,
                false => i32::from(serve(&mut requests, &mut done, touch).is_err()),
            }
        })?;
        Ok(Self { requests: Some(ask), replies: answer, agent: Agent::Process(pid), owner: parent })
    }

    /// Fails in any process but the one that started it.
    pub fn check_owner(&self) -> Result<(), Errno> {
        if self.owner == std::process::id() { Ok(()) } else { Err(Errno::EOPNOTSUPP) }
    }

    /// Has it write to every page of `region`, which for a process is the part of its file that
    /// begins at `from`; waits until done.
    #[inline(never)]
    pub fn touch(&mut self, region: &Region, from: u64) -> Result<(), Errno> {
        let at = match self.agent {
            Agent::Thread(_) => region.address() as u64,
            Agent::Process(_) => from,
        };
        let mut request: Request = [0; 16];
        request[..8].copy_from_slice(&at.to_le_bytes());
        request[8..].copy_from_slice(&(region.bytes() as u64).to_le_bytes());
        let ask = self.requests.as_mut().ok_or(Errno::ECHILD)?;
        ask.write_all(&request)?;
        let mut done = [0];
        self.replies.read_exact(&mut done)?;
        Ok(())
    }
}

/// Serves requests until the stream ends.
fn serve(
    requests: &mut File,
    done: &mut File,
    touch: impl Fn(usize, usize) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut request: Request = [0; 16];
    while requests.read_exact(&mut request).is_ok() {
        let (at, bytes) = request.split_at(8);
        let number = |bytes: &[u8]| {
            bytes.iter().rev().fold(0usize, |number, &byte| number << 8 | usize::from(byte))
        };
        touch(number(at), number(bytes))?;
        done.write_all(&[1])?;
    }
    Ok(())
}

impl Drop for PageToucher {
    fn drop(&mut self) {
        self.requests = None;
        match &mut self.agent {
            Agent::Thread(thread) => {
                if let Some(thread) = thread.take() {
                    // It returns nothing.
                    let _ = thread.join();
                }
            }
            Agent::Process(pid) => process::kill_and_reap(*pid),
        }
    }
}
