//! The pairs of rows that the largest items of a bill lack.

use oscost_model::bill::{BillItem, UnpairedCase};
use oscost_model::case::Case;
use oscost_model::cool::LAST_LEVEL_WALK_BYTES;
use oscost_model::definition::Catalog;
use oscost_model::record::{Record, RowOutcome};

use super::PriceRuns;
use super::pair_kind::PairKind;
use super::pairs::RefusedPair;
use super::unmeasured::pricing_cases;
use crate::bill::{
    ENTRY_CASE, PriceList, cases_to_call, cases_to_cool, frequent_parts, rare_parts,
};

/// What pairs the largest items of a bill lack.
#[derive(Default)]
pub(crate) struct PairSources {
    /// Selectors of cases that have no pair yet for what a walk adds.
    pub(crate) uncooled: Vec<String>,
    /// The same for what the walk before calls adds that the program makes rarely.
    pub(crate) rare_uncooled: Vec<String>,
    /// Selectors of cases that have no pair yet for what a function adds.
    pub(crate) inlined: Vec<String>,
    /// Cases whose pair was tried in vain.
    pub(crate) unpaired: Vec<UnpairedCase>,
}

impl PriceRuns {
    /// What pairs these items lack, after a walk of so many bytes before what the program does often.
    /// Under treatments no pair is measured.
    pub(crate) fn pair_sources(
        &self,
        items: &[BillItem],
        walk_bytes: u64,
        catalog: &Catalog,
    ) -> PairSources {
        if self.are_under_treatments() {
            return PairSources::default();
        }
        let mut found = PairSources {
            inlined: self.lacking(PairKind::Function, items, 0, catalog),
            unpaired: self.unpaired(PairKind::Function, items, 0, catalog),
            ..PairSources::default()
        };
        for (walk_bytes, parts, uncooled) in [
            (walk_bytes, frequent_parts(items), &mut found.uncooled),
            (LAST_LEVEL_WALK_BYTES, rare_parts(items), &mut found.rare_uncooled),
        ] {
            *uncooled = self.lacking(PairKind::Walk, &parts, walk_bytes, catalog);
            if walk_bytes == LAST_LEVEL_WALK_BYTES && !uncooled.is_empty() {
                uncooled.retain(|selector| selector != ENTRY_CASE);
                uncooled.insert(0, ENTRY_CASE.to_owned());
            }
            found.unpaired.extend(self.unpaired(PairKind::Walk, &parts, walk_bytes, catalog));
        }
        found
    }

    /// The cases that would give the largest of these items what a pair adds, and have no pair yet, those
    /// of the largest item first.
    pub(crate) fn lacking_pairs(
        &self,
        kind: PairKind,
        items: &[BillItem],
        walk_bytes: u64,
        catalog: &Catalog,
    ) -> Vec<Case> {
        if self.are_under_treatments() {
            return Vec::new();
        }
        let mut found: Vec<Case> = Vec::new();
        for selector in self.lacking(kind, items, walk_bytes, catalog) {
            for case in pricing_cases(&selector, None, catalog) {
                if !found.contains(&case) && !self.has_pair(kind, &case, walk_bytes) {
                    found.push(case);
                }
            }
        }
        // What a walk through a last-level cache adds is known beside what it adds to that alone.
        if walk_bytes == LAST_LEVEL_WALK_BYTES && !found.is_empty() {
            let entry = pricing_cases(ENTRY_CASE, None, catalog);
            found.retain(|case| !entry.contains(case));
            found.splice(0..0, entry);
        }
        found
    }

    /// Whether both rows of a pair are known.
    pub(crate) fn has_pair(&self, kind: PairKind, case: &Case, walk_bytes: u64) -> bool {
        let sides = kind.sides(walk_bytes).map(|side| side.text);
        let has = |record: &Record, side: &String, case: &Case| {
            record.results.iter().any(|row| {
                row.outcome == RowOutcome::Measured
                    && row.target.treatments == std::slice::from_ref(side)
                    && row.benchmark == case.benchmark
                    && row.point == case.point
            })
        };
        let has_both =
            |record: &Record, case: &Case| sides.iter().all(|side| has(record, side, case));
        // What the longest walk adds is known beside what it adds to the entry of the kernel.
        let is_last_level = kind == PairKind::Walk && walk_bytes == LAST_LEVEL_WALK_BYTES;
        let entry = Case::parse(ENTRY_CASE).filter(|_| is_last_level);
        self.pairs.iter().any(|record| {
            has_both(record, case) && entry.as_ref().is_none_or(|entry| has_both(record, entry))
        })
    }

    /// The selectors of these cases, without those that were tried in vain. An item that needs such a
    /// one keeps its price, whatever else is measured of it.
    fn lacking(
        &self,
        kind: PairKind,
        items: &[BillItem],
        walk_bytes: u64,
        catalog: &Catalog,
    ) -> Vec<String> {
        let cases_of = |selector: &str| pricing_cases(selector, None, catalog);
        let has_pair = |case: &Case| self.has_pair(kind, case, walk_bytes);
        let is_in_vain =
            |case: &Case| self.refusal(kind, case, walk_bytes).is_some() && !has_pair(case);
        let is_refused = |selector: &str| cases_of(selector).iter().any(is_in_vain);
        let prices = self.price_list(catalog);
        let mut selectors = wanted(kind, items, walk_bytes, &prices, catalog, is_refused);
        selectors.retain(|selector| !cases_of(selector).iter().all(has_pair));
        selectors
    }

    /// Of the same cases those that were tried in vain.
    fn unpaired(
        &self,
        kind: PairKind,
        items: &[BillItem],
        walk_bytes: u64,
        catalog: &Catalog,
    ) -> Vec<UnpairedCase> {
        let prices = self.price_list(catalog);
        let selectors = wanted(kind, items, walk_bytes, &prices, catalog, |_| false);
        let mut cases: Vec<Case> = Vec::new();
        for case in selectors.iter().flat_map(|selector| pricing_cases(selector, None, catalog)) {
            if !cases.contains(&case) && !self.has_pair(kind, &case, walk_bytes) {
                cases.push(case);
            }
        }
        let unpaired = cases.iter().filter_map(|case| {
            let RefusedPair { is_skipped, reason, .. } = self.refusal(kind, case, walk_bytes)?;
            Some(UnpairedCase {
                case: case.to_string(),
                treatment: kind.treatment().to_owned(),
                skipped: *is_skipped,
                reason: reason.clone(),
            })
        });
        unpaired.collect()
    }

    /// The attempt to measure a pair of a case that was in vain. What is skipped is skipped after every walk;
    /// what failed, or was compared in vain, may not fail after another one.
    fn refusal(&self, kind: PairKind, case: &Case, walk_bytes: u64) -> Option<&RefusedPair> {
        let sides = kind.sides(walk_bytes).map(|side| side.text);
        self.refused_pairs.iter().find(|it| {
            let is_of_sides = it.is_skipped || sides.contains(&it.treatment);
            it.kind == kind && it.case == *case && is_of_sides
        })
    }
}

/// The selectors of cases that would give the largest items what a pair adds.
fn wanted(
    kind: PairKind,
    items: &[BillItem],
    walk_bytes: u64,
    prices: &PriceList<'_>,
    catalog: &Catalog,
    is_refused: impl Fn(&str) -> bool,
) -> Vec<String> {
    match kind {
        PairKind::Function => cases_to_call(items, catalog, is_refused),
        PairKind::Walk => cases_to_cool(items, walk_bytes, prices, catalog, is_refused),
    }
}
