//! Prices of stored runs that are not used, and what a bill says of them.

use oscost_model::bill::BillItem;
use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::{Machine, Record, Row};

use super::PriceRuns;
use super::outdated::minute_of;
use super::run_state::{is_price, stale_reasons};
use super::unmeasured::pricing_cases;
use crate::app::results::records::estimates;
use crate::app::results::user_data::existing_store;
use crate::bill::{Charges, is_of_this_revision, size_axis_of};

/// More stored runs than these are not looked at: an older one that measured the same is no better.
const MAX_LOOKED_AT: usize = 30;

/// An item without a price.
pub(super) struct UnpricedItem {
    /// Its place among the items of the bill.
    index: usize,
    /// The cases that would price it.
    cases: Vec<Case>,
}

/// The items that a case would price.
pub(super) fn unpriced_items(
    items: &[BillItem],
    calls: &ProgramCalls,
    catalog: &Catalog,
) -> Vec<UnpricedItem> {
    let unpriced = items.iter().enumerate().filter(|(_, item)| item.amount.is_none());
    let found = unpriced.filter_map(|(index, item)| {
        let cases = pricing_cases(item.case.as_deref()?, size_axis_of(item, calls), catalog);
        (!cases.is_empty()).then_some(UnpricedItem { index, cases })
    });
    found.collect()
}

impl PriceRuns {
    /// Says of each item without a price which stored run has one that is not used, and why: the newest
    /// of several. The prices of a run that was named are those that were asked for.
    pub(crate) fn explain_passed_over(
        &self,
        charges: &mut Charges,
        calls: &ProgramCalls,
        machine: &Machine,
        catalog: &Catalog,
    ) {
        let mut unpriced = unpriced_items(&charges.items, calls, catalog);
        if self.is_of_named_run || unpriced.is_empty() {
            return;
        }
        // A store that cannot be read any more takes nothing from the bill.
        let Ok(Some(store)) = existing_store() else { return };
        let Ok(listed) = store.list() else { return };
        for listing in listed.into_iter().filter(|it| !it.imported).take(MAX_LOOKED_AT) {
            if unpriced.is_empty() {
                break;
            }
            let Ok(record) = estimates(&store, &listing.id) else { continue };
            let run = PassedOverRun { record: &record, machine, catalog };
            self.explain_by(run, &mut unpriced, &mut charges.items);
        }
    }

    /// Says why the prices of a run are not used of those items that it has measured, which are then
    /// removed from the unpriced ones.
    pub(super) fn explain_by(
        &self,
        run: PassedOverRun<'_>,
        unpriced: &mut Vec<UnpricedItem>,
        items: &mut [BillItem],
    ) {
        unpriced.retain(|UnpricedItem { index, cases }| {
            let Some(row) = self.row_of(run.record, cases) else { return true };
            let reasons = self.reasons_against(run, row);
            if reasons.is_empty() {
                return true;
            }
            let missing = items[*index].missing.get_or_insert_default();
            *missing += &format!(
                "; prices of {} are not used: {}",
                minute_of(&run.record.started),
                reasons.join(", ")
            );
            false
        });
    }

    /// Whether a run is one of those that price.
    fn has_run(&self, id: &str) -> bool {
        let outdated = self.outdated.iter().map(|it| &it.record);
        self.current.iter().chain(outdated).any(|run| run.id == id)
    }

    /// The row of a run that would be the price of one of these cases.
    fn row_of<'r>(&self, record: &'r Record, cases: &[Case]) -> Option<&'r Row> {
        record.results.iter().find(|row| {
            is_price(row, &self.target.treatments)
                && row.target.host == self.target.host
                && cases.iter().any(|it| it.benchmark == row.benchmark && it.point == row.point)
        })
    }

    /// Why a row of a run is no price; empty if it is one.
    fn reasons_against(&self, run: PassedOverRun<'_>, row: &Row) -> Vec<String> {
        let PassedOverRun { record, machine, catalog } = run;
        let mut reasons = Vec::new();
        // Stale prices of a run that the bill has taken are used where they fit, and told to be stale.
        if !self.has_run(&record.id) {
            reasons = stale_reasons(record, machine, &self.target.treatments);
            if reasons.is_empty() {
                reasons.extend(self.moved_since(record));
            }
        }
        if let Some(now) =
            catalog.get(&row.benchmark).filter(|_| !is_of_this_revision(row, catalog))
        {
            let (rev, now) = (row.rev, now.rev);
            reasons.push(format!("the benchmark did other work (revision {rev}, now {now})"));
        }
        reasons
    }
}

/// A run that may have prices which are not used, on a machine as it is now.
#[derive(Clone, Copy)]
pub(super) struct PassedOverRun<'a> {
    pub(super) record: &'a Record,
    pub(super) machine: &'a Machine,
    /// The benchmarks as they are now.
    pub(super) catalog: &'a Catalog,
}
