//! The items of a bill without a price, or with one of another size.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::unit::Unit;

use crate::report::figures::{occurrences, per_cent, rough};
use crate::report::text::{plain, plural};
use crate::report::view::document::{Block, Section};

/// More items without a price than these are in the record alone.
const MAX_UNPRICED: usize = 12;
/// Items whose calls took less than this are told together, in per cent of the system time.
const SMALL_SHARE_PCT: f64 = 0.1;

/// What has no price, or a doubtful one; `None` if nothing does.
pub(in crate::report::view) fn section(bill: &Bill) -> Option<Section> {
    let lines = unpriced(bill).into_iter().chain(doubtful(bill));
    let is_doubtful = bill.items.iter().any(|item| item.doubt.is_some());
    let title = match is_doubtful {
        true => "Without a price, or with one of another size",
        false => "Without a price",
    };
    Block::list(lines).map(|list| Section::of(title, [list]))
}

/// Items without a price: those whose calls took next to nothing together, unless all did.
fn unpriced(bill: &Bill) -> Vec<String> {
    let items = bill.items.iter().filter(|item| item.amount.is_none());
    let (mut small, mut items): (Vec<&BillItem>, Vec<&BillItem>) =
        items.partition(|item| is_small(bill, item));
    if items.is_empty() || small.len() == 1 {
        items = bill.items.iter().filter(|item| item.amount.is_none()).collect();
        small.clear();
    }
    let mut lines: Vec<String> = items.iter().take(MAX_UNPRICED).map(|it| line(it)).collect();
    if items.len() > MAX_UNPRICED {
        let others = &items[MAX_UNPRICED..];
        let times: f64 = others.iter().map(|item| item.times).sum();
        lines.push(format!(
            "no price: {}, {} times in all",
            plural(others.len() as u64, "other item"),
            occurrences(times)
        ));
    }
    let took_ns: f64 = small.iter().filter_map(|item| on_cpu_ns(item)).sum();
    lines.extend((!small.is_empty()).then(|| {
        format!(
            "no price: {} that took {} of the system time in all, as counted",
            plural(small.len() as u64, "small item"),
            per_cent(100.0 * took_ns / bill.trials.system_time.ns)
        )
    }));
    lines
}

/// Whether the calls of an item took next to nothing, as counted.
fn is_small(bill: &Bill, item: &BillItem) -> bool {
    let least_ns = bill.trials.system_time.ns * SMALL_SHARE_PCT / 100.0;
    on_cpu_ns(item).is_some_and(|ns| ns < least_ns)
}

/// The time of an item's calls on a CPU in the kernel, if the counter measured it.
fn on_cpu_ns(item: &BillItem) -> Option<f64> {
    item.in_kernel.map(|it| it.on_cpu_ns as f64)
}

/// An item without a price, and why.
fn line(item: &BillItem) -> String {
    let why = item.missing.as_deref().unwrap_or("it has none");
    let times = occurrences(item.times);
    // As the counter measured it, which is all that is known of it.
    let in_kernel = on_cpu_ns(item).map_or(String::new(), |ns| {
        format!("; {} on a CPU in the kernel", rough(ns, Unit::NsPerOp))
    });
    format!("no price: {times} x {} ({}{in_kernel})", plain(&item.name), plain(why))
}

/// Items whose price is that of another size.
fn doubtful(bill: &Bill) -> Vec<String> {
    let line = |item: &BillItem| {
        let doubt = plain(item.doubt.as_deref()?);
        let times = occurrences(item.times);
        Some(format!("one price: {times} x {} ({doubt})", plain(&item.name)))
    };
    bill.items.iter().filter_map(line).take(MAX_UNPRICED).collect()
}

#[cfg(test)]
mod tests {
    use oscost_model::program_calls::KernelTime;

    use super::*;
    use crate::report::view::bill::made_up::{bill, unpriced as without};

    /// An item without a price whose calls took so long.
    fn took(name: &str, on_cpu_ns: u64) -> BillItem {
        let in_kernel = Some(KernelTime { calls: 1, on_cpu_ns, off_cpu_ns: 0 });
        BillItem { in_kernel, ..without(name, 1.0) }
    }

    #[test]
    fn items_that_took_next_to_nothing_are_told_together() {
        // 0.1 % of the system time is 1 us.
        let told = |items: Vec<BillItem>| unpriced(&bill(items, 1e6));
        let large = || took("execve dynamic", 188_000);
        let small = || [took("rseq", 290), took("fchdir", 999)];
        let lines = told([large()].into_iter().chain(small()).collect());
        assert_eq!(
            lines,
            [
                "no price: 1 x execve dynamic (no case prices it; 188 us on a CPU in the kernel)",
                "no price: 2 small items that took 0.1 % of the system time in all, as counted",
            ]
        );
        let of_all = told(small().to_vec());
        assert!(of_all.len() == 2 && of_all[0].starts_with("no price: 1 x rseq ("), "{of_all:?}");
        let of_one = told(vec![large(), took("rseq", 290)]);
        assert!(of_one.len() == 2 && of_one[1].starts_with("no price: 1 x rseq ("), "{of_one:?}");
        let unseen = told(vec![large(), without("ioctl", 1.0), took("statfs", 1_000)]);
        assert_eq!(unseen.len(), 3, "what is not known, and 0.1 %, are no small items");
    }
}
