//! Errors about kernel images, and text of others in them.

use std::path::Path;

use thiserror::Error;

use super::header;
use crate::hosts::session::printable;

/// The largest image that is read: those of distributions have 8 to 20 MB, and one with all drivers
/// and an initramfs built in stays below 200.
pub(super) const MAX_IMAGE_BYTES: u64 = 256 << 20;

/// Why a kernel image cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {act}: {why}\n  hint: {hint}")]
pub struct ImageError {
    /// What was to be done, and with what.
    pub act: String,
    /// The cause.
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

/// The error for a kernel that cannot be used.
pub(super) fn unusable_kernel(
    requested: &str,
    why: impl Into<String>,
    hint: impl Into<String>,
) -> ImageError {
    let act = format!("use the kernel `{}`", excerpt(requested));
    ImageError { act, why: why.into(), hint: hint.into() }
}

/// The error for an image of more than [`MAX_IMAGE_BYTES`].
pub(super) fn image_too_large(requested: &str) -> ImageError {
    let why = format!("it has more than {} MiB", MAX_IMAGE_BYTES >> 20);
    unusable_kernel(requested, why, header::KERNEL_HINT)
}

/// The error for a file that cannot be read. Ubuntu's kernels are readable by root only.
pub(super) fn unreadable_file(requested: &str, file: &Path, error: &std::io::Error) -> ImageError {
    let path = path_excerpt(file);
    let hint = match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!(
            "`sudo install -m 644 {path} .` makes a copy that you can name instead; `oscost \
             kernels fetch` gets one without sudo"
        ),
        _ => "`oscost kernels list` lists the kernels on this machine".to_owned(),
    };
    unusable_kernel(requested, format!("cannot read {path}: {error}"), hint)
}

/// Text of others for a message: one line of bounded length without control characters.
pub(super) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 300;
    let mut line: String = printable(text).chars().take(MAX_CHARS + 1).collect();
    if let Some((end, _)) = line.char_indices().nth(MAX_CHARS) {
        line.truncate(end);
        line += "...";
    }
    line
}

/// A path for a message.
pub(super) fn path_excerpt(path: &Path) -> String {
    excerpt(&path.to_string_lossy())
}
