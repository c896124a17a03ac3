//! Cool prices: what the items of a bill cost in a program that does something else between two
//! calls.
//!
//! What a walk adds to a case is the difference of two rows of one run that were timed in the same
//! way: it holds nothing but the caches, and is added to the price. An item whose case was not
//! measured so is estimated from the others.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::cool::treatment_text;
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Record;

use super::additions::{
    CaseRatios, NOTHING, RatioEstimate, added_to_item, cases_to_measure, groups_of_item, has_time,
    rule_of_item,
};
use super::charges::{Charges, Group, sum_with_cool};
use super::price_list::PriceList;
use super::rules::PriceRule;
use super::switch_items::is_across_cpus;
use super::walk_pairs::{WalkPair, walk_pairs};

/// The walk is as long as what a process of the program touches, but not shorter than a second-level
/// cache of 256 KiB ...
const MIN_WALK_BYTES: f64 = 262_144.0;
/// ... and not longer than this: no process uses more of its memory between two calls.
const MAX_WALK_BYTES: f64 = 1_048_576.0;

/// The walk that is like a program with so many minor faults in so many processes: a power of two.
///
/// Each page that a process touches first is a fault. (The largest resident set would be the
/// supervisor's where the program's is smaller: it is counted from before execve(2).)
pub fn walk_bytes(minor_faults: f64, processes: u64, page_bytes: u64) -> u64 {
    let touched = minor_faults * page_bytes as f64 / processes.max(1) as f64;
    1 << touched.clamp(MIN_WALK_BYTES, MAX_WALK_BYTES).log2().round() as u32
}

/// What walks add to the prices of some runs.
pub struct CoolPrices<'a> {
    /// The nearest length first.
    walks: Vec<Walk<'a>>,
    ratios: CaseRatios,
}

/// What walks of one length add: a longer one adds more, so that what two of them add is no line
/// between two sizes, and no difference of two cases.
struct Walk<'a> {
    bytes: u64,
    added: PriceList<'a>,
}

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
            for pair in &of_length {
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
        if item.part <= 0.0 || is_across_cpus(&item.name) {
            (item.cool_price, item.cool_amount) = (item.unit.clone(), item.amount.clone());
            continue;
        }
        let rule = rule_of_item(item);
        let groups = groups_of_item(item, calls);
        let measured = rule.and_then(|rule| cool.measured(item, &rule, &groups, prices));
        let Some(CoolAmount { amount, source }) = measured.or_else(|| cool.estimated(item)) else {
            continue;
        };
        item.cool_price = (item.times > 0.0).then(|| amount.times(1.0 / item.times));
        item.cool_amount = Some(amount);
        item.cool_source = Some(source);
    }
    let has_any = charges.items.iter().any(|item| item.cool_source.is_some());
    charges.charged_cool = has_any.then(|| sum_with_cool(&charges.items));
}

/// The cases that would give the largest items of a bill a price that is measured after this walk, which
/// `oscost ab --base cool=0 --new cool=SIZE CASES` measures: that after another one is what there is until
/// then, and depends on the program that was billed first. An item that needs a case which cannot be
/// measured so stays an estimate, whatever else is measured of it.
pub fn cases_to_cool(
    items: &[BillItem],
    walk_bytes: u64,
    catalog: &Catalog,
    is_uncoolable: impl Fn(&str) -> bool,
) -> Vec<String> {
    let source = treatment_text(walk_bytes);
    let is_measured =
        |it: &BillItem| is_across_cpus(&it.name) || it.cool_source.as_ref() == Some(&source);
    let mut cases = cases_to_measure(items, is_measured, is_uncoolable);
    cases.retain(|case| has_time(case, catalog));
    cases
}
