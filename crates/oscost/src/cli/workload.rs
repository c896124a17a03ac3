//! `oscost workload`

use super::exit::ExitStatus;
use super::output::{Output, report_line};
use crate::app::workload::{self, PreparedFolder, WorkloadListing};
use crate::report;
use crate::report::workloads::Workload;

/// What to do with whole workloads: programs that are measured as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
NAME is a workload that comes with oscost, or a file of your own (with a `/`, or
ending in .toml). Prepared folders are in ~/.cache/oscost/workload, or below
$XDG_CACHE_HOME.

Examples:
  oscost workload list
  oscost workload prepare kernel-build   unpack a kernel, and configure it
  oscost workload delete kernel-build    free its space
  oscost workload prepare ./mine.toml    prepare a workload of your own")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the workloads that come with oscost, and what they lack here.
    List,
    /// Make the folder that a workload works on.
    Prepare {
        /// A workload, or a file of your own.
        name: String,
    },
    /// Delete the folder that was prepared for a workload.
    Delete {
        /// A workload, or a file of your own.
        name: String,
    },
}

pub(super) fn workload(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match &arguments.verb {
        Verb::List => {
            let rows: Vec<Workload> = workload::list()?.into_iter().map(row).collect();
            output.write(&report::terminal(&report::workloads::view(&rows)))?;
        }
        Verb::Prepare { name } => {
            // The output of its commands is progress, not data.
            let PreparedFolder { folder, is_new } =
                workload::prepare(name, &mut std::io::stderr())?;
            let folder = folder.display();
            match is_new {
                true => report_line(&format!("prepared in {folder}")),
                false => report_line(&format!("already prepared, in {folder}")),
            }
        }
        Verb::Delete { name } => match workload::delete(name)? {
            Some(folder) => report_line(&format!("deleted {}", folder.display())),
            None => report_line("nothing was prepared for it"),
        },
    }
    Ok(ExitStatus::Success)
}

fn row(WorkloadListing { id, asks, missing }: WorkloadListing) -> Workload {
    let (lacks, hint) = missing.map_or_else(Default::default, |it| (it.lacks, it.hint));
    Workload { id, question: asks, lacks, hint }
}
