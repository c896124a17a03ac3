//! Studies and workloads by name: those that come with oscost, or files of the user.

use std::path::Path;

use oscost_model::record::Record;
use oscost_model::untrusted_text::ParseError;

use crate::app::error::UsageError;
use crate::files::input_file;
use crate::studies::{self, Study};
use crate::treatments::did_you_mean;
use crate::workloads::{self, Spec};

/// A kind of file that users write.
struct Kind {
    /// Its noun.
    noun: &'static str,
    /// The page that documents it.
    page: &'static str,
    max_bytes: usize,
}

const STUDY: Kind = Kind {
    noun: "study",
    page: "docs/reference/STUDY-FILES.md",
    max_bytes: studies::parser::MAX_FILE_BYTES,
};
const WORKLOAD: Kind = Kind {
    noun: "workload",
    page: "docs/reference/WORKLOADS.md",
    max_bytes: workloads::files::parser::MAX_FILE_BYTES,
};

impl Kind {
    /// The error for an unknown name.
    fn unknown(&self, name: &str, names: &[&str]) -> anyhow::Error {
        let what = format!(
            "`{}` is not a {}{}",
            name.escape_debug(),
            self.noun,
            did_you_mean(name, names.iter().copied()),
        );
        let hint = format!(
            "there is {}; a file of your own has a `/` in its path, or ends in .toml",
            names.join(", ")
        );
        UsageError::with_hint(&what, &hint).into()
    }

    /// Reads a user's file.
    fn read<T>(
        &self,
        path: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> anyhow::Result<T> {
        let bad = |why: String| {
            let Self { noun, page, .. } = self;
            let what = format!("cannot read the {noun} {path:?}: {why}");
            UsageError::with_hint(&what, &format!("{page} documents the file of a {noun}"))
        };
        let bytes = input_file::read(Path::new(path), self.max_bytes as u64)
            .map_err(|error| bad(error.to_string()))?;
        parse(&bytes).map_err(|refusal| bad(refusal.to_string()).into())
    }
}

/// Whether a name is that of a file, not of a study that comes with oscost.
fn is_study_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

/// Finds the study of that name, or reads it from its file.
pub(crate) fn find_study(name: &str) -> anyhow::Result<Study> {
    if is_study_file(name) {
        return STUDY.read(name, studies::parser::parse);
    }
    let names: Vec<&str> = studies::built_in_names().collect();
    studies::find_built_in(name).ok_or_else(|| STUDY.unknown(name, &names))
}

/// The study that a run was measured for, as its record names it; `None` if there was none, or if
/// it was a file, which may have changed since.
pub(crate) fn study_of(record: &Record) -> Option<Study> {
    record
        .settings
        .study
        .as_deref()
        .filter(|name| !is_study_file(name))
        .and_then(studies::find_built_in)
}

/// Finds the workload of that name, or reads it from its file.
pub(crate) fn find_workload(name: &str) -> anyhow::Result<Spec> {
    let is_file = name.ends_with(".toml") || (name.contains('/') && !name.starts_with("workload/"));
    if is_file {
        return read_workload(name);
    }
    let names: Vec<&str> = workloads::all().iter().map(Spec::name).collect();
    workloads::find(name).cloned().ok_or_else(|| WORKLOAD.unknown(name, &names))
}

/// Reads a workload from its file.
pub(crate) fn read_workload(path: &str) -> anyhow::Result<Spec> {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    WORKLOAD.read(path, |bytes| workloads::parse(bytes, &stem))
}
