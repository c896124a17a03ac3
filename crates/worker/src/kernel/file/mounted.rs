//! Folders of file systems that are mounted for one benchmark, where no other process sees them.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::kernel::Errno;
use crate::kernel::file::entries::Folder;
use crate::kernel::file::loop_device::LoopDevice;
use crate::kernel::file::mount::{Mount, PrivateFolders};
use crate::kernel::ipc::descriptor_passing;
use crate::kernel::machine::resources;
use crate::kernel::net::socket::{self, SocketKind};
use crate::kernel::process::{self, spawn};

/// The size of an image: xfs needs 300 MiB, btrfs 114. It takes memory where it was written.
const IMAGE_BYTES: u64 = 512 << 20;

/// Where programs of the system are. The worker has no PATH.
const PROGRAM_FOLDERS: &[&str] =
    &["/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/local/sbin", "/run/current-system/sw/bin"];

/// A file system that can be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// An empty folder of a tmpfs that can be written over one that cannot.
    Overlay,
    /// In an image, as the next.
    Ext4,
    /// In an image.
    Xfs,
    /// In an image.
    Btrfs,
}

/// What makes a file system in an image.
struct Format {
    /// The kernel's name of the file system.
    kind: &'static CStr,
    program: &'static str,
    package: &'static str,
    options: &'static [&'static str],
}

const EXT4: Format = Format {
    kind: c"ext4",
    program: "mkfs.ext4",
    package: "e2fsprogs",
    // Otherwise a kernel thread writes the tables of inodes during the measurement.
    options: &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
};
const XFS: Format =
    Format { kind: c"xfs", program: "mkfs.xfs", package: "xfsprogs", options: &["-q", "-f"] };
const BTRFS: Format = Format {
    kind: c"btrfs",
    program: "mkfs.btrfs",
    package: "btrfs-progs",
    options: &["-q", "-f"],
};

impl FileSystem {
    /// Makes the file system and mounts it; its root folder. Mount and image end with the folder's
    /// last descriptor.
    #[inline(never)]
    pub fn folder(self) -> Result<Folder, Errno> {
        let root = match self {
            FileSystem::Overlay => overlay(),
            FileSystem::Ext4 => in_image(&EXT4),
            FileSystem::Xfs => in_image(&XFS),
            FileSystem::Btrfs => in_image(&BTRFS),
        };
        root.map(Folder::of_mount)
    }
}

/// The root folder of a new overlay.
fn overlay() -> Result<File, Errno> {
    let root = root_of(|folders| Ok(Mount::overlay_with_upper_for(folders.privilege())));
    root.map_err(|error| {
        Errno::unavailable(format!(
            "an overlay that can be written cannot be mounted here: {error}; it takes \
             CAP_SYS_ADMIN, or Linux 5.11 and user namespaces for ordinary users (sysctls \
             user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), a kernel \
             with overlayfs, and a filter of system calls that allows mount(2)"
        ))
    })
}

/// The root folder of a new file system in an image in memory.
fn in_image(format: &Format) -> Result<File, Errno> {
    if let Some(left) = resources::available_bytes().filter(|&left| left < IMAGE_BYTES) {
        return Err(Errno::unavailable(format!(
            "{} MiB of memory are available, and the image of a file system may fill {}",
            left >> 20,
            IMAGE_BYTES >> 20
        )));
    }
    let program = program_of(format)?;
    let device = LoopDevice::in_memory(IMAGE_BYTES)?;
    make(&program, format.options, device.path())?;
    root_of(|_| Mount::of_device(device.path(), format.kind)).map_err(|error| {
        Errno::unavailable(format!(
            "{} cannot be mounted here: {error}; it takes CAP_SYS_ADMIN, a kernel with this file \
             system, and a filter of system calls that allows mount(2)",
            format.kind.to_string_lossy()
        ))
    })
}

/// The path of the program that makes the file system.
fn program_of(format: &Format) -> Result<PathBuf, Errno> {
    let mut paths = PROGRAM_FOLDERS.iter().map(|folder| Path::new(folder).join(format.program));
    paths.find(|path| path.is_file()).ok_or_else(|| {
        Errno::unavailable(format!(
            "{} is not installed here (package {})",
            format.program, format.package
        ))
    })
}

/// Makes a file system on a device by a program.
fn make(program: &Path, options: &[&str], device: &Path) -> Result<(), Errno> {
    /// Of what the program says of an error.
    const MAX_BYTES: u64 = 4_096;
    const MAX_CHARS: usize = 200;
    let failed = |why: String| Errno::unavailable(format!("{}: {why}", program.display()));
    let mut command = Command::new(program);
    command.args(options).arg(device);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let parent = std::process::id();
    let end_with_parent = move || {
        process::die_with_parent(parent).map_err(|error| io::Error::from_raw_os_error(error.0))
    };
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(end_with_parent) };
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let mut said = Vec::new();
    let read = match child.stderr.take() {
        // It is closed then: a program that says more ends.
        Some(errors) => errors.take(MAX_BYTES).read_to_end(&mut said),
        None => Ok(0),
    };
    let status = child.wait()?;
    read?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gives no reason");
    let line: String = line.chars().filter(|letter| !letter.is_control()).take(MAX_CHARS).collect();
    Err(failed(format!("{line} ({status})")))
}

/// Mounts something in a child, in a mount namespace of the child's own, and receives the root
/// folder of the mount. The namespace ends with the child at once; the mount has no path then, and
/// stays for as long as the folder is open.
fn root_of(mount: impl FnOnce(&PrivateFolders) -> Result<Mount, Errno>) -> Result<File, Errno> {
    let (ours, theirs) = socket::pair(SocketKind::Stream)?;
    let parent = std::process::id();
    let child = process::fork(|| {
        let sent = process::die_with_parent(parent).and_then(|()| {
            let folders = PrivateFolders::enter()?;
            // A change of credentials may have cleared it.
            process::die_with_parent(parent)?;
            mount(&folders)?.mount()?;
            let root = File::open(Mount::TARGET)?;
            descriptor_passing::send(&theirs, &root)
        });
        sent.map_or_else(|error| error.0, |()| 0)
    })?;
    // Otherwise a child that sends nothing would be waited for without end.
    drop(theirs);
    let received = descriptor_passing::receive(&ours);
    spawn::reap(child)?;
    received
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::kernel::file::entries::close;
    use crate::kernel::file::location::file_system_type;
    use crate::kernel::process::in_own_process;

    fn mounts() -> usize {
        fs::read_to_string("/proc/self/mountinfo").unwrap_or_default().lines().count()
    }

    #[test]
    fn a_mounted_folder_is_of_its_file_system_and_shows_in_no_list_of_mounts() {
        in_own_process(|| {
            let before = mounts();
            for (system, number) in [
                (FileSystem::Overlay, 0x794c_7630),
                (FileSystem::Ext4, 0xef53),
                (FileSystem::Xfs, 0x5846_5342),
                (FileSystem::Btrfs, 0x9123_683e),
            ] {
                let folder = match system.folder() {
                    Ok(folder) => folder,
                    Err(error) => {
                        assert_eq!(error, Errno::UNAVAILABLE, "{system:?}");
                        eprintln!("cannot run here: {system:?}: {error}");
                        continue;
                    }
                };
                assert_eq!(file_system_type(folder.file()), Ok(number), "{system:?}");
                let entry = folder.entry(c"made");
                assert_eq!(entry.create().and_then(close), Ok(()), "{system:?}");
                assert_eq!(entry.unlink(), Ok(()), "{system:?}");
            }
            assert_eq!(mounts(), before);
            assert_eq!(process::children(), Vec::<u32>::new());
        });
    }

    #[test]
    fn a_program_that_fails_gives_its_reason_and_a_missing_one_its_package() {
        in_own_process(|| {
            let missing = Format { program: "mkfs.no-such", ..EXT4 };
            let error = program_of(&missing).unwrap_err();
            assert!(error.to_string().contains("e2fsprogs"), "{error}");
            let error = make(Path::new("/no/such/program"), &[], Path::new("/")).unwrap_err();
            assert!(error.to_string().starts_with("/no/such/program: "), "{error}");
            let ls = Format { program: "ls", ..EXT4 };
            let Ok(ls) = program_of(&ls) else { return eprintln!("not tested: there is no ls") };
            let error = make(&ls, &[], Path::new("/no/such/device")).unwrap_err();
            assert_eq!(error, Errno::UNAVAILABLE);
            assert!(error.to_string().contains("/no/such/device"), "{error}");
            assert_eq!(process::children(), Vec::<u32>::new());
        });
    }
}
