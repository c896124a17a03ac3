//! `oscost study`

use oscost_model::record::Record;

use super::output::{Output, remark};
use super::{Done, runs, study};
use crate::report::studies;
use crate::studies::Study;

/// What to do with studies: published measurements that can be made again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is a study that comes with oscost, or a file of your own (with a `/`, or ending in .toml);
docs/STUDY-FILES.md says what stands in one.

Examples:
  oscost study list
  oscost study show cse221-2014        what was measured, printed and said
  oscost run --study cse221-2014       measure it again, on this machine
  sudo oscost ab --study ph-2000       the same of one that compares two places
  oscost study claims                  what is still so, by your last run of each")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The studies that come with oscost, and how long each takes.
    List,
    /// A study: its tables as they were printed, its conditions and claims.
    Show {
        /// A study, or a file of your own.
        name: String,
    },
    /// The claims of all studies, and whether they hold by the last run of each.
    Claims {
        /// As a page of Markdown, with every claim and what it came to.
        #[arg(long)]
        markdown: bool,
    },
}

pub(super) fn study(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    match &arguments.verb {
        Verb::List => output.write(&studies::list(&all()))?,
        Verb::Show { name } => output.write(&studies::page(&study::find(name)?, name))?,
        Verb::Claims { markdown } => {
            let studies = all();
            let records = last_runs(&studies)?;
            let pairs: Vec<(&Study, Option<&Record>)> =
                studies.iter().zip(records.iter().map(Option::as_ref)).collect();
            if records.iter().all(Option::is_none) {
                remark("no run of a study is kept: `oscost run --study NAME` makes one");
            }
            output.write(&match markdown {
                true => studies::markdown(&pairs),
                false => studies::claims(&pairs),
            })?;
        }
    }
    Ok(Done::Well)
}

/// The studies that come with oscost.
fn all() -> Vec<Study> {
    crate::studies::names().filter_map(crate::studies::named).collect()
}

/// The last run of each of these that is kept, if there is one.
fn last_runs(studies: &[Study]) -> anyhow::Result<Vec<Option<Record>>> {
    let store = runs::store()?;
    let mut found: Vec<Option<Record>> = studies.iter().map(|_| None).collect();
    for run in store.list()? {
        // A record is read only where its command line says that it may be one.
        let named = |word: &String| word == "--study" || word.starts_with("--study=");
        if found.iter().all(Option::is_some) {
            break;
        }
        // Yours are those that were measured here.
        if run.imported || !run.command.iter().any(named) {
            continue;
        }
        let record = runs::record(&store, &run.id, false)?;
        let Some(name) = record.settings.study.clone() else { continue };
        let at = studies.iter().position(|study| study.id == name);
        if let Some(target) = at.and_then(|at| found.get_mut(at)).filter(|it| it.is_none()) {
            *target = Some(record);
        }
    }
    Ok(found)
}
