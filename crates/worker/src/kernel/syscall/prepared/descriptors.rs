//! Calls that create a descriptor, each with the close of it, and calls on its flags.

use linux_raw_sys::ioctl::{FIONREAD, TCGETS};

use super::call::{ANY_SUCCESS, Buffer, Call, CallPair};
use super::files::{close_result, fd_argument, find_closed_descriptor, open_dev_null};
use crate::kernel::Errno;
use crate::kernel::ipc::pipe::pipe;

/// The call and close(2) of its result.
fn with_close(open: Call) -> CallPair {
    CallPair { first: open.with_results(ANY_SUCCESS), second: close_result(), pass_result: true }
}

/// `dup3(fd, free number)` and close(2).
pub fn dup3_close() -> Result<CallPair, Errno> {
    let (file, free) = (open_dev_null()?, find_closed_descriptor()?);
    let args = [fd_argument(&file), free as u64, libc::O_CLOEXEC as u64];
    // SAFETY: plain numbers; nothing is open at the second, and the call owns the first.
    let dup = unsafe { Call::new(libc::SYS_dup3, &args) };
    Ok(with_close(dup.with_owned(file)))
}

/// `dup3(fd, open number)`, which replaces and closes another descriptor of the same file.
pub fn dup3_onto_open() -> Result<Call, Errno> {
    let file = open_dev_null()?;
    let replaced = file.try_clone()?;
    let (from, to) = (fd_argument(&file), fd_argument(&replaced));
    // SAFETY: plain numbers; the call owns both descriptors, and each time the second stays open.
    let dup = unsafe { Call::new(libc::SYS_dup3, &[from, to, libc::O_CLOEXEC as u64]) };
    let number = to as i64;
    Ok(dup.with_results(number..=number).with_owned(replaced).with_owned(file))
}

/// `fcntl(fd, F_DUPFD_CLOEXEC, 0)` and close(2).
pub fn dupfd_close() -> Result<CallPair, Errno> {
    let file = open_dev_null()?;
    let args = [fd_argument(&file), libc::F_DUPFD_CLOEXEC as u64, 0];
    // SAFETY: plain numbers; the call owns the descriptor.
    let dup = unsafe { Call::new(libc::SYS_fcntl, &args) };
    Ok(with_close(dup.with_owned(file)))
}

/// eventfd2(2) of zero, and close(2).
pub fn eventfd_close() -> CallPair {
    // SAFETY: plain numbers.
    with_close(unsafe { Call::new(libc::SYS_eventfd2, &[0, libc::EFD_CLOEXEC as u64]) })
}

/// epoll_create1(2) and close(2).
pub fn epoll_close() -> CallPair {
    // SAFETY: a plain number.
    with_close(unsafe { Call::new(libc::SYS_epoll_create1, &[libc::EPOLL_CLOEXEC as u64]) })
}

/// timerfd_create(2) of CLOCK_MONOTONIC, never armed, and close(2).
pub fn timerfd_close() -> CallPair {
    let args = [libc::CLOCK_MONOTONIC as u64, libc::TFD_CLOEXEC as u64];
    // SAFETY: plain numbers.
    with_close(unsafe { Call::new(libc::SYS_timerfd_create, &args) })
}

/// signalfd4(2) for SIGUSR1, and close(2).
pub fn signalfd_close() -> CallPair {
    /// A set of the kernel has 64 signals.
    const SET_BYTES: u64 = 8;
    let set = Buffer::containing(1u64 << (libc::SIGUSR1 - 1));
    // A new descriptor, not another's set.
    let args = [-1i64 as u64, set.address(), SET_BYTES, libc::SFD_CLOEXEC as u64];
    // SAFETY: one set is read, and the call owns it.
    with_close(unsafe { Call::new(libc::SYS_signalfd4, &args) }.with_owned(set))
}

/// pidfd_open(2) of this process, and close(2) (Linux 5.3).
pub fn pidfd_close() -> CallPair {
    let own = u64::from(std::process::id());
    // SAFETY: plain numbers.
    with_close(unsafe { Call::new(libc::SYS_pidfd_open, &[own, 0]) })
}

/// memfd_create(2) of an empty file, and close(2).
///
/// The file cannot be executed where the kernel knows such files (Linux 6.3): with
/// `vm.memfd_noexec` at 2 others are refused.
pub fn memfd_close() -> CallPair {
    let open = |flags: u32| {
        let args = [c"oscost".as_ptr() as u64, u64::from(flags)];
        // SAFETY: the name is NUL-terminated and static.
        with_close(unsafe { Call::new(libc::SYS_memfd_create, &args) })
    };
    let usual = open(libc::MFD_CLOEXEC | libc::MFD_NOEXEC_SEAL);
    match usual.ready().make() {
        Err(Errno::EINVAL) => open(libc::MFD_CLOEXEC),
        _ => usual,
    }
}

/// A request of ioctl(2) to a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipeRequest {
    /// FIONREAD: the number of bytes to read.
    BytesToRead,
    /// TCGETS, which must fail with ENOTTY: what isatty(3) asks.
    TerminalAttributes,
}

/// ioctl(2) of an empty pipe.
pub fn pipe_ioctl(request: PipeRequest) -> Result<Call, Errno> {
    let (reader, writer) = pipe()?;
    // Larger than `struct termios` of the kernel.
    let room = Buffer::zeroed(64);
    let number = u64::from(match request {
        PipeRequest::BytesToRead => FIONREAD,
        PipeRequest::TerminalAttributes => TCGETS,
    });
    let args = [fd_argument(&reader), number, room.address()];
    // SAFETY: at most one number is written to a buffer that the call owns, with both ends.
    let call = unsafe { Call::new(libc::SYS_ioctl, &args) };
    let call = call.with_owned(room).with_owned(reader).with_owned(writer);
    Ok(match request {
        PipeRequest::BytesToRead => call,
        PipeRequest::TerminalAttributes => call.with_error(libc::ENOTTY),
    })
}

/// A command of fcntl(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagCommand {
    /// F_GETFD.
    GetDescriptorFlags,
    /// F_SETFD, to FD_CLOEXEC, which is set already.
    SetDescriptorFlags,
    /// F_SETFL, to O_NONBLOCK, which is set already.
    SetFileFlags,
}

/// fcntl(2) of /dev/null.
pub fn fcntl_flags(command: FlagCommand) -> Result<Call, Errno> {
    let file = open_dev_null()?;
    let close_on_exec = libc::FD_CLOEXEC as u64;
    let (number, argument, result) = match command {
        FlagCommand::GetDescriptorFlags => (libc::F_GETFD, 0, i64::from(libc::FD_CLOEXEC)),
        FlagCommand::SetDescriptorFlags => (libc::F_SETFD, close_on_exec, 0),
        FlagCommand::SetFileFlags => (libc::F_SETFL, libc::O_NONBLOCK as u64, 0),
    };
    let args = [fd_argument(&file), number as u64, argument];
    // SAFETY: plain numbers; the call owns the descriptor, whose flags nothing depends on.
    let call = unsafe { Call::new(libc::SYS_fcntl, &args) };
    Ok(call.with_results(result..=result).with_owned(file))
}
