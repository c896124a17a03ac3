//! Kernel packages that apt offers: listing and downloading them, and deleting downloaded ones.
//!
//! apt's own programs are run: apt chooses the mirror and checks each package against its signed
//! lists. No root is needed, and only the directory of downloaded kernels is changed. A package is
//! downloaded into a subdirectory and moved to its place when it is complete and was checked. Only
//! one process at a time changes the directory: it holds a lock, which the kernel releases when the
//! process ends.

mod fetch_error;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use self::fetch_error::FetchError;
use self::fetch_error::{apt_failed, cannot_write, command_failed, failed};
use super::command::{CommandOutput, RunOptions, run};
use super::debian_package::{PREFIX, check_package, field, is_package_name, kernel_dependency};
use super::error::{ImageError, excerpt};
use super::kernel::read_kernel;
use super::local_kernels::{LocalKernel, LocalKernels, PackageFileName, newest_first, version_of};
use crate::files::lock::{FileLock, LockError};
use crate::files::user_folder::create_private;
use crate::hosts::Interrupt;

/// The time limit of apt-cache: a second if its cache must be built first.
const CACHE_TIMEOUT: Duration = Duration::from_secs(60);
/// The time limit of a download: 130 MB, the largest package, at 600 kbit/s. apt itself gives up on
/// a mirror that does not answer.
const FETCH_TIMEOUT: Duration = Duration::from_secs(1_800);
/// The maximum output of apt's programs: Debian has some 200 kernel packages at a time.
const MAX_OUTPUT_BYTES: usize = 8 << 20;
/// The maximum number of packages from a meta package to the kernel's; Ubuntu has two in between.
const MAX_DEPENDENCY_STEPS: usize = 5;

/// A kernel that was downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedKernel {
    /// The kernel's name after `vm:`.
    pub version: String,
    /// Its package.
    pub package: String,
    /// The package's version.
    pub build: String,
    /// The package's file.
    pub file: PathBuf,
    /// Whether it had been downloaded before.
    pub already_present: bool,
    /// Other builds of the same package, which this one replaced.
    pub replaced: Vec<String>,
    /// Whether the same build was there, and its file was damaged.
    pub was_damaged: bool,
}

/// A kernel package that apt offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailablePackage {
    /// The package.
    pub package: String,
    /// Whether it was downloaded.
    pub is_downloaded: bool,
}

/// A kernel package in apt's lists.
struct ResolvedPackage {
    package: String,
    version: String,
    bytes: Option<u64>,
}

/// A package's file in a directory.
struct PackageFile {
    path: PathBuf,
    build: String,
}

impl LocalKernels {
    /// Downloads the package of a kernel: `name` is a package, its name without `linux-image-`, or
    /// a meta package that depends on the kernel's. Progress is reported every second.
    pub fn fetch(
        &self,
        name: &str,
        interrupt: &Interrupt,
        on_progress: &mut dyn FnMut(&str),
    ) -> Result<FetchedKernel, FetchError> {
        let package = package_name("fetch", name)?;
        let act = format!("fetch {package}");
        let resolved = resolve(&act, package, interrupt)?;
        let act = format!("fetch {}", resolved.package);
        let folder = self.writable_folder(&act)?;
        let version = version_of(&resolved.package).to_owned();
        let _lock = lock_folder(&act, folder)?;
        let mut fetched = FetchedKernel {
            version: version.clone(),
            package: resolved.package.clone(),
            build: resolved.version.clone(),
            file: PathBuf::new(),
            already_present: false,
            replaced: Vec::new(),
            was_damaged: false,
        };
        let earlier = packages_in(folder, &resolved.package);
        // apt escapes colons in file names.
        let build = resolved.version.replace(':', "%3a");
        if let Some(file) = earlier.iter().find(|file| file.build == build) {
            let is_whole = check_package(&file.path).is_ok();
            if is_whole && read_kernel(&version, &file.path, None).is_ok() {
                fetched.file.clone_from(&file.path);
                fetched.already_present = true;
                return Ok(fetched);
            }
            fetched.was_damaged = true;
        }
        let staging = StagingFolder::create(&act, folder)?;
        let mut command = Command::new("apt-get");
        let exact_version = format!("{}={}", resolved.package, resolved.version);
        command.args(["-q", "download", &exact_version]).current_dir(&staging.0);
        let mut tick = || on_progress(&progress(&resolved, &staging.0));
        let options = RunOptions {
            timeout: FETCH_TIMEOUT,
            max_output_bytes: MAX_OUTPUT_BYTES,
            interrupt: Some(interrupt),
            on_tick: Some(&mut tick),
        };
        let output =
            run(&mut command, options).map_err(|error| command_failed(&act, "apt-get", &error))?;
        if !output.status.success() {
            return Err(apt_failed(&act, &output).into());
        }
        let new = packages_in(&staging.0, &resolved.package);
        let Some(PackageFile { path: new, .. }) = new.first() else {
            let why = "apt-get succeeded, but did not write the package";
            return Err(failed(&act, why, "check that `apt-get download` works").into());
        };
        // A package without a kernel is reported now, not at the first boot.
        read_kernel(&version, new, None)?;
        fetched.file = folder.join(new.file_name().unwrap_or_default());
        // It stays root's if root fetched it for another user: that user owns the folder, may put a link
        // in its place meanwhile, and can read and remove it anyway.
        File::open(new)
            .and_then(|package| package.sync_all())
            .and_then(|()| std::fs::rename(new, &fetched.file))
            .map_err(|error| cannot_write(&act, &fetched.file, &error))?;
        // A damaged file of this build has the name of the new one, and is gone.
        for PackageFile { path, build } in earlier.into_iter().filter(|it| it.path != fetched.file)
        {
            std::fs::remove_file(&path).map_err(|error| cannot_write(&act, &path, &error))?;
            fetched.replaced.push(build);
        }
        Ok(fetched)
    }

    /// The kernel packages that apt offers, the newest first: without those of debugging symbols,
    /// and without unsigned packages that are also offered signed.
    pub fn available(&self, interrupt: &Interrupt) -> Result<Vec<AvailablePackage>, FetchError> {
        let names = package_names("list what apt offers", interrupt)?;
        let is_offered_signed = |name: &str| {
            let signed = name.strip_suffix("-unsigned").map(str::to_owned);
            let signed = signed.or_else(|| {
                Some(format!("{PREFIX}{}", name.strip_prefix("linux-image-unsigned-")?))
            });
            signed.is_some_and(|signed| names.contains(&signed))
        };
        let is_kernel = |name: &&String| {
            !["-dbg", "-dbgsym", "-template"].iter().any(|end| name.ends_with(end))
                && !is_offered_signed(name)
        };
        let mut kernels: Vec<AvailablePackage> = names
            .iter()
            .filter(is_kernel)
            .map(|name| {
                let is_whole = |file: &PackageFile| check_package(&file.path).is_ok();
                let downloaded = |folder| packages_in(folder, name).iter().any(is_whole);
                let is_downloaded = self.download_folder().is_some_and(downloaded);
                AvailablePackage { package: name.clone(), is_downloaded }
            })
            .collect();
        kernels.sort_by(|one, other| {
            newest_first(version_of(&one.package), version_of(&other.package))
        });
        Ok(kernels)
    }

    /// Deletes a downloaded kernel, and returns the files that were deleted.
    pub fn remove(&self, name: &str) -> Result<Vec<PathBuf>, FetchError> {
        let package = package_name("remove", name)?;
        let version = version_of(&package);
        let act = format!("remove {}", excerpt(name));
        let (downloaded, installed): (Vec<LocalKernel>, Vec<LocalKernel>) = self
            .list()
            .into_iter()
            .filter(|kernel| kernel.version == version)
            .partition(|kernel| kernel.is_downloaded);
        if downloaded.is_empty() {
            let why = match installed.is_empty() {
                true => "no kernel of that name was downloaded",
                false => "it is installed, and oscost deletes downloaded kernels only",
            };
            return Err(FetchError::Name(failed(&act, why, "`oscost kernels list` lists them")));
        }
        let folder = self.writable_folder(&act)?;
        let _lock = lock_folder(&act, folder)?;
        let mut removed = Vec::new();
        for LocalKernel { file, .. } in downloaded {
            std::fs::remove_file(&file).map_err(|error| cannot_write(&act, &file, &error))?;
            removed.push(file);
        }
        Ok(removed)
    }

    fn writable_folder(&self, act: &str) -> Result<&Path, ImageError> {
        let why = "there is no cache directory: XDG_CACHE_HOME and HOME are not set";
        self.download_folder().ok_or_else(|| failed(act, why, "set one of them to a directory"))
    }
}

/// The package of a kernel that was named by its package or its version.
fn package_name(act: &str, name: &str) -> Result<String, FetchError> {
    let package =
        if name.starts_with(PREFIX) { name.to_owned() } else { format!("{PREFIX}{name}") };
    if is_package_name(name) && is_package_name(&package) {
        return Ok(package);
    }
    let act = format!("{act} `{}`", excerpt(name));
    let why = "it is not a package name: those consist of a to z, 0 to 9, and . + - ~";
    let hint = "an example is `linux-image-cloud-amd64`; `oscost kernels list --available` lists \
                the packages";
    Err(FetchError::Name(failed(&act, why, hint)))
}

/// Resolves a package to the one that contains the kernel, along the dependencies of meta packages.
fn resolve(
    act: &str,
    mut package: String,
    interrupt: &Interrupt,
) -> Result<ResolvedPackage, FetchError> {
    for _ in 0..MAX_DEPENDENCY_STEPS {
        let output = apt_cache(act, &["show", "--no-all-versions", &package], interrupt)?;
        let text = String::from_utf8_lossy(&output.stdout);
        // apt treats an unknown name as a pattern, and shows the packages that match it.
        let stanza = text.split("\n\n").find(|it| field(it, "Package") == Some(&package));
        let Some((stanza, version)) = stanza.and_then(|it| Some((it, field(it, "Version")?)))
        else {
            return Err(package_unknown(act, &output, interrupt));
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+.~:-".contains(&byte);
        if version.is_empty() || version.len() > 128 || !version.bytes().all(is_allowed) {
            let why = format!("apt has an invalid version of it: `{}`", excerpt(version));
            return Err(failed(act, why, "`sudo apt-get update` updates apt's lists").into());
        }
        let Some(next) = field(stanza, "Depends").and_then(kernel_dependency) else {
            let bytes = field(stanza, "Size").and_then(|size| size.parse().ok());
            return Ok(ResolvedPackage { version: version.to_owned(), package, bytes });
        };
        package = next.to_owned();
    }
    let why = format!(
        "after {MAX_DEPENDENCY_STEPS} packages that only depend on another one there is no kernel"
    );
    Err(failed(act, why, "name the package that contains the kernel").into())
}

/// The names of all kernel packages in apt's lists.
fn package_names(act: &str, interrupt: &Interrupt) -> Result<Vec<String>, FetchError> {
    let output = apt_cache(act, &["pkgnames", PREFIX], interrupt)?;
    if !output.status.success() {
        return Err(apt_failed(act, &output).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut names: Vec<String> = text
        .lines()
        .filter(|name| name.starts_with(PREFIX) && is_package_name(name))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn apt_cache(
    act: &str,
    arguments: &[&str],
    interrupt: &Interrupt,
) -> Result<CommandOutput, FetchError> {
    let options = RunOptions {
        timeout: CACHE_TIMEOUT,
        max_output_bytes: MAX_OUTPUT_BYTES,
        interrupt: Some(interrupt),
        on_tick: None,
    };
    run(Command::new("apt-cache").args(arguments), options)
        .map_err(|error| command_failed(act, "apt-cache", &error))
}

/// The files of a package in a directory.
fn packages_in(folder: &Path, package: &str) -> Vec<PackageFile> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let files = names.filter_map(|name| {
        let parsed = PackageFileName::parse(&name).filter(|it| it.package == package)?;
        Some(PackageFile { path: folder.join(&name), build: parsed.build.to_owned() })
    });
    files.collect()
}

/// The progress of a download.
fn progress(package: &ResolvedPackage, folder: &Path) -> String {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |file: std::fs::DirEntry| file.metadata().map_or(0, |metadata| metadata.len());
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let done = megabytes(files.map(bytes).sum());
    match megabytes(package.bytes.unwrap_or(0)) {
        0 => format!("fetching {}: {done} MB", package.package),
        all => format!("fetching {}: {done} of {all} MB", package.package),
    }
}

/// The directory that a package is downloaded into; it is removed on drop. Its name is fixed: under
/// the lock, an existing one is left over from a process that was killed.
struct StagingFolder(PathBuf);

impl StagingFolder {
    fn create(act: &str, folder: &Path) -> Result<Self, ImageError> {
        let staging = folder.join(".new");
        let failed = |error: io::Error| cannot_write(act, &staging, &error);
        match std::fs::remove_dir_all(&staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => DirBuilder::new().mode(0o700).create(&staging).map_err(failed)?,
        }
        Ok(Self(staging))
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        // If this fails, the next download removes it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Locks the directory, so that no other process changes it.
fn lock_folder(act: &str, folder: &Path) -> Result<FileLock, ImageError> {
    let failed_to_lock = |error: io::Error| cannot_write(act, folder, &error);
    create_private(folder).map_err(failed_to_lock)?;
    FileLock::acquire(&folder.join(".lock")).map_err(|error| match error {
        LockError::Held => {
            let why = "another oscost is downloading or deleting a kernel";
            failed(act, why, "wait until it has ended")
        }
        LockError::Io(error) => failed_to_lock(error),
    })
}

/// The error for a package that apt does not have.
fn package_unknown(act: &str, output: &CommandOutput, interrupt: &Interrupt) -> FetchError {
    let (why, hint) = match package_names(act, interrupt) {
        Err(FetchError::Interrupted) => return FetchError::Interrupted,
        Ok(names) if names.is_empty() => {
            ("apt's lists contain no kernels".to_owned(), "`sudo apt-get update` updates them")
        }
        _ if output.status.code().is_none() => {
            (format!("apt-cache ended with {}", output.status), "try again")
        }
        _ => (
            "apt has no package of that name".to_owned(),
            "`oscost kernels list --available` lists the packages; `sudo apt-get update` updates \
             apt's lists",
        ),
    };
    failed(act, why, hint).into()
}
