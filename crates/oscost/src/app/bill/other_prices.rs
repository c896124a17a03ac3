//! The counts of a bill at other prices: those of a run, or of another machine, where they are
//! measured then.

use std::time::Duration;

use oscost_model::bill::{Bill, OtherPrices, PriceRun};
use oscost_model::call_names::Arch;
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::{Machine, Record};
use oscost_model::target::Target;

use crate::advice;
use crate::app::interrupt::listen;
use crate::app::measurement::price_run::PricedTarget;
use crate::app::measurement::prices::{
    BillPrices, PriceMeasurement, PriceOutcome, PriceStage, PricedProgram,
};
use crate::app::observer::Observer;
use crate::app::results::prices::price_runs;
use crate::app::targets::connect::{BusyPolicy, ConnectOptions, connect};
use crate::app::targets::prepare::prepare;
use crate::bill::{Charges, Faults, PriceComparison, PriceList, charge, compare_prices};
use crate::hosts::{HostError, WorkerBinary};

/// More runs than these do not find prices there that those before them did not.
const MAX_RUNS: u32 = 3;

/// The bill at the prices of a run.
pub(super) fn of_run(
    bill: &Bill,
    calls: &ProgramCalls,
    record: &Record,
    catalog: &Catalog,
) -> OtherPrices {
    let list = PriceList::under(&bill.treatments, [record], catalog);
    let there = charge(calls, Faults::of(&bill.trials), &list, 0.0);
    other_prices(bill, &there, PriceRun::of(record), record.machines.first())
}

/// Another machine, and how its prices are measured.
#[derive(Clone, Copy)]
pub(super) struct OtherMachine<'a> {
    /// The machine, and the treatments of the bill.
    pub(super) target: &'a Target,
    pub(super) worker: &'a WorkerBinary,
    /// The time for prices that the store does not have of it; 0 measures none.
    pub(super) price_seconds: u32,
    pub(super) on_busy: BusyPolicy,
}

impl OtherMachine<'_> {
    /// The bill at its prices: those of the store, and what is lacking is measured and kept.
    pub(super) fn prices(
        self,
        bill: &Bill,
        calls: &ProgramCalls,
        observer: &dyn Observer,
    ) -> anyhow::Result<OtherPrices> {
        let Self { target, worker, price_seconds, on_busy } = self;
        observer.status(&format!("asking {} for its prices", target.host));
        let interrupt = listen()?;
        let options = ConnectOptions { interrupt: &interrupt, on_busy, observer };
        let mut connection = connect(&target.host, worker, options)?;
        let session = &mut *connection.session;
        let facts = session.hello().facts.clone();
        let arch = facts.os.arch.as_deref().and_then(Arch::from_uname);
        let notes = advice::machine_notes(&facts);
        let machine = Machine::new("m0", facts, notes);
        let side = prepare(target, arch)?.side;
        let catalog = &worker.catalog;
        let stored = price_runs(None, &side.target, &machine, catalog)?;
        let at = PricedTarget { catalog, side: &side, machine: &machine };
        let limit = Duration::from_secs(price_seconds.into());
        let mut pricing = PriceMeasurement::new(at, stored, limit, observer);
        let faults = Faults::of(&bill.trials);
        // No trials are of the same minutes.
        let program = PricedProgram { calls, faults, renews_prices: false };
        for _ in 0..MAX_RUNS {
            // No trials are made there that it would disturb.
            let outcome = pricing.measure(session, program, PriceStage::AfterTrials);
            if outcome != PriceOutcome::RunEnded {
                break;
            }
        }
        let BillPrices { runs, measured, .. } = pricing.into_prices();
        if measured.as_ref().is_some_and(|it| it.interrupted) {
            return Err(HostError::Interrupted.into());
        }
        let failure = measured.as_ref().and_then(|it| it.failure.clone());
        let list = runs.price_list(catalog);
        let there = charge(calls, faults, &list, 0.0);
        let sources = runs.sources(&there, &list, measured);
        let Some(run) = sources.runs.into_iter().next() else {
            let why = failure.unwrap_or_else(|| "no price of its calls is known there".to_owned());
            anyhow::bail!("{why}: `--price-seconds N` gives more time to measure them");
        };
        Ok(OtherPrices {
            host: Some(target.host.to_string()),
            stale: sources.stale,
            ..other_prices(bill, &there, run, Some(&machine))
        })
    }
}

/// What a bill is charged there, beside what it is charged here.
fn other_prices(
    bill: &Bill,
    there: &Charges,
    run: PriceRun,
    machine: Option<&Machine>,
) -> OtherPrices {
    let PriceComparison { items, here, there, unpriced } = compare_prices(&bill.items, there);
    OtherPrices {
        run,
        host: None,
        cpu: machine.and_then(|machine| machine.cpu.model_name.clone()),
        kernel: machine.and_then(|machine| machine.os.release.clone()),
        stale: Vec::new(),
        ratio: (here.ns > 0.0).then(|| there.ns / here.ns),
        here,
        there,
        unpriced,
        items,
    }
}
