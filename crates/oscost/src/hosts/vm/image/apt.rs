//! Packages of kernels that apt offers: listed, fetched without being installed, and removed again.
//!
//! apt is asked by its own programs, and does what it always does: it chooses the mirror, and holds
//! what comes against its signed lists. No root is needed, and nothing but the folder of downloaded
//! kernels is touched. A package is fetched into a folder within that one and moved to its place
//! when it is whole and has been looked at; one at a time fetches, by a lock that the kernel takes
//! back from whoever ends.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use thiserror::Error;

use super::command::{CommandError, End, RunningCommand};
use super::local_kernels::{LocalKernels, newest_first, package_of, version_of};
use super::package::{PREFIX, is_package_name, next_package};
use super::{ImageError, excerpt, path_excerpt, read_kernel};
use crate::hosts::Interrupt;

/// What a look at apt's lists may take: a second where they must be built first.
const CACHE_TIMEOUT: Duration = Duration::from_secs(60);
/// What fetching may take: 130 MB, the largest, over a line of 600 kbit/s. What does not come at
/// all apt gives up by itself.
const FETCH_TIMEOUT: Duration = Duration::from_secs(1_800);
/// What apt may have to say: Debian has some 200 packages of kernels at a time.
const MAX_OUTPUT_BYTES: u64 = 8 << 20;
/// From a package that only names another one to the kernel's; Ubuntu has two on the way.
const MAX_DEPENDENCY_STEPS: usize = 5;

/// Why something was not done about downloaded kernels.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// The name means nothing.
    #[error(transparent)]
    Name(ImageError),
    /// It could not be done.
    #[error(transparent)]
    Failed(#[from] ImageError),
}

/// What came of fetching a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedKernel {
    /// The kernel's name behind `vm:`.
    pub version: String,
    /// Its package.
    pub package: String,
    /// The package's version.
    pub build: String,
    /// Where the package lies.
    pub file: PathBuf,
    /// Whether it was there already.
    pub already_present: bool,
    /// Other builds of the same package, which made room for this one.
    pub replaced: Vec<String>,
}

/// A package of a kernel that apt offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailablePackage {
    /// The package.
    pub package: String,
    /// Whether it was downloaded.
    pub is_downloaded: bool,
}

/// A package as apt knows it.
struct ResolvedPackage {
    package: String,
    version: String,
    bytes: Option<u64>,
}

impl LocalKernels {
    /// Fetches the package of a kernel: `name` is a package, its name without `linux-image-`, or a
    /// package that only depends on the kernel's. Each second that passes meanwhile is told.
    pub fn fetch(
        &self,
        name: &str,
        interrupt: &Interrupt,
        tell: &mut dyn FnMut(&str),
    ) -> Result<FetchedKernel, FetchError> {
        let package = package_name("fetch", name)?;
        let act = format!("fetch {package}");
        let known = resolve(&act, package, interrupt)?;
        let act = format!("fetch {}", known.package);
        let folder = self.writable_folder(&act)?;
        let version = version_of(&known.package).to_owned();
        // As apt writes a colon in a file's name.
        let build = known.version.replace(':', "%3a");
        let fetched = |file: PathBuf, was_there: bool, replaced: Vec<String>| FetchedKernel {
            version: version.clone(),
            package: known.package.clone(),
            build: known.version.clone(),
            file,
            already_present: was_there,
            replaced,
        };
        let _lock = FolderLock::acquire(&act, folder)?;
        let its = packages_in(folder, &known.package);
        if let Some((file, _)) = its.iter().find(|(_, its_build)| *its_build == build) {
            return Ok(fetched(file.clone(), true, Vec::new()));
        }
        let beside = DownloadFolder::make(&act, folder)?;
        let mut command = Command::new("apt-get");
        let exactly = format!("{}={}", known.package, known.version);
        command.args(["-q", "download", &exactly]).current_dir(&beside.0);
        let mut tick = || tell(&progress(&known, &beside.0));
        let asked = RunningCommand::start(&mut command, FETCH_TIMEOUT)
            .map_err(|e| apt_not_started(&act, "apt-get", &e))?;
        let heard = asked.until(interrupt).on_tick(&mut tick).read_all(MAX_OUTPUT_BYTES);
        let (_, end) =
            heard.map_err(|stop| command_failed(&act, "apt-get", FETCH_TIMEOUT, &stop))?;
        if !end.status.success() {
            return Err(apt_failed(&act, &end).into());
        }
        let here = packages_in(&beside.0, &known.package);
        let Some((new, _)) = here.first() else {
            let why = "apt-get ended well, and the package is not there";
            return Err(failed(&act, why, "does `apt-get download` work by itself?").into());
        };
        // What is no kernel is told now, and not when it is to be booted.
        read_kernel(&version, new, None)?;
        let file = folder.join(new.file_name().unwrap_or_default());
        File::open(new)
            .and_then(|whole| whole.sync_all())
            .and_then(|()| std::fs::rename(new, &file))
            .map_err(|error| cannot_write(&act, &file, &error))?;
        let mut replaced = Vec::new();
        for (old, build) in its {
            std::fs::remove_file(&old).map_err(|error| cannot_write(&act, &old, &error))?;
            replaced.push(build);
        }
        Ok(fetched(file, false, replaced))
    }

    /// The packages of kernels that apt offers, the newest first: without those of debugging
    /// symbols, and without an unsigned one beside the same one signed.
    pub fn available(&self, interrupt: &Interrupt) -> Result<Vec<AvailablePackage>, FetchError> {
        let names = package_names("list what apt offers", interrupt)?;
        let is_twin = |name: &str| {
            let signed = name.strip_suffix("-unsigned").map(str::to_owned);
            let signed = signed.or_else(|| {
                Some(format!("{PREFIX}{}", name.strip_prefix("linux-image-unsigned-")?))
            });
            signed.is_some_and(|signed| names.contains(&signed))
        };
        let is_kernel = |name: &&String| {
            !["-dbg", "-dbgsym", "-template"].iter().any(|end| name.ends_with(end))
                && !is_twin(name)
        };
        let mut kernels: Vec<AvailablePackage> = names
            .iter()
            .filter(is_kernel)
            .map(|name| {
                let downloaded = |folder| !packages_in(folder, name).is_empty();
                let is_downloaded = self.download_folder().is_some_and(downloaded);
                AvailablePackage { package: name.clone(), is_downloaded }
            })
            .collect();
        kernels.sort_by(|one, other| {
            newest_first(version_of(&one.package), version_of(&other.package))
        });
        Ok(kernels)
    }

    /// Removes a kernel that was downloaded, and says which files that were.
    pub fn remove(&self, name: &str) -> Result<Vec<PathBuf>, FetchError> {
        let package = package_name("remove", name)?;
        let version = version_of(&package);
        let act = format!("remove {}", excerpt(name));
        let offers = self.list();
        let is_it = |it: &&super::LocalKernel| it.version == version;
        if !offers.iter().any(|it| it.is_downloaded && is_it(&it)) {
            let why = match offers.iter().any(|it| is_it(&it)) {
                true => "it is installed and was not downloaded; oscost removes no such kernel",
                false => "no kernel of that name was downloaded",
            };
            return Err(FetchError::Name(failed(&act, why, "`oscost kernels list` lists them")));
        }
        let folder = self.writable_folder(&act)?;
        let _lock = FolderLock::acquire(&act, folder)?;
        let mut removed = Vec::new();
        for offer in offers.into_iter().filter(|it| it.is_downloaded && is_it(&it)) {
            std::fs::remove_file(&offer.file)
                .map_err(|error| cannot_write(&act, &offer.file, &error))?;
            removed.push(offer.file);
        }
        Ok(removed)
    }

    fn writable_folder(&self, act: &str) -> Result<&Path, ImageError> {
        let why = "there is no folder for caches: neither XDG_CACHE_HOME nor HOME names one";
        self.download_folder()
            .ok_or_else(|| failed(act, why, "set one of them to a folder of yours"))
    }
}

/// The package that a name means.
fn package_name(act: &str, name: &str) -> Result<String, FetchError> {
    let package =
        if name.starts_with(PREFIX) { name.to_owned() } else { format!("{PREFIX}{name}") };
    if is_package_name(name) && is_package_name(&package) {
        return Ok(package);
    }
    let act = format!("{act} `{}`", excerpt(name));
    let why = "it cannot be a package's name: those have a to z, 0 to 9, and . + - ~";
    let hint =
        "as in `linux-image-cloud-amd64`; `oscost kernels list --available` lists what there is";
    Err(FetchError::Name(failed(&act, why, hint)))
}

/// The package with the kernel, from one that may only depend on it.
fn resolve(
    act: &str,
    mut package: String,
    interrupt: &Interrupt,
) -> Result<ResolvedPackage, FetchError> {
    for _ in 0..MAX_DEPENDENCY_STEPS {
        let asked = ["show", "--no-all-versions", &package];
        let (output, end) = apt_cache(act, &asked, interrupt)?;
        let text = String::from_utf8_lossy(&output);
        // apt takes a name that it does not know for a pattern, and shows what meets it.
        let stanzas = text.split("\n\n");
        let stanza = stanzas.into_iter().find(|it| field(it, "Package") == Some(&package));
        let Some((stanza, version)) = stanza.and_then(|it| Some((it, field(it, "Version")?)))
        else {
            return Err(package_unknown(act, &end, interrupt));
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+.~:-".contains(&byte);
        if version.is_empty() || version.len() > 128 || !version.bytes().all(is_plain) {
            let why = format!("apt says that its version is `{}`", excerpt(version));
            return Err(failed(act, why, "`sudo apt-get update` renews apt's lists").into());
        }
        let Some(next) = field(stanza, "Depends").and_then(next_package) else {
            let bytes = field(stanza, "Size").and_then(|size| size.parse().ok());
            return Ok(ResolvedPackage { version: version.to_owned(), package, bytes });
        };
        package = next.to_owned();
    }
    let why = format!(
        "after {MAX_DEPENDENCY_STEPS} packages that only name another one there is no kernel"
    );
    Err(failed(act, why, "name the kernel's own package").into())
}

/// A field of what apt says of a package.
fn field<'a>(stanza: &'a str, name: &str) -> Option<&'a str> {
    let values = stanza.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    values.map(str::trim).next()
}

/// The names of all packages of kernels that apt knows.
fn package_names(act: &str, interrupt: &Interrupt) -> Result<Vec<String>, FetchError> {
    let (output, end) = apt_cache(act, &["pkgnames", PREFIX], interrupt)?;
    if !end.status.success() {
        return Err(apt_failed(act, &end).into());
    }
    let text = String::from_utf8_lossy(&output);
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
    words: &[&str],
    interrupt: &Interrupt,
) -> Result<(Vec<u8>, End), FetchError> {
    let mut command = Command::new("apt-cache");
    let asked = RunningCommand::start(command.args(words), CACHE_TIMEOUT);
    let asked = asked.map_err(|error| apt_not_started(act, "apt-cache", &error))?;
    let heard = asked.until(interrupt).read_all(MAX_OUTPUT_BYTES);
    heard.map_err(|stop| command_failed(act, "apt-cache", CACHE_TIMEOUT, &stop))
}

/// The files of a package in a folder, with its versions in them.
fn packages_in(folder: &Path, package: &str) -> Vec<(PathBuf, String)> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let its = names.filter_map(|name| {
        let build = package_of(&name).filter(|it| it.0 == package)?.1.to_owned();
        Some((folder.join(name), build))
    });
    its.collect()
}

/// How far a package has come.
fn progress(known: &ResolvedPackage, folder: &Path) -> String {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |file: std::fs::DirEntry| file.metadata().map_or(0, |about| about.len());
    let [come, all] = [files.map(bytes).sum(), known.bytes.unwrap_or(0)].map(|it| it / 1_000_000);
    match all {
        0 => format!("fetching {}: {come} MB", known.package),
        all => format!("fetching {}: {come} of {all} MB", known.package),
    }
}

/// The folder that a package is fetched into; it goes with this.
struct DownloadFolder(PathBuf);

impl DownloadFolder {
    /// Under the lock: what is there is what a killed one has left.
    fn make(act: &str, folder: &Path) -> Result<Self, ImageError> {
        let beside = folder.join(".new");
        let cannot = |error: io::Error| cannot_write(act, &beside, &error);
        match std::fs::remove_dir_all(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(error)),
            _ => DirBuilder::new().mode(0o700).create(&beside).map_err(cannot)?,
        }
        Ok(Self(beside))
    }
}

impl Drop for DownloadFolder {
    fn drop(&mut self) {
        // Where that fails, the next one to fetch removes it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The lock of the folder, held until this goes. Its file stays: a lock on one that was removed
/// would lock nobody out.
struct FolderLock(File);

impl FolderLock {
    fn acquire(act: &str, folder: &Path) -> Result<Self, ImageError> {
        let cannot = |error: io::Error| cannot_write(act, folder, &error);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
        let mut options = OpenOptions::new();
        // A link in its place is not followed.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let options = options.custom_flags(nix::libc::O_NOFOLLOW);
        let file = options.open(folder.join(".lock")).map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock(file)),
            Err(TryLockError::WouldBlock) => {
                let why = "another oscost fetches or removes a kernel now";
                Err(failed(act, why, "wait until it has ended"))
            }
            Err(TryLockError::Error(error)) => Err(cannot(error)),
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Said, and not left to the closing of the file: a process that another thread starts now
        // has a copy of it until it runs its program.
        let _ = self.0.unlock();
    }
}

fn failed(act: &str, why: impl Into<String>, hint: &str) -> ImageError {
    ImageError { act: act.to_owned(), why: why.into(), hint: hint.to_owned() }
}

fn cannot_write(act: &str, path: &Path, error: &io::Error) -> ImageError {
    let why = format!("{}: {error}", path_excerpt(path));
    failed(act, why, "is there space, and is the folder yours?")
}

fn apt_not_started(act: &str, program: &str, error: &io::Error) -> ImageError {
    let why = format!("{program} cannot be started: {error}");
    let hint = "kernels are fetched on Debian and Ubuntu; elsewhere name a bzImage or a package: \
                `vm:./bzImage`";
    failed(act, why, hint)
}

fn command_failed(act: &str, program: &str, patience: Duration, stop: &CommandError) -> FetchError {
    let why = match stop {
        CommandError::Interrupted => return FetchError::Interrupted,
        CommandError::TimedOut => format!("{program} took longer than {} s", patience.as_secs()),
        CommandError::TooMuchOutput => format!("{program} prints without end"),
        CommandError::Unreadable(why) => format!("{program} cannot be heard: {why}"),
    };
    failed(act, why, "does it work by itself, as in `apt-cache pkgnames linux-image-`?").into()
}

/// That apt has no such package, or no packages at all.
fn package_unknown(act: &str, end: &End, interrupt: &Interrupt) -> FetchError {
    let (why, hint) = match package_names(act, interrupt) {
        Err(FetchError::Interrupted) => return FetchError::Interrupted,
        Ok(names) if names.is_empty() => {
            ("apt's lists have no kernels at all".to_owned(), "`sudo apt-get update` fills them")
        }
        _ if end.status.code().is_none() => {
            (format!("apt-cache ended with {}", end.status), "try again")
        }
        _ => (
            "apt has no package of that name".to_owned(),
            "`oscost kernels list --available` lists those it has; `sudo apt-get update` renews its lists",
        ),
    };
    failed(act, why, hint).into()
}

/// Why apt could not do it, by what it says.
fn apt_failed(act: &str, end: &End) -> ImageError {
    let has = |text: &str| end.stderr.contains(text);
    let errors: Vec<&str> = end.stderr.lines().filter(|line| line.starts_with("E: ")).collect();
    let words = match &errors[..] {
        [] => excerpt(end.stderr.trim()),
        errors => excerpt(&errors.join("\n")),
    };
    let hint = if has("404") {
        "the mirror has a newer one: `sudo apt-get update` renews apt's lists"
    } else if has("No space left") || has("enough free space") {
        "make room where the cache lies: `oscost kernels delete` gives some back"
    } else if has("resolv") || has("connect") || has("Failed to fetch") {
        "is there a network? apt's mirrors must be within reach, as for `sudo apt-get update`"
    } else {
        "does `apt-get download` work by itself? `sudo apt-get update` renews apt's lists"
    };
    let why = match words.is_empty() {
        true => format!("apt ended with {}", end.status),
        false => format!("apt ended with {}: {words}", end.status),
    };
    failed(act, why, hint)
}
