//! Cool prices, where the cost of each op after a walk and without one is known.

use oscost_model::bill::BillItem;
use oscost_model::program_calls::{
    KernelEvents, RemoteWakes, RemoteWakesByCall, WakesOfIdle, WakesOfIdleByCall,
};

use super::*;

const MIB: u64 = 1 << 20;

/// A row of an op that is timed alone under `cool=...`.
fn alone(case: &str, walk: &str, ns: f64) -> Row {
    let mut row = row(case, ns);
    row.target.treatments = vec![format!("cool={walk}")];
    row.class = Some("light".to_owned());
    row.calls.as_mut().unwrap().per_op = [("call".to_owned(), 1.0)].into();
    row
}

/// Both rows of a case: alone it takes 50 ns more than in a loop, and after a walk so many more.
fn pair(case: &str, ns: f64, added: f64) -> [Row; 2] {
    [alone(case, "0", ns + 50.0), alone(case, "1M", ns + 50.0 + added)]
}

/// A case with its price and its pair.
fn with_pair(case: &str, ns: f64, added: f64) -> Vec<Row> {
    let mut rows = vec![row(case, ns)];
    rows.extend(pair(case, ns, added));
    rows
}

fn charges_by(records: &[Record], forms: Vec<FormCount>, faults: Faults, walk: u64) -> Charges {
    let (catalog, calls) = (catalog(), calls(forms));
    let prices = PriceList::new(records, &catalog);
    let cool = CoolPrices::new(records, &catalog, &prices, walk);
    let mut charges = charge(&calls, faults, &prices, 10_000.0);
    charge_cool(&mut charges, &calls, &prices, &cool);
    charges
}

fn charges_of(rows: Vec<Row>, forms: Vec<FormCount>) -> Charges {
    charges_by(&[record(rows)], forms, Faults::default(), MIB)
}

fn item<'a>(charges: &'a Charges, name: &str) -> &'a BillItem {
    charges.items.iter().find(|item| item.name == name).unwrap()
}

fn cool_ns(charges: &Charges, name: &str) -> Option<f64> {
    item(charges, name).cool_amount.as_ref().map(|amount| amount.ns.round())
}

fn source<'a>(charges: &'a Charges, name: &str) -> Option<&'a str> {
    item(charges, name).cool_source.as_deref()
}

fn rounded(ci95: Option<[f64; 2]>) -> Option<[f64; 2]> {
    ci95.map(|ends| ends.map(f64::round))
}

#[test]
fn a_cool_price_is_the_price_and_what_the_walk_adds() {
    let rows = with_pair("syscall/getppid:via=raw", 100.0, 100.0);
    let found = charges_of(rows, vec![form("getppid", None, 10, 0)]);
    assert_eq!(amount(&found, "getppid"), Some(1_000.0));
    assert_eq!(cool_ns(&found, "getppid"), Some(2_000.0));
    assert_eq!(source(&found, "getppid"), Some("cool=1M"));
    let getppid = item(&found, "getppid");
    assert_eq!(getppid.cool_price.as_ref().map(|price| price.ns.round()), Some(200.0));
    // [900, 1100], and ten times [225, 275] without [135, 165].
    let ci95 = getppid.cool_amount.as_ref().and_then(|amount| amount.ci95);
    assert_eq!(rounded(ci95), Some([1_500.0, 2_500.0]));
    assert_eq!(found.charged_cool.map(|sum| sum.ns.round()), Some(2_000.0));
    assert_eq!(found.charged.ns.round(), 1_000.0);
}

#[test]
fn what_a_walk_adds_below_zero_is_charged_as_it_is() {
    let rows = with_pair("syscall/getppid:via=raw", 100.0, -10.0);
    let found = charges_of(rows, vec![form("getppid", None, 10, 0)]);
    assert_eq!(cool_ns(&found, "getppid"), Some(900.0));
}

#[test]
fn other_calls_pay_the_median_ratio_of_their_family_or_of_all() {
    let mut rows = with_pair("syscall/getppid:via=raw", 100.0, 60.0);
    rows.extend(with_pair("syscall/getuid", 100.0, 100.0));
    rows.extend(with_pair("syscall/uname", 100.0, 50.0));
    // The only one of its family.
    rows.extend(with_pair("directory/missing", 1_000.0, 1_000.0));
    rows.extend([row("syscall/lseek", 200.0), row("directory/open:by=openat", 400.0)]);
    rows.push(row("fault/zero-fill:access=write,pages=4k", 50_000.0));
    let forms = vec![
        form("lseek file", None, 10, 0),
        form("openat file", None, 10, 0),
        form("nanosleep", None, 3, 0),
    ];
    let faults = Faults { minor: 1.0, major: 0.0 };
    let found = charges_by(&[record(rows)], forms, faults, MIB);
    assert_eq!(cool_ns(&found, "lseek file"), Some(3_200.0));
    let of_family = "the ratio of 3 other calls of benchmark family syscall, 1.60";
    assert_eq!(source(&found, "lseek file"), Some(of_family));
    // From the smallest ratio to the largest.
    let ci95 = item(&found, "lseek file").cool_amount.as_ref().and_then(|amount| amount.ci95);
    assert_eq!(rounded(ci95), Some([2_700.0, 4_400.0]));
    // The middle of 1.5, 1.6, 2 and 2; half of an op each.
    assert_eq!(cool_ns(&found, "openat file"), Some(3_600.0));
    assert_eq!(source(&found, "openat file"), Some("the ratio of 4 other calls, 1.80"));
    // A wait pays nothing, and an op that is much longer is not estimated: it stays in the sum.
    assert_eq!(cool_ns(&found, "nanosleep"), Some(0.0));
    assert_eq!(item(&found, "minor page fault").cool_amount, None);
    let sum = found.charged_cool.map(|sum| sum.ns.round());
    assert_eq!(sum, Some(3_200.0 + 3_600.0 + 50_000.0));
}

#[test]
fn what_is_subtracted_from_a_price_is_subtracted_from_what_the_walk_adds() {
    let exec = "process/fork-exec:link=static";
    let fork = "process/fork-exit:touched_mib=0,peer_cpu=same";
    let forms = || vec![form("execve", None, 1, 0)];
    let mut rows = with_pair(exec, 900_000.0, 100_000.0);
    rows.push(row(fork, 300_000.0));
    let without = charges_of(rows.clone(), forms());
    assert_eq!(source(&without, "execve"), Some("the ratio of another call, 1.11"));
    let ci95 = item(&without, "execve").cool_amount.as_ref().and_then(|amount| amount.ci95);
    assert_eq!(ci95, None, "one ratio has no spread");
    rows.extend(pair(fork, 300_000.0, 20_000.0));
    let all = charges_of(rows, forms());
    assert_eq!(cool_ns(&all, "execve"), Some(680_000.0));
    assert_eq!(source(&all, "execve"), Some("cool=1M"));
}

#[test]
fn the_walk_adds_by_size_as_the_price_does() {
    let at = |size: u64| format!("file/read:via=read,size={size}");
    let mut rows = with_pair(&at(4_096), 1_000.0, 100.0);
    rows.push(row(&at(65_536), 7_000.0));
    // 34,816 bytes lie in the middle of both sizes.
    let forms = || vec![form("read file", Some(65_536), 2, 2 * 34_816)];
    let alone = charges_of(rows.clone(), forms());
    assert_eq!(source(&alone, "read file"), Some("the ratio of another call, 1.10"));
    rows.extend(pair(&at(65_536), 7_000.0, 1_300.0));
    let both = charges_of(rows, forms());
    assert_eq!(cool_ns(&both, "read file"), Some(2.0 * (4_000.0 + 700.0)));
}

#[test]
fn sizes_of_different_walks_are_not_interpolated() {
    let at = |size: u64| format!("file/read:via=read,size={size}");
    let (small, large) = (at(4_096), at(135_168));
    let mut rows = vec![row(&small, 1_000.0), row(&large, 9_000.0)];
    rows.extend(pair(&small, 1_000.0, 100.0));
    rows.extend([alone(&large, "0", 9_050.0), alone(&large, "4M", 9_050.0 + 1_300.0)]);
    // 36,864 bytes lie at a quarter of the way, far from both sizes.
    let forms = || vec![form("read file", Some(65_536), 2, 2 * 36_864)];
    let mixed = charges_of(rows.clone(), forms());
    assert_eq!(source(&mixed, "read file").map(|it| it.starts_with("cool=")), Some(false));
    rows.push(alone(&small, "4M", 1_050.0 + 100.0));
    let found = charges_of(rows, forms());
    assert_eq!(source(&found, "read file"), Some("cool=4M"));
    assert_eq!(cool_ns(&found, "read file"), Some(2.0 * (3_000.0 + 400.0)));
}

#[test]
fn the_nearest_walk_counts_and_only_rows_of_one_run_are_a_pair() {
    let case = "syscall/getppid:via=raw";
    let forms = || vec![form("getppid", None, 1, 0)];
    let mut rows = with_pair(case, 100.0, 100.0);
    rows.insert(0, alone(case, "4M", 400.0));
    let priced = |rows: &[Row], walk: u64| {
        let found = charges_by(&[record(rows.to_vec())], forms(), Faults::default(), walk);
        (cool_ns(&found, "getppid"), source(&found, "getppid").map(str::to_owned))
    };
    let by = |walk: u64| priced(&rows, walk);
    assert_eq!(by(MIB), (Some(200.0), Some("cool=1M".to_owned())));
    assert_eq!(by(3 * MIB), (Some(350.0), Some("cool=4M".to_owned())));
    // One through many pages stands for none through each line, nor the other way round, if it need not.
    let far = (Some(350.0), Some("cool=4M".to_owned()));
    assert_eq!(by(16 * MIB), far);
    rows.push(alone(case, "16M", 1_050.0));
    let by = |walk: u64| priced(&rows, walk);
    assert_eq!(by(16 * MIB), (Some(1_000.0), Some("cool=16M".to_owned())));
    assert_eq!(by(8 * MIB), far);
    let one = record(vec![row(case, 100.0), alone(case, "1M", 250.0)]);
    let other = record(vec![alone(case, "0", 150.0)]);
    let forms = vec![form("getppid", None, 1, 0), form("nanosleep", None, 1, 0)];
    let apart = charges_by(&[one, other], forms, Faults::default(), MIB);
    assert_eq!(apart.charged_cool, None);
    assert!(apart.items.iter().all(|item| item.cool_amount.is_none()));
}

#[test]
fn the_walk_is_as_long_as_what_a_process_touches() {
    let of = |faults: f64, forks: u64, moved: Option<u64>| {
        let events = moved.map(|moved| KernelEvents {
            forks_to_other_cpu: Some(moved),
            ..KernelEvents::default()
        });
        let calls = ProgramCalls { forks, events, ..ProgramCalls::default() };
        let program =
            WalkedProgram { calls: &calls, minor_faults: faults, page_bytes: 4_096, user_ns: 0.0 };
        program.walk_bytes()
    };
    assert_eq!([of(0.0, 0, None), of(100.0, 0, None)], [256 << 10, 512 << 10]);
    assert_eq!([of(300.0, 0, None), of(512.0, 1, None)], [MIB, MIB]);
    assert_eq!(of(1e9, 0, None), MIB);
    // What a child finds that began on another CPU is in no cache of that.
    assert_eq!([of(100.0, 9, Some(0)), of(100.0, 9, Some(1))], [256 << 10, MIB]);
    assert_eq!(of(100.0, 20, Some(2)), 256 << 10);
}

#[test]
fn a_program_that_computes_for_long_on_much_memory_has_a_walk_through_more_pages() {
    let of = |faults: f64, forks: u64, user_ns: f64| {
        let forms = vec![form("getppid", None, 1_000, 0)];
        let calls = ProgramCalls { forks, forms, ..ProgramCalls::default() };
        let program =
            WalkedProgram { calls: &calls, minor_faults: faults, page_bytes: 4_096, user_ns };
        program.walk_bytes()
    };
    // 50 us of user time before each of 1,000 calls and 9,000 faults of two processes.
    assert_eq!([of(9_000.0, 1, 5e8), of(9_000.0, 1, 4.9e8)], [16 << 20, MIB]);
    // Little memory of each process.
    assert_eq!([of(9_000.0, 9, 1e9), of(2_048.0, 0, 1e9)], [MIB, MIB]);
}

#[test]
fn rare_calls_have_the_walk_through_a_last_level_cache() {
    let mut rows = with_pair("syscall/getppid:via=raw", 100.0, 100.0);
    rows.extend(with_pair("syscall/getuid:via=raw", 100.0, 100.0));
    rows.push(alone("syscall/getppid:via=raw", "32M", 2_150.0));
    rows.extend(with_pair("syscall/lseek", 100.0, 150.0));
    rows.push(alone("syscall/lseek", "32M", 3_150.0));
    rows.push(row("syscall/uname", 100.0));
    let (records, catalog) = ([record(rows)], catalog());
    let prices = PriceList::new(&records, &catalog);
    let cool = CoolPrices::new(&records, &catalog, &prices, MIB);
    // Ten calls each: three rare ones, none, and all.
    let rare = |name: &str, rare: Option<u64>| FormCount { rare, ..form(name, None, 10, 0) };
    let forms = vec![rare("lseek file", Some(3)), rare("getuid", None), rare("uname", Some(10))];
    let calls = calls(forms);
    let mut found = charge(&calls, Faults::default(), &prices, 10_000.0);
    charge_cool(&mut found, &calls, &prices, &cool);
    // The walk through a last-level cache adds 3,000 ns, 2,000 of them to the entry of the kernel, to which
    // the other walk adds 100.
    assert_eq!(cool_ns(&found, "lseek file"), Some(7.0 * 250.0 + 3.0 * (1_100.0 + 100.0)));
    assert_eq!(cool_ns(&found, "getuid"), Some(2_000.0));
    assert_eq!(cool_ns(&found, "uname"), Some(10.0 * (1_100.0 + 100.0)));
    let rare_source = |name: &str| item(&found, name).rare_cool_source.as_deref();
    assert_eq!(source(&found, "lseek file"), Some("cool=1M"));
    assert_eq!([rare_source("lseek file"), rare_source("getuid")], [Some("cool=32M"), None]);
    assert_eq!(rare_source("uname"), Some("the ratio of another call, 11.00"));
    // Those without a pair of that walk are to be compared after it.
    let parts = rare_parts(&found.items);
    let names: Vec<(&str, f64)> = parts.iter().map(|it| (it.name.as_str(), it.times)).collect();
    assert_eq!(names, [("uname", 10.0), ("lseek file", 3.0)]);
    let cases = cases_to_cool(&parts, 32 * MIB, &prices, &catalog, |_| false);
    assert_eq!(cases, ["syscall/uname"]);
    let often: Vec<String> = frequent_parts(&found.items).into_iter().map(|it| it.name).collect();
    assert_eq!(often, ["getuid", "lseek file"]);
}

#[test]
fn the_rare_calls_of_all_sizes_are_one_item() {
    let of_size = |bytes: u64, rare: Option<u64>| FormCount {
        rare,
        ..form("read file", Some(bytes), 10, 10 * bytes)
    };
    let forms = vec![of_size(64, Some(3)), of_size(4_096, Some(5)), of_size(8_192, None)];
    let found = charges_of(vec![row("file/read:via=read,size=4096", 1_000.0)], forms);
    assert_eq!(item(&found, "read file").rare_times, 8.0);
}

#[test]
fn rare_calls_that_are_a_small_part_of_a_bill_are_not_worth_a_comparison() {
    let rows = vec![row("syscall/getppid:via=raw", 100.0), row("syscall/getuid:via=raw", 100.0)];
    let of = |often: u64| {
        let rare = FormCount { rare: Some(1), ..form("getppid", None, 1, 0) };
        let found = charges_of(rows.clone(), vec![rare, form("getuid", None, often, 0)]);
        rare_parts(&found.items).len()
    };
    assert_eq!([of(98), of(110)], [1, 0]);
}

#[test]
fn what_a_last_level_walk_adds_is_not_known_without_what_it_adds_to_the_entry_of_the_kernel() {
    let mut rows = with_pair("syscall/lseek", 100.0, 150.0);
    rows.push(alone("syscall/lseek", "32M", 3_150.0));
    let rare = || vec![FormCount { rare: Some(10), ..form("lseek file", None, 10, 0) }];
    assert_eq!(cool_ns(&charges_of(rows.clone(), rare()), "lseek file"), Some(2_500.0));
    // Of another run it would be of another state of the machine.
    let entry = pair("syscall/getppid:via=raw", 100.0, 100.0);
    let mut other = vec![row("syscall/getppid:via=raw", 100.0)];
    other.extend(entry);
    other.push(alone("syscall/getppid:via=raw", "32M", 2_150.0));
    let apart = [record(rows), record(other)];
    let found = charges_by(&apart, rare(), Faults::default(), MIB);
    assert_eq!(cool_ns(&found, "lseek file"), Some(2_500.0));
}

#[test]
fn one_entry_of_the_kernel_is_taken_off_for_an_op_of_several_calls() {
    let mut rows = with_pair("syscall/lseek", 100.0, 150.0);
    rows.push(alone("syscall/lseek", "32M", 3_150.0));
    rows.last_mut().unwrap().calls.as_mut().unwrap().per_op = [("lseek".to_owned(), 2.0)].into();
    rows.extend(pair("syscall/getppid:via=raw", 100.0, 100.0));
    rows.push(alone("syscall/getppid:via=raw", "32M", 2_150.0));
    let forms = vec![FormCount { rare: Some(10), ..form("lseek file", None, 10, 0) }];
    assert_eq!(cool_ns(&charges_of(rows, forms), "lseek file"), Some(10.0 * (1_100.0 + 100.0)));
}

#[test]
fn a_rare_call_that_seems_warmer_than_others_has_the_usual_price() {
    let mut rows = with_pair("syscall/lseek", 100.0, 150.0);
    rows.push(alone("syscall/lseek", "32M", 2_190.0));
    rows.extend(pair("syscall/getppid:via=raw", 100.0, 100.0));
    rows.push(alone("syscall/getppid:via=raw", "32M", 2_150.0));
    let forms = vec![FormCount { rare: Some(10), ..form("lseek file", None, 10, 0) }];
    let found = charges_of(rows, forms);
    // 40 ns more than getppid(2), and 100 for the entry of the kernel: the usual walk adds 150.
    assert_eq!(cool_ns(&found, "lseek file"), Some(2_500.0));
    assert_eq!(item(&found, "lseek file").rare_cool_source, None);
}

#[test]
fn without_a_pair_of_its_walk_a_rare_call_has_the_usual_one() {
    let rows = with_pair("syscall/getppid:via=raw", 100.0, 100.0);
    let rare = FormCount { rare: Some(10), ..form("getppid", None, 10, 0) };
    let found = charges_of(rows, vec![rare]);
    assert_eq!(cool_ns(&found, "getppid"), Some(2_000.0));
    assert_eq!(item(&found, "getppid").rare_cool_source, None);
}

#[test]
fn the_cases_to_cool_are_those_of_the_largest_items_that_have_a_time() {
    let mut rows = with_pair("syscall/getuid:via=raw", 100.0, 100.0);
    rows.push(row("process/fork-exec:link=static", 900_000.0));
    let mut rate = row("pipe/throughput:by=pipe,size=1024", 1.024e9);
    rate.unit = Unit::BytesPerSecond;
    rows.push(rate);
    let forms = vec![
        form("getuid", None, 1, 0),
        form("execve", None, 1, 0),
        form("write pipe", Some(1_024), 4, 4_096),
        form("nanosleep", None, 3, 0),
    ];
    let (records, catalog) = ([record(rows)], catalog());
    let prices = PriceList::new(&records, &catalog);
    let found = charges_by(&records, forms, Faults::default(), MIB);
    let cases = |walk_bytes: u64, uncoolable: &str| {
        let is_uncoolable = |selector: &str| selector == uncoolable;
        cases_to_cool(&found.items, walk_bytes, &prices, &catalog, is_uncoolable)
    };
    let unmeasured = ["process/fork-exec:link=static", "process/fork-exit"];
    assert_eq!(cases(MIB, ""), unmeasured);
    // An item needs all of its cases.
    assert_eq!(cases(MIB, "process/fork-exit"), Vec::<String>::new());
    // What was measured after another walk has a price, and is still to be measured after this one.
    let after_another = [&unmeasured[..], &["syscall/getuid:via=raw"]].concat();
    assert_eq!(cases(MIB / 2, ""), after_another);
}

#[test]
fn what_a_walk_adds_to_nothing_is_known_and_estimates_nothing() {
    let mut rows = with_pair("timer/nothing", 0.4, 12.0);
    rows.push(row("syscall/getppid:via=raw", 1.0));
    let record = record(rows);
    let catalog = catalog();
    let prices = PriceList::new([&record], &catalog);
    let cool = CoolPrices::new([&record], &catalog, &prices, MIB);
    assert_eq!(cool.added_to_nothing().map(|added| added.ns.round()), Some(12.0));
    let calls = calls(vec![form("getppid", None, 1, 0)]);
    let mut charges = charge(&calls, Faults::default(), &prices, 0.0);
    charge_cool(&mut charges, &calls, &prices, &cool);
    assert_eq!(charges.charged_cool, None);
}

#[test]
fn what_two_cpus_add_is_in_both_ends_of_the_range_at_its_price() {
    let mut rows = with_pair("process/wait", 100_000.0, 50_000.0);
    rows.push(row("process/fork-cpu-time:peer_cpu=same", 110_000.0));
    rows.push(row("process/fork-cpu-time:peer_cpu=other", 170_000.0));
    let (records, catalog) = ([record(rows)], catalog());
    let events = KernelEvents { forks_to_other_cpu: Some(2), ..KernelEvents::default() };
    let forms = vec![form("wait4", None, 1, 0)];
    let calls = ProgramCalls { events: Some(events), ..calls(forms) };
    let prices = PriceList::new(&records, &catalog);
    let cool = CoolPrices::new(&records, &catalog, &prices, MIB);
    let mut found = charge(&calls, Faults::default(), &prices, 10_000.0);
    charge_cool(&mut found, &calls, &prices, &cool);
    assert_eq!(cool_ns(&found, "wait4"), Some(150_000.0));
    let child = "child on another CPU";
    assert_eq!((cool_ns(&found, child), source(&found, child)), (Some(120_000.0), None));
    assert_eq!(found.charged_cool.as_ref().map(|sum| sum.ns.round()), Some(270_000.0));
    // No walk makes the caches of the other CPU colder.
    let cases = cases_to_cool(&found.items, MIB, &prices, &catalog, |_| false);
    assert_eq!(cases, Vec::<String>::new());
}

/// What a program did that wakes tasks on another CPU by TCP.
fn waking_by_tcp(tcp: RemoteWakes) -> ProgramCalls {
    let events = KernelEvents {
        remote_wakes_after_idle: Some(tcp.after_idle),
        remote_wakes_after_switch: Some(tcp.after_switch),
        remote_wakes_by: Some(RemoteWakesByCall { tcp, ..RemoteWakesByCall::default() }),
        ..KernelEvents::default()
    };
    ProgramCalls { events: Some(events), ..calls(Vec::new()) }
}

/// The amount, the cool amount and the source of that of 30 wake-ups across CPUs by TCP after whose waits
/// the CPU was idle, and of 20 after which it ran another task, by these rows.
fn across_cpus_by_tcp(rows: Vec<Row>) -> [(f64, f64, Option<String>); 2] {
    let mut with_walk = with_pair("process/wait", 100_000.0, 50_000.0);
    with_walk.extend(rows);
    let (records, catalog) = ([record(with_walk)], catalog());
    let calls = waking_by_tcp(RemoteWakes { after_idle: 30, after_switch: 20 });
    let prices = PriceList::new(&records, &catalog);
    let cool = CoolPrices::new(&records, &catalog, &prices, MIB);
    let mut found = charge(&calls, Faults::default(), &prices, 1e6);
    charge_cool(&mut found, &calls, &prices, &cool);
    ["wake-up across CPUs by TCP", "switch across CPUs by TCP"].map(|name| {
        let warm = amount(&found, name).unwrap();
        (warm, cool_ns(&found, name).unwrap(), source(&found, name).map(str::to_owned))
    })
}

#[test]
fn at_the_cool_end_a_wake_up_across_cpus_is_of_a_cpu_that_was_idle_for_longer() {
    let of = |cpu: &str, ns: f64| row(&format!("switch/cpu-time:by=tcp,peer_cpu={cpu}"), ns);
    let all = || {
        // The price is not that of a CPU that was idle for longer, whichever row comes first.
        vec![
            of("other,idle_us=300", 64_000.0),
            of("other", 34_000.0),
            of("same", 12_000.0),
            of("none", 8_000.0),
        ]
    };
    // Half of what a round trip takes more than on one CPU; one of its wake-ups takes 30 us more.
    let [wakes, switches] = [30.0 * 13_000.0, 20.0 * 11_000.0];
    let after_idle = Some("switch/cpu-time:by=tcp,peer_cpu=other,idle_us=300".to_owned());
    let expected = [
        (wakes, wakes + 30.0 * 30_000.0, after_idle.clone()),
        (switches, switches + 20.0 * 30_000.0, after_idle),
    ];
    assert_eq!(across_cpus_by_tcp(all()), expected);
    // Without that row both ends are at the price.
    let expected = [(wakes, wakes, None), (switches, switches, None)];
    assert_eq!(across_cpus_by_tcp(all().split_off(1)), expected);
}

#[test]
fn a_bill_lacks_the_price_of_a_cpu_that_was_idle_for_longer() {
    let rows = [("other", 34_000.0), ("same", 12_000.0), ("none", 8_000.0)]
        .map(|(cpu, ns)| row(&format!("switch/cpu-time:by=tcp,peer_cpu={cpu}"), ns));
    let (records, catalog) = ([record(rows.to_vec())], catalog());
    let prices = PriceList::new(&records, &catalog);
    let calls = waking_by_tcp(RemoteWakes { after_idle: 30, after_switch: 0 });
    let lacking = lacking_prices(&calls, Faults::default(), &prices, &prices, &catalog);
    let end = "switch/cpu-time:by=tcp,peer_cpu=other,idle_us=300";
    let found: Vec<(&str, f64, bool)> = lacking
        .iter()
        .map(|it| (it.selector.as_str(), it.amount_ns.unwrap(), it.is_of_range))
        .collect();
    assert_eq!(found, [(end, 30.0 * 9_000.0, true)]);
}

#[test]
fn a_wake_up_of_a_cpu_whose_idle_time_was_seen_has_its_price_at_both_ends() {
    let mut rows = with_pair("process/wait", 100_000.0, 50_000.0);
    let cpus = [
        ("other,idle_us=300", 64_000.0),
        ("other,idle_us=1000", 74_000.0),
        ("other", 34_000.0),
        ("same", 12_000.0),
        ("none", 8_000.0),
    ];
    rows.extend(cpus.map(|(cpu, ns)| row(&format!("switch/cpu-time:by=tcp,peer_cpu={cpu}"), ns)));
    let (records, catalog) = ([record(rows)], catalog());
    let prices = PriceList::new(&records, &catalog);
    let cool = CoolPrices::new(&records, &catalog, &prices, MIB);
    let counted = waking_by_tcp(RemoteWakes { after_idle: 30, after_switch: 0 });
    let tcp =
        WakesOfIdle { below_150_us: 10, below_600_us: 5, longer: 15, below_150_us_tickless: None };
    let by = WakesOfIdleByCall { tcp, ..WakesOfIdleByCall::default() };
    let events =
        counted.events.map(|events| KernelEvents { remote_wakes_of_idle: Some(by), ..events });
    let calls = ProgramCalls { events, ..counted };
    let mut found = charge(&calls, Faults::default(), &prices, 1e6);
    charge_cool(&mut found, &calls, &prices, &cool);
    for (name, ns) in [
        ("wake-up across CPUs by TCP", 30.0 * 13_000.0),
        ("wake-up after 0.3 ms idle by TCP", 5.0 * 30_000.0),
        ("wake-up after 1 ms idle by TCP", 15.0 * 40_000.0),
    ] {
        assert_eq!((amount(&found, name), cool_ns(&found, name)), (Some(ns), Some(ns)), "{name}");
        assert_eq!(source(&found, name), None, "{name}");
    }
    assert_eq!(found.items.len(), 3, "the short ones are at the price of the wake-up");
    // Without its rows the price is lacking, and no end of a range.
    let rows = [("other", 34_000.0), ("none", 8_000.0)]
        .map(|(cpu, ns)| row(&format!("switch/cpu-time:by=tcp,peer_cpu={cpu}"), ns));
    let records = [record(rows.to_vec())];
    let prices = PriceList::new(&records, &catalog);
    let lacking = lacking_prices(&calls, Faults::default(), &prices, &prices, &catalog);
    let mut found: Vec<(&str, bool)> =
        lacking.iter().map(|it| (it.selector.as_str(), it.is_of_range)).collect();
    found.sort_unstable();
    let expected = [
        ("switch/cpu-time:by=tcp,peer_cpu=other,idle_us=1000", false),
        ("switch/cpu-time:by=tcp,peer_cpu=other,idle_us=300", false),
        ("switch/cpu-time:by=tcp,peer_cpu=other,settle_ms=100", true),
    ];
    assert_eq!(found, expected);
}
