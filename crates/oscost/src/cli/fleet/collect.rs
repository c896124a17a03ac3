//! `oscost fleet collect`

use std::path::PathBuf;

use crate::app::fleet::collect::{self, CollectOutcome, MissingReason, MissingTask};
use crate::app::fleet::source::RejectedRecord;
use crate::cli::exit::ExitStatus;
use crate::cli::output::Output;
use crate::cli::terminal::Terminal;
use crate::report::fleet::collect::{self as view, Collection, MissingVisit, RejectedFile};

/// Which folder, and how to show what became of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
FOLDER is that of `oscost fleet run` or `oscost fleet simulate`. Each record is
checked as by `oscost runs import`, and must be the visit that the plan has for
its task. Collect as often as you like, also from two places at once: a record
that is kept already is not read again.

Why a visit is missing is told by its task, and by Slurm where Slurm has
launched it and answers.

The exit status is 3 if no visit of the fleet is kept yet.

Examples:
  oscost fleet collect ./fleet
  oscost fleet collect ./fleet --json | jq -r '.missing[].node' | sort -u")]
pub(super) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Print one JSON object (`oscost.fleet-collect/1`).
    #[arg(long)]
    json: bool,
}

pub(super) fn collect(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { folder, json } = arguments;
    let outcome = collect::collect(&folder, &Terminal::new(output))?;
    let collection = collection(outcome);
    match json {
        true => output.write(&view::json(&collection)?)?,
        false => output.show(&view::view(&collection))?,
    }
    Ok(match collection.imported + collection.known {
        0 => ExitStatus::NotMeasured,
        _ => ExitStatus::Success,
    })
}

fn collection(outcome: CollectOutcome) -> Collection {
    let CollectOutcome { fleet, nodes, tasks, imported, known, rejected, missing } = outcome;
    let rejected =
        rejected.into_iter().map(|RejectedRecord { file, why }| RejectedFile { file, why });
    Collection {
        fleet,
        nodes,
        visits: tasks,
        imported,
        known,
        rejected: rejected.collect(),
        missing: missing.into_iter().map(missing_visit).collect(),
    }
}

fn missing_visit(MissingTask { task, node, visit, why }: MissingTask) -> MissingVisit {
    let (state, why) = match why {
        MissingReason::Failed(words) => ("failed", Some(words)),
        MissingReason::InSlurm(state) => {
            (state.text(), Some(state.reason()).filter(|reason| !reason.is_empty()))
        }
        MissingReason::Rejected => ("rejected", None),
        MissingReason::NoRecord => ("no-record", None),
    };
    MissingVisit { task, node, visit, state, why }
}
