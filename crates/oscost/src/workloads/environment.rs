//! The environment of a run, as far as workloads depend on it.

use std::path::PathBuf;

use super::files::spec::Spec;

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnvironment {
    /// The number of usable CPUs.
    pub cpus: usize,
    /// The directory that oscost was started in.
    pub start_folder: PathBuf,
    /// The root of the directories of prepared programs; see
    /// [`program_folder`](crate::files::user_folder::program_folder).
    pub cache: PathBuf,
    /// Whether it is a quick run.
    pub quick: bool,
    /// Whether requirements are not checked, for a fake host.
    pub skip_checks: bool,
}

impl RunEnvironment {
    /// The cache directory of a workload.
    pub fn cache_of(&self, spec: &Spec) -> PathBuf {
        self.cache.join("workload").join(spec.name())
    }
}
