//! The items of a bill: counts times prices.

use std::collections::BTreeMap;

use oscost_model::bill::{Amount, BillItem};
use oscost_model::descriptor_kind::DISK_FILE;
use oscost_model::program_calls::{FormCount, KernelTime, ProgramCalls};

use super::families::family_of;
use super::fault_items::{FaultItem, Faults, fault_items, pages_of_faults};
use super::faults_in_prices::faults_in_prices;
use super::freed_pages::{self, page_items};
use super::price_list::{OtherSize, Price, PriceList, Size, SizeFit};
use super::rules::{PriceRule, rule_of};
use super::switch_items::{SwitchItem, switch_items};

/// The items of a bill, and their sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Charges {
    /// The largest amount first; then those without a price, the most frequent first.
    pub items: Vec<BillItem>,
    /// The sum of all amounts.
    pub charged: Amount,
    /// The same with cool prices; `None` without any.
    pub charged_cool: Option<Amount>,
    /// Selectors that would price what has no price, or one of another size alone.
    pub missing: Vec<String>,
}

/// What a program is charged that did this, if its measured system time is that many nanoseconds.
pub fn charge(
    calls: &ProgramCalls,
    faults: Faults,
    prices: &PriceList<'_>,
    system_ns: f64,
) -> Charges {
    let mut by_form: BTreeMap<&str, Vec<&FormCount>> = BTreeMap::new();
    for count in &calls.forms {
        by_form.entry(count.form.as_str()).or_default().push(count);
    }
    let mut items: Vec<BillItem> =
        by_form.iter().map(|(form, counts)| item_of_form(form, counts, prices)).collect();
    let in_prices = faults_in_prices(calls, prices);
    for FaultItem { name, rule, times, below_zero } in fault_items(calls, faults, in_prices) {
        let priced = item(name, &rule, &[Group::of(times)], prices);
        items.push(BillItem { below_zero: below_zero.map(str::to_owned), ..priced });
    }
    for pages in page_items(calls, pages_of_faults(calls, faults, in_prices)) {
        let unpriced = without_price(pages.name, &[Group::of(pages.times)]);
        items.push(freed_pages::priced(unpriced, pages, prices));
    }
    for switches in switch_items(calls, faults) {
        let below_zero = switches.below_zero();
        items.push(BillItem { below_zero, ..item_of_switches(switches, prices) });
    }
    let in_kernel: BTreeMap<&str, KernelTime> =
        calls.in_kernel.iter().map(|it| (it.form.as_str(), it.time)).collect();
    for item in &mut items {
        item.in_kernel = in_kernel.get(item.name.as_str()).copied();
    }
    order_by_amount(&mut items, system_ns);
    let charged = sum_of(items.iter().filter_map(|item| item.amount.as_ref()));
    let missing = missing_cases(&items);
    Charges { items, charged, charged_cool: None, missing }
}

/// Gives the items their shares of that system time, and sorts them: the largest amount first, then
/// those without a price, the most frequent first.
fn order_by_amount(items: &mut [BillItem], system_ns: f64) {
    for item in items.iter_mut() {
        let share = |amount: &Amount| 100.0 * amount.ns / system_ns;
        item.share_pct = item.amount.as_ref().filter(|_| system_ns > 0.0).map(share);
    }
    items.sort_by(|one, other| {
        let amount = |it: &BillItem| it.amount.as_ref().map_or(f64::NEG_INFINITY, |it| it.ns);
        amount(other).total_cmp(&amount(one)).then(other.times.total_cmp(&one.times))
    });
}

fn sum_of<'a>(amounts: impl Iterator<Item = &'a Amount>) -> Amount {
    let nothing = Amount { ns: 0.0, ci95: Some([0.0; 2]) };
    amounts.fold(nothing, |sum, amount| sum.plus(amount))
}

/// The sum of all amounts with cool caches; what has none is in it at its amount.
pub(super) fn sum_with_cool(items: &[BillItem]) -> Amount {
    sum_of(items.iter().filter_map(|item| item.cool_amount.as_ref().or(item.amount.as_ref())))
}

impl Charges {
    /// Orders the items and sums them again, after their amounts have changed.
    pub(super) fn sum_again(&mut self, system_ns: f64) {
        order_by_amount(&mut self.items, system_ns);
        self.charged = sum_of(self.items.iter().filter_map(|item| item.amount.as_ref()));
        if self.charged_cool.is_some() {
            self.charged_cool = Some(sum_with_cool(&self.items));
        }
    }
}

/// Selectors of items without a price, or with a doubtful one, once each, in the order of the items.
fn missing_cases(items: &[BillItem]) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    let is_lacking = |it: &&BillItem| it.amount.is_none() || it.doubt.is_some();
    for case in items.iter().filter(is_lacking).filter_map(|it| it.case.as_ref()) {
        if !missing.contains(case) {
            missing.push(case.clone());
        }
    }
    missing
}

/// The case whose rows price the components of paths, and its axis.
pub(super) const PATH_DEPTH: &str = "directory/path-depth";
pub(super) const DEPTH_AXIS: &str = "depth";

/// An item has a price if it is of a size that is too far from at most this share of its calls: they change
/// the sum by as much, and the read of a file's header is no reason to leave all others without one.
const MAX_FAR_SHARE: f64 = 0.01;

/// Calls of one size and depth.
pub(super) struct Group {
    pub(super) times: f64,
    pub(super) size: Option<f64>,
    /// The components of their paths.
    pub(super) depth: Option<f64>,
}

impl Group {
    /// So many of what has neither size nor path.
    pub(super) fn of(times: f64) -> Self {
        Self { times, size: None, depth: None }
    }
}

/// The calls of a form by size.
pub(super) fn groups_of(counts: &[&FormCount]) -> Vec<Group> {
    let group = |count: &&FormCount| Group {
        times: count.calls as f64,
        size: count.mean_size(),
        depth: count.depth.map(f64::from),
    };
    counts.iter().map(group).collect()
}

fn item_of_form(form: &str, counts: &[&FormCount], prices: &PriceList<'_>) -> BillItem {
    let groups = groups_of(counts);
    let priced = match rule_of(form) {
        Some(rule) => item(form, rule, &groups, prices),
        None => BillItem { missing: Some(why_none(form)), ..without_price(form, &groups) },
    };
    let rare = counts.iter().filter_map(|count| count.rare).fold(0, u64::saturating_add);
    BillItem { rare_times: rare as f64, ..priced }
}

/// Why no case prices a form.
fn why_none(form: &str) -> String {
    let is_from_disk = form.split(' ').nth(1) == Some(DISK_FILE);
    let why = match is_from_disk {
        true => "it waited for a disk: cases of that measure the wait, too",
        false => "no case prices it",
    };
    why.to_owned()
}

/// Switches of a kind. With the calls of the op in it their price would be too high: without theirs
/// it is none.
fn item_of_switches(switches: SwitchItem, prices: &PriceList<'_>) -> BillItem {
    let SwitchItem { name, times } = switches;
    let groups = [Group::of(times)];
    let unpriced = without_price(name, &groups);
    let Some(rule) = rule_of(name) else {
        return BillItem { missing: Some("no case prices it".to_owned()), ..unpriced };
    };
    match rule.less.iter().find(|less| !prices.has(less)) {
        Some(less) => BillItem {
            case: Some(rule.case.clone()),
            part: rule.part,
            missing: Some(format!("no price of {less} in these runs")),
            ..unpriced
        },
        None => item(name, rule, &groups, prices),
    }
}

/// An item that a rule prices.
fn item(name: &str, rule: &PriceRule, groups: &[Group], prices: &PriceList<'_>) -> BillItem {
    let unpriced =
        BillItem { case: Some(rule.case.clone()), part: rule.part, ..without_price(name, groups) };
    if rule.part <= 0.0 {
        let nothing = Some(Amount { ns: 0.0, ci95: Some([0.0; 2]) });
        return BillItem { unit: nothing.clone(), amount: nothing, ..unpriced };
    }
    let mut amount: Option<Amount> = None;
    let mut rows: Vec<String> = Vec::new();
    let mut doubt: Option<String> = None;
    let mut far = FarCalls::default();
    for group in groups {
        let Some(price) = price_of(rule, group, prices) else {
            let missing = Some(format!("no price of {} in these runs", rule.case));
            return BillItem { missing, ..unpriced };
        };
        let of_group = price.amount.times(group.times);
        amount = Some(amount.map_or(of_group.clone(), |sum| sum.plus(&of_group)));
        match price.fit {
            SizeFit::Near => {}
            SizeFit::Doubtful(other) => doubt = Some(of_another_size(&price.row, other)),
            SizeFit::TooFar(other) => {
                doubt = Some(of_another_size(&price.row, other));
                far.add(group, &price.row, other);
            }
        }
        if rows.last() != Some(&price.row) {
            // The first and the last one show the range.
            rows.truncate(1);
            rows.push(price.row);
        }
    }
    let times = unpriced.times;
    if let Some(missing) = far.why_no_price(times) {
        return BillItem { missing: Some(missing), ..unpriced };
    }
    let unit = amount.as_ref().filter(|_| times != 0.0).map(|sum| sum.times(1.0 / times));
    let (less, plus) = (usual_cases(&rule.less, prices), usual_cases(&rule.plus, prices));
    let flags = prices.flags_of(rows.iter().chain(&less).chain(&plus));
    BillItem { rows, less, plus, flags, unit, amount, doubt, ..unpriced }
}

/// Calls whose only price is of a size that is too far from theirs.
#[derive(Default)]
struct FarCalls {
    /// How many; larger ones count as often as they are larger, since they may take so much more.
    weight: f64,
    /// The weight of those of one size that have the most ...
    most: f64,
    /// ... and their price, in words.
    only: Option<String>,
}

impl FarCalls {
    fn add(&mut self, group: &Group, row: &str, other: OtherSize) {
        let weight = group.times * other.larger();
        self.weight += weight;
        if weight > self.most {
            self.most = weight;
            self.only = Some(format!("only a price of {row}: {}", other.text()));
        }
    }

    /// Why so many calls have no price, if these matter among them.
    fn why_no_price(self, times: f64) -> Option<String> {
        self.only.filter(|_| self.weight > MAX_FAR_SHARE * times)
    }
}

fn of_another_size(row: &str, other: OtherSize) -> String {
    format!("{row} alone: {}", other.text())
}

/// The cases of the rows that these selectors mean, as far as they have a price.
fn usual_cases(selectors: &[String], prices: &PriceList<'_>) -> Vec<String> {
    selectors.iter().filter_map(|selector| prices.usual_case(selector)).collect()
}

fn without_price(name: &str, groups: &[Group]) -> BillItem {
    BillItem {
        name: name.to_owned(),
        family: family_of(name).to_owned(),
        times: groups.iter().map(|group| group.times).sum(),
        below_zero: None,
        case: None,
        part: 1.0,
        rows: Vec::new(),
        less: Vec::new(),
        plus: Vec::new(),
        flags: Vec::new(),
        unit: None,
        amount: None,
        share_pct: None,
        missing: None,
        doubt: None,
        cool_price: None,
        cool_amount: None,
        cool_source: None,
        rare_times: 0.0,
        rare_cool_source: None,
        function_added: None,
        function_source: None,
        in_kernel: None,
    }
}

/// The price of one of these calls: its part of the op at its size, the rest of its path, and what its
/// size adds where another case tells that.
pub(super) fn price_of(rule: &PriceRule, group: &Group, prices: &PriceList<'_>) -> Option<Price> {
    let price = price_at(rule, group.size, prices)?;
    let of_path = rule.depth.zip(group.depth).and_then(|(of_case, of_call)| {
        prices.added_along(PATH_DEPTH, DEPTH_AXIS, [of_case, of_call])
    });
    let of_size =
        rule.slope.as_ref().zip(group.size).and_then(|(slope, size)| {
            prices.added_along(&slope.case, &slope.axis, slope.ends(size))
        });
    Some(match of_path.into_iter().chain(of_size).reduce(|one, other| one.plus(&other)) {
        Some(added) => Price { amount: price.amount.plus(&added), ..price },
        None => price,
    })
}

/// The price of a call about so many bytes: its part of the op.
fn price_at(rule: &PriceRule, bytes: Option<f64>, prices: &PriceList<'_>) -> Option<Price> {
    if !rule.ends_empty {
        let op = op_price(rule, bytes, prices)?;
        return Some(Price { amount: op.amount.times(rule.part), ..op });
    }
    // One that fails moves nothing, too.
    let empty = op_price(rule, Some(0.0), prices)?;
    let of_empty = empty.amount.times(rule.part);
    match bytes {
        Some(bytes) if bytes > 0.0 => {
            let op = op_price(rule, Some(bytes), prices)?;
            Some(Price { amount: op.amount.plus(&of_empty.times(-1.0)), ..op })
        }
        _ => Some(Price { amount: of_empty, ..empty }),
    }
}

/// The price of an op at so many bytes, without what it has beside its calls. What has no price of its
/// own is not subtracted: its calls are charged nowhere else. Errors may take a difference below zero: it
/// stays there, as without them the sum of many would be too high.
fn op_price(rule: &PriceRule, bytes: Option<f64>, prices: &PriceList<'_>) -> Option<Price> {
    let size = bytes.map(|bytes| Size {
        axis: &rule.axis,
        value: bytes / rule.bytes,
        has_nothing: rule.ends_empty,
        per_unit: rule.per_unit,
    });
    let op = prices.price(&rule.case, size)?;
    let mut amount = op.amount.clone();
    let added: Option<Vec<Price>> = rule.plus.iter().map(|it| prices.price(it, None)).collect();
    for price in added? {
        amount = amount.plus(&price.amount);
    }
    for less in rule.less.iter().filter_map(|it| prices.price(it, None)) {
        amount = amount.plus(&less.amount.times(-1.0));
    }
    Some(Price { amount, ..op })
}
