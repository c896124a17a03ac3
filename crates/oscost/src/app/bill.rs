//! `oscost bill`: what the operating system charges a command.

use std::path::PathBuf;

use oscost_model::bill::Bill;
use oscost_model::call_names::Arch;
use oscost_model::counters::CounterEvent;
use oscost_model::facts::Facts;
use oscost_model::program::Workload;
use oscost_model::record::Machine;
use oscost_model::target::Host;

use super::call_counter::{ChosenCounter, CounterChoice};
use super::error::UsageError;
use super::measurement::price_run::PricedTarget;
use super::measurement::prices::{PriceMeasurement, PriceOutcome, PriceStage};
use super::measurement::run_header::{timestamp, tool};
use super::observer::Observer;
use super::results::prices::price_runs;
use super::selection::programs::ProgramRequest;
use super::targets::connect::{BusyPolicy, ConnectOptions, connect};
use super::targets::prepare::{PreparedTarget, check, prepare};
use super::targets::requested_cpu::check_cpu;
use super::targets::resolve::resolve;
use crate::advice;
use crate::app::interrupt::listen;
use crate::bill::ProgramFile;
use crate::counter::c_library::c_library_of_program;
use crate::counter::stolen_time::StolenTimeWatch;
use crate::hosts::{HostError, WorkerBinary};
use crate::run::{LastBlock, TurnProgram, TurnRequest, is_exit_status, run_in_turns};
use crate::workloads;

pub mod watch;

mod added_costs;
mod charging;
mod check_time;
mod further_change;
mod increase;
mod other_prices;
mod pricing;
mod reconciliation;
mod subject;
mod tick_doubt;
mod trials;
mod what_if;
mod what_if_context;

use further_change::further_changes;
use pricing::{measure_late_prices, measure_prices, price_time};
use reconciliation::{BillHead, BillParts, FinishedBill, finish};
use subject::BillSubject;
use trials::{ModeTimes, trials_nominal};
use what_if_context::WhatIfContext;

/// What is done while trials and counted runs alternate.
const ACTIVITY: &str = "running the command, untouched and counted";

/// CONFIG_HZ of most kernels, where a machine does not tell its own.
const USUAL_TICKS_PER_S: u32 = 250;

/// What to bill.
#[derive(Clone, Debug)]
pub struct Request {
    /// The program: one command, or the name or the file of a workload.
    pub program: ProgramRequest,
    /// Its treatments, if they are not part of `at`.
    pub treatments: Option<String>,
    /// The CPU of its processes; `None` for those that the scheduler chooses.
    pub cpu: Option<u32>,
    /// Further treatments, of which is asked what they would add; or other prices: `prices=RUN`, or
    /// `at=HOST`.
    pub what_if: Vec<String>,
    /// Whether the predictions of what treatments would add are checked by a measurement.
    pub check: bool,
    /// How long the check of one takes, in seconds; `None` for as long as the predicted increase needs,
    /// within bounds.
    pub check_seconds: Option<u32>,
    /// Whether the bill is kept with its predictions before they are checked.
    pub keep: bool,
    /// How many trials; `None` for as many as their system time needs, within some seconds.
    pub trials: Option<u32>,
    /// The run whose rows are the prices; `None` for the newest ones of this machine.
    pub prices: Option<String>,
    /// How long prices that the store lacks may be measured, the pairs of rows for them, and the added
    /// costs of each of `what_if`, in seconds; 0 measures none.
    pub price_seconds: u32,
    /// The counter of calls.
    pub counter: CounterChoice,
    /// Whether clock reads through the C library are counted, too.
    pub clock_reads: bool,
    /// The host.
    pub at: String,
    /// The user's own words.
    pub label: Option<String>,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

/// A bill, and how it ended.
#[derive(Clone, Debug)]
pub struct EndedBill {
    /// The bill, of what was measured by then.
    pub bill: Bill,
    /// Whether the user has interrupted its runs, the measurement of prices, or of what a change
    /// would add.
    pub interrupted: bool,
}

/// Runs a program, some times untouched and some times counted, and charges what it did; then says
/// what further treatments would add.
pub fn bill(request: &Request, observer: &dyn Observer) -> anyhow::Result<EndedBill> {
    let target = resolve(&request.at, request.treatments.as_deref())?;
    let host = &target.host;
    check_host(host, &request.program)?;
    check(&target)?;
    check_cpu(host, request.cpu)?;
    let changes = further_changes(&request.what_if, &target)?;
    let subject = BillSubject::find(&request.program, host)?;
    let worker = WorkerBinary::find()?;
    let started = timestamp();
    let interrupt = listen()?;
    let options = ConnectOptions { interrupt: &interrupt, on_busy: request.on_busy, observer };
    let mut connection = connect(host, &worker, options)?;
    let session = &mut *connection.session;
    let hello = session.hello();
    let arch = hello.facts.os.arch.as_deref().and_then(Arch::from_uname);
    let cpu = request.cpu.or_else(|| own_cpu(&subject.workload, &hello.facts));
    let notes = advice::machine_notes(&hello.facts);
    let events = counted_events(&hello.facts);
    let tick_ns = clock_tick_ns(&hello.facts, cpu);
    let mode_times = ModeTimes::of_ticks(tick_ns);
    let machine = Machine::new("m0", hello.facts.clone(), notes);
    let tool = tool(hello);
    let PreparedTarget { side, notes } = prepare(&target, arch)?;
    notes.iter().for_each(|note| observer.note(note));
    let named_run = request.prices.as_deref();
    let prices = price_runs(named_run, &side.target, &machine, &worker.catalog)?;
    let limit = price_time(named_run, request.price_seconds, &prices)?;
    let command = &subject.workload.program.command;
    let library = request.clock_reads.then(|| c_library(command));
    let mut counter = ChosenCounter::choose(request.counter, host, library)?;
    let at = PricedTarget { catalog: &worker.catalog, side: &side, machine: &machine };
    let mut pricing = PriceMeasurement::new(at, prices, limit, observer);
    observer.working(ACTIVITY);
    let program = &subject.workload.program;
    let turns = TurnRequest {
        program: TurnProgram { program, treatments: &side.treatments, cpu },
        trials: request.trials,
        width: mode_times.width(),
        counter: counter.of_programs(),
        events,
        tick_ns,
        before_last_block: &mut |session, runs| {
            let stage = PriceStage::BetweenTrials;
            match measure_prices(&mut pricing, session, runs, stage) {
                PriceOutcome::NothingToMeasure => LastBlock::AtOnce,
                PriceOutcome::RunEnded => {
                    observer.working(ACTIVITY);
                    LastBlock::AfterWarmUp
                }
                PriceOutcome::SessionOver => LastBlock::Omitted,
            }
        },
    };
    // /proc/stat is that of this machine.
    let steal_watch = StolenTimeWatch::begin().filter(|_| *host == Host::Local);
    let runs = run_in_turns(session, turns);
    let stolen = steal_watch.and_then(|watch| watch.so_far());
    observer.finished();
    let runs = runs?.map_err(|reason| unbilled(&reason, &request.program))?;
    let runs_interrupted = runs.interrupted;
    if !runs_interrupted {
        measure_late_prices(&mut pricing, session, &runs);
    }
    let prices = pricing.into_prices();
    let prices_interrupted = prices.were_interrupted();
    if runs_interrupted && prices.runs.is_empty() {
        // Without any price there is nothing to tell.
        return Err(HostError::Interrupted.into());
    }
    let head = BillHead {
        started,
        program: program.command.clone(),
        file: program_file(&program.command, host),
        label: request.label.clone(),
        host: matches!(host, Host::Ssh(_)).then(|| host.to_string()),
        tool,
        machine,
        treatments: side.target.treatments,
        watched: None,
        stolen,
    };
    let parts = BillParts {
        runs,
        nominal: trials_nominal(request.trials),
        tick_ns,
        counter_reason: counter.reason,
        no_clock_reads: counter.no_clock_reads,
        prices,
        catalog: &worker.catalog,
    };
    let FinishedBill { mut bill, prices } = finish(head, parts)?;
    // Its comparisons have sessions of their own.
    drop(connection);
    let context = WhatIfContext {
        base: &target,
        subject: &subject,
        worker: &worker,
        prices: &prices,
        cpu: request.cpu,
        mode_times,
        price_seconds: request.price_seconds,
        is_checked: request.check,
        check_seconds: request.check_seconds,
        is_kept: request.keep,
        runs_interrupted,
        prices_interrupted,
        on_busy: request.on_busy,
    };
    let interrupted = context.answer(&mut bill, &changes, observer);
    bill.ended = timestamp();
    Ok(EndedBill { bill, interrupted })
}

/// Refuses a host where a program cannot be billed: a workload has its files on this machine, and so
/// has a standard input.
fn check_host(host: &Host, program: &ProgramRequest) -> Result<(), UsageError> {
    let there = "start `oscost bill` on that machine";
    let (what, hint) = match host {
        Host::Local | Host::Fake(_) => return Ok(()),
        Host::Ssh(_) if program.workload.is_some() => {
            (format!("cannot bill a workload at `{host}`: it is prepared on this machine"), there)
        }
        Host::Ssh(_) if program.input.is_some() => (
            format!("cannot bill a command at `{host}` with `--stdin`: that is on this machine"),
            "`-- sh -c 'COMMAND < FILE'` reads a file there",
        ),
        Host::Ssh(_) => return Ok(()),
        Host::Slurm(_) | Host::Vm(_) => {
            (format!("cannot bill a command at `{host}`: it would run on this machine"), there)
        }
    };
    Err(UsageError::with_hint(&what, hint))
}

/// The error of a program whose trials have failed.
fn unbilled(reason: &str, program: &ProgramRequest) -> anyhow::Error {
    let what = format!("cannot bill the command: {reason}");
    match is_exit_status(reason) && program.workload.is_none() {
        true => {
            anyhow::anyhow!(
                "{what}\n  hint: `--ignore-failure` bills it whatever its exit status is"
            )
        }
        false => anyhow::anyhow!(what),
    }
}

/// The events that are counted over a run of the program, for its bill in instructions; or why none
/// is.
fn counted_events(facts: &Facts) -> Result<Vec<CounterEvent>, String> {
    let counters = &facts.counters;
    let at_once = counters.simultaneous.unwrap_or(0) as usize;
    let no_counter = "the instructions of the kernel cannot be counted here";
    if !counters.can_count_work() || !counters.sees_kernel() {
        let why = counters.unavailable.clone().or_else(|| counters.distrusted.clone());
        return Err(why.unwrap_or_else(|| no_counter.to_owned()));
    }
    // Instructions of both modes come first; the clock takes no counter of the processor.
    let clock = Some(CounterEvent::TaskClock).filter(|&event| counters.can_count(event));
    Ok(CounterEvent::WORK.into_iter().take(at_once).chain(clock).collect())
}

/// The time between two of the clock ticks that divide CPU time; `None` of a program on a CPU where
/// the kernel measures the times of both modes: it does so on those in `nohz_full` alone
/// (VIRT_CPU_ACCOUNTING_GEN).
fn clock_tick_ns(facts: &Facts, cpu: Option<u32>) -> Option<f64> {
    let measuring_cpus = facts.scheduling.nohz_full_cpus.as_deref().unwrap_or_default();
    let is_measured = cpu.is_some_and(|cpu| measuring_cpus.contains(&cpu));
    let per_second = facts.os.hz.filter(|&hz| hz > 0).unwrap_or(USUAL_TICKS_PER_S);
    (!is_measured).then(|| 1e9 / f64::from(per_second))
}

/// What is known of the file of a command; of one elsewhere nothing is.
fn program_file(command: &[String], host: &Host) -> ProgramFile {
    let name = command.first().filter(|_| matches!(host, Host::Local));
    ProgramFile { is_set_id: name.is_some_and(|name| workloads::is_set_id(name)) }
}

/// The C library of the program of a command; or why its functions cannot be counted.
fn c_library(command: &[String]) -> Result<PathBuf, String> {
    let file = command.first().and_then(|name| workloads::program_file(name));
    c_library_of_program(&file.ok_or("the file of the program was not found")?)
}

/// The CPU of a workload whose file gives it one alone.
fn own_cpu(workload: &Workload, facts: &Facts) -> Option<u32> {
    let cpus = facts.cpu.allowed_cpus.as_ref().filter(|_| workload.one_cpu)?;
    cpus.last().copied()
}
