//! What bills say of large items without a price.

use oscost_model::bill::Bill;
use oscost_model::program_calls::KernelTime;

use super::super::{answer, trust_of};
use crate::report::view::bill::made_up::{bill, cooled, priced, unpriced};

/// 40 ms of 100 are priced, and 50 took so long without a price.
fn open_bill() -> Bill {
    let mut item = unpriced("getdents64 directory", 6_934.0);
    item.case = Some("directory/getdents".to_owned());
    item.in_kernel = Some(KernelTime { calls: 6_934, on_cpu_ns: 50_000_000, off_cpu_ns: 0 });
    let mut small = unpriced("sysinfo", 1.0);
    small.in_kernel = Some(KernelTime { calls: 1, on_cpu_ns: 1_000, off_cpu_ns: 0 });
    let items = vec![priced("newfstatat", "files", 40_000.0, 1_000.0), item, small];
    let mut open = bill(items, 100e6);
    open.prices.missing = vec!["directory/getdents".to_owned()];
    open
}

#[test]
fn the_largest_item_is_named_first_although_it_has_no_price() {
    let said = answer(&cooled(open_bill(), 1.2)).findings[0].clone();
    assert_eq!(
        said,
        "find spent 100 ms in the kernel; 50.0 ms of it for 6,934 x getdents64 directory (without \
         a price), 40.0 ms for 40,000 x newfstatat; 40.0 ms (warm caches) to 48.0 ms (cool) \
         charged, 100 ms measured: 108 % above the range; calls without a price took 50.0 ms, as \
         counted."
    );
}

#[test]
fn the_next_step_measures_what_is_large_and_lacking() {
    let next = |bill: &Bill| answer(bill).next;
    let text = "Next: `oscost run directory/getdents` measures the missing price of getdents64 \
                directory.";
    assert_eq!(next(&open_bill()), [text]);
    let mut more = open_bill();
    more.prices.missing.push("host/sysinfo".to_owned());
    let all = "Next: `oscost run directory/getdents host/sysinfo` measures what is missing.";
    assert_eq!(next(&more), [text, all]);
    more.items.retain(|item| item.name != "getdents64 directory");
    assert_eq!(next(&more), [all], "none is large");
    let mut refused = open_bill();
    refused.prices.missing.clear();
    assert!(next(&refused).is_empty());
    let remote = Bill { host: Some("ssh:db1".to_owned()), ..open_bill() };
    assert!(next(&remote).is_empty());
}

#[test]
fn what_has_no_price_opens_a_bill_by_its_time() {
    let text = "calls that took 50 % of its system time have no price: they are in the difference";
    let reasons = trust_of(&open_bill()).reasons;
    assert!(reasons.iter().any(|it| it == text), "{reasons:?}");
    let mut unknown = open_bill();
    unknown.items.iter_mut().for_each(|item| item.in_kernel = None);
    let reasons = trust_of(&unknown).reasons;
    assert!(!reasons.iter().any(|it| it.contains("have no price")), "{reasons:?}");
    assert!(!answer(&unknown).findings[0].contains("without a price"));
}

#[test]
fn a_range_that_holds_the_time_without_a_large_part_of_it_is_not_judged() {
    // 90 of 100 ms are charged with warm caches; 20 ms more have no price.
    let mut item = unpriced("read pipe", 1_000.0);
    item.in_kernel = Some(KernelTime { calls: 1_000, on_cpu_ns: 20_000_000, off_cpu_ns: 0 });
    let priced = priced("newfstatat", "files", 90_000.0, 1_000.0);
    let with = |item| cooled(bill(vec![priced.clone(), item], 100e6), 1.2);
    let said = answer(&with(item.clone())).findings[0].clone();
    let end = " charged, 100 ms measured: not judged: a part of it has no price; calls without a price \
               took 20.0 ms, as counted.";
    assert!(said.ends_with(end), "{said}");
    // What it took is not known: it is a tenth of what was counted.
    (item.in_kernel, item.times) = (None, 10_000.0);
    let said = answer(&with(item)).findings[0].clone();
    let end = ": within the range, without the 10 % of what was counted that has no price.";
    assert!(said.ends_with(end), "{said}");
}
