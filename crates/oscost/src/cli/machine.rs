//! `oscost machine`

use super::Done;
use super::output::Output;
use super::target::{self, Machine, Patience};
use crate::hosts::{Session, WorkerBinary};
use crate::report;
use crate::report::machine::{Description, Rates};
use crate::run;

/// What to say of the machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every row is always there: with a value, or with `not visible` and the reason.
Host names, addresses and serial numbers are not read. Root sees more.

Examples:
  oscost machine                                what this machine is made of
  sudo oscost machine                           memory modules and tracers, too
  oscost machine --json | jq .caches            the same, for programs
  oscost machine --json | jq -r .os.cmdline     one fact")]
pub(super) struct Arguments {
    /// Print the facts as one JSON object (`oscost.machine/1`).
    #[arg(long)]
    json: bool,
    /// Which machine.
    #[arg(long, value_name = "REACH", default_value = "local")]
    at: String,
}

pub(super) fn machine(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let program = WorkerBinary::find()?;
    // A spin beside a run would spoil it, and would not be worth the wait.
    target::visit(&arguments.at, &program, Patience::GoWithout, &mut |session, machine| {
        let rates = match machine {
            Machine::Ours => rates(session)?,
            Machine::Held(by) => Rates {
                unasked: Some(format!("{by} is measuring on this machine: ask again later")),
                ..Rates::default()
            },
        };
        let hello = session.hello();
        let description = Description {
            facts: &hello.facts,
            clocks: &hello.clocks,
            program: &hello.build,
            rates: &rates,
        };
        match arguments.json {
            true => output.write(&report::machine::json(&description)?)?,
            false => output.write(&report::machine::text(&description))?,
        }
        Ok(Done::Well)
    })
}

fn rates(session: &mut dyn Session) -> anyhow::Result<Rates> {
    let (probe, calibration) = run::clock_rates(session)?;
    Ok(Rates { probe, calibration, unasked: None })
}
