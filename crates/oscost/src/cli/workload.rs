//! `oscost workload`

use super::exit::ExitStatus;
use super::output::{Output, report_line};
use crate::app::workload::{self, Listed, Missing, PreparedFolder};

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
        Verb::List => output.write(&text(&workload::list()?))?,
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

/// A line for each workload, with what it lacks here below it.
fn text(listed: &[Listed]) -> String {
    let width = listed.iter().map(|it| it.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Listed { id, asks, missing } in listed {
        text.push_str(&format!("{id:width$}  {asks}\n"));
        let Some(Missing { lacks, hint }) = missing else { continue };
        text.push_str(&format!("{:width$}  lacks: {}\n", "", lacks.join(", ")));
        if let Some(hint) = hint {
            text.push_str(&format!("{:width$}  hint: {hint}\n", ""));
        }
    }
    text
}
