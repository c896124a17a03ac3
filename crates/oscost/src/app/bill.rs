//! `oscost bill`: what the operating system charges a command.

use oscost_model::bill::Bill;
use oscost_model::point::Point;
use oscost_model::program::Program;
use oscost_model::record::Machine;
use oscost_model::target::Host;

use super::call_counter::{ChosenCounter, CounterChoice};
use super::error::UsageError;
use super::measurement::prices::{PriceMeasurement, PriceOutcome, PriceStage, PricedMachine};
use super::measurement::run_header::{timestamp, tool};
use super::observer::Observer;
use super::results::prices::price_runs;
use super::selection::programs::environment;
use super::targets::connect::{BusyPolicy, ConnectOptions, connect};
use super::targets::resolve::host_alone;
use crate::advice;
use crate::app::interrupt::listen;
use crate::hosts::WorkerBinary;
use crate::run::{LastBlock, TurnRequest, run_in_turns};
use crate::workloads;

pub mod watch;

mod pricing;
mod reconciliation;
mod trials;

use pricing::{measure_late_prices, measure_prices, price_time};
use reconciliation::{BillHead, BillParts, finish};

/// What is done while trials and counted runs alternate.
const ACTIVITY: &str = "running the command, untouched and counted";

/// What to bill.
#[derive(Clone, Debug)]
pub struct Request {
    /// The words of the command.
    pub command: Vec<String>,
    /// How many trials; `None` for as many as fit into some seconds.
    pub trials: Option<u32>,
    /// The run whose rows are the prices; `None` for the newest ones of this machine.
    pub prices: Option<String>,
    /// How long prices that the store lacks may be measured, in seconds.
    pub price_seconds: u32,
    /// The counter of calls.
    pub counter: CounterChoice,
    /// The host.
    pub at: String,
    /// The user's own words.
    pub label: Option<String>,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

/// Runs a command, some times untouched and some times counted, and charges what it did.
pub fn bill(request: &Request, observer: &dyn Observer) -> anyhow::Result<Bill> {
    let host = host_alone(&request.at, "a bill is that of the command alone")?;
    if !matches!(host, Host::Local | Host::Fake(_)) {
        let what = format!("cannot bill a command at `{host}`: it would run on this machine");
        return Err(UsageError::with_hint(&what, "start `oscost bill` on that machine").into());
    }
    let program = program(&request.command, &host)?;
    let worker = WorkerBinary::find()?;
    let started = timestamp();
    let interrupt = listen()?;
    let options = ConnectOptions { interrupt: &interrupt, on_busy: request.on_busy, observer };
    let mut connection = connect(&host, &worker, options)?;
    let session = &mut *connection.session;
    let hello = session.hello();
    let notes = advice::machine_notes(&hello.facts);
    let machine = Machine::new("m0", hello.facts.clone(), notes);
    let tool = tool(hello);
    let named_run = request.prices.as_deref();
    let prices = price_runs(named_run, &host, &machine)?;
    let limit = price_time(named_run, request.price_seconds, &prices)?;
    let mut counter = ChosenCounter::choose(request.counter, &host)?;
    let at = PricedMachine { catalog: &worker.catalog, host: &host, machine: &machine };
    let mut pricing = PriceMeasurement::new(at, prices, limit, observer);
    observer.working(ACTIVITY);
    let turns = TurnRequest {
        program: &program,
        trials: request.trials,
        counter: counter.of_programs(),
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
    let runs = run_in_turns(session, turns);
    observer.finished();
    let runs = runs?.map_err(|reason| anyhow::anyhow!("cannot bill the command: {reason}"))?;
    measure_late_prices(&mut pricing, session, &runs);
    let prices = pricing.into_prices();
    let (program, label) = (program.command, request.label.clone());
    let head = BillHead { started, program, label, tool, machine, watched: None };
    let parts =
        BillParts { runs, counter_reason: counter.reason, prices, catalog: &worker.catalog };
    finish(head, parts)
}

/// The program of a command, which must be there.
fn program(command: &[String], host: &Host) -> anyhow::Result<Program> {
    let spec = workloads::of_command(command, &[]);
    let spec = spec.map_err(|why| UsageError(format!("cannot bill this command: {why}")))?;
    if let (Host::Local, Some(name)) = (host, command.first()) {
        workloads::check_command_program(name)?;
    }
    let workload = spec.workload(&Point::none(), &environment(host, false));
    Ok(workload.map_err(|missing| anyhow::anyhow!("cannot bill this command: {missing}"))?.program)
}
