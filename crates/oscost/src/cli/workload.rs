//! `oscost workload`

use std::path::Path;

use anyhow::Context;

use super::named::Named;
use super::output::{Output, remark};
use super::{Done, UsageError};
use crate::workloads::{self, CacheError, Here, Prepared, Spec, text};

const NAMED: Named =
    Named { what: "workload", page: "docs/WORKLOADS.md", most_bytes: text::MOST_BYTES };

/// What to do with whole workloads: programs that are measured as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is a workload that comes with oscost, or a file of your own (with a `/`, or ending in .toml).
What is prepared lies in ~/.cache/oscost/workload, or below $XDG_CACHE_HOME.

Examples:
  oscost workload list
  oscost workload prepare kernel-build   unpack a kernel, and configure it
  oscost workload clean kernel-build     give its space back
  oscost workload prepare ./mine.toml    what a workload of your own works on")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The workloads that come with oscost, and what they lack here.
    List,
    /// Make what a workload works on: its cache folder.
    Prepare {
        /// A workload, or a file of your own.
        name: String,
    },
    /// Remove what was made for a workload.
    Clean {
        /// A workload, or a file of your own.
        name: String,
    },
}

pub(super) fn workload(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    match &arguments.verb {
        Verb::List => output.write(&list(&here()?))?,
        Verb::Prepare { name } => {
            let (spec, here) = (find(name)?, here()?);
            // What its commands say is for a person, as progress is.
            let done = workloads::prepare(&spec, &here, &mut std::io::stderr());
            let folder = here.cache_of(&spec);
            match done.map_err(|error| failed("prepare", &spec, &error))? {
                Prepared::Now => remark(&format!("prepared in {}", folder.display())),
                Prepared::Already => {
                    remark(&format!("it is prepared already, in {}", folder.display()));
                }
            }
        }
        Verb::Clean { name } => {
            let (spec, here) = (find(name)?, here()?);
            let done = workloads::clean(&spec, &here);
            match done.map_err(|error| failed("clean", &spec, &error))? {
                true => remark(&format!("removed {}", here.cache_of(&spec).display())),
                false => remark("there was nothing to remove"),
            }
        }
    }
    Ok(Done::Well)
}

fn failed(act: &str, spec: &Spec, error: &CacheError) -> anyhow::Error {
    let hint = match error {
        CacheError::Missing(missing) => {
            let words = missing.lacks.join(", ");
            let hint = missing.hint().map(|it| format!("\n  hint: {it}")).unwrap_or_default();
            return UsageError(format!("cannot {act} {}: there is {words}{hint}", spec.id)).into();
        }
        CacheError::Nothing(_) => {
            let name = spec.name();
            let hint = format!("oscost run workload/{name}");
            return UsageError(format!("cannot {act} {}: {error}\n  hint: {hint}", spec.id)).into();
        }
        CacheError::Locked => "wait until it has ended",
        CacheError::Command { .. } | CacheError::Start(_) | CacheError::Mark(_) => {
            "what it wrote stands above; nothing was kept of it"
        }
        CacheError::File(..) => "is there space, and is the folder yours?",
    };
    anyhow::anyhow!("cannot {act} {}: {error}\n  hint: {hint}", spec.id)
}

/// This machine, for a workload that is not run now.
fn here() -> anyhow::Result<Here> {
    let cache = workloads::here::default_cache().ok_or_else(|| {
        UsageError(
            "cannot find the cache: neither XDG_CACHE_HOME nor HOME names a folder".to_owned(),
        )
    })?;
    let folder = std::env::current_dir().context("cannot tell where we are")?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Here { cpus, folder, cache, quick: false, is_made_up: false })
}

/// Whether a word names a file, and no workload that comes with oscost.
fn is_file(word: &str) -> bool {
    word.ends_with(".toml") || word.contains('/') && !word.starts_with("workload/")
}

/// Finds the workload of that name, or reads it from its file.
pub(super) fn find(word: &str) -> anyhow::Result<Spec> {
    if is_file(word) {
        return read(word);
    }
    let names: Vec<&str> = workloads::all().iter().map(Spec::name).collect();
    workloads::named(word).cloned().ok_or_else(|| NAMED.unknown(word, &names))
}

pub(super) fn read(path: &str) -> anyhow::Result<Spec> {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    NAMED.read(path, |bytes| workloads::parse(bytes, &stem))
}

/// A line a workload: its name, what it asks, and what it lacks here.
fn list(here: &Here) -> String {
    let widest = workloads::all().iter().map(|spec| spec.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for spec in workloads::all() {
        text.push_str(&format!("{:widest$}  {}\n", spec.id, spec.asks));
        if let Err(missing) = spec.workload(&spec.usual(), here) {
            text.push_str(&format!("{:widest$}  lacks: {}\n", "", missing.lacks.join(", ")));
            if let Some(hint) = missing.hint() {
                text.push_str(&format!("{:widest$}  hint: {hint}\n", ""));
            }
        }
    }
    text
}
