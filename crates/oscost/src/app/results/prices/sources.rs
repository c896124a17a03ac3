//! Where the prices of a bill come from.

use std::collections::BTreeSet;

use oscost_model::bill::{BillItem, DoubtfulRun, MeasuredPrices, PriceRun, PriceSources};
use oscost_model::record::{Record, Row};

use super::PriceRuns;
use super::outdated::{OutdatedItem, PricedItems, stale};
use super::pairs::{has_raw_calls, has_walk};
use crate::advice::trust::Trust;
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
        let pricing: BTreeSet<&str> = charges
            .items
            .iter()
            .flat_map(|item| item.rows.iter().chain(&item.less).chain(&item.plus))
            .filter_map(|case| self.run_of(&runs, case))
            .map(|run| run.id.as_str())
            .collect();
        runs.retain(|run| pricing.contains(run.id.as_str()));
        let mut doubtful = self.doubtful_price_runs(&runs, &charges.items);
        let has_cool = charges.charged_cool.is_some();
        let has_functions = charges.items.iter().any(|item| item.function_source.is_some());
        let is_used = |row: &Row| has_cool && has_walk(row) || has_functions && has_raw_calls(row);
        for pairs in self.pairs.iter().filter(|it| it.results.iter().any(is_used)) {
            if !runs.iter().any(|it| it.id == pairs.id) {
                doubtful.extend(self.doubtful_run(pairs, None));
                runs.push(pairs);
            }
        }
        PriceSources {
            runs: runs.into_iter().map(PriceRun::of).collect(),
            stale,
            doubtful,
            missing: charges.missing.clone(),
            uncooled: Vec::new(),
            rare_uncooled: Vec::new(),
            inlined: Vec::new(),
            unpaired: Vec::new(),
            measured,
            pairs: Vec::new(),
        }
    }

    /// The first of these runs that has a price of a case.
    fn run_of<'a>(&self, runs: &[&'a Record], case: &str) -> Option<&'a Record> {
        runs.iter().copied().find(|run| self.has_price(run, case))
    }

    /// Those of these runs whose prices are doubtful, the largest share of these items first.
    fn doubtful_price_runs(&self, runs: &[&Record], items: &[BillItem]) -> Vec<DoubtfulRun> {
        let size_ns = |item: &BillItem| item.amount.as_ref().map_or(0.0, |it| it.ns.abs());
        let all_ns: f64 = items.iter().map(size_ns).sum();
        let share_pct = |run: &Record| {
            let is_of_run = |item: &&BillItem| {
                let first = item.rows.first().and_then(|case| self.run_of(runs, case));
                first.is_some_and(|it| it.id == run.id)
            };
            let of_run: f64 = items.iter().filter(is_of_run).map(size_ns).sum();
            (all_ns > 0.0).then(|| 100.0 * of_run / all_ns)
        };
        let doubtful =
            runs.iter().copied().filter_map(|run| self.doubtful_run(run, share_pct(run)));
        let mut found: Vec<DoubtfulRun> = doubtful.collect();
        let pct = |it: &DoubtfulRun| it.charged_pct.unwrap_or(0.0);
        found.sort_by(|one, other| pct(other).total_cmp(&pct(one)));
        found
    }

    /// A run of this share of what is charged, if its prices are doubtful whatever the row.
    fn doubtful_run(&self, run: &Record, charged_pct: Option<f64>) -> Option<DoubtfulRun> {
        let Trust { grade, reasons } = self.doubts.get(&run.id)?;
        Some(DoubtfulRun {
            id: run.id.clone(),
            started: run.started.clone(),
            grade: grade.text().to_owned(),
            reasons: reasons.clone(),
            charged_pct,
        })
    }
}

/// The items that have a price, and of which of them outdated runs alone have a part: also rows of sizes,
/// where other runs have another size alone.
fn priced_items<'a>(charges: &'a Charges, list: &PriceList<'_>) -> PricedItems<'a> {
    let priced = || charges.items.iter().filter(|item| !item.rows.is_empty());
    let is_outdated = |selector: &str| list.has_in_others_alone(selector);
    let outdated = priced().filter_map(|item| {
        let own = item.case.as_deref().is_some_and(is_outdated);
        let own = item.rows.iter().filter(move |row| own || is_outdated(row));
        let others = item.less.iter().chain(&item.plus).filter(|row| is_outdated(row));
        let rows: Vec<&String> = own.chain(others).collect();
        (!rows.is_empty()).then_some(OutdatedItem { item, rows })
    });
    PricedItems { outdated: outdated.collect(), all: priced().count() }
}
