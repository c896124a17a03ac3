//! The bill, of what was counted, measured and priced.

use oscost_model::bill::{
    Amount, BILL_SCHEMA, Bill, BilledCounts, BilledTrials, PriceSources, Watched,
};
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::{Machine, Tool};

use super::trials::{billed_counts, billed_trials, of_watched};
use crate::app::measurement::prices::BillPrices;
use crate::app::measurement::run_header::timestamp;
use crate::bill::{Charges, Faults, charge};
use crate::run::ProgramRuns;

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

/// What a bill is made of.
pub(super) struct BillParts<'a> {
    pub(super) runs: ProgramRuns,
    /// Why a tracer counted; `None` if that was asked for, or it did not.
    pub(super) counter_reason: Option<String>,
    pub(super) prices: BillPrices,
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
        let Self { runs, counter_reason, prices, catalog } = self;
        let BillPrices { runs: price_runs, measured } = prices;
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
        let list = price_runs.price_list(catalog);
        let mut charges = charge(calls, faults, &list, trials.system_time.ns);
        price_runs.explain_missing(&mut charges, catalog);
        // Without calls the faults alone are no bill.
        let charged = counted.as_ref().map(|_| charges.charged.clone());
        let difference = charged.as_ref().map(|sum| trials.system_time.plus(&sum.times(-1.0)));
        let prices = price_runs.sources(&charges, &list, measured);
        Ok(Reconciliation { trials, counted, not_counted, prices, charges, charged, difference })
    }
}
