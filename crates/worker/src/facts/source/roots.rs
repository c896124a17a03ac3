//! Where the files are read from.

use std::path::{Path, PathBuf};

/// The root of the files that facts are read from: this machine, or a synthetic tree in a test.
#[derive(Clone, Debug)]
pub struct Roots {
    pub(in crate::facts) root: PathBuf,
    pub(in crate::facts) built_for: Option<&'static str>,
    pub(in crate::facts) tick_ns: Option<u64>,
    pub(in crate::facts) lsm: Option<Vec<String>>,
}

impl Roots {
    /// This machine.
    pub fn machine() -> Roots {
        let built_for = Some(std::env::consts::ARCH);
        Roots { root: PathBuf::from("/"), built_for, tick_ns: None, lsm: None }
    }

    /// A directory that holds `proc`, `sys` and `boot`; nothing is read from this machine.
    pub fn under(root: &Path) -> Roots {
        Roots { root: root.to_path_buf(), built_for: None, tick_ns: None, lsm: None }
    }

    /// Adds the length of a kernel tick in nanoseconds, which is in no file:
    /// `clock_getres(CLOCK_MONOTONIC_COARSE)`. `hz` is computed from it.
    #[must_use]
    pub fn with_tick_ns(self, tick_ns: u64) -> Roots {
        Roots { tick_ns: Some(tick_ns), ..self }
    }

    /// Adds the security modules that lsm_list_modules(2) reports, for machines without the file.
    #[must_use]
    pub fn with_lsm(self, names: Vec<String>) -> Roots {
        Roots { lsm: Some(names), ..self }
    }

    pub(in crate::facts) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}
