//! `oscost workload`: the programs that come with oscost, and the folders that they work on.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use super::error::UsageError;
use super::selection::named_files::find_workload;
use crate::files::user_folder::program_folder;
use crate::workloads::{self, CacheError, PreparationOutcome, RunEnvironment, Spec};

/// A workload that comes with oscost.
pub struct WorkloadListing {
    /// Its id.
    pub id: String,
    /// The question that it answers.
    pub asks: String,
    /// What is missing on this machine to run it.
    pub missing: Option<MissingItems>,
}

/// What is missing to run a workload.
pub struct MissingItems {
    /// Commands, packages or files.
    pub lacks: Vec<String>,
    /// How to get them.
    pub hint: Option<String>,
}

/// A folder that was prepared.
pub struct PreparedFolder {
    /// Where it is.
    pub folder: PathBuf,
    /// Whether it was made now.
    pub is_new: bool,
}

/// Whether a workload can be run, after what it needs was prepared.
pub enum Readiness {
    /// Its folder was prepared.
    Prepared(PreparedFolder),
    /// It needs no preparation.
    NeedsNone,
    /// This machine lacks something for it.
    Lacks(Vec<String>),
    /// Its preparation failed, and why.
    Failed(String),
}

/// What came of the preparation of several workloads.
#[derive(Default)]
pub struct PreparationSummary {
    /// How many can be run.
    pub ready: usize,
    /// How many preparations failed.
    pub failed: usize,
    /// How to get what the others lack.
    pub hint: Option<String>,
}

/// The workloads that come with oscost.
pub fn list() -> anyhow::Result<Vec<WorkloadListing>> {
    let environment = environment()?;
    let listed = workloads::all().iter().map(|spec| WorkloadListing {
        id: spec.id.clone(),
        asks: spec.asks.clone(),
        missing: spec
            .workload(&spec.default_point(), &environment)
            .err()
            .map(|it| MissingItems { hint: it.hint(), lacks: it.lacks }),
    });
    Ok(listed.collect())
}

/// Makes the folder that a workload works on; its commands write to `output`.
pub fn prepare(name: &str, output: &mut dyn Write) -> anyhow::Result<PreparedFolder> {
    let (spec, environment) = (find_workload(name)?, environment()?);
    let prepared = workloads::prepare(&spec, &environment, output);
    let prepared = prepared.map_err(|error| failed("prepare", &spec, &error))?;
    Ok(PreparedFolder {
        folder: environment.cache_of(&spec),
        is_new: prepared == PreparationOutcome::Now,
    })
}

/// Makes the folders of all workloads that come with oscost; their commands write to `output`, and
/// `each` is called for each workload. What cannot be prepared does not stop the others.
pub fn prepare_all(
    output: &mut dyn Write,
    each: &mut dyn FnMut(&str, &Readiness),
) -> anyhow::Result<PreparationSummary> {
    Ok(prepare_each(workloads::all(), &environment()?, output, each))
}

fn prepare_each(
    specs: &[Spec],
    environment: &RunEnvironment,
    output: &mut dyn Write,
    each: &mut dyn FnMut(&str, &Readiness),
) -> PreparationSummary {
    let mut summary = PreparationSummary::default();
    let mut all_missing = workloads::MissingItems::default();
    for spec in specs {
        let readiness = match make_ready(spec, environment, output) {
            Ok(readiness) => readiness,
            Err(missing) => {
                for package in missing.packages {
                    if !all_missing.packages.contains(&package) {
                        all_missing.packages.push(package);
                    }
                }
                Readiness::Lacks(missing.lacks)
            }
        };
        match readiness {
            Readiness::Prepared(_) | Readiness::NeedsNone => summary.ready += 1,
            Readiness::Failed(_) => summary.failed += 1,
            Readiness::Lacks(_) => {}
        }
        each(&spec.id, &readiness);
    }
    if !all_missing.packages.is_empty() {
        all_missing.prepare = Some("oscost workload prepare --all".to_owned());
    }
    summary.hint = all_missing.hint();
    summary
}

/// Prepares a workload if it needs that, and checks that it can be run then.
fn make_ready(
    spec: &Spec,
    environment: &RunEnvironment,
    output: &mut dyn Write,
) -> Result<Readiness, workloads::MissingItems> {
    let readiness = match workloads::prepare(spec, environment, output) {
        Ok(outcome) => Readiness::Prepared(PreparedFolder {
            folder: environment.cache_of(spec),
            is_new: outcome == PreparationOutcome::Now,
        }),
        Err(CacheError::Nothing(_)) => Readiness::NeedsNone,
        Err(CacheError::Missing(missing)) => return Err(missing),
        Err(error) => return Ok(Readiness::Failed(error.to_string())),
    };
    spec.workload(&spec.default_point(), environment).map(|_| readiness)
}

/// Deletes the folder that was prepared for a workload; returns it if there was one.
pub fn delete(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let (spec, environment) = (find_workload(name)?, environment()?);
    let deleted = workloads::clean(&spec, &environment);
    let deleted = deleted.map_err(|error| failed("delete what was prepared for", &spec, &error))?;
    Ok(deleted.then(|| environment.cache_of(&spec)))
}

fn failed(act: &str, spec: &Spec, error: &CacheError) -> anyhow::Error {
    let what = format!("cannot {act} {}: {error}", spec.id);
    let hint = match error {
        CacheError::Missing(missing) => {
            let what = format!("cannot {act} {}: there is {}", spec.id, missing.lacks.join(", "));
            return match missing.hint() {
                Some(hint) => UsageError::with_hint(&what, &hint).into(),
                None => {
                    let hint = format!("`oscost explain {}` says what it needs", spec.id);
                    UsageError::with_hint(&what, &hint).into()
                }
            };
        }
        CacheError::Nothing(_) => {
            let hint = format!("oscost run workload/{}", spec.name());
            return UsageError::with_hint(&what, &hint).into();
        }
        CacheError::Locked => "wait until it has ended",
        CacheError::Command { .. } | CacheError::Start(_) | CacheError::NoMarker(_) => {
            "its output is above; nothing was kept of it"
        }
        CacheError::File(..) => "check the free space and the owner of the folder",
    };
    anyhow::anyhow!("{what}\n  hint: {hint}")
}

/// The environment of workloads on this machine.
fn environment() -> anyhow::Result<RunEnvironment> {
    let cache = program_folder().ok_or_else(|| {
        let what = "cannot find the cache: neither XDG_CACHE_HOME nor HOME names a folder";
        UsageError::with_hint(what, "set HOME, or XDG_CACHE_HOME, to the absolute path of a folder")
    })?;
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(RunEnvironment { cpus, start_folder: folder, cache, quick: false, skip_checks: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workload of that name with these further lines.
    fn spec(name: &str, lines: &str) -> Spec {
        let text = format!("command = [\"sh\", \"-c\", \"true\"]\n{lines}");
        workloads::parse(text.as_bytes(), name).unwrap()
    }

    #[test]
    fn what_cannot_be_prepared_does_not_stop_the_others() {
        let root = tempfile::tempdir().unwrap();
        let environment = RunEnvironment {
            cpus: 2,
            start_folder: "/".into(),
            cache: root.path().join("cache"),
            quick: false,
            skip_checks: false,
        };
        let lacks = |package: &str| {
            format!("need = [{{ program = \"no-such-program\", package = \"{package}\" }}]\n")
        };
        let prepare = |script: &str| {
            format!(
                "prepare = {{ commands = [[\"sh\", \"-ec\", \"{script}\"]], marker = \"words\" }}\n"
            )
        };
        let specs = [
            spec("breaks", &prepare("exit 3")),
            spec("lacks", &lacks("one")),
            spec("lacks-too", &(lacks("two") + &prepare("echo never > words"))),
            spec("plain", ""),
            spec("works", &prepare("echo it > words")),
        ];
        let prepared = || {
            let mut found = Vec::new();
            let summary = prepare_each(&specs, &environment, &mut Vec::new(), &mut |id, it| {
                let name = id.strip_prefix("workload/").unwrap();
                found.push(match it {
                    Readiness::Prepared(PreparedFolder { folder, is_new }) => {
                        assert!(folder.join("words").exists());
                        format!("{name} {}", if *is_new { "now" } else { "before" })
                    }
                    Readiness::NeedsNone => format!("{name} needs none"),
                    Readiness::Lacks(what) => format!("{name} lacks {}", what.join(", ")),
                    Readiness::Failed(why) => format!("{name}: {why}"),
                });
            });
            (found, summary)
        };
        let (found, summary) = prepared();
        assert_eq!(
            found,
            [
                "breaks: `sh -ec 'exit 3'` ended with exit status: 3",
                "lacks lacks no program no-such-program",
                "lacks-too lacks no program no-such-program",
                "plain needs none",
                "works now",
            ]
        );
        assert_eq!((summary.ready, summary.failed), (2, 1));
        let hint = "sudo apt-get install --no-install-recommends one two, then oscost workload \
                    prepare --all";
        assert_eq!(summary.hint.as_deref(), Some(hint));
        assert_eq!(prepared().0[4], "works before");
    }
}
