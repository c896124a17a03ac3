//! `oscost bill`

use std::time::Duration;

use super::display;
use super::exit::ExitStatus;
use super::exports::{Exports, Subject};
use super::lock_arguments::LockArguments;
use super::output::Output;
use super::run_text::report_id;
use super::terminal::Terminal;
use super::values::label;
use crate::app::bill::watch::{Request as WatchRequest, bill as bill_of_process};
use crate::app::bill::{Request, bill as bill_of};
use crate::app::bills;
use crate::app::{CounterChoice, UsageError};
use crate::report;

/// Of which command or process, and by which prices; or which two bills.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command runs as with `oscost run -- COMMAND`: some times untouched, for its
times, and in turns with them three times while a counter follows its process
tree: programs in the kernel (eBPF, as root), otherwise a tracer (ptrace). Each
call is priced by a case of the catalog (docs/reference/CALLS.md) as the last
runs of this machine have measured it. What these lack is measured between
trials, and kept as a run. The difference between what is charged and the
measured system time is a line of its own. docs/explanation/BILL.md says who
pays for what, and what a bill cannot know.

Two bills are compared item by item: what the second has more, by count and by
price; those of running processes by what they did in a second. Each is an id,
the beginning of one, `last`, `last~1`, `@LABEL` or a file with a slash in its
name or ending in .json.

Examples:
  oscost bill -- find /usr -xdev -name '*.c'
  oscost bill --price-seconds 0 -- make      by the prices that there are
  oscost bill --trials 30 -- git status
  oscost bill --prices last~1 -- ls -l       by the prices of another run
  sudo oscost bill --pid 1234 --for 10s      what a running process is charged
  oscost bill --counter ptrace -- ls         counted by a tracer, also as root
  oscost bill --json - -- ls | jq '.items[] | {name, times, amount}'
  oscost bill --label before -- make         then, after a change,
  oscost bill --label after -- make          the same again
  oscost bill @before @after                 which items grew
  oscost report last -o bill.html            the last bill or run as a page")]
pub(super) struct Arguments {
    /// How many times it runs untouched [default: as often as fits 6 seconds, 6 to 90 times].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1_000),
          conflicts_with = "bills")]
    trials: Option<u32>,
    /// The run whose figures are the prices [default: the newest of this machine].
    #[arg(long, value_name = "RUN", conflicts_with = "bills")]
    prices: Option<String>,
    /// Time to measure prices that those runs lack, in seconds; 0 measures none.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        conflicts_with = "bills",
        value_parser = clap::value_parser!(u32).range(0..=3_600)
    )]
    price_seconds: u32,
    /// Where to run it: this machine.
    #[arg(long, value_name = "HOST", default_value = "local", conflicts_with = "bills")]
    at: String,
    /// A label, kept with the bill.
    #[arg(long, value_name = "TEXT", value_parser = label, conflicts_with = "bills")]
    label: Option<String>,
    /// Do not keep the bill.
    #[arg(long, conflicts_with = "bills")]
    no_store: bool,
    /// Show notes and errors only: no progress, and not where the bill is kept.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    lock: LockArguments,
    /// What counts calls: `ebpf`, programs in the kernel, or `ptrace`, a tracer [default: ebpf
    /// where it can be loaded].
    #[arg(long, value_name = "COUNTER", value_parser = counter_choice, conflicts_with = "bills")]
    counter: Option<CounterChoice>,
    /// Bill a process that runs already, with all of its threads, instead of a command.
    #[arg(long, value_name = "PID", conflicts_with_all = ["trials", "at", "bills", "command"],
          value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pid: Option<u32>,
    /// How long to watch the process, from 100ms to 1h [default: 10s].
    #[arg(long = "for", value_name = "TIME", requires = "pid", value_parser = watch_time)]
    duration: Option<Duration>,
    /// Bill the processes with it that it creates meanwhile.
    #[arg(long, requires = "pid")]
    children: bool,
    /// Two bills to compare, the earlier one first, instead of a command.
    #[arg(value_name = "BILL")]
    bills: Vec<String>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    /// Whether it runs a command or watches a process, and not only reads two bills.
    pub(super) fn measures(&self) -> bool {
        self.bills.is_empty()
    }
}

/// How long a process is watched without `--for`.
const WATCH_TIME: Duration = Duration::from_secs(10);

fn counter_choice(text: &str) -> Result<CounterChoice, String> {
    match text {
        "ebpf" => Ok(CounterChoice::Ebpf),
        "ptrace" => Ok(CounterChoice::Ptrace),
        _ => Err("it must be ebpf or ptrace".to_owned()),
    }
}

/// Below 100 ms the clock ticks of /proc tell nothing.
fn watch_time(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(100)..=Duration::from_secs(3_600);
    let time = humantime::parse_duration(text).ok().filter(|time| range.contains(time));
    time.ok_or_else(|| "it must be a time such as 10s or 2m, from 100ms to 1h".to_owned())
}

pub(super) fn bill(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { trials, prices, price_seconds, at, label, no_store, quiet, .. } = arguments;
    let Arguments { exports, lock, counter, pid, duration, children, bills, command, .. } =
        arguments;
    exports.check()?;
    let terminal = Terminal::new(output).quiet_if(quiet);
    let (counter, on_busy) = (counter.unwrap_or_default(), lock.policy());
    let bill = match (pid, &bills[..], command.is_empty()) {
        (Some(pid), _, _) => {
            let duration = duration.unwrap_or(WATCH_TIME);
            let request = WatchRequest {
                pid,
                duration,
                children,
                counter,
                prices,
                price_seconds,
                label,
                on_busy,
            };
            bill_of_process(&request, &terminal)?
        }
        (None, [], false) => {
            let request = Request {
                command,
                trials,
                prices,
                price_seconds,
                counter,
                at,
                label,
                on_busy,
            };
            bill_of(&request, &terminal)?
        }
        (None, [base, new], true) => return compare(base, new, &exports, output),
        (None, bills, is_without_command) => {
            return Err(refusal(bills.len(), is_without_command).into());
        }
    };
    let kept_as = if no_store { None } else { bills::keep(&bill, &terminal) };
    let text = || display::text(&report::bill::view(&bill));
    let shown = exports.write_with_text(&Subject::Bill(&bill), text, output);
    if !quiet {
        report_id(kept_as.as_deref());
    }
    shown?;
    // It was shown with what there was by then.
    let is_interrupted = bill.prices.measured.as_ref().is_some_and(|it| it.interrupted);
    Ok(if is_interrupted { ExitStatus::Interrupted } else { ExitStatus::Success })
}

/// Shows two bills side by side.
fn compare(
    base: &str,
    new: &str,
    exports: &Exports,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let compared = bills::compare(base, new)?;
    let text = || display::text(&report::bill_comparison::view(&compared));
    exports.write_with_text(&Subject::Bills(&compared), text, output)?;
    Ok(ExitStatus::Success)
}

/// Neither a command nor two bills, or both.
fn refusal(bills: usize, is_without_command: bool) -> UsageError {
    let (what, hint) = match (bills, is_without_command) {
        (0, _) => (
            "cannot make a bill: no command is given".to_owned(),
            "put it behind `--`: `oscost bill -- find /usr`; or name a process, `--pid PID`, or \
             two bills to compare",
        ),
        (1, true) => (
            "cannot compare one bill with nothing".to_owned(),
            "name two: `oscost bill last~1 last`; `oscost report BILL` shows one; a command is \
             put behind `--`",
        ),
        (bills, true) => (
            format!("cannot compare {bills} bills: only two are compared"),
            "name two: `oscost bill last~1 last`; a command is put behind `--`",
        ),
        (_, false) => (
            "cannot compare bills and make one of a command at once".to_owned(),
            "leave out the names before `--`, or all from `--` on",
        ),
    };
    UsageError::with_hint(&what, hint)
}
