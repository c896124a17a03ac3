//! Threads that sleep, and a fork of the process that has them.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::{FutexScope, futex_wait, futex_wake};

/// What the threads share.
struct Shared {
    /// How many have started.
    started: AtomicU32,
    /// 0 while they sleep.
    ended: AtomicU32,
}

/// Threads that sleep in futex(2) until dropped. They allocate nothing, so that the C library makes
/// no arena for them.
pub struct SleepingThreads {
    shared: Box<Shared>,
    threads: Vec<libc::pthread_t>,
}

impl SleepingThreads {
    /// Starts so many, and returns when each has run.
    pub fn start(count: u64) -> Result<Self, Errno> {
        let shared = Box::new(Shared { started: AtomicU32::new(0), ended: AtomicU32::new(0) });
        let mut all = Self { shared, threads: Vec::with_capacity(count as usize) };
        for _ in 0..count {
            all.add()?;
        }
        while u64::from(all.shared.started.load(Ordering::Acquire)) < count {
            std::thread::yield_now();
        }
        // A thread that was preempted between its count and its sleep needs one more turn.
        std::thread::yield_now();
        Ok(all)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.threads.len()
    }

    fn add(&mut self) -> Result<(), Errno> {
        /// Far more than they use: a hundred default stacks are 800 MiB of address space. The least
        /// that the C library allows is 16 KiB on x86-64, and 128 KiB on aarch64.
        const STACK_BYTES: usize = match libc::PTHREAD_STACK_MIN {
            least if least > 64 << 10 => least,
            _ => 64 << 10,
        };
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
        let shared: *const Shared = &raw const *self.shared;
        // SAFETY: the attributes are initialised before they are used, and destroyed once. The
        // thread's argument is in a box that lives until the thread was joined.
        unsafe {
            check_error(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
            let sized =
                check_error(libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK_BYTES));
            let created = sized.and_then(|()| {
                check_error(libc::pthread_create(
                    thread.as_mut_ptr(),
                    attributes.as_ptr(),
                    sleep_until_ended,
                    shared.cast_mut().cast(),
                ))
            });
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            created?;
            self.threads.push(thread.assume_init());
        }
        Ok(())
    }
}

impl Drop for SleepingThreads {
    fn drop(&mut self) {
        self.shared.ended.store(1, Ordering::Release);
        // Each call wakes one; a thread that does not sleep yet finds the word set.
        while futex_wake(&self.shared.ended, FutexScope::Private).is_ok_and(|woken| woken > 0) {}
        for thread in self.threads.drain(..) {
            // SAFETY: a joinable thread that is joined once. Joining such a thread cannot fail.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}

extern "C" fn sleep_until_ended(shared: *mut c_void) -> *mut c_void {
    // SAFETY: the owner keeps it until the thread was joined, and only shared references to it
    // exist meanwhile.
    let shared = unsafe { &*shared.cast::<Shared>() };
    shared.started.fetch_add(1, Ordering::AcqRel);
    while shared.ended.load(Ordering::Acquire) == 0 {
        // A signal or a late wake-up ends the wait early: the word is read again.
        let _ = futex_wait(&shared.ended, FutexScope::Private);
    }
    std::ptr::null_mut()
}

/// Converts the convention of the pthread functions, which return the error.
fn check_error(error: libc::c_int) -> Result<(), Errno> {
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

/// libc's fork() in a process with any number of threads; the child exits at once. Returns the
/// child, to be reaped.
#[inline(always)]
pub fn fork_and_exit() -> Result<u32, Errno> {
    // SAFETY: the child has the calling thread alone, and makes one call that is safe after a fork
    // of a process with threads: it takes no lock.
    match Errno::check(unsafe { libc::fork() })? {
        // SAFETY: ends the child at once, without running the parent's exit handlers.
        0 => unsafe { libc::_exit(0) },
        pid => Ok(pid as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;
    use crate::kernel::process::spawn::reap;

    fn threads() -> usize {
        std::fs::read_dir("/proc/self/task").unwrap().count()
    }

    #[test]
    fn threads_sleep_until_dropped_and_a_fork_of_their_process_ends() {
        in_own_process(|| {
            let before = threads();
            let sleeping = SleepingThreads::start(10).unwrap();
            assert_eq!((threads(), sleeping.count()), (before + 10, 10));
            assert_eq!(fork_and_exit().and_then(reap), Ok(()));
            assert_eq!(threads(), before + 10, "the child's end ends no thread of the parent");
            drop(sleeping);
            assert_eq!(threads(), before);
        });
    }
}
