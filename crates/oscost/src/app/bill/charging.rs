//! What a program is charged by prices and pairs of the store.

use oscost_model::bill::{Amount, BilledTrials};
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Machine;

use crate::app::results::prices::PriceRuns;
use crate::bill::{
    Charges, Faults, PriceList, WalkedProgram, charge, charge_cool, charge_functions,
};

/// The size of a page where the machine does not tell it.
const USUAL_PAGE_BYTES: u64 = 4_096;

/// The size of a page of a machine.
pub(super) fn page_bytes(machine: &Machine) -> u64 {
    machine.memory.page_bytes.unwrap_or(USUAL_PAGE_BYTES)
}

/// A program that is charged.
#[derive(Clone, Copy)]
pub(super) struct ChargedProgram<'a> {
    pub(super) calls: &'a ProgramCalls,
    pub(super) trials: &'a BilledTrials,
    /// The size of a page of its machine.
    pub(super) page_bytes: u64,
}

/// What it is charged, and by which prices.
pub(super) struct ProgramCharges<'a> {
    pub(super) list: PriceList<'a>,
    pub(super) charges: Charges,
    /// The walk that is most like the program.
    pub(super) walk_bytes: u64,
    /// What a walk adds to an op of nothing, if that was measured.
    pub(super) walk_added_to_nothing: Option<Amount>,
}

impl ChargedProgram<'_> {
    /// Charges it by the prices of these runs, and by what pairs add to them.
    pub(super) fn charge<'a>(self, runs: &'a PriceRuns, catalog: &Catalog) -> ProgramCharges<'a> {
        let Self { calls, trials, page_bytes } = self;
        let system_ns = trials.system_time.ns;
        let list = runs.price_list(catalog);
        let mut charges = charge(calls, Faults::of(trials), &list, system_ns);
        runs.explain_missing(&mut charges, calls, catalog);
        let (minor_faults, user_ns) = (trials.minor_faults, 1e9 * trials.user.mean);
        let program = WalkedProgram { calls, minor_faults, page_bytes, user_ns };
        let walk_bytes = program.walk_bytes();
        let cool_prices = runs.cool_prices(catalog, &list, walk_bytes);
        charge_cool(&mut charges, calls, &list, &cool_prices);
        let function_prices = runs.function_prices(catalog, &list);
        charge_functions(&mut charges, calls, &list, &function_prices, system_ns);
        let walk_added_to_nothing = cool_prices.added_to_nothing();
        ProgramCharges { list, charges, walk_bytes, walk_added_to_nothing }
    }
}
