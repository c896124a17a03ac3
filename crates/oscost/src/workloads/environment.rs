//! The environment of a run, as far as workloads depend on it.

use std::ffi::OsString;
use std::path::PathBuf;

use super::spec::Spec;

/// The environment of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnvironment {
    /// The number of usable CPUs.
    pub cpus: usize,
    /// The directory that oscost was started in.
    pub start_folder: PathBuf,
    /// The root of oscost's cache directories; see [`default_cache`].
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

/// The default root of oscost's cache directories: in `$XDG_CACHE_HOME`, or in `$HOME/.cache`; `None`
/// if neither is set.
pub fn default_cache() -> Option<PathBuf> {
    cache_below(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
}

/// See [`default_cache`]. A relative path is invalid by the XDG specification.
fn cache_below(xdg_cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let cache = xdg_cache.and_then(absolute);
    let cache = cache.or_else(|| Some(home.and_then(absolute)?.join(".cache")))?;
    Some(cache.join("oscost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_below_the_cache_directory_of_the_user() {
        let some = |text: &str| Some(OsString::from(text));
        let cache = |xdg, home| cache_below(xdg, home).map(|path| path.display().to_string());
        assert_eq!(cache(some("/c"), some("/h")).unwrap(), "/c/oscost");
        assert_eq!(cache(some("c"), some("/h")).unwrap(), "/h/.cache/oscost");
        assert_eq!(cache(None, some("h")), None);
        assert_eq!(cache(None, None), None);
    }
}
