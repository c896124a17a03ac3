//! The items of a bill whose counts or prices are below zero.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::unit::Unit;

use super::families::is_small;
use crate::report::figures::{occurrences, rough};
use crate::report::text::plain;

/// Why they are, a line each.
pub(super) fn notes(bill: &Bill) -> Vec<String> {
    let of_counts = bill.items.iter().filter_map(of_count);
    of_counts.chain(bill.items.iter().filter_map(of_price)).collect()
}

/// Why intervals of items that are shown begin below zero although their prices are above: no call gives
/// time back. `None` where none does.
pub(super) fn interval_note(bill: &Bill) -> Option<String> {
    let begins_below = |item: &BillItem| {
        let amount = item.amount.as_ref().filter(|amount| amount.ns > 0.0);
        let ends = amount.and_then(|amount| amount.ci95);
        ends.is_some_and(|[low, _]| low < 0.0) && !is_small(item)
    };
    bill.items.iter().any(begins_below).then(|| {
        "an interval that begins below zero: the price is a difference of rows that are known less well"
            .to_owned()
    })
}

fn of_count(item: &BillItem) -> Option<String> {
    let why = plain(item.below_zero.as_deref()?);
    let times = occurrences(item.times);
    Some(format!("below zero: {times} x {}: {why}", plain(&item.name)))
}

/// What is charged by a price below zero, and what the counter saw of the calls, which have taken time.
fn of_price(item: &BillItem) -> Option<String> {
    let unit = item.unit.as_ref().filter(|unit| unit.ns < 0.0)?;
    let amount = item.amount.as_ref()?;
    let seen = item.in_kernel.map_or(String::new(), |it| {
        let took = time(it.on_cpu_ns as f64);
        format!("; these calls took {took} on a CPU in the kernel, as counted")
    });
    let (times, name) = (occurrences(item.times), plain(&item.name));
    Some(format!(
        "price below zero: {times} x {name} at {}, {} in all: a difference of times that do not tell \
         it; it is charged so, but is not free{seen}",
        time(unit.ns),
        time(amount.ns)
    ))
}

fn time(ns: f64) -> String {
    rough(ns, Unit::NsPerOp)
}

#[cfg(test)]
mod tests {
    use oscost_model::bill::Amount;
    use oscost_model::program_calls::KernelTime;

    use super::*;
    use crate::report::view::bill::made_up::{bill, find, priced};

    #[test]
    fn a_price_below_zero_is_told_with_its_charge_and_what_the_counter_saw() {
        let mut item = priced("vf\u{7}ork", "processes", 4_340.0, 1.0);
        item.unit = Some(Amount::exact(-5_597.47));
        item.amount = Some(Amount::exact(-24.293e6));
        let begin = "price below zero: 4,340 x vfork at -5.60 us, -24.3 ms in all: a difference of \
                     times that do not tell it; it is charged so, but is not free";
        assert_eq!(notes(&bill(vec![item.clone()], 1e9)), [begin]);
        item.in_kernel = Some(KernelTime { calls: 4_340, on_cpu_ns: 138_840_638, off_cpu_ns: 0 });
        let seen = "; these calls took 139 ms on a CPU in the kernel, as counted";
        assert_eq!(notes(&bill(vec![item], 1e9)), [format!("{begin}{seen}")]);
        assert!(notes(&find()).is_empty());
    }

    #[test]
    fn intervals_that_begin_below_zero_have_one_note() {
        let mut shown = find();
        assert_eq!(interval_note(&shown), None);
        for item in &mut shown.items[..2] {
            item.amount.iter_mut().for_each(|amount| amount.ci95 = Some([-1e6, 60e6]));
        }
        let note = interval_note(&shown).unwrap();
        assert!(note.starts_with("an interval that begins below zero: "), "{note}");
        for item in &mut shown.items[..2] {
            item.share_pct = Some(0.01);
        }
        assert_eq!(interval_note(&shown), None, "small items are not shown");
        let mut below = priced("vfork", "processes", 10.0, 1.0);
        below.amount = Some(Amount { ns: -10.0, ci95: Some([-20.0, 5.0]) });
        assert_eq!(interval_note(&bill(vec![below], 10.0)), None, "it has a line of its own");
    }

    #[test]
    fn a_price_of_nothing_is_not_below_zero() {
        let mut item = priced("vfork", "processes", 4_340.0, 1.0);
        (item.unit, item.amount) = (Some(Amount::exact(0.0)), Some(Amount::exact(0.0)));
        assert!(notes(&bill(vec![item], 1e9)).is_empty());
    }
}
