//! `oscost fleet check`

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::table_exports::{ReportFormats, TableExports};
use crate::app::BusyPolicy;
use crate::app::fleet::check::{Request, Verdict, check as judge};
use crate::app::fleet::source::FleetSource;
use crate::cli::display;
use crate::cli::exit::ExitStatus;
use crate::cli::output::Output;
use crate::cli::terminal::Terminal;
use crate::cli::values::{ScreenArguments, positive};
use crate::report::fleet::check as view;

/// What a check takes beside its measurements, in seconds: what they need before and after their
/// time, and a slow file system. What takes longer hangs.
const GRACE_S: f64 = 6.0;

/// Which node to check, and against what.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A few quick cases, at least one of each family, are measured and compared with
those of the nodes of the same class in the fleet. What seems slower is measured
again by fresh workers, and is a finding only if it is slower again.

Exit status: 0 healthy; 1 slow, found twice; 3 not judged: the node is too
noisy, another run is measuring on it, its class is not in the fleet, or the
time is up. A prolog drains a node on 1 alone: docs/examples/slurm-prolog.sh.

Examples:
  oscost fleet check --against monday
  oscost fleet check n7 --against ./fleet-monday --at ssh:n7
  oscost fleet check \"$SLURMD_NODENAME\" --against /shared/fleet.parquet --quiet
  oscost fleet check --against monday --json - | jq .verdict")]
pub(super) struct Arguments {
    /// Name of the node in the answer [default: its target].
    #[arg(value_name = "NODE")]
    node: Option<String>,
    /// The fleet: its name in the store, its folder, or its data set.
    #[arg(long, value_name = "FLEET")]
    against: String,
    /// Where to measure.
    #[arg(long, value_name = "TARGET", default_value = "local")]
    at: String,
    /// Time of both measurements; after 6 more seconds the check fails.
    #[arg(long, value_name = "SECONDS", default_value = "14", value_parser = budget)]
    budget: f64,
    /// CPU to measure on [default: the least disturbed].
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Do not lock the machine: measure also beside another run, which disturbs both.
    #[arg(long)]
    no_lock: bool,
    /// Print the answer alone, in one line.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    exports: TableExports,
    #[command(flatten)]
    screen: ScreenArguments,
}

/// The time of a check: with less no case has six repetitions, and more is no check.
fn budget(text: &str) -> Result<f64, String> {
    match positive(text)? {
        seconds if (2.0..=3_600.0).contains(&seconds) => Ok(seconds),
        _ => Err("it must be from 2 to 3600".to_owned()),
    }
}

pub(super) fn check(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { node, against, at, budget, cpu, no_lock, quiet, exports, screen } = arguments;
    exports.check()?;
    let on_busy = if no_lock { BusyPolicy::NoLock } else { BusyPolicy::Fail };
    let request = Request { node, against, at, budget_s: budget, cpu, on_busy };
    let terminal = Terminal::new(output).quiet_if(quiet);
    let limit = Duration::from_secs_f64(budget + GRACE_S);
    let hint = hint_of_late(&FleetSource::parse(&request.against));
    let health = within(limit, hint, move || judge(&request, &terminal))??;
    let formats = ReportFormats {
        view: &|| view::view(&health),
        table: &|| view::table(&health),
        json: &|| view::json(&health),
        schema: view::SCHEMA,
    };
    let screen = screen.screen();
    let text = || match quiet {
        true => view::sentence(&health) + "\n",
        false => display::fitted_text(view::view(&health), screen),
    };
    exports.write(&formats, text, output)?;
    Ok(match health.verdict {
        Verdict::Healthy => ExitStatus::Success,
        Verdict::Slow => ExitStatus::Failure,
        Verdict::NotJudged(_) => ExitStatus::NotMeasured,
    })
}

/// What helps a check that took too long.
fn hint_of_late(source: &FleetSource) -> &'static str {
    match source {
        FleetSource::Folder(_) => {
            "a folder is read record by record: `oscost fleet report FOLDER --data-set \
             FILE.parquet` writes what is read at once; `--budget` gives it more time"
        }
        FleetSource::Stored(_) => {
            "a large fleet of the store is read record by record: `oscost fleet report NAME \
             --data-set FILE.parquet` writes what is read at once; `--budget` gives it more time"
        }
        FleetSource::DataSet(_) => "`--budget` gives it more time",
    }
}

/// The result of `work`, or an error if it takes longer than this: who started the check, as the
/// daemon of Slurm, waits for it. The process ends then, and with its input closed a supervisor ends
/// all that it has started.
fn within<T: Send + 'static>(
    limit: Duration,
    hint: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<T> {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::Builder::new().name("check".to_owned());
    // Nobody receives after the limit.
    worker.spawn(move || drop(sender.send(work())))?;
    receiver.recv_timeout(limit).map_err(|_| {
        anyhow::anyhow!(
            "cannot judge this node: the check took longer than {} s\n  hint: {hint}",
            limit.as_secs_f64()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_an_error_and_what_ends_is_its_result() {
        assert_eq!(within(Duration::from_secs(60), "", || 7).unwrap(), 7);
        let (_sender, receiver) = mpsc::channel::<()>();
        let hangs = move || receiver.recv().is_ok();
        let hint = hint_of_late(&FleetSource::Folder("lab".into()));
        let error = within(Duration::from_millis(1), hint, hangs).unwrap_err().to_string();
        assert!(error.starts_with("cannot judge this node: the check took longer"), "{error}");
        assert!(error.contains("hint: a folder is read record by record"), "{error}");
        let of_store = hint_of_late(&FleetSource::Stored("lab".to_owned()));
        assert!(of_store.contains("--data-set") && !of_store.contains("folder"), "{of_store}");
        assert!(!hint_of_late(&FleetSource::DataSet("a.parquet".into())).contains("--data-set"));
    }

    #[test]
    fn the_time_of_a_check_is_bounded() {
        assert_eq!(budget("14"), Ok(14.0));
        for text in ["1", "0", "-3", "1e9", "x"] {
            assert!(budget(text).is_err(), "{text}");
        }
    }
}
