//! `oscost fleet simulate`

use std::ops::Range;
use std::path::PathBuf;

use crate::app::fleet::simulate::{self, SimulateRequest, SimulatedFolder};
use crate::cli::exit::ExitStatus;
use crate::cli::output::{Output, report_line};

/// Which fleet, and where to write it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The folder gets a plan, a valid record for each visit, and TRUTH.json, which
names the nodes that are slow in a family of cases, by how much, and the fact
that only they have. The records say in their label, tool, and hypervisor that
they are simulated. The same arguments write the same files.

Examples:
  oscost fleet simulate ./fleet
  oscost fleet simulate ./fleet --nodes 1000 --spread 10 --slow 2
  oscost fleet simulate ./fleet --nodes 10000 --tasks 0-2999   a part of it")]
pub(super) struct Arguments {
    /// Folder to write to; it is made if there is none.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Name of the fleet.
    #[arg(long, value_name = "NAME", default_value = "simulated")]
    name: String,
    /// Number of nodes.
    #[arg(long, value_name = "N", default_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: u32,
    /// Number of cases in each record.
    #[arg(long, value_name = "N", default_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    cases: u32,
    /// Number of visits of each node.
    #[arg(long, value_name = "N", default_value = "3",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    visits: u32,
    /// Standard deviation of a figure between visits of a node, in per cent.
    #[arg(long, value_name = "PCT", default_value = "10", value_parser = share)]
    spread: f64,
    /// Standard deviation of a figure between nodes, in per cent.
    #[arg(long, value_name = "PCT", default_value = "1", value_parser = share)]
    node_spread: f64,
    /// Nodes that are slow in one family of cases, in per cent.
    #[arg(long, value_name = "PCT", default_value = "1", value_parser = share)]
    slow: f64,
    /// Seed of all that is random.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u64).range(0..1 << 53))]
    seed: u64,
    /// Write the records of these tasks alone, as `FIRST-LAST`.
    #[arg(long, value_name = "TASKS", value_parser = tasks)]
    tasks: Option<Range<usize>>,
}

/// A share that is given in per cent.
fn share(text: &str) -> Result<f64, String> {
    let pct = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let pct = pct.filter(|pct| (0.0..=100.0).contains(pct));
    pct.map(|pct| pct / 100.0).ok_or_else(|| "it is 0 to 100 per cent".to_owned())
}

fn tasks(text: &str) -> Result<Range<usize>, String> {
    let range = text.split_once('-').and_then(|(first, last)| {
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then(|| first..last.saturating_add(1))
    });
    range.ok_or_else(|| "it is FIRST-LAST, as `0-99`".to_owned())
}

pub(super) fn simulate(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let folder = arguments.folder.clone();
    let SimulatedFolder { tasks, written, planted } = simulate::simulate(&request(arguments))?;
    let faults = if planted == 1 { "fault" } else { "faults" };
    output.write(&format!(
        "{written} of {tasks} records of a simulated fleet with {planted} planted {faults} are in \
         {}\n",
        folder.display()
    ))?;
    report_line(&format!("`oscost fleet collect {}` keeps them", folder.display()));
    Ok(ExitStatus::Success)
}

fn request(arguments: Arguments) -> SimulateRequest {
    SimulateRequest {
        folder: arguments.folder,
        name: arguments.name,
        nodes: arguments.nodes as usize,
        cases: arguments.cases as usize,
        visits: arguments.visits as usize,
        between_visits: arguments.spread,
        between_nodes: arguments.node_spread,
        planted_share: arguments.slow,
        seed: arguments.seed,
        tasks: arguments.tasks,
        command: ["oscost", "fleet", "simulate"].map(str::to_owned).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_a_first_and_a_last_one() {
        assert_eq!(tasks("0-99"), Ok(0..100));
        assert_eq!(tasks("7-7"), Ok(7..8));
        for text in ["", "7", "9-8", "-1-2", "a-b"] {
            tasks(text).unwrap_err();
        }
        assert_eq!(share("3%"), Ok(0.03));
        share("101").unwrap_err();
    }
}
