//! `oscost treat`

use std::ffi::OsString;

use super::exit::{ExitStatus, report_not_started};
use super::output::Output;
use super::terminal::Terminal;
use crate::app::UsageError;
use crate::app::treat::{TreatmentListing, Works, exec, list};
use crate::report;
use crate::report::treatments::{Here, Row};

/// Which treatments, and of which command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command has your terminal, folder, environment and signals. Treatments are
joined by `+` and applied in their order; after `cmd=` they apply to what the
wrapper starts. A treatment of the whole system is detached when the command
ends, however it ends. Under a filter (seccomp) set-user-ID programs gain no
privileges (no_new_privs): sudo does not work.

Exit status: the command's own; 128 and the signal's number if it was killed;
127 if it is not found, 126 if it cannot be run, 125 if this machine cannot
apply the treatment, 2 if the treatment is unknown.

Examples:
  oscost treat seccomp=docker -- ls                would it run in a container?
  oscost treat ptrace -- make                      a build under a tracer
  oscost treat nice=5+antagonist=memory -- ./job   with a noisy neighbour
  sudo oscost treat ebpf=count -- ls               while all calls are counted
  oscost treat list                                all, and which work here
  oscost treat list --json | jq '.treatments[] | select(.here == \"no\")'")]
pub(super) struct Arguments {
    /// Treatments, joined by `+`; or `list`, which lists all and tries each on this machine.
    #[arg(value_name = "TREATMENTS")]
    treatments: Option<String>,
    /// With `list`: print one JSON object (`oscost.treatments/1`).
    #[arg(long)]
    json: bool,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn treat(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { treatments, json, command } = arguments;
    match (treatments.as_deref(), &command[..]) {
        (Some("list"), []) => write_list(json, output),
        (_, []) => Err(UsageError::with_hint(
            "cannot treat: no command is named",
            "name it after `--`: `oscost treat seccomp=docker -- ls`",
        )
        .into()),
        (_, _) if json => Err(UsageError::with_hint(
            "cannot use `--json` with a command, which has its own output",
            "`oscost treat list --json`",
        )
        .into()),
        (treatments, [program, ..]) => {
            let error = exec(treatments.unwrap_or("local"), &command, &Terminal::new(output))?;
            Ok(report_not_started(&program.display().to_string(), &error))
        }
    }
}

fn write_list(json: bool, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let rows: Vec<Row> = list(&Terminal::new(output))?.into_iter().map(row).collect();
    match json {
        true => output.write(&report::treatments::json(&rows)?)?,
        false => output.show(&report::treatments::view(&rows))?,
    }
    Ok(ExitStatus::Success)
}

fn row(TreatmentListing { kind, values, works }: TreatmentListing) -> Row {
    let (here, why) = match works {
        Works::Yes => (Here::Yes, None),
        Works::No(why) => (Here::No, Some(why)),
        Works::NotTried(why) => (Here::NotTried, Some(why)),
    };
    Row {
        name: kind.name,
        value: kind.value,
        effect: kind.effect,
        needs: kind.needs,
        study_method: kind.mechanism.text(),
        names: values,
        here,
        reason: why,
    }
}
