//! Namespaces: processes and threads that make them, entering them, and the maps of a user
//! namespace (namespaces(7), user_namespaces(7)).

use std::fs::{self, File};
use std::os::fd::{AsRawFd, RawFd};

use rustix::process::{getegid, geteuid};

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// A set of kinds of namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespaces(i32);

impl Namespaces {
    /// Host and domain name.
    pub const UTS: Namespaces = Namespaces(libc::CLONE_NEWUTS);
    /// System V objects and POSIX message queues.
    pub const IPC: Namespaces = Namespaces(libc::CLONE_NEWIPC);
    /// Network devices, addresses, ports.
    pub const NET: Namespaces = Namespaces(libc::CLONE_NEWNET);
    /// Mounts.
    pub const MOUNT: Namespaces = Namespaces(libc::CLONE_NEWNS);
    /// Process ids.
    pub const PID: Namespaces = Namespaces(libc::CLONE_NEWPID);
    /// User and group ids, and capabilities.
    pub const USER: Namespaces = Namespaces(libc::CLONE_NEWUSER);
    /// The root of control groups.
    pub const CGROUP: Namespaces = Namespaces(libc::CLONE_NEWCGROUP);
    /// The offsets of two clocks, for children. clone(2) has no bit for it: unshare(2) alone.
    pub const TIME: Namespaces = Namespaces(libc::CLONE_NEWTIME);
    /// What a container usually has of its own, without a user namespace.
    pub const CONTAINER: Namespaces = Self::UTS
        .with(Self::IPC)
        .with(Self::NET)
        .with(Self::MOUNT)
        .with(Self::PID)
        .with(Self::CGROUP);

    /// The kind that a word of an axis names.
    pub fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "uts" => Self::UTS,
            "ipc" => Self::IPC,
            "net" => Self::NET,
            "mount" => Self::MOUNT,
            "pid" => Self::PID,
            "user" => Self::USER,
            "cgroup" => Self::CGROUP,
            "time" => Self::TIME,
            _ => return None,
        })
    }

    /// Both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A process in new namespaces that shares this one's memory and exits at once: clone(2) with
/// CLONE_VM.
#[inline(always)]
pub fn clone_vm(namespaces: Namespaces) -> Result<u32, Errno> {
    let flags = (libc::CLONE_VM | libc::SIGCHLD | namespaces.0) as u64;
    // SAFETY: no flag names a word: those of namespaces alone can be added.
    match unsafe { arch::clone_and_exit(flags, std::ptr::null_mut()) } {
        result if result < 0 => Err(Errno(-result as i32)),
        pid => Ok(pid as u32),
    }
}

/// unshare(2): the calling process, which must have one thread, leaves these namespaces for new
/// ones. There is no way back: a child calls this.
#[inline(always)]
pub fn unshare(namespaces: Namespaces) -> Result<(), Errno> {
    // SAFETY: a plain number; memory and descriptors stay as they are.
    raw_result(unsafe { arch::syscall(libc::SYS_unshare, [namespaces.0 as u64, 0, 0, 0, 0, 0]) })
        .map(drop)
}

/// A namespace by its descriptor.
pub struct NamespaceFile {
    file: File,
    kind: Namespaces,
}

impl NamespaceFile {
    /// That of this process.
    pub fn own(kind: Namespaces) -> Result<Self, Errno> {
        let path = match kind {
            Namespaces::UTS => "/proc/self/ns/uts",
            Namespaces::IPC => "/proc/self/ns/ipc",
            Namespaces::NET => "/proc/self/ns/net",
            Namespaces::MOUNT => "/proc/self/ns/mnt",
            Namespaces::PID => "/proc/self/ns/pid",
            Namespaces::CGROUP => "/proc/self/ns/cgroup",
            // A process enters its new one when it executes a program, or by setns(2).
            Namespaces::TIME => "/proc/self/ns/time_for_children",
            _ => return Err(Errno::EINVAL),
        };
        Ok(Self { file: File::open(path)?, kind })
    }

    /// setns(2): the calling process, which must have one thread, enters it.
    #[inline(always)]
    pub fn enter(&self) -> Result<(), Errno> {
        let args = [self.file.as_raw_fd() as u64, self.kind.0 as u64, 0, 0, 0, 0];
        // SAFETY: plain numbers; memory and descriptors stay as they are.
        raw_result(unsafe { arch::syscall(libc::SYS_setns, args) }).map(drop)
    }
}

impl AsRawFd for NamespaceFile {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// Whose privileges a process has in the namespaces that it has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Those that it had: CAP_SYS_ADMIN.
    Own,
    /// All of them, within a new user namespace.
    InUserNamespace,
}

/// Moves the calling process into new namespaces: with its own privileges if they suffice,
/// otherwise in a new user namespace, in which its ids are mapped to themselves, so that it can
/// make files. There is no way back: a child calls this.
pub fn enter_new(namespaces: Namespaces) -> Result<Privilege, Errno> {
    match unshare(namespaces) {
        Ok(()) => Ok(Privilege::Own),
        Err(Errno::EPERM) => {
            let maps = MapTexts::of_own_ids();
            unshare(namespaces.with(Namespaces::USER))?;
            MapFiles::open()?.write(&maps)?;
            Ok(Privilege::InUserNamespace)
        }
        Err(error) => Err(error),
    }
}

/// Moves the calling process into new namespaces, in which it has every capability: those of a new
/// user namespace without maps, or, where that is refused, those that it has. There is no way back:
/// a child calls this.
pub fn enter_new_unmapped(namespaces: Namespaces) -> Result<(), Errno> {
    unshare(namespaces.with(Namespaces::USER)).or_else(|_| unshare(namespaces))
}

/// The lines of the maps of a new user namespace.
pub struct MapTexts {
    user: String,
    group: String,
}

impl MapTexts {
    /// The process's ids, each mapped to itself: what an ordinary user may map. They must be read
    /// before the process enters the namespace, in which they have no number yet.
    pub fn of_own_ids() -> Self {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Self { user: format!("{user} {user} 1"), group: format!("{group} {group} 1") }
    }
}

/// The files by which a process maps the ids of its user namespace, open for writing. Each can be
/// written once.
pub struct MapFiles {
    user: File,
    groups: File,
    group: File,
}

impl MapFiles {
    /// Opens those of the calling process's namespace.
    pub fn open() -> Result<Self, Errno> {
        let open = |name: &str| fs::OpenOptions::new().write(true).open(name);
        Ok(Self {
            user: open("/proc/self/uid_map")?,
            groups: open("/proc/self/setgroups")?,
            group: open("/proc/self/gid_map")?,
        })
    }

    /// Writes them, three write(2): the user's map, `deny` for setgroups(2), without which no
    /// ordinary user may map a group, and the group's map.
    #[inline(always)]
    pub fn write(&self, texts: &MapTexts) -> Result<(), Errno> {
        write_once(&self.user, texts.user.as_bytes())?;
        write_once(&self.groups, b"deny")?;
        write_once(&self.group, texts.group.as_bytes())
    }

    /// The same system call as [`Self::write`] makes, of no bytes, which maps nothing: afterwards
    /// the code and the stack that it needs are in memory.
    pub fn write_nothing(&self) {
        // It may fail: a map must have a line.
        let _ = write_once(&self.groups, b"");
    }
}

/// write(2) of a whole text.
#[inline(always)]
fn write_once(file: &File, text: &[u8]) -> Result<(), Errno> {
    let args = [file.as_raw_fd() as u64, text.as_ptr() as u64, text.len() as u64, 0, 0, 0];
    // SAFETY: the kernel reads as many bytes as the text has.
    let written = raw_result(unsafe { arch::syscall(libc::SYS_write, args) })?;
    if written == text.len() as i64 { Ok(()) } else { Err(Errno::EPROTO) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::spawn::reap;
    use crate::kernel::process::{fork, in_own_process};

    fn link(name: &str) -> String {
        fs::read_link(format!("/proc/self/ns/{name}")).unwrap().display().to_string()
    }

    #[test]
    fn a_child_in_new_namespaces_leaves_its_parent_in_the_old_ones() {
        in_own_process(|| {
            let names = ["uts", "ipc", "net", "mnt", "user"];
            let before = names.map(link);
            match clone_vm(Namespaces::CONTAINER.with(Namespaces::USER)).and_then(reap) {
                Ok(()) => {}
                Err(error) => eprintln!("cannot run here: {error}"),
            }
            assert_eq!(names.map(link), before);
        });
    }

    #[test]
    fn a_child_enters_namespaces_of_its_own_and_may_enter_them_again() {
        in_own_process(|| {
            let before = link("uts");
            let child = fork(|| {
                match enter_new(Namespaces::UTS) {
                    Ok(_) => {}
                    Err(error) => {
                        eprintln!("cannot run here: {error}");
                        return 0;
                    }
                }
                let inside = link("uts");
                let again = NamespaceFile::own(Namespaces::UTS).and_then(|own| own.enter());
                i32::from(inside == before || again.is_err() || link("uts") != inside)
            });
            assert_eq!(child.and_then(reap), Ok(()));
            assert_eq!(link("uts"), before);
        });
    }

    #[test]
    fn the_maps_of_a_user_namespace_are_written_once() {
        in_own_process(|| {
            let child = fork(|| {
                let texts = MapTexts::of_own_ids();
                if let Err(error) = unshare(Namespaces::USER) {
                    eprintln!("cannot run here: {error}");
                    return 0;
                }
                let Ok(files) = MapFiles::open() else { return 1 };
                files.write_nothing();
                match files.write(&texts) {
                    // Root without CAP_SETFCAP.
                    Err(error) if error.is_unavailable() => {
                        eprintln!("cannot run here: {error}");
                        0
                    }
                    done => {
                        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
                        let fields = map.split_whitespace().count();
                        i32::from(done.is_err() || fields != 3 || files.write(&texts).is_ok())
                    }
                }
            });
            assert_eq!(child.and_then(reap), Ok(()));
        });
    }
}
