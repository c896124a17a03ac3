//! Cool prices: what the items of a bill cost in a program that does something else between two
//! calls.
//!
//! What a walk adds to a case is the difference of two rows of one run that were timed in the same
//! way: it holds nothing but the caches, and is added to the price. An item whose case was not
//! measured so is estimated from the others. Where no counter tells what makes a call expensive, the
//! cool end is that of another case, and the walk comes before its ops. Across CPUs there is no walk: the
//! cool end is that of a CPU that has stopped its tick, or has been idle for longer.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::cool::{SPREAD_WALK_BYTES, treatment_text};
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Record;

use super::additions::{
    CaseRatios, NOTHING, RatioEstimate, added_to_item, cases_to_measure, groups_of_item, has_time,
    rule_of_item,
};
use super::charges::{Charges, Group, sum_with_cool};
use super::fault_items::FEW_PAGES;
use super::price_list::PriceList;
use super::ranges::{RangeEnd, end_case, is_at_end};
use super::rules::PriceRule;
use super::switch_items::is_across_cpus;
use super::walk_pairs::{WalkPair, walk_pairs};

/// The walk is as long as what a process of the program touches, but not shorter than a second-level
/// cache of 256 KiB ...
const MIN_WALK_BYTES: f64 = 262_144.0;
/// ... and not longer than this: few processes use more of their memory between two calls.
const MAX_WALK_BYTES: f64 = 1_048_576.0;
/// Where at least this share of the processes begins on another CPU, the walk is the longest, however little
/// each touches.
const MOVED_SHARE: f64 = 0.1;
/// A program that has so much user time between two calls or faults has the spread walk, which takes about as
/// long.
const LONG_COMPUTATION_NS: f64 = 50_000.0;
/// So has it only if each of its processes touches more than this, on average: more than a second-level
/// cache has.
const MUCH_MEMORY_BYTES: f64 = FEW_PAGES * 4_096.0;

/// What decides how long the walk is that is like a program.
pub struct WalkedProgram<'a> {
    /// What it did.
    pub calls: &'a ProgramCalls,
    /// Its minor faults.
    pub minor_faults: f64,
    /// The size of a page of its machine.
    pub page_bytes: u64,
    /// Its user time in nanoseconds.
    pub user_ns: f64,
}

impl WalkedProgram<'_> {
    /// The bytes of the walk: a power of two.
    ///
    /// Each page that a process touches first is a fault. (The largest resident set would be the
    /// supervisor's where the program's is smaller: it is counted from before execve(2).) What a child finds
    /// that begins on another CPU is in the caches of its parent's alone, and its own caches hold what ran there
    /// before: a walk through little memory would leave all of it in the second-level cache.
    pub fn walk_bytes(&self) -> u64 {
        let Self { calls, minor_faults, page_bytes, user_ns } = *self;
        let processes = 1.0 + calls.forks as f64;
        let touched = minor_faults * page_bytes as f64 / processes;
        let entries = calls.calls() as f64 + minor_faults;
        if touched > MUCH_MEMORY_BYTES && user_ns >= LONG_COMPUTATION_NS * entries {
            return SPREAD_WALK_BYTES;
        }
        let moved = calls.events.and_then(|events| events.forks_to_other_cpu).unwrap_or(0);
        let walked = match moved as f64 >= MOVED_SHARE * processes {
            true => MAX_WALK_BYTES,
            false => touched,
        };
        1 << walked.clamp(MIN_WALK_BYTES, MAX_WALK_BYTES).log2().round() as u32
    }
}

/// What walks add to the prices of some runs.
pub struct CoolPrices<'a> {
    /// The nearest length first.
    walks: Vec<Walk<'a>>,
    ratios: CaseRatios,
}

/// What walks of one length add: those of another length add something else, so that what two of them add is
/// no line between two sizes, and no difference of two cases.
struct Walk<'a> {
    bytes: u64,
    added: PriceList<'a>,
}

/// What stands in a source between a walk and the case before whose ops it was.
const AND: &str = " and ";

/// A cool amount, and where it comes from.
struct CoolAmount {
    amount: Amount,
    source: String,
}

impl<'a> CoolPrices<'a> {
    /// The cool prices of these runs beside their prices, by the walks that are nearest to this one.
    pub fn new(
        records: impl IntoIterator<Item = &'a Record>,
        catalog: &Catalog,
        prices: &PriceList<'_>,
        walk_bytes: u64,
    ) -> Self {
        let pairs = walk_pairs(records, walk_bytes);
        let mut lengths: Vec<u64> = Vec::new();
        for pair in &pairs {
            if !lengths.contains(&pair.walk_bytes) {
                lengths.push(pair.walk_bytes);
            }
        }
        let (mut walks, mut ratios): (Vec<Walk<'a>>, CaseRatios) = Default::default();
        for bytes in lengths {
            let of_length = pairs.iter().filter(|pair| pair.walk_bytes == bytes);
            let of_length: Vec<WalkPair<'a>> = of_length.copied().collect();
            let rows = of_length.iter().map(|pair| pair.rows);
            let added = PriceList::added_by_pairs(rows, catalog);
            for pair in of_length.iter().filter(|pair| !is_at_end(&pair.rows.with.case)) {
                ratios.add(pair.rows.with, prices, &added);
            }
            walks.push(Walk { bytes, added });
        }
        Self { walks, ratios }
    }

    /// What a walk adds to an op that does nothing, and to each other one; `None` if that was not
    /// measured.
    pub fn added_to_nothing(&self) -> Option<Amount> {
        let price = self.walks.iter().find_map(|walk| walk.added.price(NOTHING, None));
        price.map(|price| price.amount)
    }

    /// The cool amount of an item of a program that did this; `None` without any.
    fn amount_of(
        &self,
        item: &BillItem,
        calls: &ProgramCalls,
        prices: &PriceList<'_>,
    ) -> Option<CoolAmount> {
        let rule = rule_of_item(item);
        let groups = groups_of_item(item, calls);
        let by_walk = || {
            let measured =
                rule.as_ref().and_then(|rule| self.measured(item, rule, &groups, prices));
            measured.or_else(|| self.estimated(item))
        };
        let end = rule.as_ref().and_then(|rule| RangeEnd::of(item, rule, &groups, calls, prices));
        let Some(end) = end else { return by_walk() };
        let amount = item.amount.as_ref()?.plus(&end.added);
        let walked = self.walks.iter().find_map(|walk| walk.added_at(&end, item, prices));
        if let Some(walked) = walked {
            let source = format!("{}{AND}{}", walked.source, end.selector);
            return Some(CoolAmount { amount: amount.plus(&walked.amount), source });
        }
        // A walk before the ops of the case would cool a part of what those of the end find cold: both
        // together would be charged twice.
        let at_end = CoolAmount { amount, source: end.selector.to_owned() };
        Some(match by_walk() {
            Some(walked) if walked.amount.ns > at_end.amount.ns => walked,
            _ => at_end,
        })
    }

    /// The cool amount of an item by the nearest walk whose own rows price all of it.
    fn measured(
        &self,
        item: &BillItem,
        rule: &PriceRule,
        groups: &[Group],
        prices: &PriceList<'_>,
    ) -> Option<CoolAmount> {
        self.walks.iter().find_map(|walk| walk.measured(item, rule, groups, prices))
    }

    /// The cool amount of an item by the median ratio of other cases; `None` if none is similar.
    fn estimated(&self, item: &BillItem) -> Option<CoolAmount> {
        let amount = item.amount.as_ref()?;
        let RatioEstimate { ratio, ends, source } = self.ratios.estimate(item)?;
        Some(CoolAmount { amount: amount.times_between(ratio, ends), source })
    }
}

impl Walk<'_> {
    /// What the walk adds to the calls of an item at the end of their range, each with its part of an op;
    /// `None` unless it was measured with the row that has the price of that end.
    fn added_at(
        &self,
        end: &RangeEnd<'_>,
        item: &BillItem,
        prices: &PriceList<'_>,
    ) -> Option<CoolAmount> {
        let added = self.added.price(end.selector, None)?;
        if prices.usual_case(end.selector).as_ref() != Some(&added.row) {
            return None;
        }
        let amount = added.amount.times(item.part * item.times);
        Some(CoolAmount { amount, source: treatment_text(self.bytes) })
    }

    /// The cool amount of an item by its rows; `None` if a part of the price has none.
    fn measured(
        &self,
        item: &BillItem,
        rule: &PriceRule,
        groups: &[Group],
        prices: &PriceList<'_>,
    ) -> Option<CoolAmount> {
        let added = added_to_item(rule, groups, prices, &self.added)?;
        let amount = item.amount.as_ref()?.plus(&added);
        Some(CoolAmount { amount, source: treatment_text(self.bytes) })
    }
}

/// Gives the items of a program that did this their cool prices, where there are any, and their sum.
/// What has none is in the sum at its price.
pub fn charge_cool(
    charges: &mut Charges,
    calls: &ProgramCalls,
    prices: &PriceList<'_>,
    cool: &CoolPrices<'_>,
) {
    if cool.walks.is_empty() {
        return;
    }
    for item in charges.items.iter_mut().filter(|item| item.amount.is_some()) {
        // In a price across CPUs the caches of the other one are cold already.
        let has_no_walk = item.part <= 0.0 || is_across_cpus(&item.name);
        let found = match has_no_walk {
            true => at_range_end(item, calls, prices),
            false => cool.amount_of(item, calls, prices),
        };
        match found {
            Some(CoolAmount { amount, source }) => {
                item.cool_price = (item.times > 0.0).then(|| amount.times(1.0 / item.times));
                item.cool_amount = Some(amount);
                item.cool_source = Some(source);
            }
            None if has_no_walk => {
                (item.cool_price, item.cool_amount) = (item.unit.clone(), item.amount.clone());
            }
            None => {}
        }
    }
    let has_any = charges.items.iter().any(|item| item.cool_source.is_some());
    charges.charged_cool = has_any.then(|| sum_with_cool(&charges.items));
}

/// The amount of an item that no walk cools, at the cool end of its range; `None` without a range
/// of which both ends have a price. What is taken off, since another price contains it, has none: the
/// other price has no range.
fn at_range_end(
    item: &BillItem,
    calls: &ProgramCalls,
    prices: &PriceList<'_>,
) -> Option<CoolAmount> {
    let rule = rule_of_item(item).filter(|_| item.times > 0.0)?;
    let end = RangeEnd::of(item, &rule, &[Group::of(item.times)], calls, prices)?;
    let amount = item.amount.as_ref()?.plus(&end.added);
    Some(CoolAmount { amount, source: end.selector.to_owned() })
}

/// The cases that would give the largest items of a bill a price that is measured after this walk, which
/// `oscost ab --base cool=0 --new cool=SIZE CASES` measures: that after another one is what there is until
/// then, and depends on the program that was billed first. Of an item with a range it is the case at its
/// end. An item that needs a case which cannot be measured so stays an estimate, whatever else is measured
/// of it.
pub fn cases_to_cool(
    items: &[BillItem],
    walk_bytes: u64,
    prices: &PriceList<'_>,
    catalog: &Catalog,
    is_uncoolable: impl Fn(&str) -> bool,
) -> Vec<String> {
    let walk = treatment_text(walk_bytes);
    let is_by_walk = |source: &str| {
        let rest = source.strip_prefix(walk.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(AND))
    };
    let is_measured = |it: &BillItem| {
        is_across_cpus(&it.name) || it.cool_source.as_deref().is_some_and(is_by_walk)
    };
    let at_end = |it: &BillItem| end_case(it, prices);
    let mut cases = cases_to_measure(items, is_measured, is_uncoolable, at_end);
    cases.retain(|case| has_time(case, catalog));
    cases
}
