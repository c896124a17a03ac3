//! Debian packages: the kernel in one, by the system's own dpkg-deb.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::command::{CommandError, End, RunningCommand};
use super::tar::{TarError, find_file};
use super::{ImageError, MAX_IMAGE_BYTES, excerpt, header, image_too_large, unusable_kernel};

/// What unpacking may take: half a second for 30 MB here.
const UNPACK_TIMEOUT: Duration = Duration::from_secs(120);
/// What a package's own words may come to.
const MAX_FIELD_BYTES: u64 = 1 << 20;
/// What packages of kernels are named by.
pub(super) const PREFIX: &str = "linux-image-";

/// The kernel in a package.
pub(super) fn extract_kernel(named: &str, file: &Path) -> Result<Vec<u8>, ImageError> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--fsys-tarfile").arg(operand(file));
    let mut unpacked = RunningCommand::start(&mut command, UNPACK_TIMEOUT)
        .map_err(|e| dpkg_not_started(named, &e))?;
    let found = find_file(&mut unpacked, is_kernel_path, MAX_IMAGE_BYTES);
    if let Some(stop) = unpacked.stopped() {
        return Err(dpkg_failed(named, &stop));
    }
    match found {
        // What follows the kernel, its modules, is not unpacked.
        Ok(Some(image)) => Ok(image),
        Err(TarError::TooLarge) => Err(image_too_large(named)),
        Ok(None) | Err(TarError::Malformed(_) | TarError::Read(_)) => {
            // A package that is broken is told by dpkg-deb, in words and with its status.
            let end = unpacked.end().map_err(|stop| dpkg_failed(named, &stop))?;
            match found {
                _ if !end.status.success() => Err(damaged(named, &end)),
                Ok(_) => Err(without_kernel(named, file)),
                Err(error) => {
                    let why = match error {
                        TarError::Malformed(what) => what.to_owned(),
                        TarError::Read(error) => error.to_string(),
                        TarError::TooLarge => return Err(image_too_large(named)),
                    };
                    let why = format!("the files in the package cannot be read: {why}");
                    Err(unusable_kernel(named, why, header::KERNEL_HINT))
                }
            }
        }
    }
}

/// Whether a path in a package is a kernel's: Debian's lie in /boot, others' with their modules.
fn is_kernel_path(path: &[u8]) -> bool {
    let Ok(path) = str::from_utf8(path) else { return false };
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let in_boot = path.strip_prefix("boot/vmlinuz-").is_some_and(|rest| !rest.contains('/'));
    let modules = path.strip_prefix("usr/").unwrap_or(path).strip_prefix("lib/modules/");
    in_boot || modules.is_some_and(|rest| rest.split_once('/').is_some_and(|it| it.1 == "vmlinuz"))
}

/// Why there is no kernel in a package: a meta package is one of names alone.
fn without_kernel(named: &str, file: &Path) -> ImageError {
    let why = "there is no kernel in the package";
    let name = field(named, file, "Package").unwrap_or_default();
    let depends = field(named, file, "Depends").unwrap_or_default();
    match next_package(&depends) {
        Some(next) => {
            let why = format!("{why}: {} only names another one", excerpt(&name));
            unusable_kernel(named, why, format!("`oscost kernels fetch {next}` gets that one"))
        }
        None if name.is_empty() => unusable_kernel(named, why, header::KERNEL_HINT),
        None => {
            let hint = "packages with a kernel are named linux-image-...: `oscost kernels \
                        available` lists them";
            unusable_kernel(named, format!("{why}, which is {}", excerpt(&name)), hint)
        }
    }
}

/// The package of a kernel that another one depends on, as a meta package does.
pub(super) fn next_package(depends: &str) -> Option<&str> {
    let names = depends.split([',', '|']).filter_map(|it| it.split_whitespace().next());
    let name = |word: &'_ str| word.split_once(':').map_or(word.len(), |(name, _)| name.len());
    let mut names = names.map(|word| &word[..name(word)]);
    names.find(|name| is_package_name(name) && name.starts_with(PREFIX))
}

/// Whether a word can be a package's name, and nothing that a program takes for an option, a path
/// or a pattern.
pub(super) fn is_package_name(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let may_be = |byte: u8| is_plain(byte) || b"+.~-".contains(&byte);
    word.len() <= 128 && word.bytes().next().is_some_and(is_plain) && word.bytes().all(may_be)
}

/// What a package says of itself.
fn field(named: &str, file: &Path, field: &str) -> Result<String, ImageError> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--field").arg(operand(file)).arg(field);
    let asked = RunningCommand::start(&mut command, UNPACK_TIMEOUT)
        .map_err(|error| dpkg_not_started(named, &error))?;
    let (output, end) =
        asked.read_all(MAX_FIELD_BYTES).map_err(|stop| dpkg_failed(named, &stop))?;
    match end.status.success() {
        true => Ok(String::from_utf8_lossy(&output).trim().to_owned()),
        false => Err(damaged(named, &end)),
    }
}

/// A file as an operand: a name that begins with `-` would be an option.
fn operand(file: &Path) -> std::path::PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

fn dpkg_not_started(named: &str, error: &io::Error) -> ImageError {
    let why = format!("it is a Debian package, and dpkg-deb cannot be started: {error}");
    unusable_kernel(named, why, "`sudo apt-get install dpkg`, or name the bzImage itself")
}

fn dpkg_failed(named: &str, stop: &CommandError) -> ImageError {
    let why = match stop {
        CommandError::Interrupted => "interrupted".to_owned(),
        CommandError::TimedOut => format!("dpkg-deb took longer than {UNPACK_TIMEOUT:?}"),
        CommandError::TooMuchOutput => "dpkg-deb says more than a package has to say".to_owned(),
        CommandError::Unreadable(why) => format!("dpkg-deb cannot be heard: {why}"),
    };
    unusable_kernel(named, why, "is the package whole? `dpkg-deb --info` looks at it")
}

fn damaged(named: &str, end: &End) -> ImageError {
    let words = excerpt(end.stderr.trim());
    let words = if words.is_empty() { end.status.to_string() } else { words };
    let why = format!("dpkg-deb cannot read it: {words}");
    unusable_kernel(
        named,
        why,
        "`oscost kernels delete`, then `oscost kernels fetch`, gets it anew",
    )
}
