//! What the C library offers to threads that share data: mutexes, read-write locks, condition
//! variables, semaphores, barriers. The library is part of the question, so its own functions are
//! called; they return the error, except those of semaphores.

use std::cell::UnsafeCell;

use crate::kernel::Errno;

/// An object of the library in cache lines of its own, at an address that stays: 128 bytes, since
/// cores fetch lines in pairs. All its accesses are the library's, which synchronises them.
#[repr(align(128))]
struct Object<T>(UnsafeCell<T>);

impl<T> Object<T> {
    /// An object of all-zero bytes, to be initialised by the library.
    fn zeroed() -> Box<Self> {
        // SAFETY: the library's types are arrays of bytes or words, for which zeros are valid.
        Box::new(Self(UnsafeCell::new(unsafe { std::mem::zeroed() })))
    }

    #[inline(always)]
    fn get(&self) -> *mut T {
        self.0.get()
    }
}

/// Converts the result of a function that returns the error.
#[inline(always)]
fn check_error(error: libc::c_int) -> Result<(), Errno> {
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

/// What kind of mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MutexKind {
    /// PTHREAD_MUTEX_NORMAL.
    Normal,
    /// PTHREAD_MUTEX_RECURSIVE: its owner may lock it again.
    Recursive,
    /// PTHREAD_MUTEX_ERRORCHECK: locking it again is an error.
    ErrorCheck,
    /// PTHREAD_MUTEX_ROBUST: whoever locks it learns that its owner has died.
    Robust,
    /// PTHREAD_PRIO_INHERIT: its owner runs with the priority of those that wait.
    PriorityInheriting,
    /// PTHREAD_PROCESS_SHARED.
    ProcessShared,
}

impl MutexKind {
    fn set(self, attributes: *mut libc::pthread_mutexattr_t) -> Result<(), Errno> {
        // SAFETY: the caller has initialised the attributes; the others are plain numbers.
        check_error(unsafe {
            match self {
                Self::Normal => {
                    libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_NORMAL)
                }
                Self::Recursive => {
                    libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_RECURSIVE)
                }
                Self::ErrorCheck => {
                    libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_ERRORCHECK)
                }
                Self::Robust => {
                    libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST)
                }
                Self::PriorityInheriting => {
                    libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT)
                }
                Self::ProcessShared => {
                    libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED)
                }
            }
        })
    }
}

/// A mutex. It guards nothing: whether a thread that unlocks it has locked it is up to the caller,
/// and a mistake leaves it locked or unlocked, or is an error.
pub struct Mutex(Box<Object<libc::pthread_mutex_t>>);

// SAFETY: any thread may call the library's functions on a mutex.
unsafe impl Send for Mutex {}
// SAFETY: as above.
unsafe impl Sync for Mutex {}

impl Mutex {
    /// An unlocked mutex of that kind.
    pub fn new(kind: MutexKind) -> Result<Self, Errno> {
        let mutex = Object::<libc::pthread_mutex_t>::zeroed();
        // SAFETY: all-zero bits are valid attributes, which the first call initialises. The mutex
        // is new and at its final address.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            check_error(libc::pthread_mutexattr_init(&raw mut attributes))?;
            let done = kind.set(&raw mut attributes).and_then(|()| {
                check_error(libc::pthread_mutex_init(mutex.get(), &raw const attributes))
            });
            libc::pthread_mutexattr_destroy(&raw mut attributes);
            done?;
        }
        Ok(Self(mutex))
    }

    /// pthread_mutex_lock(3).
    #[inline(always)]
    pub fn lock(&self) -> Result<(), Errno> {
        // SAFETY: it was initialised, and lives as long as the borrow.
        check_error(unsafe { libc::pthread_mutex_lock(self.0.get()) })
    }

    /// pthread_mutex_unlock(3).
    #[inline(always)]
    pub fn unlock(&self) -> Result<(), Errno> {
        // SAFETY: as above.
        check_error(unsafe { libc::pthread_mutex_unlock(self.0.get()) })
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and nothing refers to it any more. One that is locked is left
        // as it is, which frees nothing less: the library allocates nothing for it.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

/// A read-write lock of the default kind.
pub struct RwLock(Box<Object<libc::pthread_rwlock_t>>);

impl RwLock {
    /// An unlocked one.
    pub fn new() -> Result<Self, Errno> {
        let lock = Object::<libc::pthread_rwlock_t>::zeroed();
        // SAFETY: it is new and at its final address; no attributes are given.
        check_error(unsafe { libc::pthread_rwlock_init(lock.get(), std::ptr::null()) })?;
        Ok(Self(lock))
    }

    /// pthread_rwlock_rdlock(3).
    #[inline(always)]
    pub fn read(&self) -> Result<(), Errno> {
        // SAFETY: it was initialised, and lives as long as the borrow.
        check_error(unsafe { libc::pthread_rwlock_rdlock(self.0.get()) })
    }

    /// pthread_rwlock_wrlock(3).
    #[inline(always)]
    pub fn write(&self) -> Result<(), Errno> {
        // SAFETY: as above.
        check_error(unsafe { libc::pthread_rwlock_wrlock(self.0.get()) })
    }

    /// pthread_rwlock_unlock(3).
    #[inline(always)]
    pub fn unlock(&self) -> Result<(), Errno> {
        // SAFETY: as above. Unlocking one that is not locked spoils its counters, which only the
        // library reads.
        check_error(unsafe { libc::pthread_rwlock_unlock(self.0.get()) })
    }
}

impl Drop for RwLock {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and nothing refers to it any more.
        unsafe { libc::pthread_rwlock_destroy(self.0.get()) };
    }
}

/// A condition variable.
pub struct Condvar(Box<Object<libc::pthread_cond_t>>);

// SAFETY: any thread may call the library's functions on a condition variable.
unsafe impl Send for Condvar {}
// SAFETY: as above.
unsafe impl Sync for Condvar {}

impl Condvar {
    /// One without waiters.
    pub fn new() -> Result<Self, Errno> {
        let condvar = Object::<libc::pthread_cond_t>::zeroed();
        // SAFETY: it is new and at its final address; no attributes are given.
        check_error(unsafe { libc::pthread_cond_init(condvar.get(), std::ptr::null()) })?;
        Ok(Self(condvar))
    }

    /// pthread_cond_signal(3).
    #[inline(always)]
    pub fn signal(&self) -> Result<(), Errno> {
        // SAFETY: it was initialised, and lives as long as the borrow.
        check_error(unsafe { libc::pthread_cond_signal(self.0.get()) })
    }

    /// pthread_cond_wait(3), with a mutex that the caller has locked. It may return without a
    /// signal.
    #[inline(always)]
    pub fn wait(&self, mutex: &Mutex) -> Result<(), Errno> {
        // SAFETY: both were initialised, and live as long as the borrows.
        check_error(unsafe { libc::pthread_cond_wait(self.0.get(), mutex.0.get()) })
    }
}

impl Drop for Condvar {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and no thread waits: a waiter would borrow it.
        unsafe { libc::pthread_cond_destroy(self.0.get()) };
    }
}

/// A POSIX semaphore, unnamed and of this process.
pub struct Semaphore(Box<Object<libc::sem_t>>);

// SAFETY: any thread may call the library's functions on a semaphore.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// One of value 0.
    pub fn new() -> Result<Self, Errno> {
        let semaphore = Object::<libc::sem_t>::zeroed();
        // SAFETY: it is new and at its final address.
        Errno::check(unsafe { libc::sem_init(semaphore.get(), 0, 0) })?;
        Ok(Self(semaphore))
    }

    /// sem_post(3).
    #[inline(always)]
    pub fn post(&self) -> Result<(), Errno> {
        // SAFETY: it was initialised, and lives as long as the borrow.
        if unsafe { libc::sem_post(self.0.get()) } == 0 { Ok(()) } else { last_error() }
    }

    /// sem_wait(3).
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        // SAFETY: as above.
        if unsafe { libc::sem_wait(self.0.get()) } == 0 { Ok(()) } else { last_error() }
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and no thread waits: a waiter would borrow it.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}

/// The error that the library has put into errno, read without a further call into this crate.
#[inline(always)]
fn last_error() -> Result<(), Errno> {
    // SAFETY: the library returns the address of the calling thread's errno.
    Err(Errno(unsafe { *libc::__errno_location() }))
}

/// A barrier of one party.
pub struct Barrier(Box<Object<libc::pthread_barrier_t>>);

impl Barrier {
    /// One that nobody has reached.
    pub fn of_one() -> Result<Self, Errno> {
        let barrier = Object::<libc::pthread_barrier_t>::zeroed();
        // SAFETY: it is new and at its final address; no attributes are given.
        check_error(unsafe { libc::pthread_barrier_init(barrier.get(), std::ptr::null(), 1) })?;
        Ok(Self(barrier))
    }

    /// pthread_barrier_wait(3), which must name the caller as the last to arrive.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        // SAFETY: it was initialised, and lives as long as the borrow.
        match unsafe { libc::pthread_barrier_wait(self.0.get()) } {
            libc::PTHREAD_BARRIER_SERIAL_THREAD => Ok(()),
            0 => Err(Errno::EPROTO),
            error => Err(Errno(error)),
        }
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and no thread waits: a waiter would borrow it.
        unsafe { libc::pthread_barrier_destroy(self.0.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutex_is_of_the_kind_that_was_asked_for() {
        for kind in [
            MutexKind::Normal,
            MutexKind::Recursive,
            MutexKind::ErrorCheck,
            MutexKind::Robust,
            MutexKind::PriorityInheriting,
            MutexKind::ProcessShared,
        ] {
            let mutex = Mutex::new(kind).unwrap();
            for _ in 0..23 {
                assert_eq!(mutex.lock(), Ok(()), "{kind:?}");
                assert_eq!(mutex.unlock(), Ok(()), "{kind:?}");
            }
        }
        let checking = Mutex::new(MutexKind::ErrorCheck).unwrap();
        assert_eq!(checking.unlock(), Err(Errno::EPERM));
        assert_eq!((checking.lock(), checking.lock()), (Ok(()), Err(Errno(libc::EDEADLK))));
        assert_eq!(checking.unlock(), Ok(()));
        let recursive = Mutex::new(MutexKind::Recursive).unwrap();
        assert_eq!((recursive.lock(), recursive.lock()), (Ok(()), Ok(())));
        assert_eq!((recursive.unlock(), recursive.unlock()), (Ok(()), Ok(())));
        assert_eq!(recursive.unlock(), Err(Errno::EPERM));
    }

    #[test]
    fn a_read_write_lock_is_shared_by_readers_alone() {
        let lock = RwLock::new().unwrap();
        assert_eq!((lock.read(), lock.read()), (Ok(()), Ok(())));
        assert_eq!((lock.unlock(), lock.unlock()), (Ok(()), Ok(())));
        assert_eq!(lock.write(), Ok(()));
        // The library recognises its own thread.
        assert_eq!(lock.read(), Err(Errno(libc::EDEADLK)));
        assert_eq!(lock.unlock(), Ok(()));
    }

    #[test]
    fn a_semaphore_counts_and_one_party_is_the_last_to_arrive() {
        let semaphore = Semaphore::new().unwrap();
        for _ in 0..3 {
            assert_eq!(semaphore.post(), Ok(()));
        }
        for _ in 0..3 {
            assert_eq!(semaphore.wait(), Ok(()));
        }
        let barrier = Barrier::of_one().unwrap();
        let condvar = Condvar::new().unwrap();
        for _ in 0..23 {
            assert_eq!((barrier.wait(), condvar.signal()), (Ok(()), Ok(())));
        }
    }
}
