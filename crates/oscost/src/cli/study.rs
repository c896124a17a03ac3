//! `oscost study`

use std::path::PathBuf;

use super::exit::ExitStatus;
use super::output::{Output, report_line};
use super::{study_across, study_book};
use crate::app::study::{last_runs, list, programs, show};
use crate::report::study::list::{self as studies, LastRun};
use crate::report::study::published::{StudyCode, page};

/// What to do with studies: published measurements that can be made again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is a study that comes with oscost, or a file of your own (with a `/`, or
ending in .toml), which docs/reference/STUDY-FILES.md documents.

Examples:
  oscost study list
  oscost study show cse221-2014        its tables, conditions and claims
  oscost run --study cse221-2014       measure it again, on this machine
  sudo oscost ab --study ph-2000       the same of one that compares two targets
  oscost study claims                  which still hold, by the last run of each
  oscost study across                  the same acts in all of them, and here
  oscost study book studies            pages of all, with pictures and lessons")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the studies that come with oscost, and how long each takes.
    #[command(after_help = "\
Examples:
  oscost study list
  oscost study list --json | jq -r '.studies[].command'")]
    List {
        /// Print one JSON object (`oscost.studies/1`).
        #[arg(long)]
        json: bool,
    },
    /// Show a study: its tables as published, its conditions and claims, the code of its programs.
    #[command(after_help = "\
Examples:
  oscost study show cse221-2014
  oscost study show ./mine.toml    a file of your own")]
    Show {
        /// A study, or a file of your own.
        name: String,
    },
    /// Check the claims of all studies against the last runs of each.
    #[command(after_help = "\
Examples:
  oscost study claims
  oscost study claims --json | jq '.studies[] | {id, run, claims}'
  oscost run --study cse221-2014    a run of which claims are checked")]
    Claims {
        /// Print one JSON object (`oscost.claims/1`).
        #[arg(long)]
        json: bool,
    },
    /// Show the same acts in all studies and here: in time, in cycles, in multiples.
    Across(study_across::Arguments),
    /// Write a book: a page for each study by its last run, lessons, and a checklist.
    ///
    /// Markdown with SVG pictures, and book.html, which is all of it. Other files of the folder
    /// stay as they are.
    #[command(after_help = "\
Examples:
  oscost study book studies    a page for each study, and book.html")]
    Book {
        /// The folder; it is made if there is none.
        folder: PathBuf,
    },
}

pub(super) fn study(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match &arguments.verb {
        Verb::Across(arguments) => return study_across::across(arguments, output),
        Verb::List { json: true } => output.write(&studies::list_json(&list())?)?,
        Verb::List { json: false } => output.show(&studies::list(&list()))?,
        Verb::Show { name } => {
            let study = show(name)?;
            let programs = programs(&study).into_iter();
            let code = programs.map(|program| StudyCode {
                command: program.command.to_owned(),
                text: program.source.to_owned(),
            });
            let code: Vec<StudyCode> = code.collect();
            output.show(&page(&study, name, &code))?;
        }
        Verb::Claims { json } => {
            let studies = list();
            let runs = last_runs(&studies)?;
            let pairs = studies.iter().zip(&runs);
            let last_runs: Vec<LastRun<'_>> =
                pairs.map(|(study, runs)| study_book::last_run(study, runs.as_ref())).collect();
            if runs.iter().all(Option::is_none) {
                report_line("no run of a study is kept: `oscost run --study NAME` makes one");
            }
            match json {
                true => output.write(&studies::claims_json(&last_runs)?)?,
                false => output.show(&studies::claims(&last_runs))?,
            }
        }
        Verb::Book { folder } => study_book::write(folder, output)?,
    }
    Ok(ExitStatus::Success)
}
