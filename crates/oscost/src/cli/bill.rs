//! `oscost bill`

use std::time::Duration;

use super::display;
use super::exit::ExitStatus;
use super::exports::{BillDocument, BillTable, Exports, Subject};
use super::lock_arguments::LockArguments;
use super::output::Output;
use super::report::bill_text;
use super::run_text::report_id;
use super::terminal::Terminal;
use super::values::label;
use crate::app::bill::watch::{Request as WatchRequest, bill as bill_of_process};
use crate::app::bill::{EndedBill, Request, bill as bill_of};
use crate::app::bills;
use crate::app::{CounterChoice, ProgramRequest, UsageError};
use crate::report::{self, Screen};

/// The most that kernel.pid_max may be, on 64-bit kernels.
const MAX_PROCESS_ID: u32 = 4_194_304;

/// Of which command or process, and by which prices; or which two bills.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command runs as with `oscost run -- COMMAND`: some times untouched, for its
times, and in turns with them three times while a counter follows its process
tree: programs in the kernel (eBPF, as root), otherwise a tracer (ptrace). Each
call is priced by a case of the catalog (docs/reference/CALLS.md) as the last
runs of this machine have measured it. What these lack is measured between
trials and after them, and kept as runs; so are the largest prices, whatever
runs have them, where trials take 2 s or more. The difference between what is
charged and the measured system time is a line of its own.
docs/explanation/BILL.md says who pays for what, and what a bill cannot know.

Two bills are compared item by item: what the second has more, by count and by
price; those of running processes by what they did in a second. Each is an id,
the beginning of one, `last`, `last~1`, `@LABEL` or a file with a slash in its
name or ending in .json.

CHANGE of `--what-if` is treatments (`oscost treat list`) joined by `+`. Their
added cost per call is measured by a quick `oscost ab` of the cases that price
the calls, unless one of the last day is stored; the prediction is count times
added cost. With `--check` the program is then measured in turns with and
without them, for one to four minutes of each change, by how long the predicted
increase needs, and the prediction is judged; `--check-seconds` gives a small
increase more time. CHANGE `prices=RUN` charges the same counts by the prices of
another run, also of another machine (`prices=their.json`); `at=HOST` measures
these prices there, as those of this machine, and keeps the run.

Examples:
  oscost bill -- find /usr -xdev -name '*.c'
  oscost bill --price-seconds 0 -- make      by the prices that there are
  oscost bill --trials 30 -- git status
  oscost bill --prices last~1 -- ls -l       by the prices of another run
  oscost bill --html bill.html -- make       a page to look at, to send
  oscost bill --workload find                a program that comes with oscost
  oscost bill --prepare 'rm -rf out' -- ./build.sh
  oscost bill --treat seccomp=docker -- ls   the bill under a filter
  oscost bill --what-if seccomp=docker --check -- git status
  oscost bill --what-if prices=./db1.json -- git status
  oscost bill --what-if at=ssh:db1 -- git status
  oscost bill --at ssh:db1 -- ls -l /usr     a command on another machine
  sudo oscost bill --pid 1234 --for 10s      what a running process is charged
  oscost bill --counter ptrace -- ls         counted by a tracer, also as root
  sudo oscost bill --clock-reads -- ./x      clock reads, too, which are no calls
  oscost bill --json - -- ls | jq '.items[] | {name, times, amount}'
  oscost bill --label before -- make         then, after a change,
  oscost bill --label after -- make          the same again
  oscost bill @before @after                 which items grew
  oscost report last -o bill.html            the last bill or run as a page")]
pub(super) struct Arguments {
    /// How many times it runs untouched [default: until its system time is known to 2 %, within 6
    /// seconds, 6 to 90 times; longer if it is not known to 10 % by then, within 20 seconds].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1_000),
          conflicts_with = "bills")]
    trials: Option<u32>,
    /// The run whose figures are the prices [default: the newest of this machine].
    #[arg(long, value_name = "RUN", conflicts_with = "bills")]
    prices: Option<String>,
    /// Time to measure prices that those runs lack, as much for the two comparisons that show what
    /// functions and cool caches add to them, and at most twice as much for the added costs of each
    /// CHANGE, in seconds; 0 measures none.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        conflicts_with = "bills",
        value_parser = clap::value_parser!(u32).range(0..=3_600)
    )]
    price_seconds: u32,
    /// Treatments of the program in all of its runs; its prices are then those under exactly these.
    #[arg(long, value_name = "TREATMENTS", conflicts_with_all = ["bills", "pid"])]
    treat: Option<String>,
    /// What would this change add? May be repeated.
    #[arg(long, value_name = "CHANGE", conflicts_with_all = ["bills", "pid"])]
    what_if: Vec<String>,
    /// Measure what the treatments of `--what-if` add, and judge the predictions.
    #[arg(long, requires = "what_if")]
    check: bool,
    /// How long the check of each change takes, in seconds [default: as long as the predicted increase
    /// needs, 60 to 240].
    #[arg(long, value_name = "N", requires = "check",
          value_parser = clap::value_parser!(u32).range(10..=86_400))]
    check_seconds: Option<u32>,
    /// CPU of the program [default: those that the scheduler chooses].
    #[arg(long, value_name = "N", conflicts_with_all = ["bills", "pid"])]
    cpu: Option<u32>,
    /// Run this before each trial and each counted run of COMMAND, outside of what is measured; split
    /// into words, without a shell.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["workload", "bills", "pid"])]
    prepare: Vec<String>,
    /// Run this after each of them, also after a failed one.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["workload", "bills", "pid"])]
    cleanup: Vec<String>,
    /// The standard input of COMMAND; `-` for that of oscost itself, which is read once, up to 64
    /// MiB [default: empty].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "bills", "pid"])]
    stdin: Option<String>,
    /// Bill COMMAND whatever its exit status is.
    #[arg(long, conflicts_with_all = ["workload", "bills", "pid"])]
    ignore_failure: bool,
    /// A workload that comes with oscost, or a program described by a file.
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["command", "bills", "pid"])]
    workload: Option<String>,
    /// Where to run COMMAND: this machine, or `ssh:HOST`, where a tracer counts it, in a fresh folder.
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
    /// Also show which rows priced each item, and how it was measured.
    #[arg(short, long, conflicts_with = "bills")]
    verbose: bool,
    #[command(flatten)]
    exports: Exports,
    /// What a line of CSV and Parquet is.
    #[arg(long, value_name = "TABLE", default_value = "items", conflicts_with = "bills")]
    table: BillTable,
    #[command(flatten)]
    lock: LockArguments,
    /// What counts calls: `ebpf`, programs in the kernel, or `ptrace`, a tracer [default: ebpf
    /// where it can be loaded].
    #[arg(long, value_name = "COUNTER", value_parser = counter_choice, conflicts_with = "bills")]
    counter: Option<CounterChoice>,
    /// Count clock reads, too, by uprobes at the C library of the program, as root: each takes 1 to 2
    /// us then, in all processes, while something is counted.
    #[arg(long, conflicts_with = "bills")]
    clock_reads: bool,
    /// Bill a process that runs already, with all of its threads, instead of a command.
    #[arg(long, value_name = "PID", conflicts_with_all = ["trials", "at", "bills", "command"],
          value_parser = process_id)]
    pid: Option<u32>,
    /// How long to watch the process, from 100ms to 1h [default: 10s].
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    duration: Option<Duration>,
    /// Bill its descendants with it.
    #[arg(long)]
    children: bool,
    /// Two bills to compare, the earlier one first, instead of a command.
    #[arg(value_name = "BILL")]
    bills: Vec<String>,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    /// Whether it runs a program or watches a process, and not only reads two bills.
    pub(super) fn measures(&self) -> bool {
        self.bills.is_empty()
    }

    /// The bill of a program.
    fn of_program(&self) -> Request {
        let command = Some(self.command.clone()).filter(|words| !words.is_empty());
        let program = ProgramRequest {
            commands: command.into_iter().collect(),
            prepare: self.prepare.clone(),
            cleanup: self.cleanup.clone(),
            input: self.stdin.clone(),
            ignore_failure: self.ignore_failure,
            workload: self.workload.clone(),
            ..ProgramRequest::default()
        };
        Request {
            program,
            treatments: self.treat.clone(),
            cpu: self.cpu,
            what_if: self.what_if.clone(),
            check: self.check,
            check_seconds: self.check_seconds,
            keep: !self.no_store,
            trials: self.trials,
            prices: self.prices.clone(),
            price_seconds: self.price_seconds,
            counter: self.counter.unwrap_or_default(),
            clock_reads: self.clock_reads,
            at: self.at.clone(),
            label: self.label.clone(),
            on_busy: self.lock.policy(),
        }
    }

    /// The bill of a running process.
    fn of_process(&self, pid: u32) -> WatchRequest {
        WatchRequest {
            pid,
            duration: self.duration.unwrap_or(WATCH_TIME),
            children: self.children,
            counter: self.counter.unwrap_or_default(),
            clock_reads: self.clock_reads,
            prices: self.prices.clone(),
            price_seconds: self.price_seconds,
            label: self.label.clone(),
            on_busy: self.lock.policy(),
        }
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

fn process_id(text: &str) -> Result<u32, String> {
    let id = text.parse::<u32>().ok().filter(|id| (1..=MAX_PROCESS_ID).contains(id));
    id.ok_or_else(|| {
        format!(
            "it must be the number of a process, 1 to {MAX_PROCESS_ID}: `ps -e` lists processes"
        )
    })
}

/// Below 100 ms the clock ticks of /proc tell nothing.
fn watch_time(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(100)..=Duration::from_secs(3_600);
    let time = humantime::parse_duration(text).ok().filter(|time| range.contains(time));
    time.ok_or_else(|| "it must be a time such as 10s or 2m, from 100ms to 1h".to_owned())
}

pub(super) fn bill(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { exports, table, quiet, .. } = &arguments;
    exports.check()?;
    // For clap what conflicts with `--pid` need not name it.
    if arguments.pid.is_none() && (arguments.duration.is_some() || arguments.children) {
        let what = "cannot watch a command: `--for` and `--children` are for a running process";
        return Err(UsageError::with_hint(what, "name it: `--pid PID`").into());
    }
    let terminal = Terminal::new(output).quiet_if(*quiet);
    let has_program = !arguments.command.is_empty() || arguments.workload.is_some();
    let EndedBill { bill, interrupted } = match (arguments.pid, &arguments.bills[..], has_program) {
        (Some(pid), _, _) => bill_of_process(&arguments.of_process(pid), &terminal)?,
        (None, [], true) => bill_of(&arguments.of_program(), &terminal)?,
        (None, [base, new], false) => return compare(base, new, exports, output),
        (None, bills, _) => return Err(refusal(bills.len(), !has_program).into()),
    };
    let kept_as = if arguments.no_store { None } else { bills::keep(&bill, &terminal) };
    let screen = Screen { verbose: arguments.verbose, ..Screen::default() };
    let text = || bill_text(&bill, screen);
    let document = BillDocument { bill: &bill, table: *table };
    let shown = exports.write_with_text(&Subject::Bill(document), text, output);
    if !quiet {
        report_id(kept_as.as_deref());
    }
    shown?;
    // It was shown with what there was by then.
    let measured = bill.prices.measured.as_ref();
    let is_interrupted = interrupted || measured.is_some_and(|it| it.interrupted);
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
