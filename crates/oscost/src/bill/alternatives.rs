//! What would help: other ways to do what a program does, at the prices of this machine.

use std::sync::LazyLock;

use oscost_model::bill::{Alternative, Amount, BillItem};
use oscost_model::program_calls::ProgramCalls;
use serde::Deserialize;

use super::additions::groups_of_item;
use super::charges::Group;
use super::price_list::{PriceList, Size};

/// The table.
const TABLE: &str = include_str!("../../../../docs/reference/calls/alternatives.toml");

static RULES: LazyLock<Vec<AlternativeRule>> = LazyLock::new(|| {
    // A test reads the file. Without it nothing would help.
    toml::from_str::<Table>(TABLE).map(|table| table.rows).unwrap_or_default()
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rows: Vec<AlternativeRule>,
}

/// Another way to do what some items do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlternativeRule {
    /// Names of items.
    items: Vec<String>,
    /// What would be changed, in words that go on after how often and what.
    change: String,
    /// When that is the same work.
    condition: String,
    /// The selector of what is done now.
    from: String,
    /// The selector of what would be done instead.
    instead: String,
    /// The share of an op that one call makes.
    #[serde(default = "whole")]
    part: f64,
    /// The axis of both cases on which the size of a call lies.
    axis: Option<String>,
    /// Calls of fewer bytes become calls of so many.
    merged_bytes: Option<f64>,
    /// Whether there are at most as many as programs that processes of it execute.
    #[serde(default)]
    with_exec: bool,
    /// Of fewer than so many nothing could be done in this way.
    #[serde(default)]
    min_times: f64,
}

fn whole() -> f64 {
    1.0
}

/// What some calls would save.
struct Saving {
    times: f64,
    amount: Amount,
}

/// What other ways would save of these items, the largest saving first; then those without prices.
pub fn alternatives(
    items: &[BillItem],
    calls: &ProgramCalls,
    prices: &PriceList<'_>,
    system_ns: f64,
) -> Vec<Alternative> {
    let mut found: Vec<Alternative> = Vec::new();
    for rule in RULES.iter() {
        let of_rule = items.iter().filter(|item| rule.items.contains(&item.name));
        found.extend(of_rule.filter_map(|item| rule.of_item(item, calls, prices)));
    }
    for it in &mut found {
        let share = |saving: &Amount| 100.0 * saving.ns / system_ns;
        it.share_pct = it.saving.as_ref().filter(|_| system_ns > 0.0).map(share);
    }
    let ns = |it: &Alternative| it.saving.as_ref().map_or(f64::NEG_INFINITY, |saving| saving.ns);
    found.sort_by(|one, other| ns(other).total_cmp(&ns(one)));
    found
}

impl AlternativeRule {
    /// What it would save of an item; `None` of one that is not charged, or of which nothing could be
    /// done in this way.
    fn of_item(
        &self,
        item: &BillItem,
        calls: &ProgramCalls,
        prices: &PriceList<'_>,
    ) -> Option<Alternative> {
        let charged = item.amount.as_ref()?;
        let possible = self.possible(item, calls);
        if possible <= 0.0 || possible < self.min_times {
            return None;
        }
        let unknown = Alternative {
            item: item.name.clone(),
            times: possible,
            change: self.change.clone(),
            condition: self.condition.clone(),
            from: self.from.clone(),
            instead: self.instead.clone(),
            saving: None,
            is_whole_item: false,
            share_pct: None,
            missing: None,
            unpriced: Vec::new(),
        };
        let selectors = [&self.from, &self.instead].into_iter();
        let unpriced: Vec<String> = selectors.filter(|it| !prices.has(it)).cloned().collect();
        if let Some(first) = unpriced.first() {
            let missing = Some(format!("no price of {first} in these runs"));
            return Some(Alternative { missing, unpriced, ..unknown });
        }
        let Some(saving) = self.saving(&groups_of_item(item, calls), prices) else {
            let missing = Some(format!("no price of {} for calls of these sizes", self.from));
            return Some(Alternative { missing, ..unknown });
        };
        // Of calls that are made for another purpose nothing is saved.
        let share = (possible / item.times).min(1.0);
        let (times, amount) = (saving.times * share, saving.amount.times(share));
        let is_whole_item = amount.ns > charged.ns;
        let amount = if is_whole_item { charged.clone() } else { at_most(amount, charged) };
        Some(Alternative { times, saving: Some(amount), is_whole_item, ..unknown })
    }

    /// How many of an item could be done in this way.
    fn possible(&self, item: &BillItem, calls: &ProgramCalls) -> f64 {
        match self.with_exec {
            // The first program is executed by the process that oscost starts.
            true => item.times.min(calls.execs.saturating_sub(1) as f64),
            false => item.times,
        }
    }

    /// The saving of those calls whose sizes have prices; `None` without any.
    fn saving(&self, groups: &[Group], prices: &PriceList<'_>) -> Option<Saving> {
        let mut all: Option<Saving> = None;
        for group in groups {
            let Some(of_one) = self.saving_of_one(group.size, prices) else { continue };
            let amount = of_one.times(group.times);
            all = Some(match all {
                Some(Saving { times, amount: sum }) => {
                    Saving { times: times + group.times, amount: sum.plus(&amount) }
                }
                None => Saving { times: group.times, amount },
            });
        }
        all
    }

    fn saving_of_one(&self, size: Option<f64>, prices: &PriceList<'_>) -> Option<Amount> {
        let now = self.price(&self.from, size, prices)?;
        let instead = match self.merged_bytes {
            Some(merged) => {
                let bytes = size.filter(|bytes| *bytes < merged)?;
                prices.price(&self.instead, None)?.amount.times(bytes / merged)
            }
            None => self.price(&self.instead, size, prices)?,
        };
        Some(now.plus(&instead.times(-1.0)).times(self.part))
    }

    /// The price of a case at a size that was measured, or lies near or between such ones.
    fn price(&self, selector: &str, size: Option<f64>, prices: &PriceList<'_>) -> Option<Amount> {
        let at = match &self.axis {
            Some(axis) => Some(Size { axis, value: size?, has_nothing: false, per_unit: false }),
            None => None,
        };
        let price = prices.price(selector, at)?;
        price.is_near_rows.then_some(price.amount)
    }
}

/// A saving that is no more than its item is charged, so that its interval ends where that of the item
/// does.
fn at_most(saving: Amount, charged: &Amount) -> Amount {
    let ci95 = saving.ci95.zip(charged.ci95).map(|([low, high], [_, most])| [low, high.min(most)]);
    Amount { ci95: ci95.or(saving.ci95), ..saving }
}

#[cfg(test)]
mod tests {
    use oscost_model::bill::OTHER_FAMILY;
    use oscost_model::case::Case;

    use super::super::families::family_of;
    use super::*;

    #[test]
    fn the_interval_of_a_saving_ends_where_that_of_its_item_does() {
        let amount = |low: f64, ns: f64, high: f64| Amount { ns, ci95: Some([low, high]) };
        let charged = amount(9.0, 10.0, 11.0);
        assert_eq!(at_most(amount(5.0, 9.0, 20.0), &charged), amount(5.0, 9.0, 11.0));
        assert_eq!(at_most(amount(-5.0, 2.0, 8.0), &charged), amount(-5.0, 2.0, 8.0));
        let unknown = Amount::exact(10.0);
        assert_eq!(at_most(amount(5.0, 9.0, 20.0), &unknown), amount(5.0, 9.0, 20.0));
        assert_eq!(at_most(Amount::exact(9.0), &charged), Amount::exact(9.0));
    }

    #[test]
    fn the_table_is_read_and_its_cases_and_items_exist() {
        let read = toml::from_str::<Table>(TABLE);
        let rows = read.unwrap_or_else(|error| panic!("alternatives.toml: {error}")).rows;
        let catalog = oscost_worker::benchmarks::data();
        for row in &rows {
            assert!((0.0..=1.0).contains(&row.part), "{row:?}");
            for selector in [&row.from, &row.instead] {
                let case = Case::parse(selector).unwrap_or_else(|| panic!("{selector}"));
                let definition = catalog.get(&case.benchmark);
                let definition = definition.unwrap_or_else(|| panic!("{selector}"));
                let has = |name: &str| definition.axes.iter().any(|axis| axis.name == name);
                assert!(case.point.iter().all(|(name, _)| has(name)), "{selector}");
                assert!(row.axis.as_deref().is_none_or(has), "{selector}");
            }
            for item in &row.items {
                assert_ne!(family_of(item), OTHER_FAMILY, "{item}");
            }
        }
        assert_eq!(rows.len(), RULES.len());
    }
}
