//! A kernel image in memory, read from a file or from a Debian package.

use std::io::Read;
use std::path::{Path, PathBuf};

use oscost_model::hash;

use super::debian_package::{MAGIC, extract_kernel};
use super::error::{
    ImageError, MAX_IMAGE_BYTES, image_too_large, path_excerpt, unreadable_file, unusable_kernel,
};
use super::header::{self, Header};
use crate::files::input_file;

/// A kernel. Its image is in memory, so that the image that is booted is the one that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The text after `vm:`.
    pub requested: String,
    /// The file that it was read from: an image, or a package that contains one.
    pub file: PathBuf,
    /// Its release (`uname -r`), from the image's header.
    pub version: String,
    /// The image.
    pub image: Vec<u8>,
    /// The image's content hash.
    pub hash: String,
    /// Which kernel was chosen, if the name matches several.
    pub note: Option<String>,
}

/// Reads the kernel in a file, an image or a package.
pub(super) fn read_kernel(
    requested: &str,
    file: &Path,
    note: Option<String>,
) -> Result<Kernel, ImageError> {
    let image = match read_magic(requested, file)? == MAGIC {
        true => extract_kernel(requested, file)?,
        false => read_image(requested, file)?,
    };
    let header = Header::read(&image)
        .and_then(|header| header.check_size(image.len() as u64).map(|()| header))
        .map_err(|flaw| unusable_kernel(requested, flaw.why, flaw.hint))?;
    let hash = hash::content(&image);
    Ok(Kernel {
        requested: requested.to_owned(),
        file: file.to_owned(),
        version: header.release,
        image,
        hash,
        note,
    })
}

/// Reads the first bytes of a regular file. A device or a pipe is not opened: reading it might
/// never end.
fn read_magic(requested: &str, file: &Path) -> Result<Vec<u8>, ImageError> {
    let unreadable = |error: std::io::Error| unreadable_file(requested, file, &error);
    let metadata = std::fs::metadata(file).map_err(unreadable)?;
    let wrong_kind = |what: &str| {
        unusable_kernel(requested, format!("{} {what}", path_excerpt(file)), header::KERNEL_HINT)
    };
    if metadata.is_dir() {
        return Err(wrong_kind("is a directory"));
    }
    if !metadata.is_file() {
        return Err(wrong_kind("is not a regular file"));
    }
    let mut magic = Vec::new();
    let opened = input_file::open(file);
    let read = opened.and_then(|it| it.take(MAGIC.len() as u64).read_to_end(&mut magic));
    read.map(|_| magic).map_err(unreadable)
}

fn read_image(requested: &str, file: &Path) -> Result<Vec<u8>, ImageError> {
    let mut image = Vec::new();
    input_file::open(file)
        .and_then(|it| it.take(MAX_IMAGE_BYTES + 1).read_to_end(&mut image))
        .map_err(|error| unreadable_file(requested, file, &error))?;
    match image.len() as u64 > MAX_IMAGE_BYTES {
        true => Err(image_too_large(requested)),
        false => Ok(image),
    }
}
