//! Ranges of prices: what no counter tells of a call, such as over how many files its program goes, or on
//! which CPU the other end of a pipe is, or of a wake-up: whether the CPU had stopped its tick, and by older
//! counters for how long it had been idle. The price is that of one case; at the cool end a call pays what
//! another case takes more.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::case::Case;
use oscost_model::program_calls::ProgramCalls;

use super::additions::rule_of_item;
use super::charges::{DEPTH_AXIS, Group};
use super::fault_items::FIRST_TOUCHES_OF_MUCH;
use super::price_list::{PriceList, Size};
use super::rules::{PriceRange, PriceRule, all_rules};
use super::tick_wakes::share_of_short_idle;

/// The cool end of the range of an item.
pub(super) struct RangeEnd<'a> {
    /// The selector of its case.
    pub(super) selector: &'a str,
    /// What all calls of the item take more there, without a walk.
    pub(super) added: Amount,
}

impl<'a> RangeEnd<'a> {
    /// That of an item which a rule prices, of a program that did this; `None` where it has no range, or
    /// not both of its ends have a price.
    pub(super) fn of(
        item: &BillItem,
        rule: &'a PriceRule,
        groups: &[Group],
        calls: &ProgramCalls,
        prices: &PriceList<'_>,
    ) -> Option<Self> {
        let ItemRange { range, share } = ItemRange::of(item, rule, calls)?;
        let mut added = Amount { ns: 0.0, ci95: Some([0.0; 2]) };
        for group in groups {
            added = added.plus(&added_to_one(range, group, prices)?.times(share * group.times));
        }
        Some(Self { selector: &range.to, added })
    }
}

/// The range of an item, and which of its calls have it.
pub(super) struct ItemRange<'a> {
    pub(super) range: &'a PriceRange,
    /// Their share of all.
    pub(super) share: f64,
}

impl<'a> ItemRange<'a> {
    /// That of an item which a rule prices, of a program that did this.
    pub(super) fn of(item: &BillItem, rule: &'a PriceRule, calls: &ProgramCalls) -> Option<Self> {
        let is_told = |range: &PriceRange| {
            (range.across_cpus && is_on_one_cpu(calls))
                || (range.of_idle && tells_idle(calls))
                || range.few_per_process.is_some_and(|few| times_of_process(item, calls) <= few)
        };
        if let Some(range) = rule.range.as_ref().filter(|range| !is_told(range)) {
            return Some(Self { range, share: 1.0 });
        }
        let share = share_of_short_idle(&item.name, calls);
        rule.tick_range.as_ref().filter(|_| share > 0.0).map(|range| Self { range, share })
    }
}

/// How many of an item there were in a process of the program, on average.
fn times_of_process(item: &BillItem, calls: &ProgramCalls) -> f64 {
    item.times / (1.0 + calls.forks as f64)
}

/// Whether the counter saw for how long CPUs had been idle: what that adds is in items of its own.
fn tells_idle(calls: &ProgramCalls) -> bool {
    calls.events.is_some_and(|events| events.remote_wakes_of_idle.is_some())
}

/// Whether the counter saw that all tasks of a program ran on one CPU: each began where its creator was,
/// and continued where it had left off.
fn is_on_one_cpu(calls: &ProgramCalls) -> bool {
    calls.events.is_some_and(|events| {
        events.other_cpu == 0
            && events.forks_to_other_cpu == Some(0)
            && events.starts_on_other_cpu == Some(0)
    })
}

/// What one of these calls takes more at the cool end.
fn added_to_one(range: &PriceRange, group: &Group, prices: &PriceList<'_>) -> Option<Amount> {
    let amount = |selector: &str| end_price(range, selector, group, prices);
    let (from, to) = (amount(&range.from)?, amount(&range.to)?);
    Some(to.plus(&from.times(-1.0)).times(range.part))
}

/// The price of one of these calls at this end of a range; `None` where that of another depth or size is
/// all that there is.
fn end_price(
    range: &PriceRange,
    selector: &str,
    group: &Group,
    prices: &PriceList<'_>,
) -> Option<Amount> {
    let size = range.axis.as_deref().and_then(|axis| {
        let place = if axis == DEPTH_AXIS { group.depth } else { group.size };
        place.map(|value| Size { axis, value, has_nothing: false, per_unit: false })
    });
    let price = prices.price(selector, size)?;
    price.fit.is_near().then_some(price.amount)
}

/// Whether one of these calls has no price at this end of a range.
pub(super) fn lacks_end(
    range: &PriceRange,
    selector: &str,
    groups: &[Group],
    prices: &PriceList<'_>,
) -> bool {
    groups.iter().any(|group| end_price(range, selector, group, prices).is_none())
}

/// Whether a case is at the cool end of a range. Its ops are cold without a walk: what a walk adds to
/// them tells nothing of other calls.
pub(super) fn is_at_end(case: &str) -> bool {
    let Some(case) = Case::parse(case) else { return false };
    let is_of = |selector: &str| {
        let end = Case::parse(selector);
        end.is_some_and(|end| case.benchmark == end.benchmark && case.point.includes(&end.point))
    };
    let is_end = |range: &PriceRange| is_of(&range.to);
    all_rules().flat_map(PriceRule::ranges).any(is_end) || is_of(FIRST_TOUCHES_OF_MUCH)
}

/// The case at the cool end of an item's range, where both ends have a price. No walk comes before ops
/// across CPUs: it would cool one of them; nor before those of which a program has the range only if it
/// makes many: the walk is before the case of the price, whatever the program.
pub(super) fn end_case(item: &BillItem, prices: &PriceList<'_>) -> Option<String> {
    let has_walk = |range: &PriceRange| !range.across_cpus && range.few_per_process.is_none();
    let range = rule_of_item(item)?.range.filter(has_walk)?;
    prices.usual_case(&range.from)?;
    prices.usual_case(&range.to)
}
