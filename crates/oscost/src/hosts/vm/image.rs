//! Kernel images: resolving a name to a file, and checking that it is a bootable kernel.
//!
//! Files, packages and names are untrusted. They are read up to a bound, checked before anything is
//! booted, and quoted in messages without control characters.

mod apt;
mod command;
mod header;
mod local_kernels;
mod package;
mod tar;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use oscost_model::hash;
use thiserror::Error;

use crate::hosts::session::printable;
pub use apt::{AvailablePackage, FetchError, FetchedKernel};
use header::Header;
pub use local_kernels::{LocalKernel, LocalKernels};

/// The largest image that is read: those of distributions have 8 to 20 MB, and one with all drivers
/// and an initramfs built in stays below 200.
const MAX_IMAGE_BYTES: u64 = 256 << 20;
/// What an image is told from a package by.
const PACKAGE_MAGIC: &[u8] = b"!<arch>\n";

/// A kernel, whole in memory: what is booted is what was looked at, whatever becomes of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What was typed behind `vm:`.
    pub requested: String,
    /// The file that it was read from: an image, or a package with one in it.
    pub file: PathBuf,
    /// Its release, as `uname -r` will say it: from the image's own header.
    pub version: String,
    /// The image, as the emulator takes it.
    pub image: Vec<u8>,
    /// The image's content hash.
    pub hash: String,
    /// What there is to say of the choice, where the name left one.
    pub note: Option<String>,
}

/// Why there is no kernel to boot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {act}: {why}\n  hint: {hint}")]
pub struct ImageError {
    /// What was to be done, and with what.
    pub act: String,
    /// Why not.
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

impl Kernel {
    /// Finds and reads the kernel that `named` means: a file, a release that is installed or
    /// downloaded, or the beginning of one.
    pub fn find(named: &str) -> Result<Kernel, ImageError> {
        if std::env::consts::ARCH != "x86_64" {
            let why = format!(
                "this oscost is built for {} and boots x86_64 kernels only",
                std::env::consts::ARCH
            );
            return Err(unusable_kernel(named, why, "run it on an x86_64 machine"));
        }
        LocalKernels::of_this_machine().kernel(named)
    }
}

/// That a kernel cannot be used.
fn unusable_kernel(named: &str, why: impl Into<String>, hint: impl Into<String>) -> ImageError {
    let act = format!("use the kernel `{}`", excerpt(named));
    ImageError { act, why: why.into(), hint: hint.into() }
}

/// Words from outside, for a message: one line of bounded length that steers no terminal.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 300;
    let mut line: String = printable(text).chars().take(LONGEST + 1).collect();
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line += "...";
    }
    line
}

fn path_excerpt(path: &Path) -> String {
    excerpt(&path.to_string_lossy())
}

/// Reads the kernel in a file, an image or a package; `named` and `note` are what is said of it.
fn read_kernel(named: &str, file: &Path, note: Option<String>) -> Result<Kernel, ImageError> {
    let start = read_magic(named, file)?;
    let image = match start == PACKAGE_MAGIC {
        true => package::extract_kernel(named, file)?,
        false => read_image(named, file)?,
    };
    let header = Header::read(&image)
        .and_then(|header| header.is_whole(image.len() as u64).map(|()| header))
        .map_err(|flaw| unusable_kernel(named, flaw.why, flaw.hint))?;
    let hash = hash::content(&image);
    Ok(Kernel {
        requested: named.to_owned(),
        file: file.to_owned(),
        version: header.release,
        image,
        hash,
        note,
    })
}

/// The first bytes of a plain file, as many as tell a package. A device or a pipe is not opened:
/// reading it might never end.
fn read_magic(named: &str, file: &Path) -> Result<Vec<u8>, ImageError> {
    let unreadable = |error: std::io::Error| unreadable_file(named, file, &error);
    let about = std::fs::metadata(file).map_err(unreadable)?;
    let is_a = |what: &str| {
        unusable_kernel(named, format!("{} {what}", path_excerpt(file)), header::KERNEL_HINT)
    };
    if about.is_dir() {
        return Err(is_a("is a folder"));
    }
    if !about.is_file() {
        return Err(is_a("is not a regular file"));
    }
    let mut start = Vec::new();
    let opened = File::open(file);
    let read = opened.and_then(|it| it.take(PACKAGE_MAGIC.len() as u64).read_to_end(&mut start));
    read.map(|_| start).map_err(unreadable)
}

fn read_image(named: &str, file: &Path) -> Result<Vec<u8>, ImageError> {
    let mut image = Vec::new();
    File::open(file)
        .and_then(|it| it.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut image))
        .map_err(|error| unreadable_file(named, file, &error))?;
    match image.len() as u64 > MAX_IMAGE_BYTES {
        true => Err(image_too_large(named)),
        false => Ok(image),
    }
}

fn image_too_large(named: &str) -> ImageError {
    let why = format!("it has more than {} MiB", MAX_IMAGE_BYTES >> 20);
    unusable_kernel(named, why, header::KERNEL_HINT)
}

/// That a file cannot be read, and what to do: Ubuntu keeps its kernels from all but root.
fn unreadable_file(named: &str, file: &Path, error: &std::io::Error) -> ImageError {
    let path = path_excerpt(file);
    let hint = match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!(
            "`sudo install -m 644 {path} .` makes a copy to be named instead; `oscost kernels \
             fetch` gets one without sudo"
        ),
        _ => "`oscost kernels list` lists the kernels that are here".to_owned(),
    };
    unusable_kernel(named, format!("cannot read {path}: {error}"), hint)
}

#[cfg(test)]
mod tests;
