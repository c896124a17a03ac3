//! Processes: making, waiting for and ending them; groups, sessions, orphans.

use std::ffi::OsStr;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::process::{self, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions};

use crate::kernel::Errno;

/// How a child terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
}

impl Termination {
    /// Decodes a wait(2) status; `None` if the process was only stopped.
    pub(in crate::kernel) fn from_status(status: i32) -> Option<Termination> {
        if libc::WIFEXITED(status) {
            Some(Termination::Exited(libc::WEXITSTATUS(status)))
        } else {
            libc::WIFSIGNALED(status).then(|| Termination::Killed(libc::WTERMSIG(status)))
        }
    }
}

/// Orphaned descendants become children of the calling process, so that it can kill and reap them.
pub fn become_subreaper() -> Result<(), Errno> {
    // The value of the id is irrelevant: any enables it.
    Ok(process::set_child_subreaper(Some(process::getpid()))?)
}

/// The calling process is killed when its parent ends. Fails if `parent` has ended already; 0
/// accepts any parent.
pub fn die_with_parent(parent: u32) -> Result<(), Errno> {
    process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if parent == 0 || std::os::unix::process::parent_id() == parent {
        Ok(())
    } else {
        Err(Errno::ESRCH)
    }
}

/// The calling process no longer dies with its parent: it has to undo something first.
pub fn outlive_parent() {
    // Clearing the signal cannot fail.
    let _ = process::set_parent_process_death_signal(None);
}

/// The calling process's timers fire on time, not up to 50 us later to be coalesced (timer slack).
pub fn minimise_timer_slack() {
    // It cannot fail.
    let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
}

/// The parent that the command line names: `job PID`. getppid(2) may already return another one. 0
/// if a wrapper is in between; no valid pid if none is named.
pub fn parent_argument() -> u32 {
    std::env::args().nth(2).and_then(|pid| pid.parse().ok()).unwrap_or(u32::MAX)
}

/// The group of a process; `None` if it has ended, if its group's leader is in another process
/// namespace, or for an id that no job has (0, 1).
pub fn process_group(pid: u32) -> Option<u32> {
    let pid = other_process(pid)?.as_raw_pid();
    // SAFETY: plain numbers.
    let group = Errno::check(unsafe { libc::getpgid(pid) }).ok()?;
    u32::try_from(group).ok().filter(|&group| group != 0)
}

/// Kills every process of a group; an empty group is no error.
pub fn kill_group(group: u32) {
    if let Some(group) = other_process(group) {
        let _ = process::kill_process_group(group, Signal::KILL);
    }
}

/// Kills one process; one that has already ended is no error.
pub fn kill(pid: u32) {
    if let Some(pid) = other_process(pid) {
        let _ = process::kill_process(pid, Signal::KILL);
    }
}

/// Kills a child that was not reaped yet, and reaps it.
pub fn kill_and_reap(child: u32) {
    kill(child);
    // It is our child and ends now: nothing is left to report.
    let _ = wait(WaitTarget::Child(child), true);
}

/// pidfd_open(2): readable when the process, which was not reaped yet, has ended.
pub fn open_pidfd(pid: u32) -> Result<OwnedFd, Errno> {
    let pid = other_process(pid).ok_or(Errno::ESRCH)?;
    Ok(process::pidfd_open(pid, PidfdFlags::empty())?)
}

/// A process or group other than the first one; 0 and 1 would mean the caller's own group and every
/// process.
fn other_process(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|&pid| pid > 1).and_then(Pid::from_raw)
}

/// Which child to wait for.
#[derive(Clone, Copy, Debug)]
pub enum WaitTarget {
    /// This child.
    Child(u32),
    /// Any child in this group.
    Group(u32),
    /// Any child.
    Any,
}

/// The argument of waitpid(2).
pub(in crate::kernel) fn waitpid_argument(target: WaitTarget) -> i32 {
    match target {
        WaitTarget::Child(pid) => pid as i32,
        WaitTarget::Group(group) => -(group as i32),
        WaitTarget::Any => -1,
    }
}

/// A child that has terminated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndedChild {
    /// Its process ID: which one, of several that were waited for.
    pub pid: u32,
    /// How it ended.
    pub termination: Termination,
}

/// Waits for a termination. With `patient = false` it returns `Ok(None)` if no child has terminated
/// yet. By the C library: some ops wait for their child inside the clock.
pub fn wait(target: WaitTarget, patient: bool) -> Result<Option<EndedChild>, Errno> {
    let target = waitpid_argument(target);
    let flags = if patient { 0 } else { libc::WNOHANG };
    loop {
        let mut status = 0;
        // SAFETY: one integer is written, to a local.
        match Errno::check(unsafe { libc::waitpid(target, &raw mut status, flags) }) {
            Ok(0) => return Ok(None),
            Ok(pid) => {
                if let Some(termination) = Termination::from_status(status) {
                    return Ok(Some(EndedChild { pid: pid as u32, termination }));
                }
            }
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The current children of the calling process, zombies included. In a namespace of processes whose
/// /proc is that of another one (`unshare --pid`) they are unknown: its numbers stand for other
/// processes here.
pub fn children() -> Vec<u32> {
    let me = std::process::id();
    let list = std::fs::read_to_string(format!("/proc/{me}/task/{me}/children"));
    let numbers = list.unwrap_or_default();
    let numbers = numbers.split_whitespace().filter_map(|pid| pid.parse().ok());
    numbers.filter(|&pid| is_child(pid)).collect()
}

/// Whether a process is a child of the calling one, running or a zombie.
fn is_child(pid: u32) -> bool {
    // Children of every kind, without waiting and without reaping.
    let any = WaitIdOptions::from_bits_retain(libc::__WALL as u32);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT | any;
    other_process(pid).is_some_and(|pid| process::waitid(WaitId::Pid(pid), options).is_ok())
}

/// Sets an environment variable of this process and its descendants. The process must have one
/// thread.
pub fn set_environment_variable(name: &str, value: &OsStr) -> Result<(), Errno> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    if !is_name || value.as_bytes().contains(&0) {
        return Err(Errno::EINVAL);
    }
    // SAFETY: no other thread reads or writes the environment: there is only one.
    unsafe { std::env::set_var(name, value) };
    Ok(())
}

/// fork(2), for twins: the child runs `child` and never returns from here.
pub fn fork(child: impl FnOnce() -> i32) -> Result<u32, Errno> {
    // SAFETY: the calling process has one thread, so the child's copy is consistent.
    match Errno::check(unsafe { libc::fork() })? {
        0 => {
            let status = child();
            // SAFETY: ends the child at once, without running the parent's exit handlers.
            unsafe { libc::_exit(status) }
        }
        pid => Ok(pid as u32),
    }
}

/// Sleeps until a signal ends the process: for children that only hold something.
pub fn pause_forever() -> ! {
    loop {
        rustix::event::pause();
    }
}

/// Runs a test's `body` in its own process, like a worker: what it changes in the process (timer,
/// signals, capabilities) affects no other test, and a signal finds no other thread. Descriptors of
/// concurrent tests are closed there: it could take their sockets for its own, and they would wait
/// for the end of a stream that it holds open.
#[cfg(test)]
pub(crate) fn in_own_process(body: impl FnOnce()) {
    use std::io::Write;
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
    use std::time::{Duration, Instant};
    /// A child that takes longer hangs: it may wait for a lock that another thread of its parent's
    /// held when it was forked.
    const PATIENCE: Duration = Duration::from_secs(120);
    // The C library makes its allocator consistent after a fork, whatever other threads were doing.
    let child = fork(|| {
        // Captured test output would be lost with the child.
        set_hook(Box::new(|panic| drop(writeln!(std::io::stderr(), "{panic}"))));
        // SAFETY: plain numbers; the owners of these descriptors run only in the other process.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
        i32::from(catch_unwind(AssertUnwindSafe(body)).is_err())
    });
    let child = child.unwrap_or_else(|error| panic!("cannot fork: {error}"));
    let begun = Instant::now();
    loop {
        match wait(WaitTarget::Child(child), false) {
            Ok(Some(EndedChild { termination: Termination::Exited(0), .. })) => return,
            Ok(None) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(None) => {
                kill(child);
                let ended = wait(WaitTarget::Child(child), true);
                panic!("the child process hangs, and was killed: {ended:?}");
            }
            other => panic!("the child process ended with {other:?}"),
        }
    }
}

/// The kernel's speculation controls of a process, as its status file prints them: a seccomp filter
/// may have changed them (before Linux 5.16 it always did). `None` if the file has no such line.
pub fn speculation_status(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let words = status.lines().filter(|line| line.starts_with("Speculation"));
    let words: Vec<&str> = words.filter_map(|line| Some(line.split_once(':')?.1.trim())).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// This program's own file, to re-execute it. Without /proc, the name it was started by.
pub fn own_executable() -> std::path::PathBuf {
    let by_kernel = std::path::Path::new("/proc/self/exe");
    match by_kernel.exists() {
        true => by_kernel.to_owned(),
        false => std::env::args_os().next().unwrap_or_default().into(),
    }
}

/// The version of the C library.
pub fn libc_version() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the library returns a static string.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    // musl has no function that tells its version.
    #[cfg(not(target_env = "gnu"))]
    if cfg!(target_env = "musl") { "musl".to_owned() } else { "unknown".to_owned() }
}

/// Sets the core file limit to 0: no worker leaves a core file.
pub fn disable_core_files() {
    // Lowering a limit cannot fail.
    let _ = process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_children_are_children_also_when_they_have_ended() {
        in_own_process(|| {
            let child = fork(|| 0).unwrap();
            // Not reaped: it stays one.
            while std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap().contains(") R") {
                std::thread::yield_now();
            }
            assert!(is_child(child));
            assert_eq!(children(), [child]);
            let others = [0, 1, std::process::id(), std::os::unix::process::parent_id()];
            assert!(!others.into_iter().any(is_child));
            wait(WaitTarget::Child(child), true).unwrap();
            assert!(!is_child(child));
        });
    }
}
