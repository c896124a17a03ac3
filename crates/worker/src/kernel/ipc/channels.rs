//! Channels that carry messages between processes: message queues of both kinds, pages spliced into
//! a pipe, memory read from another process.
//!
//! The calls of an op use the raw instruction, so that both ends make them alike.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, mknodat};
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use rustix::process::{PTracer, Pid, set_ptracer};

use crate::kernel::errno::raw_count;
use crate::kernel::file::location::{MAX_QUEUES, queue_key, queue_name, record_leftovers};
use crate::kernel::file::temp_folder::TempFolder;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::{Errno, arch};

/// Reads a numeric sysctl file.
fn read_sysctl(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

/// A pipe's capacity in bytes.
pub fn pipe_capacity(pipe: &File) -> Result<u64, Errno> {
    Ok(fcntl_getpipe_size(pipe)? as u64)
}

/// Grows a pipe to at least `bytes`, if the system allows it.
pub fn grow_pipe(pipe: impl AsFd, bytes: usize) {
    if fcntl_getpipe_size(&pipe).is_ok_and(|capacity| capacity < bytes) {
        // If refused, the pipe is unchanged.
        let _ = fcntl_setpipe_size(&pipe, bytes);
    }
}

/// Sets a pipe's capacity to exactly `bytes`.
fn set_pipe_capacity(pipe: &File, bytes: u64) -> Result<(), Errno> {
    match fcntl_setpipe_size(pipe, bytes as usize) {
        Ok(_) if pipe_capacity(pipe)? == bytes => Ok(()),
        Ok(_) => Err(Errno::unavailable(format!("a pipe cannot hold exactly {bytes} bytes here"))),
        Err(error) => Err(Errno::unavailable(format!(
            "a pipe may not hold {bytes} bytes here: {}; fs.pipe-max-size, and for all pipes of a \
             user fs.pipe-user-pages-soft, are the limits (sysctl -w raises them)",
            Errno::from(error)
        ))),
    }
}

/// A pipe (read end, write end) of this capacity or the system's default.
pub fn pipe_with_capacity(capacity: Option<u64>) -> Result<(File, File), Errno> {
    let ends = pipe()?;
    capacity.map_or(Ok(()), |bytes| set_pipe_capacity(&ends.1, bytes))?;
    Ok(ends)
}

/// A FIFO of this capacity; its name is removed before this returns.
pub fn fifo_with_capacity(capacity: Option<u64>) -> Result<(File, File), Errno> {
    let folder = TempFolder::new()?;
    let path = folder.path().join("fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    // A blocking open for reading would wait for a writer.
    let from = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path)?;
    let to = File::options().write(true).open(&path)?;
    fcntl_setfl(&from, OFlags::empty())?;
    capacity.map_or(Ok(()), |bytes| set_pipe_capacity(&to, bytes))?;
    Ok((from, to))
}

/// vmsplice(2): maps the pages of `bytes` into a pipe; returns the bytes accepted. They must not
/// change until they were read.
#[inline(always)]
pub fn vmsplice(to: &File, bytes: &[u8]) -> Result<usize, Errno> {
    let part = [bytes.as_ptr() as u64, bytes.len() as u64];
    let args = [to.as_raw_fd() as u64, part.as_ptr() as u64, 1, 0, 0, 0];
    // SAFETY: the kernel reads one iovec, and later at most the bytes that it names, whose pages
    // the pipe holds a reference to.
    raw_count(unsafe { arch::syscall(libc::SYS_vmsplice, args) })
}

/// splice(2): moves bytes of a file, from offset `offset` on, into a pipe; returns the bytes accepted.
#[inline(always)]
pub fn splice(to: &File, file: &File, offset: usize, bytes: usize) -> Result<usize, Errno> {
    let mut offset = offset as i64;
    let from = [file.as_raw_fd() as u64, &raw mut offset as u64];
    let args = [from[0], from[1], to.as_raw_fd() as u64, 0, bytes as u64, 0];
    // SAFETY: the kernel reads and writes one local offset.
    raw_count(unsafe { arch::syscall(libc::SYS_splice, args) })
}

/// process_vm_readv(2): reads from an address of another process; returns the bytes read.
#[inline(always)]
pub fn read_process_memory(process: u32, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let here = [into.as_mut_ptr() as u64, into.len() as u64];
    let there = [address, into.len() as u64];
    let process = u64::from(process);
    let args = [process, here.as_ptr() as u64, 1, there.as_ptr() as u64, 1, 0];
    // SAFETY: the kernel reads two iovecs, and writes at most the slice's length. It validates the
    // remote address itself.
    raw_count(unsafe { arch::syscall(libc::SYS_process_vm_readv, args) })
}

/// Allows a process to read this one's memory where Yama restricts that to ancestors.
pub fn allow_reader(process: u32) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // Without Yama the call fails, and nothing is restricted.
        let _ = set_ptracer(PTracer::ProcessID(pid));
    }
}

/// An unlinked POSIX message queue, and its capacity in bytes.
pub struct PosixQueue(OwnedFd, u64);

impl PosixQueue {
    /// A queue for messages of `size` bytes, with the system's default count.
    pub fn new(size: u64) -> Result<Self, Errno> {
        const LIMIT: &str = "/proc/sys/fs/mqueue/msgsize_max";
        let messages = read_sysctl("/proc/sys/fs/mqueue/msg_default").unwrap_or(10);
        let max = read_sysctl("/proc/sys/fs/mqueue/msg_max").unwrap_or(10);
        let messages = messages.min(max);
        // SAFETY: all-zero bits are a valid mq_attr.
        let mut wanted: libc::mq_attr = unsafe { std::mem::zeroed() };
        wanted.mq_maxmsg = messages as _;
        wanted.mq_msgsize = size as _;
        let name = CString::new(queue_name()).map_err(|_| Errno::EINVAL)?;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        let at = name.as_ptr() as u64;
        let args = [at, flags as u64, 0o600, &raw const wanted as u64, 0, 0];
        // SAFETY: the name is NUL-terminated, and one mq_attr is read.
        let made = raw_count(unsafe { arch::syscall(libc::SYS_mq_open, args) });
        let fd = made.map_err(|error| match error {
            Errno::EINVAL => Errno::unavailable(format!(
                "a message of {size} bytes is too large for a queue: fs.mqueue.msgsize_max is {} \
                 (`sysctl -w fs.mqueue.msgsize_max={size}` raises it)",
                read_sysctl(LIMIT).unwrap_or(0)
            )),
            Errno::EMFILE | Errno::ENOMEM => Errno::unavailable(format!(
                "{messages} messages of {size} bytes are more than queues may hold here: \
                 RLIMIT_MSGQUEUE is the limit (`ulimit -q`)"
            )),
            Errno::ENOSPC => Errno::unavailable(
                "the limit of message queues is reached: fs.mqueue.queues_max".to_owned(),
            ),
            other => other,
        })?;
        // SAFETY: the name is NUL-terminated; the descriptor is new and owned here.
        let queue = unsafe {
            arch::syscall(libc::SYS_mq_unlink, [at, 0, 0, 0, 0, 0]);
            Self(OwnedFd::from_raw_fd(fd as i32), messages * size)
        };
        Ok(queue)
    }

    /// Its capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.1
    }

    /// The same queue, for the other end.
    pub fn try_clone(&self) -> Result<Self, Errno> {
        Ok(Self(self.0.try_clone()?, self.1))
    }

    /// mq_timedsend(2), without a timeout.
    #[inline(always)]
    pub fn send(&self, message: &[u8]) -> Result<(), Errno> {
        let (at, bytes) = (message.as_ptr() as u64, message.len() as u64);
        let args = [self.0.as_raw_fd() as u64, at, bytes, 0, 0, 0];
        // SAFETY: the kernel reads as many bytes as the slice has.
        raw_count(unsafe { arch::syscall(libc::SYS_mq_timedsend, args) }).map(drop)
    }

    /// mq_timedreceive(2), without a timeout; returns the message's length.
    #[inline(always)]
    pub fn receive(&self, into: &mut [u8]) -> Result<usize, Errno> {
        let (at, bytes) = (into.as_mut_ptr() as u64, into.len() as u64);
        let args = [self.0.as_raw_fd() as u64, at, bytes, 0, 0, 0];
        // SAFETY: the kernel writes at most as many bytes as the slice has.
        raw_count(unsafe { arch::syscall(libc::SYS_mq_timedreceive, args) })
    }
}

/// The messages of a System V queue begin with their type.
const MESSAGE_TYPE: [u8; 8] = 1u64.to_ne_bytes();

/// A System V message queue. It persists until removed: by its creator on drop, otherwise by the
/// supervisor, which knows its key.
pub struct SysvQueue {
    id: i32,
    owner: u32,
    capacity: u64,
}

impl SysvQueue {
    /// Creates the first or the second queue of this process, for messages of `size` bytes.
    pub fn new(which: u32, size: u64) -> Result<Self, Errno> {
        let max = read_sysctl("/proc/sys/kernel/msgmax").unwrap_or(8_192);
        if size > max {
            return Err(Errno::unavailable(format!(
                "a message of {size} bytes is too large for a System V queue: kernel.msgmax is \
                 {max} (`sysctl -w kernel.msgmax={size}` raises it)"
            )));
        }
        let key = queue_key(&queue_name(), which % MAX_QUEUES);
        record_leftovers();
        // SAFETY: plain numbers.
        let made = unsafe { libc::msgget(key, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
        let id = Errno::check(made).map_err(|error| match error {
            Errno::ENOSPC => Errno::unavailable(
                "the limit of System V queues is reached: kernel.msgmni".to_owned(),
            ),
            other => other,
        })?;
        let mut queue = Self { id, owner: std::process::id(), capacity: 0 };
        // SAFETY: all-zero bits are a valid msqid_ds, and the call fills it in.
        let queue_bytes = unsafe {
            let mut about: libc::msqid_ds = std::mem::zeroed();
            Errno::check(libc::msgctl(id, libc::IPC_STAT, &raw mut about))?;
            about.msg_qbytes as u64
        };
        if size > queue_bytes {
            return Err(Errno::unavailable(format!(
                "a message of {size} bytes does not fit into a System V queue: kernel.msgmnb is \
                 {queue_bytes} (`sysctl -w kernel.msgmnb={size}` raises it)"
            )));
        }
        queue.capacity = queue_bytes;
        Ok(queue)
    }

    /// Its capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Its identifier, for the other end.
    pub fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for SysvQueue {
    fn drop(&mut self) {
        if self.owner == std::process::id() {
            // The supervisor retries what cannot be removed here.
            // SAFETY: plain numbers; nothing is read or written.
            unsafe { libc::msgctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }
}

/// A buffer for a System V message, which begins with its type.
pub struct SysvMessage(Vec<u8>);

impl SysvMessage {
    /// A buffer for messages of up to `size` bytes.
    pub fn new(size: usize) -> Self {
        let mut bytes = MESSAGE_TYPE.to_vec();
        bytes.resize(MESSAGE_TYPE.len() + size, 0);
        Self(bytes)
    }

    /// msgsnd(2) of a message, copied into the buffer; `false` if it does not fit.
    #[inline(always)]
    pub fn send(&mut self, queue: i32, message: &[u8]) -> Result<bool, Errno> {
        let Some(room) = self.0.get_mut(MESSAGE_TYPE.len()..MESSAGE_TYPE.len() + message.len())
        else {
            return Ok(false);
        };
        room.copy_from_slice(message);
        self.resend(queue, message.len()).map(|()| true)
    }

    /// msgsnd(2) of `bytes` bytes that are already in the buffer.
    #[inline(always)]
    pub fn resend(&self, queue: i32, bytes: usize) -> Result<(), Errno> {
        let bytes = bytes.min(self.0.len() - MESSAGE_TYPE.len()) as u64;
        let args = [queue as u64, self.0.as_ptr() as u64, bytes, 0, 0, 0];
        // SAFETY: the kernel reads a type and at most the bytes after it.
        raw_count(unsafe { arch::syscall(libc::SYS_msgsnd, args) }).map(drop)
    }

    /// msgrcv(2) of a message, copied out of the buffer; returns its length.
    #[inline(always)]
    pub fn receive(&mut self, queue: i32, into: &mut [u8]) -> Result<usize, Errno> {
        let room = (self.0.len() - MESSAGE_TYPE.len()) as u64;
        let args = [queue as u64, self.0.as_mut_ptr() as u64, room, 0, 0, 0];
        // SAFETY: the kernel writes a type and at most the bytes that fit after it.
        let given = raw_count(unsafe { arch::syscall(libc::SYS_msgrcv, args) })?;
        let (came, into) = (&self.0[MESSAGE_TYPE.len()..], into);
        let max = given.min(into.len());
        into[..max].copy_from_slice(&came[..max]);
        self.0[..MESSAGE_TYPE.len()].copy_from_slice(&MESSAGE_TYPE);
        Ok(given)
    }
}
