//! Mounts in a mount namespace of a process's own, which ends with the process, and its mounts with
//! it.

use std::env;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountPropagationFlags, mount_change};

use crate::kernel::errno::raw_result;
use crate::kernel::process::namespace::{Namespaces, Privilege, enter_new};
use crate::kernel::{Errno, arch};

/// The folders that [`PrivateFolders::enter`] makes: relative to the working folder, so that the
/// length of the path before them changes no figure.
const FOLDERS: [&str; 6] = ["target", "source", "lower", "upper", "work", OLD_ROOT];
/// The folder in which the former root is while the process has another one.
const OLD_ROOT: &str = "old-root";

/// Folders on a tmpfs that only the calling process sees, which is its working folder.
pub struct PrivateFolders {
    privilege: Privilege,
    /// Where the tmpfs is mounted, without symbolic links.
    mounted_at: PathBuf,
}

impl PrivateFolders {
    /// Moves the calling process to a mount namespace of its own, with a tmpfs over the folder of
    /// temporary files, makes folders in it, and goes there. There is no way back: a child calls
    /// this.
    pub fn enter() -> Result<Self, Errno> {
        let privilege = enter_new(Namespaces::MOUNT)?;
        // Until then a mount would appear in the namespace that was left, too.
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        // The second exists wherever programs run; nothing that is hidden there is needed.
        let folders = [env::temp_dir(), PathBuf::from("/dev")];
        let folder = folders.into_iter().find(|one| one.is_dir()).ok_or(Errno::ENOENT)?;
        let mounted_at = fs::canonicalize(folder)?;
        Mount::tmpfs(text_of(mounted_at.as_os_str())?).mount()?;
        env::set_current_dir(&mounted_at)?;
        FOLDERS.iter().try_for_each(fs::create_dir)?;
        Ok(Self { privilege, mounted_at })
    }

    /// Whether the process has its privileges in a user namespace alone.
    pub fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// The tmpfs as a root folder. The process is then in a folder of it, and has to stay there: the
    /// kernel moves the working folder of each process that is at the former root to the new one.
    pub fn as_root(&self) -> Result<NewRoot, Errno> {
        env::set_current_dir(FOLDERS[0])?;
        let old = Path::new("..").join(OLD_ROOT).into_os_string();
        let mut place = old.clone();
        // An absolute path: it begins with a slash.
        place.push(&self.mounted_at);
        Ok(NewRoot { old: text_of(&old)?, place: text_of(&place)? })
    }

    /// Adds `count` mounts, each of `source` at a folder of its own.
    pub fn add_mounts(&self, count: u64) -> Result<(), Errno> {
        for number in 0..count {
            let name = format!("mount-{number}");
            fs::create_dir(&name)?;
            let target = CString::new(name).map_err(|_| Errno::EINVAL)?;
            Mount { target, ..Mount::bind() }.mount()?;
        }
        Ok(())
    }
}

/// A text for the kernel.
fn text_of(text: &OsStr) -> Result<CString, Errno> {
    CString::new(text.as_bytes()).map_err(|_| Errno::EINVAL)
}

/// A root folder that a process changes to, and back, by pivot_root(2).
pub struct NewRoot {
    /// Where the old root is meanwhile, relative to the working folder.
    old: CString,
    /// The folder at which the new root was mounted before, by its path below the old one.
    place: CString,
}

impl NewRoot {
    /// pivot_root(2) that makes the folder above the working folder the root, and puts the former
    /// root into a folder of it; and pivot_root(2) that undoes both. The namespace is then as it was.
    #[inline(always)]
    pub fn pivot_and_return(&self) -> Result<(), Errno> {
        pivot_root(c"..", &self.old)?;
        pivot_root(&self.old, &self.place)
    }
}

/// pivot_root(2).
#[inline(always)]
fn pivot_root(new: &CStr, put_old: &CStr) -> Result<(), Errno> {
    let args = [new.as_ptr() as u64, put_old.as_ptr() as u64, 0, 0, 0, 0];
    // SAFETY: both paths are NUL-terminated.
    raw_result(unsafe { arch::syscall(libc::SYS_pivot_root, args) }).map(drop)
}

/// chroot(2) of the calling process to the root that it has.
#[inline(always)]
pub fn chroot_to_root() -> Result<(), Errno> {
    // SAFETY: the path is NUL-terminated.
    let done = unsafe { arch::syscall(libc::SYS_chroot, [c"/".as_ptr() as u64, 0, 0, 0, 0, 0]) };
    raw_result(done).map(drop)
}

/// Something to mount: the arguments of mount(2).
pub struct Mount {
    source: CString,
    target: CString,
    kind: CString,
    flags: u64,
    data: Option<CString>,
}

impl Mount {
    /// The path of the folder on which most are mounted.
    pub(in crate::kernel) const TARGET: &str = FOLDERS[0];

    fn tmpfs(target: CString) -> Self {
        let tmpfs = || CString::from(c"tmpfs");
        Self { source: tmpfs(), target, kind: tmpfs(), flags: 0, data: None }
    }

    /// A new tmpfs at `target`.
    pub fn new_tmpfs() -> Self {
        Self::tmpfs(c"target".into())
    }

    /// The folder `source` at `target` as well (MS_BIND).
    pub fn bind() -> Self {
        let (source, target) = (c"source".into(), c"target".into());
        Self { source, target, kind: c"none".into(), flags: libc::MS_BIND, data: None }
    }

    /// An overlay of two folders that cannot be written, at `target`.
    pub fn overlay_of_two() -> Self {
        Self::overlay(c"lowerdir=lower:source")
    }

    /// An overlay of a folder that can be written over one that cannot, at `target`.
    pub fn overlay_with_upper() -> Self {
        Self::overlay(c"lowerdir=lower,upperdir=upper,workdir=work")
    }

    /// The same for a process with these privileges. In a user namespace the overlay keeps its
    /// state in extended attributes that ordinary users may write (Linux 5.11).
    pub(in crate::kernel) fn overlay_with_upper_for(privilege: Privilege) -> Self {
        match privilege {
            Privilege::Own => Self::overlay_with_upper(),
            Privilege::InUserNamespace => {
                Self::overlay(c"lowerdir=lower,upperdir=upper,workdir=work,userxattr")
            }
        }
    }

    /// The file system of this kind on a block device, at `target`.
    pub(in crate::kernel) fn of_device(device: &Path, kind: &CStr) -> Result<Self, Errno> {
        let source = CString::new(device.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        Ok(Self { source, target: c"target".into(), kind: kind.into(), flags, data: None })
    }

    fn overlay(data: &CStr) -> Self {
        let overlay = || CString::from(c"overlay");
        let (source, kind, data) = (overlay(), overlay(), Some(CString::from(data)));
        Self { source, target: c"target".into(), kind, flags: 0, data }
    }

    /// mount(2).
    #[inline(always)]
    pub(in crate::kernel) fn mount(&self) -> Result<(), Errno> {
        let data = self.data.as_ref().map_or(0, |data| data.as_ptr() as u64);
        let text = |text: &CString| text.as_ptr() as u64;
        let args = [text(&self.source), text(&self.target), text(&self.kind), self.flags, data, 0];
        // SAFETY: every text is NUL-terminated. Of the last one the kernel copies what follows it
        // as well, as far as it can be read.
        raw_result(unsafe { arch::syscall(libc::SYS_mount, args) }).map(drop)
    }

    /// mount(2) and umount2(2).
    #[inline(always)]
    pub fn mount_and_unmount(&self) -> Result<(), Errno> {
        self.mount()?;
        let args = [self.target.as_ptr() as u64, 0, 0, 0, 0, 0];
        // SAFETY: the path is NUL-terminated.
        raw_result(unsafe { arch::syscall(libc::SYS_umount2, args) }).map(drop)
    }
}

/// Opens the list of mounts, /proc/self/mountinfo, reads all of it into `room`, piece by piece, and
/// closes it; returns its length.
#[inline(always)]
pub fn read_mountinfo(room: &mut [u8]) -> Result<u64, Errno> {
    let path = c"/proc/self/mountinfo".as_ptr() as u64;
    let args = [libc::AT_FDCWD as i64 as u64, path, libc::O_RDONLY as u64, 0, 0, 0];
    // SAFETY: the path is NUL-terminated.
    let fd = raw_result(unsafe { arch::syscall(libc::SYS_openat, args) })? as u64;
    let mut bytes = 0;
    let read = loop {
        let args = [fd, room.as_mut_ptr() as u64, room.len() as u64, 0, 0, 0];
        // SAFETY: the kernel writes at most as many bytes as the room has.
        match raw_result(unsafe { arch::syscall(libc::SYS_read, args) }) {
            Ok(0) => break Ok(bytes),
            Ok(count) => bytes += count as u64,
            Err(error) => break Err(error),
        }
    };
    // SAFETY: nothing else owns the descriptor.
    raw_result(unsafe { arch::syscall(libc::SYS_close, [fd, 0, 0, 0, 0, 0]) })?;
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::spawn::reap;
    use crate::kernel::process::{fork, in_own_process};

    fn mounts() -> usize {
        fs::read_to_string("/proc/self/mountinfo").unwrap_or_default().lines().count()
    }

    /// Mounts each kind and adds two mounts; returns how many the namespace then has more.
    fn mount_all() -> Result<usize, Errno> {
        let folders = PrivateFolders::enter()?;
        let before = mounts();
        for mount in [Mount::new_tmpfs(), Mount::bind()] {
            mount.mount_and_unmount()?;
        }
        folders.add_mounts(2)?;
        Ok(mounts() - before)
    }

    #[test]
    fn mounts_of_a_child_are_its_own_and_end_with_it() {
        in_own_process(|| {
            let before = mounts();
            let child = fork(|| match mount_all() {
                Ok(more) => i32::from(more != 2),
                Err(error) if error.is_unavailable() || error == Errno::ENOSPC => {
                    eprintln!("cannot run here: {error}");
                    0
                }
                Err(error) => error.0,
            });
            assert_eq!(child.and_then(reap), Ok(()));
            assert_eq!(mounts(), before);
        });
    }

    /// Changes the root to a tmpfs and back, twice; whether the list of mounts is then as before.
    fn change_root() -> Result<bool, Errno> {
        let list = || fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let root = PrivateFolders::enter()?.as_root()?;
        // The order of the list may change.
        let sorted = || {
            let list = list();
            let mut lines: Vec<_> = list.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let before = sorted();
        root.pivot_and_return()?;
        root.pivot_and_return()?;
        Ok(before == sorted() && !before.is_empty())
    }

    #[test]
    fn the_root_of_a_child_is_changed_and_restored() {
        in_own_process(|| {
            let child = fork(|| match change_root() {
                Ok(is_restored) => i32::from(!is_restored),
                // The initial file system in memory is no root that can be changed.
                Err(error) if error.is_unavailable() || error == Errno::EINVAL => {
                    eprintln!("cannot run here: {error}");
                    0
                }
                Err(error) => error.0,
            });
            assert_eq!(child.and_then(reap), Ok(()));
        });
    }

    #[test]
    fn all_of_the_list_of_mounts_is_read() {
        let mut room = vec![0; 4_096];
        let bytes = read_mountinfo(&mut room).unwrap();
        // Another program may mount something meanwhile.
        let agrees = || {
            let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
            text.len() as u64 == read_mountinfo(&mut [0; 4_096]).unwrap_or(0)
        };
        assert!(bytes > 0 && (0..100).any(|_| agrees()));
    }
}
