//! `oscost machine`

use super::display::text;
use super::exit::ExitStatus;
use super::node_reports::{titled, write_each};
use super::output::Output;
use super::terminal::Terminal;
use crate::app::machine::{Outcome, machine as describe, machines as describe_nodes};
use crate::app::{NodeTarget, node_targets};
use crate::report;
use crate::report::machine::{Description, Rates};

/// Which machine to describe.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every row is always shown: with a value, or with `not visible` and the reason.
Host names, addresses and serial numbers are not read. Root sees more.

Examples:
  oscost machine                                what this machine is made of
  sudo oscost machine                           memory modules and tracers, too
  oscost machine --json | jq .caches            the same, for programs
  oscost machine --json | jq -r .os.cmdline     one fact
  oscost machine --at 'slurm:nodes=n[1-4]'      four nodes, one after the other")]
pub(super) struct Arguments {
    /// Print the facts as one JSON object (`oscost.machine/1`), of several nodes one for each.
    #[arg(long)]
    json: bool,
    /// Which machine.
    #[arg(long, value_name = "HOST", default_value = "local")]
    at: String,
}

pub(super) fn machine(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { json, at } = arguments;
    let terminal = Terminal::new(output);
    if let Some(nodes) = node_targets(at)? {
        let described = describe_nodes(nodes, &terminal)?;
        return write_each(described, output, |node, outcome| document(outcome, Some(node), *json));
    }
    output.write(&document(describe(at, &terminal)?, None, *json)?)?;
    Ok(ExitStatus::Success)
}

fn document(outcome: Outcome, node: Option<&NodeTarget>, json: bool) -> anyhow::Result<String> {
    let Outcome { facts, clocks, worker, probe, calibration, measuring } = outcome;
    let not_measured =
        measuring.map(|by| format!("{by} is measuring on this machine: try again later"));
    let rates = Rates { probe, calibration, not_measured };
    let description =
        Description { facts: &facts, clocks: &clocks, worker: &worker, rates: &rates };
    Ok(match json {
        true => report::machine::json(&description, node.map(|it| it.target.as_str()))?,
        false => text(&titled(node, report::machine::view(&description))),
    })
}
