//! The call that a seccomp filter forbids, recorded by a process whose filter raises SIGSYS where
//! another one kills (SECCOMP_RET_TRAP). A process that is killed leaves no trace that an ordinary
//! user can read.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::SharedWords;

/// A forbidden call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForbiddenCall {
    /// Its number.
    pub number: u32,
    /// What the process was doing: see [`set_stage`].
    pub stage: u16,
}

/// What this process is doing, as a number that the caller defines.
static STAGE: AtomicU32 = AtomicU32::new(0);

/// The word of the installed recorder.
static RECORD: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

/// The code of a SIGSYS that a filter has raised (SYS_SECCOMP).
const BY_FILTER: i32 = 1;
/// The word of a `siginfo_t` with the number of the call: three words and padding, then an address
/// come before it (`_sigsys`).
const NUMBER_WORD: usize = 6;
/// A record has the number of the call and 1 in its lower half, the stage in its upper half.
const STAGE_SHIFT: u32 = 16;
const NUMBER_MASK: u32 = 0xFFFF;

/// Notes what this process does from now on. It makes no system call.
pub fn set_stage(stage: u16) {
    STAGE.store(stage.into(), Ordering::Relaxed);
}

/// Records the first forbidden call of a process and its descendants.
pub struct CallRecorder(SharedWords);

impl CallRecorder {
    /// A recorder that is never unmapped: a handler of signals refers to it.
    pub fn leaked() -> Result<&'static Self, Errno> {
        Ok(Box::leak(Box::new(Self(SharedWords::new()?))))
    }

    /// From now on a forbidden call is recorded and ends this process; the same holds for processes
    /// that it forks, until they execute another program.
    pub fn install(&'static self) {
        RECORD.store(std::ptr::from_ref(self.0.word(0)).cast_mut(), Ordering::Relaxed);
        // SAFETY: all-zero bits are a valid action; the handler stores a word and ends the process.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = record as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut());
        }
    }

    /// The recorded call.
    pub fn recorded(&self) -> Option<ForbiddenCall> {
        let record = self.0.word(0).load(Ordering::Acquire);
        let number = (record & NUMBER_MASK).checked_sub(1)?;
        Some(ForbiddenCall { number, stage: (record >> STAGE_SHIFT) as u16 })
    }
}

extern "C" fn record(_: i32, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: the kernel passes a siginfo that lives as long as the handler runs; that of a filter
    // has the number of the call. The recorder, if there is one, is never unmapped.
    unsafe {
        if (*info).si_code == BY_FILTER
            && let Some(word) = RECORD.load(Ordering::Relaxed).as_ref()
        {
            // Numbers that do not fit are those of x32, which no worker calls.
            let number = info.cast::<u32>().add(NUMBER_WORD).read().min(NUMBER_MASK - 1);
            let entry = STAGE.load(Ordering::Relaxed) << STAGE_SHIFT | (number + 1);
            // Only the first one counts: another one may be due to it.
            let _ = word.compare_exchange(0, entry, Ordering::Release, Ordering::Relaxed);
        }
        // A filter that forbids this call, too, kills: the signal is blocked in its handler.
        libc::_exit(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::probe::seccomp::{self, NotifyMode};
    use crate::kernel::process::{self, WaitTarget, fork, in_own_process};

    /// A filter that ends with `action` at every call of `number`, and allows all others.
    fn at(number: i64, action: u32) -> [u64; 4] {
        const LOAD_NUMBER: u64 = 0x20 << 48;
        const SKIP_ONE_UNLESS_EQUAL: u64 = 0x15 << 48 | 1 << 32;
        const RETURN: u64 = 0x06 << 48;
        let (action, allow) = (u64::from(action), u64::from(libc::SECCOMP_RET_ALLOW));
        [LOAD_NUMBER, SKIP_ONE_UNLESS_EQUAL | number as u64, RETURN | action, RETURN | allow]
    }

    #[test]
    fn ends_that_kill_become_signals_and_other_instructions_stay() {
        let raises = at(110, libc::SECCOMP_RET_TRAP).to_vec();
        for fatal in
            [libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_KILL_THREAD, libc::SECCOMP_RET_TRAP]
        {
            assert_eq!(seccomp::with_signal_for_kill(&at(110, fatal)), Some(raises.clone()));
        }
        for other in [libc::SECCOMP_RET_ERRNO | 1, libc::SECCOMP_RET_LOG] {
            assert_eq!(seccomp::with_signal_for_kill(&at(0, other)), None, "{other:x}");
        }
    }

    #[test]
    fn the_first_forbidden_call_is_recorded_with_its_stage() {
        in_own_process(|| {
            let recorder = CallRecorder::leaked().unwrap();
            assert_eq!(recorder.recorded(), None);
            let program = at(libc::SYS_getppid, libc::SECCOMP_RET_TRAP);
            let child = fork(|| {
                recorder.install();
                set_stage(7);
                if seccomp::install(&program, NotifyMode::None).is_ok() {
                    let _ = std::os::unix::process::parent_id();
                }
                0
            });
            process::wait(WaitTarget::Child(child.unwrap()), true).unwrap();
            let number = libc::SYS_getppid as u32;
            assert_eq!(recorder.recorded(), Some(ForbiddenCall { number, stage: 7 }));
        });
    }
}
