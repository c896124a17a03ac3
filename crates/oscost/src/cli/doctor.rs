//! `oscost doctor`

use super::display::text;
use super::exit::ExitStatus;
use super::lock_arguments::LockArguments;
use super::node_reports::{titled, write_each};
use super::output::Output;
use super::terminal::Terminal;
use crate::app::doctor::{Outcome, Request, doctor as examine, doctor_at_nodes};
use crate::app::self_check::self_check;
use crate::app::{NodeTarget, node_targets};
use crate::report;
use crate::report::doctor::Examination;

/// Which machine to examine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Probes every CPU that it may use for 1.2 s, then lists its findings, worst
first: what each is, how it affects figures, and the command that fixes it.
Nothing is changed. Findings are not errors: the exit status is 0.

  invalidates  figures are not to be trusted
  biases       figures of a kind are all larger than on a machine without it
  noise        intervals are wider, or figures change from minute to minute
  limitation   something cannot be measured or observed
  note         worth knowing when figures are compared (--verbose)

With --self it lists what limits oscost itself here: the rows, treatments and
checks that are missing, and what to do. It measures nothing. The exit status
is 3 if nothing can be measured here, otherwise 0.

Examples:
  oscost doctor                                     before you trust a figure
  sudo oscost doctor                                sees tracers and audit, too
  oscost doctor --self                              what oscost cannot do here
  oscost doctor --json | jq -r .class               quiet, noisy or very-noisy
  oscost doctor --json | jq -r '.findings[].command | values'
  oscost doctor --at 'slurm:nodes=n[1-4]'           four nodes in turn")]
pub(super) struct Arguments {
    /// Print the observations and findings as one JSON object (`oscost.doctor/1`; with --self
    /// `oscost.self-check/1`), of several nodes one for each.
    #[arg(long)]
    json: bool,
    /// Also list notes, which matter when machines are compared.
    #[arg(short, long, conflicts_with_all = ["json", "examines_oscost"])]
    verbose: bool,
    /// List which conditions of this machine limit oscost itself.
    #[arg(long = "self", conflicts_with_all = ["at", "no_wait", "no_lock"])]
    examines_oscost: bool,
    /// Which machine.
    #[arg(long, value_name = "HOST", default_value = "local")]
    at: String,
    #[command(flatten)]
    lock: LockArguments,
}

pub(super) fn doctor(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { json, verbose, examines_oscost, at, lock } = arguments;
    if examines_oscost {
        return examine_oscost(json, output);
    }
    let (terminal, on_busy) = (Terminal::new(output), lock.policy());
    let form = Form { json, verbose };
    if let Some(nodes) = node_targets(&at)? {
        let examined = doctor_at_nodes(nodes, on_busy, &terminal)?;
        return write_each(examined, output, |node, outcome| document(outcome, Some(node), form));
    }
    let outcome = examine(&Request { at, on_busy }, &terminal)?;
    output.write(&document(outcome, None, form)?)?;
    Ok(ExitStatus::Success)
}

/// How a diagnosis is written.
#[derive(Clone, Copy)]
struct Form {
    json: bool,
    verbose: bool,
}

fn document(
    outcome: Outcome,
    node: Option<&NodeTarget>,
    Form { json, verbose }: Form,
) -> anyhow::Result<String> {
    let Outcome { machine, diagnosis } = outcome;
    let examination = Examination { observations: machine.observations(), diagnosis: &diagnosis };
    Ok(match json {
        true => report::doctor::json(&examination, node.map(|it| it.target.as_str()))?,
        false => text(&titled(node, report::doctor::view(&examination, verbose))),
    })
}

fn examine_oscost(json: bool, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let judgements = self_check(&Terminal::new(output))?;
    match json {
        true => output.write(&report::self_check::json(&judgements)?)?,
        false => output.show(&report::self_check::view(&judgements))?,
    }
    Ok(match report::self_check::can_measure(&judgements) {
        true => ExitStatus::Success,
        false => ExitStatus::NotMeasured,
    })
}
