//! System V semaphores, posted and waited for.

use super::call::{Buffer, Call, CallPair};
use crate::kernel::Errno;
use crate::kernel::ipc::sysv_semaphores::SysvSemaphores;

/// Whether the kernel records what is to be undone if the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemaphoreUndo {
    /// It does not.
    None,
    /// SEM_UNDO.
    AtExit,
}

/// semop(2) that adds 1 to a System V semaphore of 0, and one that subtracts it again.
pub fn semaphore_post_wait(undo: SemaphoreUndo) -> Result<CallPair, Errno> {
    let set = SysvSemaphores::new(1)?;
    let undo_flag = match undo {
        SemaphoreUndo::None => 0,
        SemaphoreUndo::AtExit => libc::SEM_UNDO,
    };
    let operate = |by: i16| {
        // Subtracting never waits here: if somebody else changed the semaphore, it must fail.
        let flags = (libc::IPC_NOWAIT | undo_flag) as libc::c_short;
        let operation = libc::sembuf { sem_num: 0, sem_op: by, sem_flg: flags };
        let operations = Buffer::containing(operation);
        let args = [set.id() as u64, operations.address(), 1];
        // SAFETY: the kernel reads one operation, which the call owns.
        unsafe { Call::new(libc::SYS_semop, &args) }.with_owned(operations)
    };
    let (post, wait) = (operate(1), operate(-1));
    Ok(CallPair { first: post, second: wait.with_owned(set), pass_result: false })
}
