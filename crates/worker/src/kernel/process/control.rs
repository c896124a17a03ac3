//! Processes: groups, ends, orphans.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::kernel::Errno;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Termination {
    /// What wait(2) says; `None` of a process that was only stopped.
    pub(in crate::kernel) fn from_status(status: i32) -> Option<Termination> {
        if libc::WIFEXITED(status) {
            Some(Termination::Exited(libc::WEXITSTATUS(status)))
        } else {
            libc::WIFSIGNALED(status).then(|| Termination::Killed(libc::WTERMSIG(status)))
        }
    }
}

/// Orphans below the calling process become its children, so that it can end and reap them.
pub fn become_subreaper() -> Result<(), Errno> {
    // SAFETY: plain numbers.
    Errno::check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// The calling process is killed when its parent ends. `parent` is who that was: if it has ended
/// already, the answer is an error, and there is nobody left to measure for. 0 is whoever it is.
pub fn die_with_parent(parent: u32) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    Errno::check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })?;
    // SAFETY: getppid takes no arguments.
    if parent == 0 || unsafe { libc::getppid() } as u32 == parent {
        Ok(())
    } else {
        Err(Errno(libc::ESRCH))
    }
}

/// The calling process no longer dies with its parent: it has something to undo first.
pub fn outlive_parent() {
    // SAFETY: plain numbers; it cannot fail.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0, 0, 0, 0) };
}

/// The calling process leaves its session and its group: what is sent to them does not reach it.
pub fn start_session() {
    // SAFETY: setsid takes no arguments; it fails for the leader of a group alone, which a new
    // process is not.
    unsafe { libc::setsid() };
}

/// The calling process's timers fire when they should, and not up to 50 us later to be put together
/// with others (its slack). It cannot fail.
pub fn minimise_timer_slack() {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Who started this process, as its command line says: `job PID`. What getppid(2) says may be
/// somebody else already. It is 0 where a wrapper stands between, and nobody's where none is
/// named.
pub fn parent_argument() -> u32 {
    std::env::args().nth(2).and_then(|pid| pid.parse().ok()).unwrap_or(u32::MAX)
}

/// The user on whose behalf this process makes files.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid takes no arguments.
    unsafe { libc::geteuid() }
}

/// The group of a process; `None` when it is gone.
pub fn process_group(pid: u32) -> Option<u32> {
    // SAFETY: plain numbers.
    Errno::check(unsafe { libc::getpgid(pid as i32) }).ok().map(|group| group as u32)
}

/// Kills every process of a group; that there is none left is no error.
pub fn kill_group(group: u32) {
    // SAFETY: plain numbers; 0 and 1 would be our own group and everybody's.
    if group > 1 {
        unsafe { libc::kill(-(group as i32), libc::SIGKILL) };
    }
}

/// Kills one process; that it has ended already is no error.
pub fn kill(pid: u32) {
    if pid > 1 {
        // SAFETY: plain numbers.
        unsafe { libc::kill(pid as i32, libc::SIGKILL) };
    }
}

/// Whose end to wait for.
#[derive(Clone, Copy, Debug)]
pub enum WaitTarget {
    /// This child's.
    Child(u32),
    /// Any child's of this group.
    Group(u32),
    /// Any child's.
    Any,
}

/// What wait(2) calls them.
pub(in crate::kernel) fn waitpid_argument(whose: WaitTarget) -> i32 {
    match whose {
        WaitTarget::Child(pid) => pid as i32,
        WaitTarget::Group(group) => -(group as i32),
        WaitTarget::Any => -1,
    }
}

/// Waits for an end. With `patient = false` it answers `Ok(None)` when nobody has ended yet.
pub fn wait(whose: WaitTarget, patient: bool) -> Result<Option<(u32, Termination)>, Errno> {
    let target = waitpid_argument(whose);
    let flags = if patient { 0 } else { libc::WNOHANG };
    loop {
        let mut status = 0;
        // SAFETY: one integer is written, which is there.
        match Errno::check(unsafe { libc::waitpid(target, &raw mut status, flags) }) {
            Ok(0) => return Ok(None),
            Ok(pid) => {
                if let Some(how) = Termination::from_status(status) {
                    return Ok(Some((pid as u32, how)));
                }
            }
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The children that the calling process has now, zombies too.
pub fn children() -> Vec<u32> {
    let me = std::process::id();
    std::fs::read_to_string(format!("/proc/{me}/task/{me}/children"))
        .map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
        .unwrap_or_default()
}

/// Sets a variable of this process, and of all that it starts, which must have one thread.
pub fn set_environment_variable(name: &str, value: &OsStr) -> Result<(), Errno> {
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    if !is_name || value.as_bytes().contains(&0) {
        return Err(Errno::EINVAL);
    }
    // SAFETY: nobody else reads or writes the environment: there is one thread.
    unsafe { std::env::set_var(name, value) };
    Ok(())
}

/// fork(2), for twins: the child runs `child` and never returns from here.
pub fn fork(child: impl FnOnce() -> i32) -> Result<u32, Errno> {
    // SAFETY: the calling process has one thread, so the child's copy of it is whole.
    match Errno::check(unsafe { libc::fork() })? {
        0 => {
            let status = child();
            // SAFETY: ends the child at once; the parent's exit handlers are not the child's to run.
            unsafe { libc::_exit(status) }
        }
        pid => Ok(pid as u32),
    }
}

/// Sleeps until a signal ends the process; a child's whole life, for one that only has to be there.
pub fn pause_forever() -> ! {
    loop {
        // SAFETY: pause takes no arguments.
        unsafe { libc::pause() };
    }
}

/// Runs a test's `body` in a process of its own, as a worker is one: what it does to the process (its
/// timer, its signals, its rights) meets no other test, and a signal finds no other thread. What the
/// tests at its side have open is closed there: it would take their sockets for its own, and they
/// would wait for the end of a stream that it still holds.
#[cfg(test)]
pub(crate) fn in_own_process(body: impl FnOnce()) {
    use std::io::Write;
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
    // The C library makes its own memory whole after a fork, whatever other threads were at.
    let child = fork(|| {
        // What a test prints is caught in a memory that is lost with the child.
        set_hook(Box::new(|panic| drop(writeln!(std::io::stderr(), "{panic}"))));
        // SAFETY: plain numbers; whoever these belong to runs in the other process alone.
        unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
        i32::from(catch_unwind(AssertUnwindSafe(body)).is_err())
    });
    let child = child.unwrap_or_else(|error| panic!("cannot fork: {error}"));
    match wait(WaitTarget::Child(child), true) {
        Ok(Some((_, Termination::Exited(0)))) => {}
        other => panic!("the process of its own ended so: {other:?}"),
    }
}

/// How the kernel lets a process speculate past stores and over indirect branches, in the words of
/// its status: a seccomp filter may have changed that (Linux before 5.16 always did). `None` where
/// no word of it is there.
pub fn speculation_status(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let words = status.lines().filter(|line| line.starts_with("Speculation"));
    let words: Vec<&str> = words.filter_map(|line| Some(line.split_once(':')?.1.trim())).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// This program's own file, to exec it afresh. Where /proc is not mounted, what it was started as.
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
        // SAFETY: the library hands back a string that lives for ever.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    #[cfg(not(target_env = "gnu"))]
    "unknown".to_owned()
}

/// The bits of the core file limit: no worker leaves a core behind.
pub fn disable_core_files() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads one rlimit, which is there. Lowering a limit cannot fail.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
}
