//! What treatments would add to a program: counts times the costs that they add to each call.

use std::cmp::Ordering;

use oscost_model::bill::{Amount, BillItem, OtherPriceItem, WhatIfItem};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::reach::Reach;
use oscost_model::record::{Comparison, Estimate, PRIMARY, Record, Row, RowOutcome, TargetInfo};
use oscost_model::unit::Unit;
use oscost_stats::interval::Nominal;
use oscost_stats::two_samples::{SampleMean, mean_difference};

use super::added_cost_cases::{is_call, is_fault};
use super::charges::{Charges, charge};
use super::fault_items::Faults;
use super::functions::inlined_amount;
use super::pooled_costs::{PooledCosts, has_own};
use super::price_list::{PriceList, SIZE_AXIS, number_on};
use super::rules::rule_of;

/// Why the cost of an op is not that of a call.
const FURTHER_CALLS: &str = "its op makes further calls, which are items of their own";
/// Why an item pays nothing.
const NO_CALL: &str = "it makes no call";

/// Which comparisons of a run are those of a change.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The host.
    pub host: &'a str,
    /// The treatments of the base.
    pub base: &'a [String],
    /// All treatments of the other side.
    pub new: &'a [String],
}

impl Change<'_> {
    /// Whether these rows are its two sides.
    pub fn is_between(&self, base: &Row, new: &Row) -> bool {
        let [from, to] = [base, new].map(|row| &row.target);
        from.treatments == self.base
            && to.treatments == self.new
            && from.host == self.host
            && to.host == self.host
    }
}

/// A program is assumed to touch another line of its memory in each so many nanoseconds, about what a line from
/// the last level of the caches takes: how many it touches is not counted.
const NS_A_LINE: f64 = 10.0;
const LINE_BYTES: f64 = 64.0;
/// The shortest walk. Longer ones are four times as long each, so that programs share what is measured.
const MIN_WALK_BYTES: u64 = 4 << 10;
/// The longest one: it empties a second-level cache.
const MAX_WALK_BYTES: u64 = 1 << 20;

/// The walk between two calls, in bytes, that is like a program which makes a call in each so many
/// nanoseconds of CPU time, up to the one that is like all memory that it touches. What a filter or a probe
/// has is used by every call: the program evicts only what it touches in between.
pub fn walk_between_calls(ns_a_call: f64, all_its_memory_bytes: u64) -> u64 {
    let touched = ns_a_call / NS_A_LINE * LINE_BYTES;
    let longest = all_its_memory_bytes.clamp(MIN_WALK_BYTES, MAX_WALK_BYTES);
    let mut walk = MIN_WALK_BYTES;
    // To the nearest one, by ratio.
    while walk < longest && touched > 2.0 * walk as f64 {
        walk *= 4;
    }
    walk.min(longest)
}

/// Whether the control of a run showed an effect: then its comparisons say nothing.
pub fn is_void(record: &Record) -> bool {
    let has_flag = |it: &Comparison| it.flags.iter().any(|flag| flag == "VOID");
    record.comparisons.iter().any(|it| !it.control && has_flag(it))
}

/// The rows of a run that compared both sides of a change, with the added cost as the figure of each:
/// a price list of added costs. Comparisons that their control made void are left out.
pub fn added_costs(record: &Record, change: Change<'_>) -> Record {
    let row = |index: u32| record.results.get(index as usize);
    let added = |comparison: &Comparison| {
        let (base, new) = (row(comparison.base)?, row(comparison.new)?);
        let is_void = comparison.flags.iter().any(|flag| flag == "VOID");
        let is_it = comparison.metric == PRIMARY
            && !comparison.control
            && !is_void
            && new.outcome == RowOutcome::Measured
            && change.is_between(base, new);
        is_it.then(|| added_row(base, comparison)).flatten()
    };
    let results = record.comparisons.iter().filter_map(added).collect();
    Record { results, comparisons: Vec::new(), ..record.clone() }
}

/// The base's row, whose figure is what is added to an op.
fn added_row(base: &Row, comparison: &Comparison) -> Option<Row> {
    let Amount { ns, ci95 } = added_time(base, comparison)?;
    let estimate = base.estimate.clone()?;
    let estimate = Estimate { median: ns, ci95, between_run_ci95: None, ..estimate };
    let target = TargetInfo { treatments: Vec::new(), ..base.target.clone() };
    Some(Row { unit: Unit::NsPerOp, estimate: Some(estimate), target, ..base.clone() })
}

fn added_time(base: &Row, comparison: &Comparison) -> Option<Amount> {
    let added = Amount { ns: comparison.added.value, ci95: comparison.added.ci95 };
    match base.unit {
        Unit::NsPerOp => Some(added),
        Unit::Seconds => Some(added.times(1e9)),
        Unit::BytesPerSecond => {
            // The time of an op is inverse to the rate.
            let bytes = number_on(&base.point, SIZE_AXIS)? as f64;
            let rate = base.estimate.as_ref()?.median;
            let is_positive = |it: &f64| *it > 0.0;
            let base_ns = Some(1e9 * bytes / rate).filter(|_| rate > 0.0)?;
            let time = |ratio: f64| base_ns * (1.0 / ratio - 1.0);
            let ratio = Some(comparison.ratio.value).filter(is_positive)?;
            let ends = comparison.ratio.ci95.filter(|ends| ends.iter().all(is_positive));
            let ci95 = ends.map(|[low, high]| [time(high), time(low)]);
            Some(Amount { ns: time(ratio), ci95 })
        }
        _ => None,
    }
}

/// What a change is predicted to add.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Its parts, the largest first; then what has no amount.
    pub items: Vec<WhatIfItem>,
    /// The sum, by costs that are added to calls in a loop.
    pub warm: Amount,
    /// The same by costs that are added to calls after a walk; `None` if no item has one.
    pub cool: Option<Amount>,
    /// The part of the sum that is an estimate.
    pub estimated: Amount,
    /// Calls without an added cost of their own.
    pub unpriced_calls: f64,
}

impl Prediction {
    /// What is added to a program, whose caches are between those of a loop and those that a walk leaves:
    /// the middle, in an interval that holds those of both.
    pub fn added(&self) -> Amount {
        self.cool.as_ref().map_or_else(|| self.warm.clone(), |cool| middle(&self.warm, cool))
    }
}

/// The middle of two amounts, in an interval that holds those of both.
fn middle(one: &Amount, other: &Amount) -> Amount {
    let both = one.ci95.zip(other.ci95);
    let ci95 = both.map(|(one, other)| [one[0].min(other[0]), one[1].max(other[1])]);
    Amount { ns: (one.ns + other.ns) / 2.0, ci95 }
}

/// Costs that a change adds to ops.
#[derive(Clone, Copy)]
pub struct AddedCosts<'a> {
    /// In a loop.
    pub warm: &'a PriceList<'a>,
    /// Each after a walk through memory.
    pub cool: &'a PriceList<'a>,
    /// Where in a program the change costs time.
    pub reach: Reach,
}

/// What a change adds to what a program did, by the costs that it adds to ops. What it adds to a call is
/// drawn to what it adds to all, and calls without an added cost of their own pay that, but for those
/// that are within the op of another item, which pays for them. Page faults pay nothing of what is added to
/// calls. `None` if no call has an added cost.
pub fn predict(
    calls: &ProgramCalls,
    faults: Faults,
    added_costs: AddedCosts<'_>,
) -> Option<Prediction> {
    let AddedCosts { warm, cool, reach } = added_costs;
    let mut warm_items = charge(calls, faults, warm, 0.0).items;
    // What switches and freed pages cost more is not asked for.
    warm_items.retain(|item| is_call(&item.name) || is_fault(&item.name));
    let mut cool_items = charge(calls, faults, cool, 0.0).items;
    cool_items.retain(|item| has_own(item) && is_of_same_rows(item, &warm_items));
    let warm_costs = PooledCosts::of(&warm_items, reach)?;
    let cool_costs = PooledCosts::of(&cool_items, reach);
    let (free, paying): (Vec<&BillItem>, Vec<&BillItem>) =
        warm_items.iter().partition(|item| is_fault(&item.name) && reach.is_at_each_call());
    let (priced, estimated): (Vec<&BillItem>, Vec<&BillItem>) =
        paying.into_iter().partition(|item| warm_costs.pays_own(item));
    let nothing = Amount { ns: 0.0, ci95: Some([0.0; 2]) };
    let (mut estimated_sum, mut unpriced_calls) = (nothing.clone(), 0.0);
    let mut items: Vec<WhatIfItem> = free.into_iter().map(without_cost).collect();
    for &item in &priced {
        let unit = item.unit.as_ref().map(|own| warm_costs.of_item(item, own));
        let of_cool = cool_items.iter().find(|it| it.name == item.name);
        let cool_unit = of_cool.and_then(|it| it.unit.as_ref()).zip(cool_costs.as_ref());
        let cool_unit = cool_unit.map(|(own, costs)| costs.of_item(item, own));
        // Without a cool cost of its own a call takes as much more as the others do.
        let cool_unit = cool_unit.or_else(|| {
            let (unit, cool_costs) = (unit.as_ref()?, cool_costs.as_ref()?);
            let is_like_others = warm_costs.is_like_others(item);
            is_like_others.then(|| unit.plus(&warm_costs.added_by_walk(cool_costs)))
        });
        let all = |unit: &Amount| unit.times(item.times);
        items.push(WhatIfItem {
            own_unit: item.unit.clone().filter(|own| Some(own) != unit.as_ref()),
            amount: unit.as_ref().map(all),
            cool_amount: cool_unit.as_ref().map(all),
            unit,
            ..part_of(item)
        });
    }
    for item in estimated {
        let why = if has_own(item) { FURTHER_CALLS } else { "it pays no part of an op" };
        let mut missing = item.missing.clone().unwrap_or(why.to_owned());
        let mut estimated_calls = if is_call(&item.name) { item.times } else { 0.0 };
        if let Some(Payer { name, calls }) = payer_of(item, &priced) {
            let paid = calls.min(estimated_calls);
            estimated_calls -= paid;
            missing = format!("{missing}; {paid} are charged with {name}");
        }
        let is_estimate = estimated_calls > 0.0;
        let unit = is_estimate.then(|| warm_costs.of_others.clone());
        let amount = unit.as_ref().map(|unit| unit.times(estimated_calls));
        let cool_costs = cool_costs.as_ref().filter(|_| is_estimate);
        let cool_amount = cool_costs.map(|costs| costs.of_others.times(estimated_calls));
        if let Some(amount) = &amount {
            unpriced_calls += estimated_calls;
            let both = cool_amount.as_ref().map(|cool| middle(amount, cool));
            estimated_sum = estimated_sum.plus(both.as_ref().unwrap_or(amount));
        }
        let missing = Some(missing);
        items.push(WhatIfItem { unit, amount, cool_amount, is_estimate, missing, ..part_of(item) });
    }
    items.sort_by(by_amount);
    let sum = |amounts: Vec<&Amount>| {
        amounts.into_iter().fold(nothing.clone(), |sum, amount| sum.plus(amount))
    };
    let warm = sum(items.iter().filter_map(|item| item.amount.as_ref()).collect());
    let cool = items.iter().filter_map(|item| item.cool_amount.as_ref().or(item.amount.as_ref()));
    let cool = sum(cool.collect());
    let has_cool = items.iter().any(|item| item.cool_amount.is_some());
    let cool = has_cool.then_some(cool);
    Some(Prediction { items, warm, cool, estimated: estimated_sum, unpriced_calls })
}

/// A page fault, to which a change of calls adds nothing: a measured cost would be noise.
fn without_cost(item: &BillItem) -> WhatIfItem {
    let nothing = Some(Amount { ns: 0.0, ci95: Some([0.0; 2]) });
    let missing = Some(NO_CALL.to_owned());
    WhatIfItem { unit: nothing.clone(), amount: nothing, missing, ..part_of(item) }
}

/// Whether the cool added cost of an item is made of the same rows as its warm one: a difference of a
/// cool op and a warm one would hold the walk.
fn is_of_same_rows(item: &BillItem, warm_items: &[BillItem]) -> bool {
    let is_same = |it: &BillItem| {
        it.name == item.name && it.rows == item.rows && it.less == item.less && it.plus == item.plus
    };
    warm_items.iter().any(is_same)
}

/// An item that pays for calls of another one.
struct Payer<'a> {
    name: &'a str,
    /// How many: one in each of its ops.
    calls: f64,
}

/// Which of these items pays for calls that have no added cost of their own: they are made in its
/// op, too, and what is not known could not be subtracted from it (`less` of its rule).
fn payer_of<'a>(item: &BillItem, priced: &[&'a BillItem]) -> Option<Payer<'a>> {
    let case = item.case.as_ref().filter(|_| item.amount.is_none())?;
    let contains = |it: &&BillItem| rule_of(&it.name).is_some_and(|rule| rule.less.contains(case));
    let mut payers = priced.iter().copied().filter(contains);
    let first = payers.next()?;
    let ops = |it: &BillItem| it.times * it.part;
    let calls = ops(first) + payers.map(ops).sum::<f64>();
    Some(Payer { name: &first.name, calls })
}

fn part_of(item: &BillItem) -> WhatIfItem {
    WhatIfItem {
        name: item.name.clone(),
        times: item.times,
        case: item.case.clone(),
        unit: None,
        own_unit: None,
        amount: None,
        cool_amount: None,
        is_estimate: false,
        missing: None,
    }
}

fn by_amount(one: &WhatIfItem, other: &WhatIfItem) -> Ordering {
    let ns = |it: &WhatIfItem| it.predicted_ns().unwrap_or(f64::NEG_INFINITY);
    ns(other).total_cmp(&ns(one)).then(other.times.total_cmp(&one.times))
}

/// The increase of a mean between trials that took turns, both in seconds. Its interval is that of
/// independent trials (Welch 1947): what both share makes the true one narrower.
pub fn mean_increase(base: &Estimate, new: &Estimate) -> Amount {
    let sample = |it: &Estimate| {
        let standard_deviation = it.sd?;
        Some(SampleMean { mean: it.mean, standard_deviation, count: it.repetitions })
    };
    let samples = sample(base).zip(sample(new));
    let found = samples.and_then(|(base, new)| mean_difference(base, new, Nominal::FIXED));
    let ci95 = found.map(|it| [it.interval.lo, it.interval.hi]);
    Amount { ns: new.mean - base.mean, ci95 }.times(1e9)
}

/// What the same counts cost here and at other prices.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceComparison {
    /// The items, those first that are the largest there.
    pub items: Vec<OtherPriceItem>,
    /// The sum here of the items that both price.
    pub here: Amount,
    /// Their sum there.
    pub there: Amount,
    /// How often happened what one of both does not price.
    pub unpriced: f64,
}

/// Compares the items of a bill with what the same counts are charged at other prices.
pub fn compare_prices(here: &[BillItem], there: &Charges) -> PriceComparison {
    let nothing = Amount { ns: 0.0, ci95: Some([0.0; 2]) };
    let (mut sum_here, mut sum_there, mut unpriced) = (nothing.clone(), nothing, 0.0);
    let mut items = Vec::new();
    for item in here {
        let other = there.items.iter().find(|it| it.name == item.name);
        // The other list has prices of inlined loops alone.
        let amounts = (inlined_amount(item), other.and_then(|it| it.amount.clone()));
        let mut ratio = None;
        match &amounts {
            (Some(here), Some(there)) => {
                ratio = (here.ns > 0.0).then(|| there.ns / here.ns);
                (sum_here, sum_there) = (sum_here.plus(here), sum_there.plus(there));
            }
            _ => unpriced += item.times.abs(),
        }
        let (here, there) = amounts;
        items.push(OtherPriceItem {
            name: item.name.clone(),
            times: item.times,
            here,
            there,
            ratio,
        });
    }
    let ns = |it: &OtherPriceItem| it.there.as_ref().map_or(f64::NEG_INFINITY, |it| it.ns);
    items.sort_by(|one, other| ns(other).total_cmp(&ns(one)));
    PriceComparison { items, here: sum_here, there: sum_there, unpriced }
}
