//! The bill, of what was counted, measured and priced.

use oscost_model::bill::{
    Alternative, Amount, BILL_SCHEMA, Bill, BilledCounts, BilledTrials, ClockReadItem,
    InstructionBill, PriceSources, StolenTime, Watched,
};
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::{Machine, Tool};
use oscost_stats::interval::Nominal;

use super::charging::{ChargedProgram, ProgramCharges, page_bytes};
use super::trials::{billed_counts, billed_trials, of_watched, with_groups, with_measured_modes};
use crate::app::measurement::prices::BillPrices;
use crate::app::measurement::run_header::timestamp;
use crate::app::results::prices::{PairSources, PriceRuns};
use crate::bill::{
    Charges, Faults, ProgramFile, alternatives, cautions, clock_reads, instruction_bill,
    traps_in_watch,
};
use crate::run::ProgramRuns;

/// What a bill is of.
pub(super) struct BillHead {
    /// When it was begun: RFC 3339, UTC.
    pub(super) started: String,
    /// The words of the command.
    pub(super) program: Vec<String>,
    /// The file of the command.
    pub(super) file: ProgramFile,
    /// The user's own words.
    pub(super) label: Option<String>,
    /// The machine where it ran, if that is another one.
    pub(super) host: Option<String>,
    pub(super) tool: Tool,
    pub(super) machine: Machine,
    /// The treatments of all of its runs.
    pub(super) treatments: Vec<String>,
    /// The process that was watched, if it is no command.
    pub(super) watched: Option<Watched>,
    /// What a hypervisor took meanwhile, if that is known.
    pub(super) stolen: Option<StolenTime>,
}

/// A bill, without what a change would add.
pub(super) struct FinishedBill {
    pub(super) bill: Bill,
    /// The runs that have its prices.
    pub(super) prices: PriceRuns,
}

/// Charges what was counted, and sets it beside what was measured.
pub(super) fn finish(head: BillHead, parts: BillParts<'_>) -> anyhow::Result<FinishedBill> {
    let BillHead {
        started,
        program,
        file,
        label,
        host,
        tool,
        machine,
        treatments,
        watched,
        stolen,
    } = head;
    let counted_without = parts.runs.counted_without.clone();
    let no_clock_reads = parts.no_clock_reads.clone();
    let is_cut_short = parts.runs.interrupted;
    let Reconciliation {
        trials,
        counted,
        not_counted,
        price_runs,
        prices,
        charges,
        charged,
        difference,
        cool,
        alternatives,
        clock_reads,
        instructions,
    } = parts.reconcile(&machine, watched.as_ref())?;
    let (instructions, no_instructions) = match instructions {
        Ok(bill) => (Some(bill), None),
        Err(why) => (None, Some(why)),
    };
    let cautions = counted.as_ref().map(|counted| {
        let mut found = cautions(&counted.calls, file, &treatments);
        found.extend(watched.as_ref().and_then(|_| traps_in_watch(&counted.calls)));
        found
    });
    let mut cautions = cautions.unwrap_or_default();
    cautions.extend(is_cut_short.then(|| cut_short(&trials, counted.as_ref(), watched.as_ref())));
    let bill = Bill {
        schema: BILL_SCHEMA.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        started,
        ended: timestamp(),
        program,
        label,
        host,
        cautions,
        tool,
        machine,
        trials,
        counted,
        not_counted,
        prices,
        items: charges.items,
        charged,
        difference,
        charged_cool: cool.charged,
        difference_cool: cool.difference,
        walk_bytes: cool.walk_bytes,
        walk_added_to_nothing: cool.added_to_nothing,
        watched,
        treatments,
        counted_without,
        what_if: Vec::new(),
        missing_what_if: Vec::new(),
        other_prices: Vec::new(),
        alternatives,
        instructions,
        no_instructions,
        clock_reads,
        no_clock_reads,
        stolen,
    };
    Ok(FinishedBill { bill, prices: price_runs })
}

/// That the user ended its runs, or its watch.
fn cut_short(
    trials: &BilledTrials,
    counted: Option<&BilledCounts>,
    watched: Option<&Watched>,
) -> String {
    let (trials, runs) = (trials.real.repetitions, counted.map_or(0, |counted| counted.runs));
    match watched {
        Some(watched) => format!("its watch was interrupted, after {:.1} s", watched.seconds),
        None => format!("its runs were interrupted (trials: {trials}, counted runs: {runs})"),
    }
}

/// What a bill is made of.
pub(super) struct BillParts<'a> {
    pub(super) runs: ProgramRuns,
    /// The level of the intervals of its trials.
    pub(super) nominal: Nominal,
    /// The time between two of the clock ticks that divide their CPU time; `None` where the kernel
    /// measures the times of both modes.
    pub(super) tick_ns: Option<f64>,
    /// Why a tracer counted; `None` if that was asked for, or it did not.
    pub(super) counter_reason: Option<String>,
    /// Why clock reads were not counted although that was asked for.
    pub(super) no_clock_reads: Option<String>,
    pub(super) prices: BillPrices,
    pub(super) catalog: &'a Catalog,
}

/// What is charged, beside what was measured.
struct Reconciliation {
    trials: BilledTrials,
    counted: Option<BilledCounts>,
    not_counted: Option<String>,
    price_runs: PriceRuns,
    prices: PriceSources,
    charges: Charges,
    charged: Option<Amount>,
    difference: Option<Amount>,
    cool: CoolEnd,
    alternatives: Vec<Alternative>,
    clock_reads: Vec<ClockReadItem>,
    instructions: Result<InstructionBill, String>,
}

/// The end of the bill with cool caches.
#[derive(Default)]
struct CoolEnd {
    charged: Option<Amount>,
    difference: Option<Amount>,
    walk_bytes: Option<u64>,
    added_to_nothing: Option<Amount>,
}

impl BillParts<'_> {
    fn reconcile(
        self,
        machine: &Machine,
        watched: Option<&Watched>,
    ) -> anyhow::Result<Reconciliation> {
        let Self { runs, nominal, tick_ns, counter_reason, prices, catalog, .. } = self;
        let BillPrices { runs: price_runs, measured, pairs } = prices;
        let none = || {
            anyhow::anyhow!(
                "cannot bill the command: none of its trials has succeeded\n  hint: start it alone, \
                 as `oscost treat -- COMMAND` does, to see why"
            )
        };
        let trials = billed_trials(&runs.trials, nominal).ok_or_else(none)?;
        let trials = match (watched, tick_ns) {
            (Some(watched), _) => of_watched(trials, watched),
            (None, Some(tick_ns)) => with_groups(trials, &runs, nominal, tick_ns),
            (None, None) => with_measured_modes(trials),
        };
        let (counted, not_counted) = match runs.counted {
            Ok(counted) => {
                // How long a watched process takes is up to the watch, and without the treatments
                // of the trials the program takes another time.
                let is_comparable = watched.is_none() && runs.counted_without.is_none();
                let counts = billed_counts(&counted, &trials, is_comparable);
                (counts.map(|counts| BilledCounts { counter_reason, ..counts }), None)
            }
            Err(reason) => (None, Some(reason)),
        };
        let nothing = ProgramCalls::default();
        let calls = counted.as_ref().map_or(&nothing, |counted| &counted.calls);
        let program = ChargedProgram { calls, trials: &trials, page_bytes: page_bytes(machine) };
        let ProgramCharges { list, mut charges, walk_bytes, walk_added_to_nothing } =
            program.charge(&price_runs, catalog);
        price_runs.explain_passed_over(&mut charges, calls, machine, catalog);
        let without = |sum: &Amount| trials.system_time.plus(&sum.times(-1.0));
        // Without calls the faults alone are no bill.
        let charged = counted.as_ref().map(|_| charges.charged.clone());
        let difference = charged.as_ref().map(without);
        let cool = counted.as_ref().map(|_| CoolEnd {
            charged: charges.charged_cool.clone(),
            difference: charges.charged_cool.as_ref().map(without),
            walk_bytes: Some(walk_bytes),
            added_to_nothing: walk_added_to_nothing,
        });
        let cool = cool.unwrap_or_default();
        let alternatives = alternatives(&charges.items, calls, &list, trials.system_time.ns);
        let clock_reads = clock_reads(calls, &list);
        let instructions = match (&counted, runs.events) {
            (Some(_), Ok(events)) => {
                let list = price_runs.instruction_list(catalog);
                let price_cycles_per_ns = price_runs.cycles_per_ns();
                let faults = Faults::of(&trials);
                instruction_bill(&events, calls, faults, &list, price_cycles_per_ns)
            }
            (Some(_), Err(why)) => Err(why),
            (None, _) => Err("its calls were not counted".to_owned()),
        };
        let prices = price_runs.sources(&charges, &list, measured);
        let PairSources { uncooled, rare_uncooled, inlined, unpaired } =
            price_runs.pair_sources(&charges.items, walk_bytes, catalog);
        let prices = PriceSources { uncooled, rare_uncooled, inlined, unpaired, pairs, ..prices };
        drop(list);
        Ok(Reconciliation {
            trials,
            counted,
            not_counted,
            price_runs,
            prices,
            charges,
            charged,
            difference,
            cool,
            alternatives,
            clock_reads,
            instructions,
        })
    }
}
