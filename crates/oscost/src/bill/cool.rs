//! Cool prices: what the items of a bill cost in a program that does something else between two
//! calls.
//!
//! What a walk adds to a case is the difference of two rows of one run that were timed in the same
//! way: it holds nothing but the caches, and is added to the price. An item whose case was not
//! measured so is estimated from the others.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::case::Case;
use oscost_model::cool::{COOL, treatment_text};
use oscost_model::definition::Catalog;
use oscost_model::program_calls::{FormCount, ProgramCalls};
use oscost_model::record::Record;
use oscost_model::unit::Unit;

use super::charges::{Charges, Group, groups_of, price_of};
use super::price_list::{PriceList, without};
use super::rules::{PriceRule, rule_of};
use super::walk_pairs::{WalkPair, walk_pairs};

/// An op that does nothing: what a walk adds to it is the measurement's own.
const NOTHING: &str = "timer/nothing";
/// So many cases of a benchmark family estimate the others of it; with fewer, those of all families
/// do. The same number has a spread.
const ENOUGH: usize = 3;
/// An op is estimated from those up to so many times longer or shorter: a walk evicts no more of a
/// long op than it has memory, and less of its time.
const SIMILAR: f64 = 10.0;
/// The most expensive items: mostly 90 % of a bill.
const LARGEST_ITEMS: usize = 10;
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
    ratios: Vec<CoolRatio>,
}

/// What walks of one length add: a longer one adds more, so that what two of them add is no line
/// between two sizes, and no difference of two cases.
struct Walk<'a> {
    bytes: u64,
    added: PriceList<'a>,
}

/// The price of a case with cool caches, as a multiple of its price.
struct CoolRatio {
    case: String,
    benchmark_family: String,
    warm_ns: f64,
    ratio: f64,
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
        let (mut walks, mut ratios): (Vec<Walk<'a>>, Vec<CoolRatio>) = (Vec::new(), Vec::new());
        for bytes in lengths {
            let of_length = pairs.iter().filter(|pair| pair.walk_bytes == bytes);
            let of_length: Vec<WalkPair<'a>> = of_length.copied().collect();
            let added = PriceList::added_by_walk(&of_length, catalog);
            for pair in &of_length {
                let is_known = ratios.iter().any(|it| it.case == pair.cool.case);
                let ratio = ratio_of(pair, prices, &added);
                ratios.extend(ratio.filter(|_| !is_known));
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
        let (amount, unit) = (item.amount.as_ref()?, item.unit.as_ref()?);
        let op_ns = unit.ns / item.part;
        let family = benchmark_family(item.case.as_ref()?);
        let lengths = op_ns / SIMILAR..=op_ns * SIMILAR;
        let is_similar = |it: &&CoolRatio| lengths.contains(&it.warm_ns);
        let similar: Vec<&CoolRatio> = self.ratios.iter().filter(is_similar).collect();
        let of_family: Vec<&CoolRatio> =
            similar.iter().copied().filter(|it| it.benchmark_family == family).collect();
        let (used, of) = match of_family.len() >= ENOUGH {
            true => (of_family, format!(" of benchmark family {family}")),
            false => (similar, String::new()),
        };
        let mut ratios: Vec<f64> = used.iter().map(|it| it.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let (smallest, largest) = (*ratios.first()?, *ratios.last()?);
        let ratio = median(&ratios)?;
        let spread = amount.ci95.filter(|_| ratios.len() >= ENOUGH);
        let ci95 = spread.map(|[low, high]| [low * smallest, high * largest]);
        let calls = match ratios.len() {
            1 => "another call".to_owned(),
            several => format!("{several} other calls"),
        };
        let source = format!("the ratio of {calls}{of}, {ratio:.2}");
        Some(CoolAmount { amount: Amount { ns: amount.ns * ratio, ci95 }, source })
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
        // What is subtracted from the price is subtracted from what the walk adds: nothing else is.
        let is_alike_in_all = rule.selectors().all(|it| prices.has(it) == self.added.has(it));
        let mut amount = item.amount.clone().filter(|_| is_alike_in_all)?;
        for group in groups {
            let warm = price_of(rule, group, prices)?;
            let added = price_of(rule, group, &self.added)?;
            if added.is_of_another_size || !is_alike(&added.row, &warm.row, &rule.axis) {
                return None;
            }
            amount = amount.plus(&added.amount.times(group.times));
        }
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
        if item.part <= 0.0 {
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
    let nothing = Amount { ns: 0.0, ci95: Some([0.0; 2]) };
    let amount = |it: &BillItem| it.cool_amount.clone().or(it.amount.clone());
    let amounts = charges.items.iter().filter_map(amount);
    let sum = amounts.fold(nothing, |sum, amount| sum.plus(&amount));
    let has_any = charges.items.iter().any(|item| item.cool_source.is_some());
    charges.charged_cool = has_any.then_some(sum);
}

/// The cases that would give the largest items of a bill a measured cool price, which `oscost ab
/// --base cool=0 --new cool=SIZE CASES` measures. An item that needs a case which cannot be measured
/// so stays an estimate, whatever else is measured of it.
pub fn cases_to_cool(
    items: &[BillItem],
    catalog: &Catalog,
    is_uncoolable: impl Fn(&str) -> bool,
) -> Vec<String> {
    let is_paid =
        |it: &&BillItem| it.part > 0.0 && it.amount.as_ref().is_some_and(|amount| amount.ns > 0.0);
    let is_measured =
        |it: &BillItem| it.cool_source.as_deref().is_some_and(|source| source.starts_with(COOL));
    let mut cases: Vec<String> = Vec::new();
    let largest = items.iter().filter(is_paid).take(LARGEST_ITEMS);
    for item in largest.filter(|item| !is_measured(item)) {
        let rule = rule_of_item(item);
        let others = rule.iter().flat_map(|rule| rule.less.iter().chain(&rule.plus));
        let needed: Vec<&String> = item.rows.iter().chain(others).collect();
        if needed.iter().any(|case| is_uncoolable(case.as_str())) {
            continue;
        }
        for case in needed {
            if has_time(case, catalog) && !cases.contains(case) {
                cases.push(case.clone());
            }
        }
    }
    cases
}

/// Whether the figure of a case is a time: no op of a rate is timed alone.
fn has_time(case: &str, catalog: &Catalog) -> bool {
    let definition = Case::parse(case).and_then(|case| catalog.get(&case.benchmark));
    definition.is_some_and(|it| matches!(it.unit, Unit::NsPerOp | Unit::Seconds))
}

/// The ratio of a pair; `None` of an op that does not enter the kernel, or has no price.
fn ratio_of(
    pair: &WalkPair<'_>,
    prices: &PriceList<'_>,
    added: &PriceList<'_>,
) -> Option<CoolRatio> {
    let case = pair.cool.case.clone();
    let is_call = !matches!(pair.cool.class.as_deref(), Some("user" | "vdso"));
    if case == NOTHING || !is_call {
        return None;
    }
    let warm_ns = prices.price(&case, None)?.amount.ns;
    let added_ns = added.price(&case, None)?.amount.ns;
    let benchmark_family = benchmark_family(&case).to_owned();
    let ratio = 1.0 + added_ns / warm_ns;
    (warm_ns > 0.0).then_some(CoolRatio { case, benchmark_family, warm_ns, ratio })
}

/// The rule that prices an item; `None` if none does.
fn rule_of_item(item: &BillItem) -> Option<PriceRule> {
    let of_form = rule_of(&item.name);
    let of_case = || {
        let rule = PriceRule::new(&[item.name.as_str()], item.case.as_ref()?);
        Some(PriceRule { part: item.part, ..rule })
    };
    of_form.filter(|rule| Some(&rule.case) == item.case.as_ref()).cloned().or_else(of_case)
}

/// The calls of an item by size, or what it is if it is no call.
pub(super) fn groups_of_item(item: &BillItem, calls: &ProgramCalls) -> Vec<Group> {
    let of_form: Vec<&FormCount> = calls.forms.iter().filter(|it| it.form == item.name).collect();
    match of_form.is_empty() {
        true => vec![Group::of(item.times)],
        false => groups_of(&of_form),
    }
}

/// Whether two rows differ in this axis alone.
fn is_alike(one: &str, other: &str, axis: &str) -> bool {
    let (Some(one), Some(other)) = (Case::parse(one), Case::parse(other)) else { return false };
    one.benchmark == other.benchmark && without(&one.point, axis) == without(&other.point, axis)
}

/// The part of a case before the slash.
fn benchmark_family(case: &str) -> &str {
    case.split_once('/').map_or(case, |(family, _)| family)
}

/// The median of sorted numbers.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some((lower + upper) / 2.0)
}
