//! `oscost kernels`: the kernels that `vm:` can boot.

use std::path::PathBuf;

use wildmatch::WildMatch;

pub use crate::hosts::vm::{AvailablePackage, FetchedKernel, LocalKernel};

use super::error::UsageError;
use super::observer::Observer;
use crate::app::interrupt::listen;
use crate::hosts::HostError;
use crate::hosts::vm::{FetchError, LocalKernels};

/// The kernels of this machine.
pub struct Kernels {
    /// Where downloaded ones are.
    pub folder: Option<PathBuf>,
    /// Installed and downloaded ones.
    pub kernels: Vec<LocalKernel>,
}

/// The kernels that are installed or downloaded.
pub fn list() -> Kernels {
    let kernels = LocalKernels::of_this_machine();
    Kernels { kernels: kernels.list(), folder: kernels.download_folder().map(Into::into) }
}

/// The packages that apt offers and whose names contain `pattern`, or match it as a glob.
pub fn available(pattern: Option<&str>) -> anyhow::Result<Vec<AvailablePackage>> {
    let matches = |name: &str| match pattern {
        None => true,
        Some(glob) if glob.contains(['*', '?']) => WildMatch::new(glob).matches(name),
        Some(part) => name.contains(part),
    };
    let mut kernels = LocalKernels::of_this_machine().available(&listen()?).map_err(error)?;
    kernels.retain(|kernel| matches(&kernel.package));
    Ok(kernels)
}

/// Fetches a kernel's package through apt, without installing it.
pub fn fetch(name: &str, observer: &dyn Observer) -> anyhow::Result<FetchedKernel> {
    let interrupt = listen()?;
    let fetched = LocalKernels::of_this_machine()
        .fetch(name, &interrupt, &mut |activity| observer.working(activity));
    observer.finished();
    fetched.map_err(error)
}

/// Deletes a kernel that was downloaded; returns its files.
pub fn delete(name: &str) -> anyhow::Result<Vec<PathBuf>> {
    LocalKernels::of_this_machine().remove(name).map_err(error)
}

fn error(error: FetchError) -> anyhow::Error {
    match error {
        FetchError::Interrupted => HostError::Interrupted.into(),
        FetchError::Name(error) => UsageError(error.to_string()).into(),
        FetchError::Failed(error) => error.into(),
    }
}
