//! What pairs of rows add to the items of a bill: by the rows of an item's own case, or estimated by
//! the ratios of others.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::program_calls::{FormCount, ProgramCalls};
use oscost_model::record::Row;
use oscost_model::unit::Unit;

use super::charges::{Group, groups_of, price_of};
use super::fault_items::range_of_faults;
use super::price_list::{PriceList, without};
use super::rules::{PriceRule, rule_of};

/// An op that does nothing: what is added to it is the measurement's own.
pub(super) const NOTHING: &str = "timer/nothing";
/// So many cases of a benchmark family estimate the others of it; with fewer, those of all families
/// do. The same number has a spread.
const ENOUGH: usize = 3;
/// An op is estimated from those up to so many times longer or shorter: a walk evicts no more of a
/// long op than it has memory, and less of its time.
const SIMILAR: f64 = 10.0;
/// The most expensive items: mostly 90 % of a bill.
const LARGEST_ITEMS: usize = 10;

/// The price of a case with what is added, as a multiple of its price.
struct CaseRatio {
    case: String,
    benchmark_family: String,
    base_ns: f64,
    ratio: f64,
}

/// The ratios of all cases that have a pair.
#[derive(Default)]
pub(super) struct CaseRatios(Vec<CaseRatio>);

/// A ratio that is the median of those of other cases.
pub(super) struct RatioEstimate {
    pub(super) ratio: f64,
    /// From the smallest to the largest; `None` of few.
    pub(super) ends: Option<[f64; 2]>,
    /// What it is the ratio of.
    pub(super) source: String,
}

impl CaseRatios {
    /// Adds the ratio of a case, if none is known. An op that does not enter the kernel, or has no
    /// price, has none.
    pub(super) fn add(&mut self, row: &Row, prices: &PriceList<'_>, added: &PriceList<'_>) {
        let is_known = self.0.iter().any(|it| it.case == row.case);
        self.0.extend(ratio_of(row, prices, added).filter(|_| !is_known));
    }

    /// The price of the longest op that has a ratio.
    pub(super) fn longest_ns(&self) -> Option<f64> {
        self.0.iter().map(|it| it.base_ns).max_by(f64::total_cmp)
    }

    /// The ratio of the item's op; `None` if no other op is similar.
    pub(super) fn estimate(&self, item: &BillItem) -> Option<RatioEstimate> {
        let op_ns = op_ns(item)?;
        let family = benchmark_family(item.case.as_ref()?);
        let lengths = op_ns / SIMILAR..=op_ns * SIMILAR;
        let is_similar = |it: &&CaseRatio| lengths.contains(&it.base_ns);
        let similar: Vec<&CaseRatio> = self.0.iter().filter(is_similar).collect();
        let of_family: Vec<&CaseRatio> =
            similar.iter().copied().filter(|it| it.benchmark_family == family).collect();
        let (used, of) = match of_family.len() >= ENOUGH {
            true => (of_family, format!(" of benchmark family {family}")),
            false => (similar, String::new()),
        };
        let mut ratios: Vec<f64> = used.iter().map(|it| it.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let (smallest, largest) = (*ratios.first()?, *ratios.last()?);
        let ratio = median(&ratios)?;
        let calls = match ratios.len() {
            1 => "another call".to_owned(),
            several => format!("{several} other calls"),
        };
        let ends = (ratios.len() >= ENOUGH).then_some([smallest, largest]);
        Some(RatioEstimate { ratio, ends, source: format!("the ratio of {calls}{of}, {ratio:.2}") })
    }
}

/// The price of the op of an item's case.
pub(super) fn op_ns(item: &BillItem) -> Option<f64> {
    item.unit.as_ref().map(|unit| unit.ns / item.part)
}

/// What is added to all of an item by the rows of its case; `None` if a part of its price has none.
pub(super) fn added_to_item(
    rule: &PriceRule,
    groups: &[Group],
    prices: &PriceList<'_>,
    added: &PriceList<'_>,
) -> Option<Amount> {
    // What is subtracted from the price is subtracted from what is added: nothing else is.
    if !rule.selectors().all(|it| prices.has(it) == added.has(it)) {
        return None;
    }
    let mut sum = Amount { ns: 0.0, ci95: Some([0.0; 2]) };
    for group in groups {
        let price = price_of(rule, group, prices)?;
        let of_group = price_of(rule, group, added)?;
        if !of_group.fit.is_near() || !is_alike(&of_group.row, &price.row, &rule.axis) {
            return None;
        }
        sum = sum.plus(&of_group.amount.times(group.times));
    }
    Some(sum)
}

/// The cases that would give the largest items of a bill measured rows: those of its price, or `instead`
/// of them another one. An item that needs a refused case has none, whatever else is measured of it.
pub(super) fn cases_to_measure(
    items: &[BillItem],
    is_measured: impl Fn(&BillItem) -> bool,
    is_refused: impl Fn(&str) -> bool,
    instead: impl Fn(&BillItem) -> Option<String>,
) -> Vec<String> {
    let is_paid =
        |it: &&BillItem| it.part > 0.0 && it.amount.as_ref().is_some_and(|amount| amount.ns > 0.0);
    let mut cases: Vec<String> = Vec::new();
    let largest = items.iter().filter(is_paid).take(LARGEST_ITEMS);
    for item in largest.filter(|item| !is_measured(item)) {
        let rule = rule_of_item(item);
        let others = rule.iter().flat_map(|rule| rule.less.iter().chain(&rule.plus));
        let needed: Vec<String> = match instead(item).filter(|case| !is_refused(case)) {
            Some(case) => vec![case],
            None => item.rows.iter().chain(others).cloned().collect(),
        };
        if needed.iter().any(|case| is_refused(case)) {
            continue;
        }
        for case in needed {
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    cases
}

/// Whether the figure of a case is a time: no op of a rate is timed alone.
pub(super) fn has_time(case: &str, catalog: &Catalog) -> bool {
    let definition = Case::parse(case).and_then(|case| catalog.get(&case.benchmark));
    definition.is_some_and(|it| matches!(it.unit, Unit::NsPerOp | Unit::Seconds))
}

/// The ratio of a case.
fn ratio_of(row: &Row, prices: &PriceList<'_>, added: &PriceList<'_>) -> Option<CaseRatio> {
    let case = row.case.clone();
    let is_call = !matches!(row.class.as_deref(), Some("user" | "vdso"));
    if case == NOTHING || !is_call {
        return None;
    }
    let base_ns = prices.price(&case, None)?.amount.ns;
    let added_ns = added.price(&case, None)?.amount.ns;
    let benchmark_family = benchmark_family(&case).to_owned();
    let ratio = 1.0 + added_ns / base_ns;
    (base_ns > 0.0).then_some(CaseRatio { case, benchmark_family, base_ns, ratio })
}

/// The rule that prices an item; `None` if none does.
pub(super) fn rule_of_item(item: &BillItem) -> Option<PriceRule> {
    let of_form = rule_of(&item.name);
    let of_case = || {
        let rule = PriceRule::new(&[item.name.as_str()], item.case.as_ref()?);
        Some(PriceRule { part: item.part, range: range_of_faults(&item.name), ..rule })
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
