//! Making threads, by the C library and by the bare instruction.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::kernel::time::stopwatch::Stopwatch;
use crate::kernel::{Errno, arch};

/// What a thread does, and what becomes of it when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadKind {
    /// It ends at once, and is joined.
    Plain,
    /// It reads the clock first.
    Timestamping,
    /// It reads the clock, and cleans up behind itself when it ends (PTHREAD_CREATE_DETACHED).
    Detached,
}

/// What a thread shares with its maker.
struct Shared {
    watch: Stopwatch,
    start_ticks: AtomicU64,
    thread: AtomicU32,
}

/// Makes threads, one at a time.
pub struct ThreadMaker {
    attributes: libc::pthread_attr_t,
    kind: ThreadKind,
    shared: Box<Shared>,
    running: Option<libc::pthread_t>,
}

impl ThreadMaker {
    /// A maker of such threads; `cpu` is the one that they are to run on, other than the maker's.
    pub fn new(kind: ThreadKind, cpu: Option<u32>, watch: Stopwatch) -> Result<Self, Errno> {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        // SAFETY: the call initialises what it is handed.
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
            // SAFETY: all-zero bits are an empty set; a number beyond it is not set. The call
            // copies the set.
            check_error(unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                if cpu < libc::CPU_SETSIZE as u32 {
                    libc::CPU_SET(cpu as usize, &mut set);
                }
                libc::pthread_attr_setaffinity_np(
                    &raw mut attributes,
                    size_of_val(&set),
                    &raw const set,
                )
            })?;
        }
        let shared =
            Box::new(Shared { watch, start_ticks: AtomicU64::new(0), thread: AtomicU32::new(0) });
        Ok(Self { attributes, kind, shared, running: None })
    }

    /// pthread_create(3). The last thread must have been seen to end.
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
        let shared: *const Shared = &raw const *self.shared;
        let mut thread = MaybeUninit::uninit();
        // SAFETY: the attributes were initialised; what the thread is handed lives in a box that is
        // kept until its end was seen.
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
        // SAFETY: a joinable thread that nobody has joined yet; one pointer is written.
        check_error(unsafe { libc::pthread_join(thread, &raw mut result) })?;
        // Each body hands back what it was handed: proof that it ran.
        let ran = std::ptr::eq(result, (&raw const *self.shared).cast());
        if ran { Ok(()) } else { Err(Errno(libc::ECANCELED)) }
    }

    /// A detached thread has said its number, and is gone when nobody has that number any more. It
    /// is asked for between yields, in which it can run; after a sleep the next op would be colder.
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

    /// The ticks that the last thread's first instruction read; an error where it never ran.
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

extern "C" fn no_op(shared: *mut c_void) -> *mut c_void {
    shared
}

extern "C" fn record_start(shared: *mut c_void) -> *mut c_void {
    // SAFETY: the maker keeps it until the thread's end was seen, and only shared references to it
    // are made meanwhile.
    let all = unsafe { &*shared.cast::<Shared>() };
    all.start_ticks.store(all.watch.stop(), Ordering::Release);
    shared
}

extern "C" fn record_start_and_id(shared: *mut c_void) -> *mut c_void {
    record_start(shared);
    // SAFETY: as above; gettid takes no arguments.
    unsafe {
        let thread = libc::gettid() as u32;
        (*shared.cast::<Shared>()).thread.store(thread, Ordering::Release);
    }
    shared
}

/// Whether the process has a thread of that number.
fn is_alive(thread: u32) -> bool {
    // SAFETY: plain numbers; signal 0 is sent to nobody.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread as libc::pid_t, 0) };
    sent == 0
}

/// The convention of the thread functions: they hand back the error.
fn check_error(error: libc::c_int) -> Result<(), Errno> {
    if error == 0 { Ok(()) } else { Err(Errno(error)) }
}

/// A thread by the bare instruction, which ends at once, and its end: clone(2) with all that makes
/// it a thread of this process, and futex(2) on the word that the kernel clears when it is gone.
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
    // SAFETY: this function does not return before the kernel has cleared the word, which is the
    // last that it does with it.
    let result = unsafe { arch::clone_and_exit(FLAGS as u64, word.as_ptr()) };
    if result < 0 {
        return Err(Errno(-result as i32));
    }
    loop {
        let thread = word.load(Ordering::Acquire);
        if thread == 0 {
            return Ok(());
        }
        // SAFETY: the word is there. The kernel wakes the key that all processes share, not the
        // private one, and nobody waits for ever: the word is read again.
        unsafe {
            let wait = [word.as_ptr() as u64, libc::FUTEX_WAIT as u64, u64::from(thread), 0, 0, 0];
            arch::syscall(libc::SYS_futex, wait);
        }
    }
}
