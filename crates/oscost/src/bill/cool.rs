//! Cool prices: what the items of a bill cost in a program that does something else between two
//! calls.
//!
//! What a walk adds to a case is the difference of two rows of one run that were timed in the same
//! way: it holds nothing but the caches, and is added to the price. An item whose case was not
//! measured so is estimated from the others. Where no counter tells what makes a call expensive, the
//! cool end is that of another case, and the walk comes before its ops. Across CPUs there is no walk: the
//! cool end is that of a CPU that has stopped its tick, or has been idle for longer.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::cool::{COOL, LAST_LEVEL_WALK_BYTES, treatment_text};
use oscost_model::definition::Catalog;
use oscost_model::program_calls::ProgramCalls;
use oscost_model::record::Record;

use super::additions::{
    CaseRatios, NOTHING, RatioEstimate, added_to_item, cases_to_measure, groups_of_item, has_time,
    rule_of_item,
};
use super::charges::{Charges, Group, sum_with_cool};
use super::price_list::PriceList;
use super::ranges::{RangeEnd, end_case, is_at_end};
use super::rare_calls::rare_share;
use super::rules::PriceRule;
use super::switch_items::is_across_cpus;
use super::walk_pairs::{ENTRY_CASE, WalkPair, walk_pairs};

/// What walks add to the prices of some runs.
pub struct CoolPrices<'a> {
    /// By the walks before what a program does often.
    usual: WalkPrices<'a>,
    /// By those before calls that it makes rarely.
    rare: WalkPrices<'a>,
}

/// What walks of about one length add.
struct WalkPrices<'a> {
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

/// Whether a source is the case at the cool end of a range alone: its selector has a slash, and no treatment
/// has.
fn is_end_alone(source: &str) -> bool {
    source.contains('/') && !source.starts_with(COOL)
}

/// A cool amount, and where it comes from.
struct CoolAmount {
    amount: Amount,
    source: String,
}

impl<'a> CoolPrices<'a> {
    /// The cool prices of these runs beside their prices, by the walks that are nearest to this one, and to
    /// that before rare calls.
    pub fn new(
        records: impl IntoIterator<Item = &'a Record> + Clone,
        catalog: &Catalog,
        prices: &PriceList<'_>,
        walk_bytes: u64,
    ) -> Self {
        let of = |walk_bytes| WalkPrices::new(records.clone(), catalog, prices, walk_bytes);
        Self { usual: of(walk_bytes), rare: of(LAST_LEVEL_WALK_BYTES) }
    }

    /// What a walk adds to an op that does nothing, and to each other one; `None` if that was not
    /// measured.
    pub fn added_to_nothing(&self) -> Option<Amount> {
        let price = self.usual.walks.iter().find_map(|walk| walk.added.price(NOTHING, None));
        price.map(|price| price.amount)
    }

    /// The cool amount of the rare calls of an item of a program that did this, and of all others; `None`
    /// where the calls are not rare, or no pair is like them.
    fn with_rare_calls(
        &self,
        item: &BillItem,
        usual: &CoolAmount,
        calls: &ProgramCalls,
        prices: &PriceList<'_>,
    ) -> Option<CoolAmount> {
        let share = rare_share(item);
        if share <= 0.0 || self.rare.walks.is_empty() {
            return None;
        }
        let CoolAmount { amount: rare, source } = self.rare.amount_of(item, calls, prices)?;
        // What a range adds is no walk's, and is not multiplied by a ratio of others.
        let is_by_walk = source.starts_with(COOL);
        if !is_by_walk && [&source, &usual.source].into_iter().any(|it| is_end_alone(it)) {
            return None;
        }
        // The entry of the kernel is as cool as before any call.
        let mut usual_walks = self.usual.walks.iter();
        let rare = match usual_walks.find_map(|walk| walk.added.price(ENTRY_CASE, None)) {
            Some(entry) => rare.plus(&entry.amount.times(item.times)),
            None => rare,
        };
        // A rare call is no warmer than others: below them, the pair shows its errors alone.
        if rare.ns < usual.amount.ns {
            return None;
        }
        let amount = usual.amount.times(1.0 - share).plus(&rare.times(share));
        Some(CoolAmount { amount, source })
    }
}

impl<'a> WalkPrices<'a> {
    fn new(
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
            let of_length: Vec<&WalkPair<'a>> = of_length.collect();
            let added = PriceList::of_additions(of_length.iter().map(|it| it.addition()), catalog);
            let is_like_others = |pair: &&&WalkPair<'a>| {
                !is_at_end(&pair.rows.with.case) && !pair.is_of_entry_alone()
            };
            for pair in of_length.iter().filter(is_like_others) {
                ratios.add(pair.rows.with, prices, &added);
            }
            walks.push(Walk { bytes, added });
        }
        Self { walks, ratios }
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
    if cool.usual.walks.is_empty() {
        return;
    }
    for item in charges.items.iter_mut().filter(|item| item.amount.is_some()) {
        // In a price across CPUs the caches of the other one are cold already.
        let has_no_walk = item.part <= 0.0 || is_across_cpus(&item.name);
        let found = match has_no_walk {
            true => at_range_end(item, calls, prices),
            false => cool.usual.amount_of(item, calls, prices),
        };
        match found {
            Some(usual) => {
                let rare = (!has_no_walk)
                    .then(|| cool.with_rare_calls(item, &usual, calls, prices))
                    .flatten();
                let CoolAmount { amount, source } = usual;
                let (amount, rare_source) = match rare {
                    Some(rare) => (rare.amount, Some(rare.source)),
                    None => (amount, None),
                };
                item.rare_cool_source = rare_source;
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
