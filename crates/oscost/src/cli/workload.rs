//! `oscost workload`

use super::exit::ExitStatus;
use super::output::{Output, report_line};
use crate::app::workload::{self, PreparedFolder, Readiness, WorkloadListing};
use crate::report;
use crate::report::workloads::Workload;

/// What to do with whole workloads: programs that are measured as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is a workload that comes with oscost, or a file of your own (with a `/`, or
ending in .toml). Prepared folders are in ~/.cache/oscost/workload, or below
$XDG_CACHE_HOME; root's are in root's own home if another user could change
what it executes.

Examples:
  oscost workload list
  oscost workload prepare kernel-build   unpack a kernel, and configure it
  oscost workload prepare --all          prepare all, for study ph-2000
  oscost workload delete kernel-build    free its space
  oscost workload prepare ./mine.toml    prepare a workload of your own")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the workloads that come with oscost, and what they lack here.
    #[command(after_help = "\
Examples:
  oscost workload list
  oscost workload list --json | jq -r '.workloads[] | select(.lacks == []).id'")]
    List {
        /// Print one JSON object (`oscost.workloads/1`).
        #[arg(long)]
        json: bool,
    },
    /// Make the folder that a workload works on.
    #[command(after_help = "\
With --all, what this machine lacks is named with the packages that have it, and
does not stop the others. The exit status is 3 if a preparation failed, or if no
workload can be run.

Examples:
  oscost workload prepare kernel-build   unpack a kernel, and configure it
  oscost workload prepare ./mine.toml    a workload of your own
  oscost workload prepare --all          prepare all, for study ph-2000")]
    Prepare {
        /// A workload, or a file of your own.
        #[arg(required_unless_present = "all")]
        name: Option<String>,
        /// Prepare all workloads that come with oscost.
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
    /// Delete the folder that was prepared for a workload.
    #[command(after_help = "\
Examples:
  oscost workload delete kernel-build    free its space")]
    Delete {
        /// A workload, or a file of your own.
        name: String,
    },
}

pub(super) fn workload(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match &arguments.verb {
        Verb::List { json } => {
            let rows: Vec<Workload> = workload::list()?.into_iter().map(row).collect();
            match json {
                true => output.write(&report::workloads::json(&rows)?)?,
                false => output.show(&report::workloads::view(&rows))?,
            }
        }
        Verb::Prepare { name: Some(name), .. } => {
            // The output of its commands is progress, not data.
            let prepared = workload::prepare(name, &mut std::io::stderr())?;
            report_line(&prepared_text(&prepared));
        }
        Verb::Prepare { name: None, .. } => return prepare_all(),
        Verb::Delete { name } => match workload::delete(name)? {
            Some(folder) => report_line(&format!("deleted {}", folder.display())),
            None => report_line("nothing was prepared for it"),
        },
    }
    Ok(ExitStatus::Success)
}

fn prepare_all() -> anyhow::Result<ExitStatus> {
    let mut each = |id: &str, readiness: &Readiness| {
        let text = match readiness {
            Readiness::Prepared(prepared) => prepared_text(prepared),
            Readiness::NeedsNone => "ready, needs no preparation".to_owned(),
            Readiness::Lacks(lacks) => format!("not ready: there is {}", lacks.join(", ")),
            Readiness::Failed(why) => format!("not prepared: {why}"),
        };
        report_line(&format!("{id}: {text}"));
    };
    let summary = workload::prepare_all(&mut std::io::stderr(), &mut each)?;
    if let Some(hint) = summary.hint {
        report_line(&format!("  hint: {hint}"));
    }
    Ok(match summary.failed > 0 || summary.ready == 0 {
        true => ExitStatus::NotMeasured,
        false => ExitStatus::Success,
    })
}

fn prepared_text(PreparedFolder { folder, is_new }: &PreparedFolder) -> String {
    let folder = folder.display();
    match is_new {
        true => format!("prepared in {folder}"),
        false => format!("already prepared, in {folder}"),
    }
}

fn row(WorkloadListing { id, asks, missing }: WorkloadListing) -> Workload {
    let (lacks, hint) = missing.map_or_else(Default::default, |it| (it.lacks, it.hint));
    Workload { id, question: asks, lacks, hint }
}
