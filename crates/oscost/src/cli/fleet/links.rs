//! `oscost fleet links`

use std::path::PathBuf;

use super::table_exports::{ReportFormats, TableExports};
use crate::app::fleet::links::{LinkLauncher, Request, links as measure};
use crate::cli::display;
use crate::cli::exit::ExitStatus;
use crate::cli::lock_arguments::LockArguments;
use crate::cli::output::Output;
use crate::cli::terminal::Terminal;
use crate::cli::values::{ScreenArguments, positive};
use crate::report::fleet::links as view;

/// Which nodes to measure between, and what.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a SELECTOR: round trips of 64 bytes by TCP and UDP, and the throughput
of 64 KiB messages by TCP. Up to 32 nodes, all pairs are measured; of more
nodes a random selection in which each has as many pairs as any other (8,
unless --pairs says otherwise). Pairs are measured one at a time, in random
order; with --repeat in both directions by turns, and nodes and links that are
not like the others are named.

Examples:
  oscost fleet links --ssh hosts.txt
  oscost fleet links --ssh hosts.txt --repeat 3 -o links.html    a heat map
  oscost fleet links --slurm partition=debug --nodes 'n[1-4]'
  oscost fleet links --slurm qos=low --nodes 'n[001-400]' --pairs 800
  oscost fleet links --ssh hosts.txt 'socket/round-trip:by=tcp,size=*'")]
pub(super) struct Arguments {
    /// A family, a benchmark, a case or a glob of cases with two ends.
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// Reach nodes by Slurm, with these options, as those of a `slurm:` target; may be empty.
    #[arg(long, value_name = "OPTIONS", required_unless_present = "ssh")]
    slurm: Option<String>,
    /// Reach the hosts of FILE by ssh: `[user@]HOST` in each line.
    #[arg(long, value_name = "FILE", conflicts_with = "slurm")]
    ssh: Option<PathBuf>,
    /// Nodes, as Slurm lists them: `n[1-4],login` [default: all of the partition].
    #[arg(long, value_name = "LIST", conflicts_with = "ssh")]
    nodes: Option<String>,
    /// Share nodes with other jobs [default: `exclusive`].
    #[arg(long, conflicts_with = "ssh")]
    shared: bool,
    /// The number of pairs [default: all of up to 32 nodes, four for each of more].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pairs: Option<u32>,
    /// How often each pair is measured; from 2 on, it is judged which links stand out.
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Stop each pair after this many seconds [default: 60].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive)]
    budget: Option<f64>,
    /// Seed of the pairs and their order [default: a fresh one].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Show notes and errors only: no progress.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    exports: TableExports,
    #[command(flatten)]
    screen: ScreenArguments,
    #[command(flatten)]
    lock: LockArguments,
}

pub(super) fn links(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { selectors, slurm, ssh, nodes, pairs, repeat, budget, seed, .. } = arguments;
    let (exports, screen) = (arguments.exports, arguments.screen.screen());
    exports.check()?;
    let launcher = match ssh {
        Some(file) => LinkLauncher::Ssh(file),
        None => {
            let (options, exclusive) = (slurm.unwrap_or_default(), !arguments.shared);
            LinkLauncher::Slurm { options, nodes, exclusive }
        }
    };
    let request = Request {
        launcher,
        pairs: pairs.map(|pairs| pairs as usize),
        selectors,
        repeats: repeat,
        seed,
        budget_s: budget,
        on_busy: arguments.lock.policy(),
    };
    let network = measure(&request, &Terminal::new(output).quiet_if(arguments.quiet))?;
    let formats = ReportFormats {
        view: &|| view::page(&network),
        table: &|| view::figures(&network),
        json: &|| view::json(&network),
        schema: view::SCHEMA,
    };
    let text = || display::fitted_text(view::view(&network), screen);
    exports.write(&formats, text, output)?;
    Ok(match (network.is_interrupted, network.has_figures()) {
        (true, _) => ExitStatus::Interrupted,
        (false, true) => ExitStatus::Success,
        (false, false) => ExitStatus::NotMeasured,
    })
}
