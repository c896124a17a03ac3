//! The kernels that are here: those that are installed, and those that were downloaded.

use std::cmp::Ordering;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::header::{Header, SETUP_BYTES};
use super::package::PREFIX;
use super::{ImageError, Kernel, excerpt, read_kernel, unreadable_file, unusable_kernel};

/// How many kernels of a name's beginning are named in an error.
const MAX_LISTED: usize = 5;

/// Where kernels lie.
#[derive(Clone, Debug)]
pub struct LocalKernels {
    /// The root of the system whose kernels are installed.
    pub(super) root: PathBuf,
    /// The folder of downloaded packages, where the user has one.
    pub(super) folder: Option<PathBuf>,
}

/// A kernel that is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalKernel {
    /// Its version, which is its name.
    pub version: String,
    /// Whether it was downloaded; else it is installed.
    pub is_downloaded: bool,
    /// Which build of the version: of Debian the package's own version.
    pub build: Option<String>,
    /// The image, or the package.
    pub file: PathBuf,
    /// The file's bytes.
    pub bytes: u64,
    /// Why it cannot be used, and what to do about it.
    pub flaw: Option<ImageError>,
}

impl LocalKernels {
    /// This machine's.
    pub fn of_this_machine() -> Self {
        Self { root: PathBuf::from("/"), folder: folder() }
    }

    /// The folder of downloaded packages; `None` where the user has no folder for caches.
    pub fn download_folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// All kernels that are here, the newest first; of one that is installed and downloaded, both.
    pub fn list(&self) -> Vec<LocalKernel> {
        let mut offers = self.installed_kernel();
        offers.extend(self.downloaded());
        offers.sort_by(|one, other| {
            newest_first(&one.version, &other.version)
                .then(one.is_downloaded.cmp(&other.is_downloaded))
        });
        offers
    }

    /// Finds and reads the kernel of that name; see [`Kernel::find`].
    pub(super) fn kernel(&self, named: &str) -> Result<Kernel, ImageError> {
        if named.is_empty() {
            return Err(unusable_kernel(named, "the name is empty", super::header::KERNEL_HINT));
        }
        let path = Path::new(named);
        if named.contains('/') || named.ends_with(".deb") || path.is_file() {
            return read_kernel(named, path, None);
        }
        let version = version_of(named);
        let offers = self.list();
        let exact = offers.iter().filter(|offer| offer.version == version);
        // One that can be read goes before one that cannot.
        if let Some(offer) = exact.min_by_key(|offer| offer.flaw.is_some()) {
            return self.load(named, offer, None);
        }
        let matching: Vec<&LocalKernel> =
            offers.iter().filter(|offer| begins_with(&offer.version, version)).collect();
        let Some(&first) = matching.first() else {
            return Err(self.unknown_kernel(named, &offers));
        };
        let best = matching.iter().copied().find(|offer| offer.flaw.is_none()).unwrap_or(first);
        let mut versions: Vec<&str> = matching.iter().map(|it| it.version.as_str()).collect();
        versions.dedup();
        let of = match versions.len() {
            1 => "the only one of that name here".to_owned(),
            all => format!("the newest of {all} of that name here that can be read"),
        };
        let note = format!("vm:{} is {}, {of}", excerpt(named), best.version);
        self.load(named, best, Some(note))
    }

    fn load(
        &self,
        named: &str,
        offer: &LocalKernel,
        note: Option<String>,
    ) -> Result<Kernel, ImageError> {
        match &offer.flaw {
            // Said of what was typed, which may be the beginning of its name.
            Some(flaw) => Err(unusable_kernel(named, flaw.why.clone(), flaw.hint.clone())),
            None => read_kernel(named, &offer.file, note),
        }
    }

    fn unknown_kernel(&self, named: &str, offers: &[LocalKernel]) -> ImageError {
        let mut versions: Vec<&str> = offers.iter().map(|it| it.version.as_str()).collect();
        versions.dedup();
        let why = match versions.len() {
            0 => "no kernel is installed or downloaded here".to_owned(),
            all if all <= MAX_LISTED => {
                format!("none of that name is here; there is {}", versions.join(", "))
            }
            all => format!("none of that name is among the {all} that are here"),
        };
        let hint = "`oscost kernels list` lists those that are here, `oscost kernels fetch` gets more; \
                    a file has a `/` in its path";
        unusable_kernel(named, why, hint)
    }

    /// The kernels that are installed: in /boot, and with their modules.
    fn installed_kernel(&self) -> Vec<LocalKernel> {
        let mut offers: Vec<LocalKernel> = Vec::new();
        for name in names_in(&self.root.join("boot")) {
            let Some(version) = name.strip_prefix("vmlinuz-") else { continue };
            let file = self.root.join("boot").join(&name);
            offers.extend(installed(version, file));
        }
        for folder in ["usr/lib/modules", "lib/modules"] {
            for version in names_in(&self.root.join(folder)) {
                let file = self.root.join(folder).join(&version).join("vmlinuz");
                // Many systems have the same image in both places; one that can be read is enough.
                let known = offers.iter_mut().find(|offer| offer.version == version);
                match (known, installed(&version, file)) {
                    (Some(known), Some(offer)) if known.flaw.is_some() => *known = offer,
                    (Some(_), _) | (None, None) => {}
                    (None, Some(offer)) => offers.push(offer),
                }
            }
        }
        offers
    }

    /// The kernels in packages that were downloaded.
    fn downloaded(&self) -> Vec<LocalKernel> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let offer = |name: String| {
            let (package, build) = package_of(&name)?;
            let version = version_of(package).to_owned();
            let file = folder.join(&name);
            let about = std::fs::symlink_metadata(&file).ok().filter(|about| about.is_file())?;
            let flaw =
                File::open(&file).err().map(|error| unreadable_file(&version, &file, &error));
            let build = Some(build.to_owned());
            Some(LocalKernel {
                version,
                is_downloaded: true,
                build,
                file,
                bytes: about.len(),
                flaw,
            })
        };
        names_in(folder).into_iter().filter_map(offer).collect()
    }
}

/// The folder of downloaded kernels: the XDG specification calls a relative path invalid.
fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from)?;
        Some(path).filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("oscost/kernels"))
}

/// An installed kernel, with what its header says; `None` where there is no such file.
fn installed(version: &str, file: PathBuf) -> Option<LocalKernel> {
    let about = std::fs::metadata(&file).ok().filter(|about| about.is_file())?;
    let mut setup = Vec::new();
    let read = File::open(&file).and_then(|it| it.take(SETUP_BYTES).read_to_end(&mut setup));
    let header = match read {
        Err(error) => Err(unreadable_file(version, &file, &error)),
        Ok(_) => Header::read(&setup)
            .and_then(|header| header.is_whole(about.len()).map(|()| header))
            .map_err(|flaw| unusable_kernel(version, flaw.why, flaw.hint)),
    };
    let (build, flaw) = match header {
        Ok(header) => (header.build, None),
        Err(flaw) => (None, Some(flaw)),
    };
    let version = version.to_owned();
    Some(LocalKernel { version, is_downloaded: false, build, file, bytes: about.len(), flaw })
}

/// The names in a folder that can be typed behind `vm:`; none where it cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let may_be = |byte: u8| byte.is_ascii_alphanumeric() || b"+.~-_%".contains(&byte);
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let plain = |name: &String| {
        name.len() <= 255 && !name.starts_with(['.', '-']) && name.bytes().all(may_be)
    };
    names.filter(plain).collect()
}

/// The package and its version, of a file as apt names it: `PACKAGE_VERSION_ARCHITECTURE.deb`.
pub(super) fn package_of(file: &str) -> Option<(&str, &str)> {
    let mut parts = file.strip_suffix(".deb")?.split('_');
    let (package, build) = (parts.next()?, parts.next()?);
    (parts.next().is_some() && package.starts_with(PREFIX)).then_some((package, build))
}

/// The version of a kernel in the name of its package, or what was typed instead of that.
pub(super) fn version_of(name: &str) -> &str {
    let version = name.strip_prefix(PREFIX).unwrap_or(name);
    let version = version.strip_prefix("unsigned-").unwrap_or(version);
    version.strip_suffix("-unsigned").unwrap_or(version)
}

/// Whether a version is one that `beginning` means: 6.1 begins 6.1.0-56, and not 6.12.
fn begins_with(version: &str, beginning: &str) -> bool {
    let rest = version.strip_prefix(beginning);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

/// The order of versions: by their numbers, then those that are built for virtual machines, which
/// start in the least time, then the plain ones before those of a special kind.
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
