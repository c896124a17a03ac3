//! What a function around each call adds to the items of a bill.
//!
//! Programs call the kernel through functions of the C library, whose return comes right after the
//! call; the loops that are measured have the instruction in them. Where the kernel's returns are
//! guarded, its own code is slower in the first case; an inlined loop may be in either state, a loop
//! through a function is always in the slow one. So a case costs what its loop through a function
//! does: what that has more than the price is added to it, warm and cool.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::point::Value;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::raw_call::{CALL, RawCall};
use oscost_model::record::{Record, Row};

use super::additions::{
    CaseRatios, RatioEstimate, added_to_item, cases_to_measure, groups_of_item, has_time, op_ns,
    rule_of_item,
};
use super::charges::Charges;
use super::price_list::PriceList;
use super::row_pairs::{RowPair, function_pairs};

/// The axis by which a benchmark selects its entry path: through the C library there is no loop of
/// raw calls.
const ENTRY_AXIS: &str = "via";
/// The axis of a peer, whose calls no loop makes.
const PEER_AXIS: &str = "peer_cpu";

/// What a function around each call adds to the prices of some runs.
pub struct FunctionPrices<'a> {
    added: PriceList<'a>,
    ratios: CaseRatios,
    loops: Vec<RawLoop>,
}

/// A benchmark of which a case has a loop of raw calls, and the entry path of that case.
#[derive(PartialEq)]
struct RawLoop {
    benchmark: String,
    via: Option<Value>,
}

impl RawLoop {
    fn of_row(row: &Row) -> Self {
        let via = row.point.get(ENTRY_AXIS).cloned();
        Self { benchmark: row.benchmark.clone(), via }
    }

    /// That of a case in text form.
    fn of_case(case: &str) -> Option<Self> {
        let case = Case::parse(case)?;
        let via = case.point.get(ENTRY_AXIS).cloned();
        Some(Self { benchmark: case.benchmark, via })
    }
}

/// What is added to all of an item, and where it comes from.
struct Addition {
    amount: Amount,
    source: String,
}

impl<'a> FunctionPrices<'a> {
    /// What these runs show beside their prices; of several that have a case the first one.
    pub fn new(
        records: impl IntoIterator<Item = &'a Record>,
        catalog: &Catalog,
        prices: &PriceList<'_>,
    ) -> Self {
        let pairs: Vec<RowPair<'a>> = records.into_iter().flat_map(function_pairs).collect();
        let added = PriceList::added_to_prices(pairs.iter().copied(), prices, catalog);
        let mut ratios = CaseRatios::default();
        for pair in &pairs {
            ratios.add(pair.with, prices, &added);
        }
        let loops = pairs.iter().map(|pair| RawLoop::of_row(pair.with)).collect();
        Self { added, ratios, loops }
    }

    /// The addition to an item by the median ratio of other cases. `None` unless another case of its
    /// benchmark has a loop of raw calls, and of an op that is longer than all of the others: in it
    /// the function is less than in them.
    fn estimated(&self, item: &BillItem) -> Option<Addition> {
        let own = RawLoop::of_case(item.rows.first()?)?;
        if !self.loops.contains(&own) || op_ns(item)? > self.ratios.longest_ns()? {
            return None;
        }
        let amount = item.amount.as_ref()?;
        let RatioEstimate { ratio, ends, source } = self.ratios.estimate(item)?;
        let added_ends = ends.map(|ends| ends.map(|end| end - 1.0));
        Some(Addition { amount: amount.times_between(ratio - 1.0, added_ends), source })
    }
}

/// Adds what a function adds to each call to the items of a program that did this, and to their sums.
/// That system time is the whole of their shares.
pub fn charge_functions(
    charges: &mut Charges,
    calls: &ProgramCalls,
    prices: &PriceList<'_>,
    functions: &FunctionPrices<'_>,
    system_ns: f64,
) {
    if functions.loops.is_empty() {
        return;
    }
    for item in charges.items.iter_mut().filter(|item| item.part > 0.0 && item.amount.is_some()) {
        let groups = groups_of_item(item, calls);
        let rule = rule_of_item(item);
        let measured =
            rule.and_then(|rule| added_to_item(&rule, &groups, prices, &functions.added));
        let measured =
            measured.map(|amount| Addition { amount, source: RawCall::Function.treatment_text() });
        if let Some(addition) = measured.or_else(|| functions.estimated(item)) {
            add_to(item, addition);
        }
    }
    charges.sum_again(system_ns);
}

fn add_to(item: &mut BillItem, Addition { amount, source }: Addition) {
    let of_one = |sum: &Amount| (item.times > 0.0).then(|| sum.times(1.0 / item.times));
    let with = |sum: &Option<Amount>| sum.as_ref().map(|sum| sum.plus(&amount));
    let (warm, cool) = (with(&item.amount), with(&item.cool_amount));
    let (unit, cool_price) = (warm.as_ref().and_then(of_one), cool.as_ref().and_then(of_one));
    (item.unit, item.amount) = (unit, warm);
    (item.cool_price, item.cool_amount) = (cool_price, cool);
    (item.function_added, item.function_source) = (Some(amount), Some(source));
}

/// The amount of an item by the prices of inlined loops, as all other amounts of a price list are.
pub(super) fn inlined_amount(item: &BillItem) -> Option<Amount> {
    let amount = item.amount.clone()?;
    let Some(added) = &item.function_added else { return Some(amount) };
    let both = amount.ci95.zip(added.ci95);
    // They were added end by end.
    let ci95 = both.map(|(sum, added)| [sum[0] - added[0], sum[1] - added[1]]);
    Some(Amount { ns: amount.ns - added.ns, ci95 })
}

/// Whether the addition of an item was measured at its own case.
fn is_measured(item: &BillItem) -> bool {
    item.function_source.as_deref().is_some_and(|source| source.starts_with(CALL))
}

/// The cases that would show what a function adds to the largest items of a bill, which `oscost ab
/// --base call=inline --new call=function CASES` measures.
pub fn cases_to_call(
    items: &[BillItem],
    catalog: &Catalog,
    is_refused: impl Fn(&str) -> bool,
) -> Vec<String> {
    cases_to_measure(items, is_measured, |case| is_refused(case) || !may_be_raw(case, catalog))
}

/// Whether a loop may consist of the calls of a case: not of faults, nor of what a peer does or what
/// sleeps.
fn may_be_raw(case: &str, catalog: &Catalog) -> bool {
    let Some(parsed) = Case::parse(case) else { return false };
    let Some(definition) = catalog.get(&parsed.benchmark) else { return false };
    let point = definition.with_implied(&parsed.point);
    let makes_calls = definition.calls.iter().any(|rule| point.includes(&rule.when));
    let has_peer = definition.axes.iter().any(|axis| axis.name == PEER_AXIS);
    makes_calls && !definition.switches && !has_peer && has_time(case, catalog)
}
