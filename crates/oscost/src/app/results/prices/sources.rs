//! Where the prices of a bill come from.

use std::collections::BTreeSet;

use oscost_model::bill::{BillItem, MeasuredPrices, PriceRun, PriceSources};
use oscost_model::record::{Record, Row};

use super::PriceRuns;
use super::outdated::{PricedItems, stale};
use super::pairs::{has_raw_calls, has_walk};
use crate::bill::{Charges, PriceList};

impl PriceRuns {
    /// Where the prices of these charges come from, which `list` has priced; runs of pairs come last:
    /// they are no price list. What pairs they lack is told by `pair_sources`.
    pub(crate) fn sources(
        &self,
        charges: &Charges,
        list: &PriceList<'_>,
        measured: Option<MeasuredPrices>,
    ) -> PriceSources {
        let items = priced_items(charges, list);
        let mut runs: Vec<&Record> = self.current.iter().collect();
        if runs.is_empty() || !items.outdated.is_empty() {
            runs.extend(self.outdated.iter().map(|it| &it.record));
        }
        let stale = stale(&self.outdated, &items, |run, case| self.has_price(run, case));
        let rows = || charges.items.iter().flat_map(|item| &item.rows);
        let pricing: BTreeSet<&str> = rows()
            .filter_map(|case| runs.iter().copied().find(|run| self.has_price(run, case)))
            .map(|run| run.id.as_str())
            .collect();
        runs.retain(|run| pricing.contains(run.id.as_str()));
        let has_cool = charges.charged_cool.is_some();
        let has_functions = charges.items.iter().any(|item| item.function_source.is_some());
        let is_used = |row: &Row| has_cool && has_walk(row) || has_functions && has_raw_calls(row);
        for pairs in self.pairs.iter().filter(|it| it.results.iter().any(is_used)) {
            if !runs.iter().any(|it| it.id == pairs.id) {
                runs.push(pairs);
            }
        }
        PriceSources {
            runs: runs.into_iter().map(PriceRun::of).collect(),
            stale,
            missing: charges.missing.clone(),
            uncooled: Vec::new(),
            inlined: Vec::new(),
            unpaired: Vec::new(),
            measured,
            pairs: Vec::new(),
        }
    }
}

/// The items that have a price, and which of them outdated runs alone have priced.
fn priced_items<'a>(charges: &'a Charges, list: &PriceList<'_>) -> PricedItems<'a> {
    let priced = || charges.items.iter().filter(|item| !item.rows.is_empty());
    let is_outdated =
        |item: &&BillItem| item.case.as_deref().is_some_and(|case| list.has_in_others_alone(case));
    PricedItems { outdated: priced().filter(is_outdated).collect(), all: priced().count() }
}
