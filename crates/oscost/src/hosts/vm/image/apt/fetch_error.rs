//! Why downloaded kernels could not be listed, downloaded or deleted.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::hosts::vm::image::command::{CommandError, CommandOutput};
use crate::hosts::vm::image::error::{ImageError, excerpt, path_excerpt};

/// Why downloaded kernels could not be listed, downloaded or deleted.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// There is no such kernel.
    #[error(transparent)]
    Name(ImageError),
    /// It failed.
    #[error(transparent)]
    Failed(#[from] ImageError),
}

pub(super) fn failed(act: &str, why: impl Into<String>, hint: &str) -> ImageError {
    ImageError { act: act.to_owned(), why: why.into(), hint: hint.to_owned() }
}

pub(super) fn cannot_write(act: &str, path: &Path, error: &io::Error) -> ImageError {
    let why = format!("{}: {error}", path_excerpt(path));
    failed(act, why, "check the free space and the owner of the directory")
}

pub(super) fn command_failed(act: &str, program: &str, error: &CommandError) -> FetchError {
    let hint = match error {
        CommandError::Interrupted => return FetchError::Interrupted,
        CommandError::NotStarted(_) => {
            "kernels are fetched on Debian and Ubuntu; elsewhere name a bzImage or a package: \
             `vm:./bzImage`"
        }
        _ => "check that apt works: `apt-cache pkgnames linux-image-`",
    };
    failed(act, format!("{program} {error}"), hint).into()
}

/// The error for an apt program that failed, with a hint by its messages.
pub(super) fn apt_failed(act: &str, output: &CommandOutput) -> ImageError {
    let has = |text: &str| output.stderr.contains(text);
    let errors: Vec<&str> = output.stderr.lines().filter(|line| line.starts_with("E: ")).collect();
    let messages = match &errors[..] {
        [] => excerpt(output.stderr.trim()),
        errors => excerpt(&errors.join("\n")),
    };
    let hint = if has("404") {
        "the mirror has a newer version: `sudo apt-get update` updates apt's lists"
    } else if has("No space left") || has("enough free space") {
        "free space in the cache directory: `oscost kernels delete` deletes downloaded kernels"
    } else if has("resolv") || has("connect") || has("Failed to fetch") {
        "check the network: apt's mirrors must be reachable, as for `sudo apt-get update`"
    } else {
        "check that `apt-get download` works; `sudo apt-get update` updates apt's lists"
    };
    let why = match messages.as_str() {
        "" => format!("apt ended with {}", output.status),
        messages => format!("apt ended with {}: {messages}", output.status),
    };
    failed(act, why, hint)
}
