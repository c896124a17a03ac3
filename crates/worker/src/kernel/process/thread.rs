//! Creating threads, by the C library and by the raw instruction.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::kernel::time::stopwatch::Stopwatch;
use crate::kernel::{Errno, arch};

/// What a thread does, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadKind {
    /// Ends at once, and is joined.
    Plain,
    /// Reads the clock first, and is joined.
    Timestamping,
    /// Reads the clock, and is detached (PTHREAD_CREATE_DETACHED).
    Detached,
}

/// What a thread shares with its creator.
struct ThreadState {
    watch: Stopwatch,
    start_ticks: AtomicU64,
    thread: AtomicU32,
}

/// Creates threads, one at a time.
pub struct ThreadMaker {
    attributes: libc::pthread_attr_t,
    kind: ThreadKind,
    shared: Box<ThreadState>,
    running: Option<libc::pthread_t>,
}

impl ThreadMaker {
    /// A maker of such threads; `cpu` is the CPU that they run on, if not the maker's.
    pub fn new(kind: ThreadKind, cpu: Option<u32>, watch: Stopwatch) -> Result<Self, Errno> {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        // SAFETY: the call initialises its argument.
        let mut attributes = unsafe {
            check_error(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
            attributes.assume_init()
        };
        if kind == ThreadKind::Detached {
            // SAFETY: attributes that were initialised.
            check_error(unsafe {
                libc::pthread_attr_setdetachstate(
                    &raw mut attributes,
                    libc::PTHREAD_CREATE_DETACHED,
                )
            })?;
        }
        if let Some(cpu) = cpu {
            set_cpu(&mut attributes, cpu)?;
        }
        let shared = Box::new(ThreadState {
            watch,
            start_ticks: AtomicU64::new(0),
            thread: AtomicU32::new(0),
        });
        Ok(Self { attributes, kind, shared, running: None })
    }

    /// pthread_create(3). The last thread must have been waited for.
    #[inline(always)]
    pub fn create(&mut self) -> Result<(), Errno> {
        if self.running.is_some() {
            return Err(Errno(libc::EBUSY));
        }
        let body = match self.kind {
            ThreadKind::Plain => no_op,
            ThreadKind::Timestamping => record_start,
            ThreadKind::Detached => record_start_and_id,
        };
        let shared: *const ThreadState = &raw const *self.shared;
        let mut thread = MaybeUninit::uninit();
        // SAFETY: the attributes were initialised; the thread's argument is in a box that lives
        // until the thread was waited for.
        unsafe {
            check_error(libc::pthread_create(
                thread.as_mut_ptr(),
                &raw const self.attributes,
                body,
                shared.cast_mut().cast(),
            ))?;
            self.running = Some(thread.assume_init());
        }
        Ok(())
    }

    /// Waits for the thread's end: pthread_join(3) of a joinable one.
    #[inline(always)]
    pub fn wait(&mut self) -> Result<(), Errno> {
        let Some(thread) = self.running.take() else { return Err(Errno(libc::ESRCH)) };
        match self.kind {
            ThreadKind::Plain | ThreadKind::Timestamping => self.join(thread),
            ThreadKind::Detached => self.wait_detached(),
        }
    }

    fn join(&self, thread: libc::pthread_t) -> Result<(), Errno> {
        let mut result = std::ptr::null_mut::<c_void>();
        // SAFETY: a joinable thread that was not joined yet; one pointer is written.
        check_error(unsafe { libc::pthread_join(thread, &raw mut result) })?;
        // Each body returns its argument: proof that it ran.
        let ran = std::ptr::eq(result, (&raw const *self.shared).cast());
        if ran { Ok(()) } else { Err(Errno(libc::ECANCELED)) }
    }

    /// A detached thread has stored its id, and is gone when no thread has that id. It is polled
    /// between yields, in which it can run; after a sleep the next op would start colder.
    fn wait_detached(&self) -> Result<(), Errno> {
        loop {
            let thread = self.shared.thread.load(Ordering::Acquire);
            if thread != 0 && !is_alive(thread) {
                self.shared.thread.store(0, Ordering::Release);
                return Ok(());
            }
            std::thread::yield_now();
        }
    }

    /// The clock as the last thread first read it; an error if it never ran.
    pub fn start_ticks(&self) -> Result<u64, Errno> {
        match self.shared.start_ticks.swap(0, Ordering::AcqRel) {
            0 => Err(Errno(libc::ECANCELED)),
            ticks => Ok(ticks),
        }
    }
}

impl Drop for ThreadMaker {
    fn drop(&mut self) {
        if self.running.is_some() {
            let _ = self.wait();
        }
        // SAFETY: attributes that were initialised, and are not used again.
        unsafe { libc::pthread_attr_destroy(&raw mut self.attributes) };
    }
}

/// Sets the CPU on which threads of these attributes begin.
#[cfg(target_env = "gnu")]
fn set_cpu(attributes: &mut libc::pthread_attr_t, cpu: u32) -> Result<(), Errno> {
    // SAFETY: all-zero bits are an empty set; a number beyond it is not set. The call copies the
    // set into attributes that were initialised.
    check_error(unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu < libc::CPU_SETSIZE as u32 {
            libc::CPU_SET(cpu as usize, &mut set);
        }
        libc::pthread_attr_setaffinity_np(&raw mut *attributes, size_of_val(&set), &raw const set)
    })
}

/// Sets the CPU on which threads of these attributes begin.
#[cfg(not(target_env = "gnu"))]
fn set_cpu(_attributes: &mut libc::pthread_attr_t, _cpu: u32) -> Result<(), Errno> {
    Err(Errno::unavailable(
        "this worker's C library has no pthread_attr_setaffinity_np(3), so that a thread cannot be \
         created on another CPU"
            .to_owned(),
    ))
}

extern "C" fn no_op(shared: *mut c_void) -> *mut c_void {
    shared
}

extern "C" fn record_start(shared: *mut c_void) -> *mut c_void {
    // SAFETY: the maker keeps it until the thread was waited for, and only shared references to it
    // exist meanwhile.
    let all = unsafe { &*shared.cast::<ThreadState>() };
    all.start_ticks.store(all.watch.stop(), Ordering::Release);
    shared
}

extern "C" fn record_start_and_id(shared: *mut c_void) -> *mut c_void {
    record_start(shared);
    // SAFETY: as above; gettid takes no arguments.
    unsafe {
        let thread = libc::gettid() as u32;
        (*shared.cast::<ThreadState>()).thread.store(thread, Ordering::Release);
    }
    shared
}

/// Whether the process has a thread of that id.
fn is_alive(thread: u32) -> bool {
    // SAFETY: plain numbers; signal 0 only checks existence.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread as libc::pid_t, 0) };
    sent == 0
}

/// Converts the convention of the pthread functions, which return the error.
fn check_error(error: libc::c_int) -> Result<(), Errno> {
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

/// A thread by the raw instruction that ends at once, and its end: clone(2) with the flags of a
/// thread, and futex(2) on the word that the kernel clears when it is gone.
#[inline(always)]
pub fn raw_create_join() -> Result<(), Errno> {
    const FLAGS: i32 = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_PARENT_SETTID
        | libc::CLONE_CHILD_CLEARTID;
    let word = AtomicU32::new(0);
    // SAFETY: this function does not return before the kernel has cleared the word, which is its
    // last access.
    let result = unsafe { arch::clone_and_exit(FLAGS as u64, word.as_ptr()) };
    if result < 0 {
        return Err(Errno(-result as i32));
    }
    loop {
        let thread = word.load(Ordering::Acquire);
        if thread == 0 {
            return Ok(());
        }
        // SAFETY: the word is a local. The kernel wakes the shared futex key, not the private one,
        // and a lost wake-up cannot hang: the word is read again.
        unsafe {
            let wait = [word.as_ptr() as u64, libc::FUTEX_WAIT as u64, u64::from(thread), 0, 0, 0];
            arch::syscall(libc::SYS_futex, wait);
        }
    }
}
