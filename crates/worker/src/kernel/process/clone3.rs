//! clone3(2) by flag: children that share their parent's memory and exit at once.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::kernel::errno::raw_result;
use crate::kernel::process::spawn::reap;
use crate::kernel::{Errno, arch};

/// Flags of clone3(2) (linux/sched.h). The C library's constants are 32 bits wide, with a sign.
const VM: u64 = 0x100;
const FS: u64 = 0x200;
const FILES: u64 = 0x400;
const SIGHAND: u64 = 0x800;
const PIDFD: u64 = 0x1000;
const VFORK: u64 = 0x4000;
const SYSVSEM: u64 = 0x4_0000;
const PARENT_SETTID: u64 = 0x10_0000;
const CHILD_CLEARTID: u64 = 0x20_0000;
const CHILD_SETTID: u64 = 0x100_0000;
const IO: u64 = 0x8000_0000;
const CLEAR_SIGHAND: u64 = 0x1_0000_0000;

/// What is in a word that the kernel has not written: no process, thread or descriptor.
const UNTOUCHED: i32 = -1;

/// A flag, alone or together with CLONE_VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneFlag {
    /// None: the child has copies of everything.
    None,
    /// CLONE_VM.
    Vm,
    /// CLONE_VM and CLONE_FS.
    Fs,
    /// CLONE_VM and CLONE_FILES.
    Files,
    /// CLONE_VM and CLONE_SIGHAND.
    Sighand,
    /// CLONE_VM and CLONE_CLEAR_SIGHAND.
    ClearSighand,
    /// CLONE_VM and CLONE_VFORK.
    Vfork,
    /// CLONE_VM and CLONE_PIDFD.
    Pidfd,
    /// CLONE_VM and CLONE_PARENT_SETTID.
    ParentSettid,
    /// CLONE_VM and CLONE_CHILD_SETTID.
    ChildSettid,
    /// CLONE_VM and CLONE_CHILD_CLEARTID.
    ChildCleartid,
    /// CLONE_VM and CLONE_SYSVSEM.
    Sysvsem,
    /// CLONE_VM and CLONE_IO.
    Io,
}

impl CloneFlag {
    /// The words of all flags.
    pub const WORDS: &[&str] = &[
        "none",
        "vm",
        "fs",
        "files",
        "sighand",
        "clear-sighand",
        "vfork",
        "pidfd",
        "parent-settid",
        "child-settid",
        "child-cleartid",
        "sysvsem",
        "io",
    ];

    /// The flag that a word of an axis names.
    pub fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "none" => Self::None,
            "vm" => Self::Vm,
            "fs" => Self::Fs,
            "files" => Self::Files,
            "sighand" => Self::Sighand,
            "clear-sighand" => Self::ClearSighand,
            "vfork" => Self::Vfork,
            "pidfd" => Self::Pidfd,
            "parent-settid" => Self::ParentSettid,
            "child-settid" => Self::ChildSettid,
            "child-cleartid" => Self::ChildCleartid,
            "sysvsem" => Self::Sysvsem,
            "io" => Self::Io,
            _ => return None,
        })
    }

    fn bits(self) -> u64 {
        match self {
            CloneFlag::None => 0,
            CloneFlag::Vm => VM,
            CloneFlag::Fs => VM | FS,
            CloneFlag::Files => VM | FILES,
            CloneFlag::Sighand => VM | SIGHAND,
            CloneFlag::ClearSighand => VM | CLEAR_SIGHAND,
            CloneFlag::Vfork => VM | VFORK,
            CloneFlag::Pidfd => VM | PIDFD,
            CloneFlag::ParentSettid => VM | PARENT_SETTID,
            CloneFlag::ChildSettid => VM | CHILD_SETTID,
            CloneFlag::ChildCleartid => VM | CHILD_CLEARTID,
            CloneFlag::Sysvsem => VM | SYSVSEM,
            CloneFlag::Io => VM | IO,
        }
    }
}

/// `struct clone_args`, as of Linux 5.3.
#[repr(C)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_word: u64,
    parent_word: u64,
    exit_signal: u64,
    stack: u64,
    stack_bytes: u64,
    tls: u64,
}

/// The words that the kernel writes: a descriptor, and two thread ids.
struct Words {
    pidfd: AtomicI32,
    child: AtomicI32,
    parent: AtomicI32,
}

/// Children that are made with a flag, and what the kernel writes about them.
pub struct Cloner {
    flag: CloneFlag,
    arguments: CloneArguments,
    // At an address that stays when the value is moved.
    words: Box<Words>,
}

impl Cloner {
    /// A maker of such children.
    pub fn new(flag: CloneFlag) -> Self {
        let word = || AtomicI32::new(UNTOUCHED);
        let words = Box::new(Words { pidfd: word(), child: word(), parent: word() });
        let arguments = CloneArguments {
            flags: flag.bits(),
            pidfd: words.pidfd.as_ptr() as u64,
            child_word: words.child.as_ptr() as u64,
            parent_word: words.parent.as_ptr() as u64,
            exit_signal: libc::SIGCHLD as u64,
            stack: 0,
            stack_bytes: 0,
            tls: 0,
        };
        Self { flag, arguments, words }
    }

    /// clone3(2) of a child that exits at once, and wait4(2) for it; with CLONE_PIDFD also close(2)
    /// of its descriptor. What the kernel has written is checked.
    #[inline(always)]
    pub fn clone_exit_reap(&self) -> Result<(), Errno> {
        let structure = &raw const self.arguments as u64;
        let bytes = size_of::<CloneArguments>() as u64;
        // SAFETY: the words live as long as this value, and the child is gone when this function
        // has reaped it. No flag sets registers; no stack is named.
        let child = raw_result(unsafe { arch::clone3_and_exit(structure, bytes) })?;
        let reaped = reap(child as u32);
        let written = match self.flag {
            CloneFlag::Pidfd => self.close_pidfd(),
            CloneFlag::ParentSettid => check_written(&self.words.parent, child as i32),
            CloneFlag::ChildSettid => check_written(&self.words.child, child as i32),
            CloneFlag::ChildCleartid => check_written(&self.words.child, 0),
            _ => Ok(()),
        };
        reaped.and(written)
    }

    /// close(2) of the descriptor that the kernel has opened.
    #[inline(always)]
    fn close_pidfd(&self) -> Result<(), Errno> {
        let fd = self.words.pidfd.swap(UNTOUCHED, Ordering::Relaxed);
        if fd == UNTOUCHED {
            return Err(Errno::EPROTO);
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        raw_result(unsafe { arch::syscall(libc::SYS_close, [fd as u64, 0, 0, 0, 0, 0]) }).map(drop)
    }
}

/// Checks that the kernel has written this to a word, and resets the word.
#[inline(always)]
fn check_written(word: &AtomicI32, value: i32) -> Result<(), Errno> {
    if word.swap(UNTOUCHED, Ordering::Relaxed) == value { Ok(()) } else { Err(Errno::EPROTO) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::{children, in_own_process};

    #[test]
    fn the_structure_has_the_size_of_its_first_version() {
        assert_eq!(size_of::<CloneArguments>(), 64);
    }

    #[test]
    fn a_child_of_every_flag_exits_and_leaves_its_parent_everything() {
        in_own_process(|| {
            let null = std::fs::File::open("/dev/null").unwrap();
            let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
            let before = descriptors();
            for word in CloneFlag::WORDS {
                let cloner = Cloner::new(CloneFlag::of_word(word).unwrap());
                for _ in 0..3 {
                    match cloner.clone_exit_reap() {
                        Ok(()) => {}
                        Err(error) if error.is_unavailable() || error == Errno::EINVAL => {
                            eprintln!("cannot run here: {word}: {error}");
                        }
                        Err(error) => panic!("{word}: {error}"),
                    }
                }
            }
            assert!(CloneFlag::of_word("settls").is_none());
            assert_eq!(children(), Vec::<u32>::new());
            assert_eq!(descriptors(), before);
            assert!(null.metadata().is_ok(), "a shared table outlives the child");
        });
    }
}
