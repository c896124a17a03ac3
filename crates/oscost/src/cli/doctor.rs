//! `oscost doctor`

use std::time::Duration;

use super::output::Output;
use super::target::{self, Patience, treated};
use super::{Done, UsageError, vm};
use crate::advice::doctor::{Observations, examine};
use crate::hosts::WorkerBinary;
use crate::report;
use crate::report::doctor::Visit;
use crate::report::progress::Progress;
use crate::run;

/// How long every CPU is listened to: 120 ticks of the kernel's account, in which 1 % is one.
const SPIN: Duration = Duration::from_millis(1_200);

/// What to listen to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It listens for some 2 s to every CPU that it may use, then says what it found,
worst first: what it is, its effect on figures, and the command that fixes it.
Nothing is changed. Findings are no errors: the exit status is 0.

  invalidates  figures cannot be trusted
  biases       all figures of a kind are larger than on a machine without it
  noise        intervals are wider, or figures change from minute to minute
  limitation   something cannot be measured or observed
  note         worth knowing when figures are compared

Examples:
  oscost doctor                                     before you trust a figure
  sudo oscost doctor                                sees tracers and audit, too
  oscost doctor --json | jq -r .class               clean, noisy or hostile
  oscost doctor --json | jq -r '.findings[].command | values'")]
pub(super) struct Arguments {
    /// Print what was seen and found as one JSON object (`oscost.doctor/1`).
    #[arg(long)]
    json: bool,
    /// Which machine.
    #[arg(long, value_name = "REACH", default_value = "local")]
    at: String,
    /// If a run has the machine, fail at once.
    #[arg(long)]
    no_wait: bool,
}

pub(super) fn doctor(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    if vm::counts(&treated(&arguments.at, None)?)?.is_some() {
        let text = format!(
            "cannot listen for noise at `{}`: instructions are counted there, and no noise changes \
             a count\n  hint: `oscost machine --at ...` says what such a machine is like",
            arguments.at
        );
        return Err(UsageError(text).into());
    }
    let program = WorkerBinary::find()?;
    let patience = if arguments.no_wait { Patience::Fail } else { Patience::Wait };
    target::visit(&arguments.at, &program, patience, &mut |session, _| {
        let progress = Progress::saying("listening to every CPU for some 2 s");
        // On another machine the number is somebody else's.
        let here = (arguments.at == "local").then(std::process::id);
        let looked = run::inspect_machine(session, SPIN, here.as_slice());
        drop(progress);
        let looked = looked?;
        let hello = session.hello();
        let (facts, clocks) = (&hello.facts, &hello.clocks[..]);
        let watch = looked.activity.as_ref().map_err(String::as_str);
        let uncounted = looked.uncountable_reason.as_deref();
        let (probe, cpu) = (&looked.probe[..], looked.cpu);
        let seen = Observations {
            facts,
            clocks,
            probe,
            cpu,
            activity: watch,
            uncountable_reason: uncounted,
        };
        let diagnosis = examine(&seen);
        let diagnosis = &diagnosis;
        let visit = Visit { facts, clocks, probe, cpu, watch, uncounted, diagnosis };
        match arguments.json {
            true => output.write(&report::doctor::json(&visit)?)?,
            false => output.write(&report::doctor::text(&visit))?,
        }
        Ok(Done::Well)
    })
}
