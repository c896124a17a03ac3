//! The kernels on this machine: installed ones, and downloaded ones.

use std::cmp::Ordering;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::debian_package::{PREFIX, PackageError, check_package, unreadable_package};
use super::error::{ImageError, excerpt, unreadable_file, unusable_kernel};
use super::header::{Header, KERNEL_HINT, SETUP_BYTES};
use super::kernel::{Kernel, read_kernel};
use crate::files::user_folder::cache_folder;

/// The maximum number of kernels that an error lists.
const MAX_LISTED: usize = 5;

/// The places where kernels are looked up.
#[derive(Clone, Debug)]
pub struct LocalKernels {
    /// The root directory of the system with the installed kernels.
    pub(super) root: PathBuf,
    /// The directory of downloaded packages; `None` if the user has no cache directory.
    pub(super) folder: Option<PathBuf>,
}

/// A kernel on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalKernel {
    /// Its version, by which it is named.
    pub version: String,
    /// Whether it was downloaded; otherwise it is installed.
    pub is_downloaded: bool,
    /// The build of the version: for Debian, the package's version.
    pub build: Option<String>,
    /// The image, or the package.
    pub file: PathBuf,
    /// The size of the file.
    pub bytes: u64,
    /// Why it cannot be used, and what to do about it.
    pub flaw: Option<ImageError>,
}

/// A file name of a downloaded package: `PACKAGE_BUILD_ARCHITECTURE.deb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackageFileName<'a> {
    /// The package.
    pub(super) package: &'a str,
    /// The package's version.
    pub(super) build: &'a str,
}

impl<'a> PackageFileName<'a> {
    /// Parses the name of a kernel package's file.
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let mut parts = name.strip_suffix(".deb")?.split('_');
        let (package, build) = (parts.next()?, parts.next()?);
        (parts.next().is_some() && package.starts_with(PREFIX)).then_some(Self { package, build })
    }
}

impl Kernel {
    /// Finds and reads a kernel: `requested` is a file, the release of an installed or downloaded
    /// kernel, or the beginning of one.
    pub fn find(requested: &str) -> Result<Kernel, ImageError> {
        if std::env::consts::ARCH != "x86_64" {
            let why = format!(
                "this oscost is built for {} and boots x86_64 kernels only",
                std::env::consts::ARCH
            );
            return Err(unusable_kernel(requested, why, "run it on an x86_64 machine"));
        }
        LocalKernels::of_this_machine().kernel(requested)
    }
}

impl LocalKernels {
    /// This machine's.
    pub fn of_this_machine() -> Self {
        Self { root: PathBuf::from("/"), folder: cache_folder().map(|cache| cache.join("kernels")) }
    }

    /// The directory of downloaded packages; `None` if the user has no cache directory.
    pub fn download_folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// All kernels, the newest first; a kernel that is installed and downloaded is listed twice.
    pub fn list(&self) -> Vec<LocalKernel> {
        let mut kernels = self.installed();
        kernels.extend(self.downloaded());
        kernels.sort_by(|one, other| {
            newest_first(&one.version, &other.version)
                .then(one.is_downloaded.cmp(&other.is_downloaded))
        });
        kernels
    }

    /// Finds and reads a kernel; see [`Kernel::find`].
    pub(super) fn kernel(&self, requested: &str) -> Result<Kernel, ImageError> {
        if requested.is_empty() {
            return Err(unusable_kernel(requested, "the name is empty", KERNEL_HINT));
        }
        let path = Path::new(requested);
        if requested.contains('/') || requested.ends_with(".deb") || path.is_file() {
            return read_kernel(requested, path, None);
        }
        let version = version_of(requested);
        let kernels = self.list();
        let exact = kernels.iter().filter(|kernel| kernel.version == version);
        // A usable one is preferred to one that cannot be read.
        if let Some(kernel) = exact.min_by_key(|kernel| kernel.flaw.is_some()) {
            return kernel.load(requested, None);
        }
        let matching: Vec<&LocalKernel> =
            kernels.iter().filter(|kernel| begins_with(&kernel.version, version)).collect();
        let Some(&first) = matching.first() else {
            return Err(unknown_kernel(requested, &kernels));
        };
        let best = matching.iter().copied().find(|kernel| kernel.flaw.is_none()).unwrap_or(first);
        let mut versions: Vec<&str> = matching.iter().map(|it| it.version.as_str()).collect();
        versions.dedup();
        let choice = match versions.len() {
            1 => "the only match".to_owned(),
            all => format!("the newest usable one of {all} matches"),
        };
        let note = format!("vm:{} is {}, {choice}", excerpt(requested), best.version);
        best.load(requested, Some(note))
    }

    /// The installed kernels: in /boot, and next to their modules.
    fn installed(&self) -> Vec<LocalKernel> {
        let mut kernels: Vec<LocalKernel> = Vec::new();
        for name in names_in(&self.root.join("boot")) {
            let Some(version) = name.strip_prefix("vmlinuz-") else { continue };
            let file = self.root.join("boot").join(&name);
            kernels.extend(LocalKernel::installed(version, file));
        }
        for folder in ["usr/lib/modules", "lib/modules"] {
            for version in names_in(&self.root.join(folder)) {
                let file = self.root.join(folder).join(&version).join("vmlinuz");
                // Many systems have the same image in both places; one usable copy is enough.
                let listed = kernels.iter_mut().find(|kernel| kernel.version == version);
                match (listed, LocalKernel::installed(&version, file)) {
                    (Some(listed), Some(kernel)) if listed.flaw.is_some() => *listed = kernel,
                    (Some(_), _) | (None, None) => {}
                    (None, Some(kernel)) => kernels.push(kernel),
                }
            }
        }
        kernels
    }

    /// The kernels in downloaded packages.
    fn downloaded(&self) -> Vec<LocalKernel> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let kernel = |name: String| {
            let PackageFileName { package, build } = PackageFileName::parse(&name)?;
            let version = version_of(package).to_owned();
            let file = folder.join(&name);
            let metadata = std::fs::symlink_metadata(&file).ok().filter(|it| it.is_file())?;
            let flaw = match check_package(&file) {
                Ok(()) => None,
                Err(PackageError::Unreadable(error)) => {
                    Some(unreadable_file(&version, &file, &error))
                }
                Err(error) => Some(unreadable_package(&version, &error)),
            };
            let build = Some(build.to_owned());
            Some(LocalKernel {
                version,
                is_downloaded: true,
                build,
                file,
                bytes: metadata.len(),
                flaw,
            })
        };
        names_in(folder).into_iter().filter_map(kernel).collect()
    }
}

impl LocalKernel {
    /// An installed kernel, with the build from its header; `None` if there is no such file.
    fn installed(version: &str, file: PathBuf) -> Option<LocalKernel> {
        let metadata = std::fs::metadata(&file).ok().filter(|it| it.is_file())?;
        let bytes = metadata.len();
        let mut setup = Vec::new();
        let read = File::open(&file).and_then(|it| it.take(SETUP_BYTES).read_to_end(&mut setup));
        let header = match read {
            Err(error) => Err(unreadable_file(version, &file, &error)),
            Ok(_) => Header::read(&setup)
                .and_then(|header| header.check_size(bytes).map(|()| header))
                .map_err(|flaw| unusable_kernel(version, flaw.why, flaw.hint)),
        };
        let (build, flaw) = match header {
            Ok(header) => (header.build, None),
            Err(flaw) => (None, Some(flaw)),
        };
        let version = version.to_owned();
        Some(LocalKernel { version, is_downloaded: false, build, file, bytes, flaw })
    }

    /// Reads it.
    fn load(&self, requested: &str, note: Option<String>) -> Result<Kernel, ImageError> {
        match &self.flaw {
            // The error names what the user typed, which may be the beginning of the version.
            Some(flaw) => Err(unusable_kernel(requested, flaw.why.clone(), flaw.hint.clone())),
            None => read_kernel(requested, &self.file, note),
        }
    }
}

fn unknown_kernel(requested: &str, kernels: &[LocalKernel]) -> ImageError {
    let mut versions: Vec<&str> = kernels.iter().map(|it| it.version.as_str()).collect();
    versions.dedup();
    let why = match versions.len() {
        0 => "no kernel is installed or downloaded on this machine".to_owned(),
        all if all <= MAX_LISTED => {
            format!("no kernel on this machine matches; there is {}", versions.join(", "))
        }
        all => format!("none of the {all} kernels on this machine matches"),
    };
    let hint = "`oscost kernels list` lists the kernels on this machine, `oscost kernels fetch` \
                downloads more; a file has a `/` in its path";
    unusable_kernel(requested, why, hint)
}

/// The names in a directory that can follow `vm:`; none if it cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+.~-_%".contains(&byte);
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let can_be_typed = |name: &String| {
        name.len() <= 255 && !name.starts_with(['.', '-']) && name.bytes().all(is_allowed)
    };
    names.filter(can_be_typed).collect()
}

/// The kernel version in a package name; any other text is returned as it is.
pub(super) fn version_of(name: &str) -> &str {
    let version = name.strip_prefix(PREFIX).unwrap_or(name);
    let version = version.strip_prefix("unsigned-").unwrap_or(version);
    version.strip_suffix("-unsigned").unwrap_or(version)
}

/// Whether a version begins with whole parts of another one: 6.1.0-56 with 6.1, but not 6.12.
fn begins_with(version: &str, beginning: &str) -> bool {
    let rest = version.strip_prefix(beginning);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Orders versions: the higher numbers first, then those that are built for virtual machines, which
/// boot fastest, then ordinary kernels before special ones.
pub(super) fn newest_first(one: &str, other: &str) -> Ordering {
    let by_kind = |version: &str| (!version.contains("-cloud"), version.len());
    let (one_numbers, other_numbers) = (numbers(one), numbers(other));
    other_numbers
        .cmp(&one_numbers)
        .then_with(|| by_kind(one).cmp(&by_kind(other)))
        .then_with(|| one.cmp(other))
}

/// The numbers at the beginning of a version: of `6.12.117+deb12-cloud-amd64` 6, 12, 117.
fn numbers(version: &str) -> Vec<u64> {
    let end = version.find(|c: char| c != '.' && c != '-' && !c.is_ascii_digit());
    let parts = version[..end.unwrap_or(version.len())].split(['.', '-']);
    parts.map_while(|part| part.parse().ok()).collect()
}
