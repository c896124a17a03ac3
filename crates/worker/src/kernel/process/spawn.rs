//! Making processes, starting programs, and waiting for their end.

use std::ffi::{CStr, CString, c_char};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::process::environment::Environment;
use crate::kernel::process::{self, EndedChild, Termination, WaitTarget};
use crate::kernel::time::stopwatch::Stopwatch;
use crate::kernel::{Errno, arch};

/// fork(2) by the raw instruction: clone(2) with no flag but the exit signal. The child reads
/// `watch` and passes that to `child`, which may make system calls and use its copy of memory; its
/// result is the exit status. With the processor's counter the read is the first thing the child
/// does: even a function call would write to the stack, which faults.
#[inline(always)]
pub fn raw_fork(watch: Stopwatch, child: impl FnOnce(u64) -> i32) -> Result<u32, Errno> {
    let args = [libc::SIGCHLD as u64, 0, 0, 0, 0, 0];
    // SAFETY: without CLONE_VM the child has a copy of all memory, and continues after the call as
    // the parent does.
    match unsafe { arch::syscall(libc::SYS_clone, args) } {
        0 => {
            let status = child(watch.stop());
            // SAFETY: ends the child at once, without running the parent's exit handlers.
            unsafe { libc::_exit(status) }
        }
        result if result < 0 => Err(Errno(-result as i32)),
        pid => Ok(pid as u32),
    }
}

/// A process that shares this one's memory and exits at once: clone(2) with CLONE_VM.
#[inline(always)]
pub fn clone_vm() -> Result<u32, Errno> {
    let flags = (libc::CLONE_VM | libc::SIGCHLD) as u64;
    // SAFETY: no flag names a word.
    match unsafe { arch::clone_and_exit(flags, std::ptr::null_mut()) } {
        result if result < 0 => Err(Errno(-result as i32)),
        pid => Ok(pid as u32),
    }
}

/// Yields in a child until a condition holds, but not for ever, since its parent may have been
/// killed. Returns the exit status.
pub fn yield_until(condition: impl Fn() -> bool) -> i32 {
    const TRIES: u32 = 1_000_000;
    for _ in 0..TRIES {
        if condition() {
            return 0;
        }
        // SAFETY: sched_yield takes no arguments.
        unsafe { libc::sched_yield() };
    }
    libc::ETIMEDOUT
}

/// Waits for a child that must exit with status 0, and reaps it. Otherwise an error: the status as
/// an errno, which is what our children exit with, or ECANCELED if it was killed.
#[inline(always)]
pub fn reap(child: u32) -> Result<(), Errno> {
    match process::wait(WaitTarget::Child(child), true)? {
        Some(EndedChild { termination: Termination::Exited(0), .. }) => Ok(()),
        Some(EndedChild { termination: Termination::Exited(status), .. }) => Err(Errno(status)),
        _ => Err(Errno(libc::ECANCELED)),
    }
}

/// Waits for the end of a child and leaves it a zombie.
#[inline(always)]
pub fn wait_without_reaping(child: u32) -> Result<(), Errno> {
    loop {
        // SAFETY: all-zero bits are a valid siginfo, and the call fills it in.
        let waited = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let flags = libc::WEXITED | libc::WNOWAIT;
            Errno::check(libc::waitid(libc::P_PID, child, &raw mut info, flags))
        };
        match waited {
            Err(Errno::EINTR) => {}
            other => return other.map(drop),
        }
    }
}

/// system(3): a shell runs `command` and ends.
pub fn system(command: &CStr) -> Result<(), Errno> {
    // SAFETY: the command is NUL-terminated.
    let status = Errno::check(unsafe { libc::system(command.as_ptr()) })?;
    match status {
        0 => Ok(()),
        // The shell's statuses for "not found" and "not executable".
        _ if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 127 => Err(Errno::ENOENT),
        _ if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 126 => Err(Errno::EACCES),
        _ => Err(Errno(libc::ECANCELED)),
    }
}

/// Whether the working folder is one that the supervisor made and removes. If it could make none, a
/// worker runs in the user's folder, where nothing is written.
pub fn is_in_private_folder() -> bool {
    let Ok(folder) = std::env::current_dir() else { return false };
    let is_session_folder =
        folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"oscost-"));
    is_session_folder && fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o077 == 0)
}

/// A program in the working folder, started with no environment and no arguments but its name.
/// Dropping it removes the file.
pub struct Program {
    path: CString,
    // Points into the heap part of `path`, which stays where it is.
    argv: [*const c_char; 2],
    envp: [*const c_char; 1],
    /// The loader that it names, if that is a file of its own.
    loader: Option<Box<Program>>,
}

impl Program {
    /// Writes `bytes` as a program that can be executed.
    pub fn write(bytes: &[u8]) -> Result<Self, Errno> {
        static WRITTEN: AtomicU32 = AtomicU32::new(0);
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let name = format!("./oscost-program-{}-{number}", std::process::id());
        let path = CString::new(name).map_err(|_| Errno::EINVAL)?;
        let argv = [path.as_ptr(), std::ptr::null()];
        // From here on the file is removed on drop.
        let program = Self { path, argv, envp: [std::ptr::null()], loader: None };
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o700).open(program.file_name())?;
        file.write_all(bytes)?;
        Ok(program)
    }

    /// Writes a loader and the program that names its path.
    pub fn write_with_loader(
        loader: &[u8],
        program: impl FnOnce(&CStr) -> Vec<u8>,
    ) -> Result<Self, Errno> {
        let loader = Self::write(loader)?;
        let mut program = Self::write(&program(loader.path()))?;
        program.loader = Some(Box::new(loader));
        Ok(program)
    }

    /// Its path, relative to the working folder.
    pub fn path(&self) -> &CStr {
        &self.path
    }

    fn file_name(&self) -> PathBuf {
        self.path.to_string_lossy().into_owned().into()
    }

    /// execve(2): returns only on error, with the errno as an exit status.
    #[inline(always)]
    pub fn exec(&self) -> i32 {
        // SAFETY: a NUL-terminated string and two null-terminated arrays.
        unsafe {
            libc::execve(self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr());
        }
        Errno::last().0
    }

    /// Starts it in a child that shares this memory until then, while the parent is suspended:
    /// vfork(2) and execve(2), by the raw instruction. A failure to start shows when the child is
    /// reaped.
    #[inline(always)]
    pub fn vfork_exec(&self) -> Result<u32, Errno> {
        let flags = (libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD) as u64;
        // SAFETY: as in `exec`; the flags name no words and no registers.
        let result = unsafe {
            arch::clone_and_exec(flags, self.path.as_ptr(), self.argv.as_ptr(), self.envp.as_ptr())
        };
        if result < 0 { Err(Errno(-result as i32)) } else { Ok(result as u32) }
    }

    /// The same, with an environment.
    #[inline(always)]
    pub fn vfork_exec_with(&self, environment: &Environment) -> Result<u32, Errno> {
        let flags = (libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD) as u64;
        let (path, argv) = (self.path.as_ptr(), self.argv.as_ptr());
        // SAFETY: as above; the environment is a null-terminated array of strings.
        let result = unsafe { arch::clone_and_exec(flags, path, argv, environment.array()) };
        if result < 0 { Err(Errno(-result as i32)) } else { Ok(result as u32) }
    }

    /// Starts it by posix_spawn(3), without attributes or file actions.
    #[inline(always)]
    pub fn posix_spawn(&self) -> Result<u32, Errno> {
        let mut pid = 0;
        // SAFETY: one number is written, to a local; the strings are as in `exec`, and are not
        // modified, whatever the type says.
        let error = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.path.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                self.argv.as_ptr().cast(),
                self.envp.as_ptr().cast(),
            )
        };
        if error == 0 { Ok(pid as u32) } else { Err(Errno(error)) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Errors cannot be reported from here.
        let _ = fs::remove_file(self.file_name());
        // No other program names its loader.
        drop(self.loader.take());
    }
}

/// Zombies: children that have ended and were not reaped. Dropping them reaps them.
#[derive(Default)]
pub struct Zombies(Vec<u32>);

impl Zombies {
    /// Adds `count` zombies.
    pub fn add(&mut self, count: u64) -> Result<(), Errno> {
        for _ in 0..count {
            let child = process::fork(|| 0)?;
            self.0.push(child);
            wait_without_reaping(child)?;
        }
        Ok(())
    }

    /// Takes one, for the caller to reap; ECHILD if none is left.
    #[inline(always)]
    pub fn take(&mut self) -> Result<u32, Errno> {
        self.0.pop().ok_or(Errno::ECHILD)
    }
}

impl Drop for Zombies {
    fn drop(&mut self) {
        for child in self.0.drain(..) {
            let _ = reap(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::elf::{minimal_loader, program_with_loader, static_program};

    #[test]
    fn a_child_that_is_killed_or_fails_is_an_error() {
        let reaped = |child: Result<u32, Errno>| reap(child.unwrap());
        assert_eq!(reaped(process::fork(|| 0)), Ok(()));
        assert_eq!(reaped(raw_fork(Stopwatch::Syscall, |now| i32::from(now == 0))), Ok(()));
        assert_eq!(reaped(clone_vm()), Ok(()));
        assert_eq!(reaped(process::fork(|| libc::ENOEXEC)), Err(Errno(libc::ENOEXEC)));
        let killed = process::fork(|| {
            process::kill(std::process::id());
            0
        });
        assert_eq!(reaped(killed), Err(Errno(libc::ECANCELED)));
        assert_eq!(reap(u32::MAX >> 1), Err(Errno::ECHILD));
    }

    #[test]
    fn a_program_that_cannot_be_started_is_an_error_however_it_is_started() {
        let program = Program::write(&static_program()).unwrap();
        fs::remove_file(program.file_name()).unwrap();
        let gone = Err(Errno::ENOENT);
        assert_eq!(process::fork(|| program.exec()).and_then(reap), gone);
        assert_eq!(program.vfork_exec().and_then(reap), gone);
        assert_eq!(program.posix_spawn().and_then(reap), gone);
        assert_eq!(system(program.path()), gone);
    }

    #[test]
    fn a_program_is_ended_by_its_loader_and_not_started_without_it() {
        let program = Program::write_with_loader(&minimal_loader(), program_with_loader).unwrap();
        let loader = program.loader.as_ref().unwrap().file_name();
        // While another test forks, a child of it has the file open for writing.
        let start = || loop {
            match program.posix_spawn().and_then(reap) {
                Err(Errno::ETXTBSY) => std::thread::yield_now(),
                other => return other,
            }
        };
        assert_eq!(start(), Ok(()));
        fs::remove_file(&loader).unwrap();
        assert_eq!(start(), Err(Errno::ENOENT));
        let file = program.file_name();
        drop(program);
        assert!(!file.exists());
    }

    #[test]
    fn remaining_zombies_are_reaped_on_drop() {
        let mut zombies = Zombies::default();
        zombies.add(3).unwrap();
        let zombie = zombies.take().unwrap();
        let left = zombies.0.clone();
        drop(zombies);
        assert_eq!(reap(zombie), Ok(()));
        assert_eq!(left.len(), 2);
        for child in left {
            assert_eq!(reap(child), Err(Errno::ECHILD));
        }
    }
}
