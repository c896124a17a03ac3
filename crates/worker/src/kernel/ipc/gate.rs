//! Words at which many tasks wait for one, and one for many: futex(2) on words that processes
//! share.

use std::sync::atomic::AtomicU32;

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// A second: the longest wait of a task that has to look after others.
static SECOND: [u64; 2] = [1, 0];

/// Waits while the word has this value, or until it is woken for another reason: the caller reads
/// the word again.
#[inline(always)]
pub fn wait_while(word: &AtomicU32, value: u32) -> Result<(), Errno> {
    wait(word, value, 0).map(drop)
}

/// The same for a second at most; returns whether it was shorter.
#[inline(always)]
pub fn wait_a_second_while(word: &AtomicU32, value: u32) -> Result<bool, Errno> {
    wait(word, value, SECOND.as_ptr() as u64)
}

/// Returns false if the time has passed.
#[inline(always)]
fn wait(word: &AtomicU32, value: u32, time: u64) -> Result<bool, Errno> {
    let args = [word.as_ptr() as u64, libc::FUTEX_WAIT as u64, u64::from(value), time, 0, 0];
    // SAFETY: the kernel reads the word, which is borrowed, and a static timespec, if one is given.
    match raw_result(unsafe { arch::syscall(libc::SYS_futex, args) }) {
        Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => Ok(true),
        Err(Errno(libc::ETIMEDOUT)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Wakes all that wait at the word; returns how many.
#[inline(always)]
pub fn wake_all(word: &AtomicU32) -> Result<i64, Errno> {
    let args = [word.as_ptr() as u64, libc::FUTEX_WAKE as u64, i32::MAX as u64, 0, 0, 0];
    // SAFETY: the kernel uses the word's address as a key.
    raw_result(unsafe { arch::syscall(libc::SYS_futex, args) })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::kernel::ipc::context_switch::{PeerProcess, SharedWords};
    use crate::kernel::process::in_own_process;

    #[test]
    fn a_word_that_has_another_value_is_not_waited_for() {
        let word = AtomicU32::new(7);
        assert_eq!(wait_while(&word, 8), Ok(()));
        assert_eq!(wait_a_second_while(&word, 8), Ok(true));
        assert_eq!(wake_all(&word), Ok(0));
    }

    #[test]
    fn all_that_wait_are_let_go() {
        in_own_process(|| {
            let words = SharedWords::new().unwrap();
            let pass = || {
                while words.word(0).load(Ordering::Acquire) == 0 {
                    wait_while(words.word(0), 0)?;
                }
                words.word(1).fetch_add(1, Ordering::Release);
                wake_all(words.word(1)).map(drop)
            };
            let tasks = [(); 4].map(|()| PeerProcess::start(None, pass).unwrap());
            words.word(0).store(1, Ordering::Release);
            wake_all(words.word(0)).unwrap();
            for task in tasks {
                assert_eq!(task.join(), Ok(()));
            }
            assert_eq!(words.word(1).load(Ordering::Acquire), 4);
        });
    }
}
