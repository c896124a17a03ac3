//! Two bills side by side: which items grew, and whether by their count or by their price.

use std::collections::BTreeMap;

use oscost_model::bill::{Amount, Bill, BillItem, BilledTrials, TrialFigure, Watched};
use oscost_model::bill_comparison::{
    AmountChange, BILL_COMPARISON_SCHEMA, BillComparison, ComparedBill, ItemChange,
};
use oscost_stats::interval::{Interval, Nominal};
use oscost_stats::scaling::ValueWithInterval;
use oscost_stats::two_samples::{SampleMean, independent_difference, mean_difference};

use super::staleness::differences;

/// Two prices that are the same to so many parts differ by the rounding of sums alone: they have
/// sixteen digits, and a bill some thousand terms.
const ROUNDING: f64 = 1e-9;

/// What the new bill has more than the base: of one run of a command, or of one second of a running
/// process. The error is why they have nothing in common.
pub fn side_by_side(base: &Bill, new: &Bill) -> Result<BillComparison, String> {
    match (&base.watched, &new.watched) {
        (None, None) => Ok(changes(base, new)),
        (Some(of_base), Some(of_new)) => {
            Ok(changes(&per_second(base, of_base)?, &per_second(new, of_new)?))
        }
        _ => Err("one is of whole runs of a command, the other of a running process that was \
                  watched for some time"
            .to_owned()),
    }
}

/// A bill with the times and counts of one second of its watch: two watches are not equally long.
/// Prices stay as they are.
fn per_second(bill: &Bill, watched: &Watched) -> Result<Bill, String> {
    let Watched { pid, seconds, .. } = *watched;
    if seconds <= 0.0 {
        return Err(format!("process {pid} was watched for no time"));
    }
    let scale = |amount: &mut Amount| *amount = amount.times(1.0 / seconds);
    let mut scaled = bill.clone();
    scale(&mut scaled.trials.system_time);
    scaled.charged.iter_mut().chain(&mut scaled.difference).for_each(scale);
    scaled.charged_cool.iter_mut().chain(&mut scaled.difference_cool).for_each(scale);
    for item in &mut scaled.items {
        item.times /= seconds;
        item.rare_times /= seconds;
        let amounts = item.amount.iter_mut().chain(&mut item.cool_amount);
        amounts.chain(&mut item.function_added).for_each(scale);
    }
    Ok(scaled)
}

fn changes(base: &Bill, new: &Bill) -> BillComparison {
    let not_counted = |(name, bill): (&str, &Bill)| {
        let why = bill.not_counted.as_deref().unwrap_or("its calls were not counted");
        bill.charged.is_none().then(|| format!("{name} has no items: {why}"))
    };
    let not_compared = [("the base", base), ("the new one", new)].into_iter().find_map(not_counted);
    let both = |read: fn(&Bill) -> Option<&Amount>| {
        read(base).zip(read(new)).map(|(base, new)| change_of(base, new))
    };
    let mut differing = differences(&base.machine, &new.machine, None);
    differing.extend(differing_functions(&base.items, &new.items));
    BillComparison {
        schema: BILL_COMPARISON_SCHEMA.to_owned(),
        base: compared(base),
        new: compared(new),
        differing,
        system: system_change(&base.trials, &new.trials),
        charged: both(|bill| bill.charged.as_ref()),
        difference: both(|bill| bill.difference.as_ref()),
        items: match not_compared {
            Some(_) => Vec::new(),
            None => item_changes(&base.items, &new.items),
        },
        not_compared,
    }
}

/// How many items of both have a function around each call in the price of one bill alone.
fn differing_functions(base: &[BillItem], new: &[BillItem]) -> Option<String> {
    let has_one = |item: &&BillItem| {
        let other = new.iter().find(|other| other.name == item.name);
        other.is_some_and(|it| it.function_added.is_some() != item.function_added.is_some())
    };
    let count = base.iter().filter(has_one).count();
    (count > 0).then(|| {
        let items = if count == 1 { "item has" } else { "items have" };
        format!("{count} {items} the price of calls through a function in one bill alone")
    })
}

fn compared(bill: &Bill) -> ComparedBill {
    let counted = bill.counted.as_ref();
    ComparedBill {
        id: bill.id.clone(),
        started: bill.started.clone(),
        label: bill.label.clone(),
        program: bill.program.clone(),
        treatments: bill.treatments.clone(),
        watched: bill.watched.clone(),
        trials: bill.trials.system.repetitions,
        system_figure: bill.trials.system_figure.clone(),
        price_run: bill.prices.runs.first().map(|run| run.id.clone()),
        counter: counted.map(|it| it.calls.by.clone()),
        lost_events: counted.map_or(0, |it| it.lost_events),
    }
}

/// An amount of both bills. Prices of one run share errors: where they are in both amounts, the
/// true interval of the change is narrower than this one.
fn change_of(base: &Amount, new: &Amount) -> AmountChange {
    AmountChange { base: base.clone(), new: new.clone(), change: difference(base, new) }
}

/// New minus base, as of figures that share no errors.
fn difference(base: &Amount, new: &Amount) -> Amount {
    let both = base.ci95.zip(new.ci95);
    let ci95 = both.map(|(of_base, of_new)| {
        let found = independent_difference(figure(base.ns, of_base), figure(new.ns, of_new));
        [found.interval.lo, found.interval.hi]
    });
    Amount { ns: new.ns - base.ns, ci95 }
}

fn figure(value: f64, [lo, hi]: [f64; 2]) -> ValueWithInterval {
    ValueWithInterval { value, interval: Interval { lo, hi } }
}

/// The measured system times: trials of two programs are independent samples.
fn system_change(base: &BilledTrials, new: &BilledTrials) -> AmountChange {
    let mean = TrialFigure::Mean.text();
    let are_means = [base, new].iter().all(|it| it.system_figure == mean);
    let by_means = || {
        let found = mean_difference(sample(base)?, sample(new)?, Nominal::FIXED)?;
        Some([1e9 * found.interval.lo, 1e9 * found.interval.hi])
    };
    let mut found = change_of(&base.system_time, &new.system_time);
    if let Some(ci95) = are_means.then(by_means).flatten() {
        found.change.ci95 = Some(ci95);
    }
    found
}

/// The system times of trials, in seconds.
fn sample(trials: &BilledTrials) -> Option<SampleMean> {
    let system = &trials.system;
    let standard_deviation = system.sd?;
    Some(SampleMean { mean: system.mean, standard_deviation, count: system.repetitions })
}

/// The items of both bills by their names.
fn item_changes(base: &[BillItem], new: &[BillItem]) -> Vec<ItemChange> {
    let mut by_name: BTreeMap<&str, Sides<'_>> = BTreeMap::new();
    for item in base {
        by_name.entry(&item.name).or_default().base = Some(item);
    }
    for item in new {
        by_name.entry(&item.name).or_default().new = Some(item);
    }
    let mut changes: Vec<ItemChange> =
        by_name.into_iter().map(|(name, sides)| sides.change(name)).collect();
    changes.sort_by(|one, other| {
        let size = |it: &ItemChange| it.change.as_ref().map_or(-1.0, |change| change.ns.abs());
        let count = |it: &ItemChange| (it.new_times - it.base_times).abs();
        size(other).total_cmp(&size(one)).then(count(other).total_cmp(&count(one)))
    });
    changes
}

/// An item of either bill.
#[derive(Default)]
struct Sides<'a> {
    base: Option<&'a BillItem>,
    new: Option<&'a BillItem>,
}

impl Sides<'_> {
    /// The change of the count is charged at the price in the base, and the change of the price to
    /// each one that is there now: both together are the change of the amount.
    fn change(&self, name: &str) -> ItemChange {
        let Self { base, new } = *self;
        let (base_times, new_times) = (times(base), times(new));
        let (base_unit, new_unit) = (base.and_then(unit), new.and_then(unit));
        let more = new_times - base_times;
        // What only one of them has is more or fewer of it, at the one price that is known.
        let is_of_both = base.is_some() && new.is_some();
        let by_count = match (is_of_both, &base_unit, &new_unit) {
            (true, Some(unit), Some(_)) | (false, Some(unit), None) | (false, None, Some(unit)) => {
                Some(unit.times(more))
            }
            _ => None,
        };
        let by_price = match (&base_unit, &new_unit) {
            // One price, with one error.
            (Some(one), Some(other)) if is_same_price(one, other) => Some(nothing()),
            (Some(one), Some(other)) => Some(difference(one, other).times(new_times)),
            _ => by_count.as_ref().map(|_| nothing()),
        };
        let base_amount = amount(base);
        let new_amount = amount(new);
        let change =
            by_count.as_ref().zip(by_price.as_ref()).and_then(|(count, price)| {
                match price.ns == 0.0 {
                    true => Some(count.clone()),
                    false => Some(difference(base_amount.as_ref()?, new_amount.as_ref()?)),
                }
            });
        let ratio = |one: &Amount, other: &Amount| (one.ns > 0.0).then(|| other.ns / one.ns);
        let price_ratio =
            base_unit.as_ref().zip(new_unit.as_ref()).and_then(|(one, other)| ratio(one, other));
        ItemChange {
            name: name.to_owned(),
            base_times,
            new_times,
            base_amount,
            new_amount,
            change,
            by_count,
            by_price,
            price_ratio,
        }
    }
}

/// Whether two prices are one but for rounding: it has one error then, and not two.
fn is_same_price(one: &Amount, other: &Amount) -> bool {
    let is_near = |a: f64, b: f64| (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
    let ends = match (one.ci95, other.ci95) {
        (Some([a, b]), Some([c, d])) => is_near(a, c) && is_near(b, d),
        (ends, other_ends) => ends == other_ends,
    };
    is_near(one.ns, other.ns) && ends
}

fn nothing() -> Amount {
    Amount { ns: 0.0, ci95: Some([0.0; 2]) }
}

fn times(item: Option<&BillItem>) -> f64 {
    item.map_or(0.0, |item| item.times)
}

/// The amount of an item; of one that is not there 0, which was counted.
fn amount(item: Option<&BillItem>) -> Option<Amount> {
    item.map_or(Some(nothing()), |item| item.amount.clone())
}

/// The price of one, so that so many of it are the amount.
fn unit(item: &BillItem) -> Option<Amount> {
    let amount = item.amount.as_ref()?;
    match item.times > 0.0 {
        true => Some(amount.times(1.0 / item.times)),
        false => item.unit.clone(),
    }
}

#[cfg(test)]
mod tests;
