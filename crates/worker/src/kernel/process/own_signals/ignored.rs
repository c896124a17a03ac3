//! A signal that a process, or a group of processes, ignores.

use super::{IGNORED, Target, TemporaryAction};
use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// A signal that the calling process, and each child that it forks from now on, ignores.
pub struct IgnoredSignal {
    target: Target,
    _action: TemporaryAction,
}

impl IgnoredSignal {
    /// Ignores it until dropped.
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { target: Target::own(), _action: TemporaryAction::ignore(IGNORED)? })
    }

    /// Sends it to the calling process: kill(2).
    #[inline(always)]
    pub fn send(&self) -> Result<(), Errno> {
        self.target.kill(IGNORED)
    }
}

/// A group of processes that ignore a signal. Its number is that of its first member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoringGroup {
    number: i32,
}

impl IgnoringGroup {
    /// A new group of this child, which was forked while the signal was ignored.
    pub fn of(first: u32) -> Result<Self, Errno> {
        // A group of number 1 would be every process.
        let number = i32::try_from(first).ok().filter(|&number| number > 1);
        let group = Self { number: number.ok_or(Errno::ESRCH)? };
        group.admit(first)?;
        Ok(group)
    }

    /// Adds another child, which was forked while the signal was ignored.
    pub fn admit(self, member: u32) -> Result<(), Errno> {
        // SAFETY: plain numbers.
        Errno::check(unsafe { libc::setpgid(member as libc::pid_t, self.number) }).map(drop)
    }

    /// Sends each member the signal: kill(2) of the negative number.
    #[inline(always)]
    pub fn send(self) -> Result<(), Errno> {
        let group = i64::from(-self.number) as u64;
        // SAFETY: plain numbers; every member ignores the signal.
        let sent = unsafe { arch::syscall(libc::SYS_kill, [group, IGNORED as u64, 0, 0, 0, 0]) };
        raw_result(sent).map(drop)
    }
}
