//! System V semaphores.

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_result;
use crate::kernel::file::location::{record_leftovers, semaphore_key, semaphore_name};

/// A set of System V semaphores, all 0. It persists until removed: by its creator on drop,
/// otherwise by the supervisor, which knows its key.
pub struct SysvSemaphores {
    id: i32,
    owner: u32,
}

impl SysvSemaphores {
    /// Creates the set of this process, of which there is one at a time.
    pub fn new(semaphores: u16) -> Result<Self, Errno> {
        let key = semaphore_key(&semaphore_name());
        record_leftovers();
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        // SAFETY: plain numbers.
        let made = unsafe { libc::semget(key, i32::from(semaphores), flags) };
        let id = Errno::check(made).map_err(|error| match error {
            Errno::ENOSPC => Errno::unavailable(
                "the limit of System V semaphores is reached: kernel.sem".to_owned(),
            ),
            Errno::ENOSYS => {
                Errno::unavailable("this kernel has no System V semaphores".to_owned())
            }
            other => other,
        })?;
        Ok(Self { id, owner: std::process::id() })
    }

    /// Its identifier.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// semop(2) on one semaphore: adds 1.
    #[inline(always)]
    pub fn post(&self, semaphore: u16) -> Result<(), Errno> {
        self.operate(semaphore, 1)
    }

    /// semop(2) on one semaphore: waits until it is not 0, and subtracts 1.
    #[inline(always)]
    pub fn wait(&self, semaphore: u16) -> Result<(), Errno> {
        self.operate(semaphore, -1)
    }

    #[inline(always)]
    fn operate(&self, semaphore: u16, by: i16) -> Result<(), Errno> {
        let operation = libc::sembuf { sem_num: semaphore, sem_op: by, sem_flg: 0 };
        let args = [self.id as u64, &raw const operation as u64, 1, 0, 0, 0];
        // SAFETY: the kernel reads one operation.
        raw_result(unsafe { arch::syscall(libc::SYS_semop, args) }).map(drop)
    }
}

impl Drop for SysvSemaphores {
    fn drop(&mut self) {
        if self.owner == std::process::id() {
            // The supervisor retries what cannot be removed here.
            // SAFETY: plain numbers; nothing is read or written.
            unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    /// Whether this process's set exists.
    fn exists() -> bool {
        // SAFETY: plain numbers.
        unsafe { libc::semget(semaphore_key(&semaphore_name()), 0, 0o600) >= 0 }
    }

    #[test]
    fn a_set_counts_and_is_removed_with_its_value() {
        // The name of a set is that of its process.
        in_own_process(|| {
            let set = match SysvSemaphores::new(2) {
                Ok(set) => set,
                Err(error) => {
                    eprintln!("cannot run here: {error}");
                    return;
                }
            };
            assert!(exists());
            for _ in 0..3 {
                assert_eq!((set.post(0), set.post(1)), (Ok(()), Ok(())));
            }
            for _ in 0..3 {
                assert_eq!((set.wait(0), set.wait(1)), (Ok(()), Ok(())));
            }
            assert_eq!(set.post(2), Err(Errno(libc::EFBIG)), "there are two");
            drop(set);
            assert!(!exists());
        });
    }
}
