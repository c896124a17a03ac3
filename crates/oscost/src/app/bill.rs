//! `oscost bill`: what the operating system charges a command.

use oscost_model::bill::{
    Amount, BILL_SCHEMA, Bill, BilledCounts, BilledTrials, PriceRun, PriceSources, Watched,
};
use oscost_model::definition::Catalog;
use oscost_model::point::Point;
use oscost_model::program::{Program, Trial};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::{Estimate, Machine, Record, Tool};
use oscost_model::target::Host;
use oscost_stats::interval::Nominal;

use super::call_counter::{ChosenCounter, CounterChoice};
use super::error::UsageError;
use super::measurement::run_header::{timestamp, tool};
use super::observer::Observer;
use super::results::prices::{PriceRuns, price_runs};
use super::selection::programs::environment;
use super::targets::connect::{BusyPolicy, ConnectOptions, connect};
use super::targets::resolve::host_alone;
use crate::advice;
use crate::app::interrupt::listen;
use crate::bill::{Charges, CombinedCounts, Faults, PriceList, charge, combine, system_time};
use crate::estimate::estimate_values;
use crate::hosts::WorkerBinary;
use crate::run::{ProgramRuns, run_in_turns};
use crate::workloads;

/// What to bill.
#[derive(Clone, Debug)]
pub struct Request {
    /// The words of the command.
    pub command: Vec<String>,
    /// How many trials; `None` for as many as fit into some seconds.
    pub trials: Option<u32>,
    /// The run whose rows are the prices; `None` for the newest ones of this machine.
    pub prices: Option<String>,
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
    let prices = price_runs(request.prices.as_deref(), &host, &machine)?;
    let mut counter = ChosenCounter::choose(request.counter, &host)?;
    observer.working("running the command, untouched and counted");
    let runs = run_in_turns(session, &program, request.trials, counter.of_programs());
    observer.finished();
    let runs = runs?.map_err(|reason| anyhow::anyhow!("cannot bill the command: {reason}"))?;
    let (program, label) = (program.command, request.label.clone());
    let head = BillHead { started, program, label, tool, machine, watched: None };
    let parts =
        BillParts { runs, counter_reason: counter.reason, prices, catalog: &worker.catalog };
    finish(head, parts)
}

/// What a bill is of.
pub(super) struct BillHead {
    /// When it was begun: RFC 3339, UTC.
    pub(super) started: String,
    /// The words of the command.
    pub(super) program: Vec<String>,
    /// The user's own words.
    pub(super) label: Option<String>,
    pub(super) tool: Tool,
    pub(super) machine: Machine,
    /// The process that was watched, if it is no command.
    pub(super) watched: Option<Watched>,
}

/// Charges what was counted, and sets it beside what was measured.
pub(super) fn finish(head: BillHead, parts: BillParts<'_>) -> anyhow::Result<Bill> {
    let BillHead { started, program, label, tool, machine, watched } = head;
    let Reconciliation { trials, counted, not_counted, prices, charges, charged, difference } =
        parts.reconcile(watched.as_ref())?;
    Ok(Bill {
        schema: BILL_SCHEMA.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        started,
        ended: timestamp(),
        program,
        label,
        tool,
        machine,
        trials,
        counted,
        not_counted,
        prices,
        items: charges.items,
        charged,
        difference,
        watched,
    })
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

/// What a bill is made of.
pub(super) struct BillParts<'a> {
    pub(super) runs: ProgramRuns,
    /// Why a tracer counted; `None` if that was asked for, or it did not.
    pub(super) counter_reason: Option<String>,
    pub(super) prices: PriceRuns,
    pub(super) catalog: &'a Catalog,
}

/// What is charged, beside what was measured.
struct Reconciliation {
    trials: BilledTrials,
    counted: Option<BilledCounts>,
    not_counted: Option<String>,
    prices: PriceSources,
    charges: Charges,
    charged: Option<Amount>,
    difference: Option<Amount>,
}

impl BillParts<'_> {
    fn reconcile(self, watched: Option<&Watched>) -> anyhow::Result<Reconciliation> {
        let Self { runs, counter_reason, prices: PriceRuns { records, stale }, catalog } = self;
        let none = || anyhow::anyhow!("cannot bill the command: none of its trials has succeeded");
        let trials = billed_trials(&runs.trials).ok_or_else(none)?;
        let trials = match watched {
            Some(watched) => of_watched(trials, watched),
            None => trials,
        };
        let (counted, not_counted) = match runs.counted {
            Ok(counted) => {
                let counts = billed_counts(&counted, &trials, watched.is_some());
                (counts.map(|counts| BilledCounts { counter_reason, ..counts }), None)
            }
            Err(reason) => (None, Some(reason)),
        };
        let nothing = ProgramCalls::default();
        let calls = counted.as_ref().map_or(&nothing, |counted| &counted.calls);
        let faults = Faults { minor: trials.minor_faults, major: trials.major_faults };
        let charges = {
            let list = PriceList::new(&records, catalog);
            charge(calls, faults, &list, trials.system_time.ns)
        };
        // Without calls the faults alone are no bill.
        let charged = counted.as_ref().map(|_| charges.charged.clone());
        let difference = charged.as_ref().map(|sum| trials.system_time.plus(&sum.times(-1.0)));
        let price_run =
            |record: &Record| PriceRun { id: record.id.clone(), started: record.started.clone() };
        let prices = PriceSources {
            runs: records.iter().map(price_run).collect(),
            stale,
            missing: charges.missing.clone(),
        };
        Ok(Reconciliation { trials, counted, not_counted, prices, charges, charged, difference })
    }
}

/// The estimates of trials; `None` without any.
fn billed_trials(trials: &[Trial]) -> Option<BilledTrials> {
    let estimate = |value: fn(&Trial) -> f64| -> Option<Estimate> {
        let values: Vec<f64> = trials.iter().map(value).collect();
        estimate_values(&values, Nominal::FIXED)
    };
    let median = |value: fn(&Trial) -> f64| Some(estimate(value)?.median);
    let real = estimate(|trial| trial.real_ns as f64 * 1e-9)?;
    let user = estimate(|trial| trial.usage.user_ns as f64 * 1e-9)?;
    let system = estimate(|trial| trial.usage.system_ns as f64 * 1e-9)?;
    let of_system = system_time(&user, &system);
    Some(BilledTrials {
        system_time: of_system.amount,
        system_figure: of_system.figure.text().to_owned(),
        source: "rusage".to_owned(),
        minor_faults: median(|trial| trial.usage.minor_faults as f64)?,
        major_faults: median(|trial| trial.usage.major_faults as f64)?,
        voluntary_switches: median(|trial| trial.usage.voluntary_switches as f64),
        involuntary_switches: median(|trial| trial.usage.involuntary_switches as f64),
        real,
        user,
        system,
    })
}

/// The same of the only observation of a process, which /proc tells of.
fn of_watched(trials: BilledTrials, watched: &Watched) -> BilledTrials {
    // Of one value median and mean are the same.
    let ns = 1e9 * trials.system.median;
    let [voluntary_switches, involuntary_switches] =
        [trials.voluntary_switches, trials.involuntary_switches]
            .map(|switches| switches.filter(|_| watched.on_cpu_ns.is_some()));
    BilledTrials {
        voluntary_switches,
        involuntary_switches,
        system_time: Amount::exact(ns),
        system_figure: "watched".to_owned(),
        source: "proc".to_owned(),
        ..trials
    }
}

/// The counts of some runs; `None` without any.
fn billed_counts(
    counted: &[ProgramCalls],
    trials: &BilledTrials,
    is_watched: bool,
) -> Option<BilledCounts> {
    let CombinedCounts { calls, varying_forms } = combine(counted)?;
    let real_ns = 1e9 * trials.real.median;
    let added_pct = 100.0 * (calls.real_ns as f64 / real_ns - 1.0);
    Some(BilledCounts {
        // How long a watched process takes is up to the watch.
        added_pct: (!is_watched).then_some(added_pct),
        counter: calls.by.clone(),
        counter_reason: None,
        lost_events: counted.iter().map(|run| run.lost).sum(),
        runs: counted.len() as u32,
        varying_forms,
        calls,
    })
}
