//! What a change adds, on made-up comparisons and counts.

use oscost_model::bill::{Amount, WhatIfItem};
use oscost_model::reach::Reach;
use oscost_model::record::{AddedCost, Comparison, Ratio};

use super::*;

const BASE: &[String] = &[];

/// A run that compared each of these base rows with the same one under `sud`, which adds so many
/// nanoseconds, 1 ns more or less.
fn compared(rows: &[(Row, f64)]) -> Record {
    let mut all = record(Vec::new());
    all.comparisons.clear();
    for (base, added_ns) in rows {
        let index = all.results.len() as u32;
        let mut new = base.clone();
        new.target.treatments = vec!["sud".to_owned()];
        all.results.extend([base.clone(), new]);
        all.comparisons.push(comparison(index, *added_ns, base.unit));
    }
    all
}

fn comparison(base: u32, added: f64, unit: Unit) -> Comparison {
    Comparison {
        case: String::new(),
        metric: "primary".to_owned(),
        base,
        new: base + 1,
        design: "twins".to_owned(),
        pairs: 8,
        span_s: 1.0,
        ratio: Ratio { value: 1.0, ci95: None },
        added: AddedCost { value: added, ci95: Some([added - 1.0, added + 1.0]), unit },
        added_cycles: None,
        p: 1.0,
        q: 1.0,
        verdict: "inconclusive".to_owned(),
        mde_pct: None,
        ties: 0,
        monitor_events_per_op: None,
        decomposition: None,
        control: false,
        flags: Vec::new(),
    }
}

fn added_under(record: &Record, treatment: &str) -> Record {
    let new = [treatment.to_owned()];
    let host = stored().results[0].target.host.clone();
    added_costs(record, Change { host: &host, base: BASE, new: &new })
}

/// Of a change that does more where tasks begin and end.
fn predicted(rows: &[(Row, f64)], forms: Vec<FormCount>, faults: Faults) -> Option<Prediction> {
    predicted_under(Reach::CallsAndTasks, rows, forms, faults)
}

fn predicted_under(
    reach: Reach,
    rows: &[(Row, f64)],
    forms: Vec<FormCount>,
    faults: Faults,
) -> Option<Prediction> {
    let added = added_under(&compared(rows), "sud");
    let catalog = catalog();
    let warm = PriceList::of_added_costs([&added], &catalog);
    let cool = PriceList::of_added_costs([], &catalog);
    predict(&calls(forms), faults, AddedCosts { warm: &warm, cool: &cool, reach })
}

/// What is added to a call of each of these forms, none of which was compared after a walk.
fn one_of_each(names: &[&str], added: &[Record], reach: Reach) -> Prediction {
    let catalog = catalog();
    let warm = PriceList::of_added_costs(added, &catalog);
    let cool = PriceList::of_added_costs([], &catalog);
    let forms = names.iter().map(|name| form(name, None, 1, 0)).collect();
    let costs = AddedCosts { warm: &warm, cool: &cool, reach };
    predict(&calls(forms), Faults::default(), costs).unwrap()
}

fn part<'a>(prediction: &'a Prediction, name: &str) -> &'a WhatIfItem {
    prediction.items.iter().find(|item| item.name == name).unwrap()
}

fn ns(amount: Option<&Amount>) -> Option<f64> {
    amount.map(|amount| amount.ns.round())
}

#[test]
fn a_prediction_is_the_sum_of_counts_times_added_costs() {
    let rows = [
        (row("syscall/getuid:via=raw", 100.0), 30.0),
        // The op makes two calls, to both of which 30 ns are added.
        (row("directory/open:by=openat", 800.0), 60.0),
        (row("fault/zero-fill:access=write,pages=4k", 500.0), -2.0),
    ];
    let forms = vec![
        form("getuid", None, 100, 0),
        form("openat file", None, 10, 0),
        form("close file", None, 10, 0),
    ];
    let found = predicted(&rows, forms, Faults { minor: 50.0, major: 0.0 }).unwrap();
    let of = |name: &str| ns(part(&found, name).amount.as_ref());
    assert_eq!(of("getuid"), Some(3_000.0));
    assert_eq!([of("openat file"), of("close file")], [Some(300.0); 2]);
    // A fault is no call, and pays nothing of what is added to calls, whatever was measured.
    assert_eq!(of("minor page fault"), Some(0.0));
    assert_eq!(part(&found, "minor page fault").missing.as_deref(), Some("it makes no call"));
    assert_eq!(found.warm.ns.round(), 3_600.0);
    // Both cases are known to 1 ns, and 0.5 ns a call: drawn to each other, to 0.96 and 0.49 ns.
    let [low, high] = found.warm.ci95.unwrap();
    assert_eq!([low.round(), high.round()], [3_600.0 - 106.0, 3_600.0 + 106.0]);
    assert_eq!((found.unpriced_calls, found.estimated.ns), (0.0, 0.0));
    assert_eq!(found.items[0].name, "getuid");
}

#[test]
fn calls_without_an_added_cost_of_their_own_pay_the_mean_of_the_others() {
    let rows = [
        (row("syscall/getuid:via=raw", 100.0), 30.0),
        (row("syscall/uname", 100.0), 40.0),
        (row("syscall/getppid:via=raw", 100.0), 90.0),
        (row("process/exit:touched_mib=0", 9_000.0), 5_000.0),
    ];
    let forms = vec![
        form("getuid", None, 1, 0),
        form("uname", None, 1, 0),
        form("getppid", None, 1, 0),
        form("exit_group", None, 1, 0),
        form("no_such_call", None, 10, 0),
        form("nanosleep", None, 5, 0),
    ];
    let found = predicted(&rows, forms, Faults { minor: 7.0, major: 0.0 }).unwrap();
    let unknown = part(&found, "no_such_call");
    // The mean of 30, 40 and 90; one of them may be as far from it as they are.
    assert_eq!(ns(unknown.amount.as_ref()), Some(533.0));
    let [low, high] = unknown.amount.as_ref().unwrap().ci95.unwrap();
    assert!(low < -100.0 && high > 1_150.0, "{low} {high}");
    assert!(unknown.is_estimate && unknown.missing.as_deref() == Some("no case prices it"));
    // It pays nothing for its wait, and is a call all the same.
    assert_eq!(ns(part(&found, "nanosleep").amount.as_ref()), Some(267.0));
    let fault = part(&found, "minor page fault");
    assert!(ns(fault.amount.as_ref()) == Some(0.0) && !fault.is_estimate);
    assert_eq!((found.unpriced_calls, found.estimated.ns.round()), (15.0, 800.0));
    assert_eq!(found.warm.ns.round(), 160.0 + 5_000.0 + 800.0);
}

#[test]
fn the_comparison_of_a_long_call_does_not_hide_what_the_short_ones_tell() {
    let row_of = |case: &str, added: f64, half: f64| {
        let mut rows = compared(&[(row(case, 100.0), added)]);
        rows.comparisons[0].added.ci95 = Some([added - half, added + half]);
        rows
    };
    let records = [
        row_of("syscall/getuid:via=raw", 70.0, 4.0),
        row_of("syscall/uname", 74.0, 4.0),
        row_of("directory/getdents:files=10", -900.0, 9_000.0),
        row_of("process/fork-exit:touched_mib=0,peer_cpu=same", 9_000.0, 9_000.0),
    ];
    let added: Vec<Record> = records.iter().map(|it| added_under(it, "sud")).collect();
    let names = ["getuid", "uname", "getdents64 directory", "fork"];
    let found = one_of_each(&names, &added, Reach::CallsAndTasks);
    let long = part(&found, "getdents64 directory");
    assert_eq!(ns(long.unit.as_ref()), Some(72.0));
    assert!(ns(long.own_unit.as_ref()) < Some(0.0), "{long:?}");
    // Where more is added to a fork than to a call, the figure is its own.
    let fork = part(&found, "fork");
    assert_eq!((ns(fork.unit.as_ref()), &fork.own_unit), (Some(9_000.0), &None));
    // A filter adds to it what it adds to others; its op has an exit and a wait, of which no cost is known.
    let found = one_of_each(&names, &added, Reach::Calls);
    let fork = part(&found, "fork");
    assert_eq!((ns(fork.unit.as_ref()), fork.is_estimate), (Some(72.0), true));
    assert!(fork.missing.as_deref().is_some_and(|why| why.contains("further calls")), "{fork:?}");
}

/// Comparisons of three calls, known to 4 ns, and of forks, execs and exits, known to 4 us.
fn of_calls_and_tasks(added_to_task: f64) -> Vec<Record> {
    let row_of = |case: &str, added: f64, half: f64| {
        let mut rows = compared(&[(row(case, 100.0), added)]);
        rows.comparisons[0].added.ci95 = Some([added - half, added + half]);
        added_under(&rows, "sud")
    };
    let each = 75.0 + added_to_task;
    vec![
        row_of("syscall/getuid:via=raw", 70.0, 4.0),
        row_of("syscall/uname", 75.0, 4.0),
        row_of("syscall/getppid:via=raw", 80.0, 4.0),
        row_of("process/wait", 75.0, 40.0),
        // An exit that was measured 3 us too low, and what contains it.
        row_of("process/exit:touched_mib=0", each - 3_000.0, 4_000.0),
        row_of("process/fork-exit:touched_mib=0,peer_cpu=same", 2.0 * each + 75.0, 4_000.0),
        row_of("process/fork-exec:link=static", 3.0 * each + 75.0, 4_000.0),
    ]
}

#[test]
fn a_filter_adds_to_forks_execs_and_exits_what_it_adds_to_other_calls() {
    let names = ["getuid", "uname", "getppid", "wait4", "clone process", "execve", "exit_group"];
    let found = one_of_each(&names, &of_calls_and_tasks(0.0), Reach::Calls);
    for name in ["clone process", "execve", "exit_group"] {
        let Amount { ns, ci95 } = part(&found, name).unit.clone().unwrap();
        let [low, high] = ci95.unwrap();
        assert!((ns - 75.0).abs() < 5.0 && low < 75.0 && 75.0 < high, "{name}: {ns}");
        assert!(high - low < 200.0, "{name}: {low} {high}");
        assert!(part(&found, name).own_unit.is_some() && !part(&found, name).is_estimate);
    }
    assert!((found.warm.ns - 7.0 * 75.0).abs() < 30.0, "{:?}", found.warm);
}

#[test]
fn what_a_monitor_adds_to_tasks_is_drawn_to_what_it_adds_to_tasks() {
    let names = ["getuid", "uname", "getppid", "wait4", "clone process", "execve", "exit_group"];
    let found = one_of_each(&names, &of_calls_and_tasks(20_000.0), Reach::CallsAndTasks);
    let unit = |name: &str| part(&found, name).unit.as_ref().unwrap().ns;
    assert!((unit("getuid") - 70.0).abs() < 5.0, "{}", unit("getuid"));
    for name in ["clone process", "execve", "exit_group"] {
        let [low, high] = part(&found, name).unit.as_ref().unwrap().ci95.unwrap();
        assert!(low < 20_075.0 && 20_075.0 < high, "{name}: {low} {high}");
        let own = part(&found, name).own_unit.as_ref().unwrap().ns;
        let is_nearer = (unit(name) - 20_075.0).abs() <= (own - 20_075.0).abs() + 500.0;
        assert!(is_nearer, "{name}: {own} {}", unit(name));
    }
    // Threads have further calls in their ops, and a failed exec executes nothing.
    let names = ["getuid", "uname", "exit", "execve ENOENT"];
    let rows = [
        (row("syscall/getuid:via=raw", 100.0), 70.0),
        (row("syscall/uname", 100.0), 70.0),
        (row("thread/create:until=returns", 9_000.0), 200.0),
        (row("thread/create-join:via=libc", 30_000.0), 1_200.0),
        (row("process/exec-missing", 1_000.0), 75.0),
    ];
    let added = [added_under(&compared(&rows), "sud")];
    let found = one_of_each(&names, &added, Reach::CallsAndTasks);
    assert_eq!(ns(part(&found, "exit").unit.as_ref()), Some(1_000.0));
    assert!(part(&found, "execve ENOENT").own_unit.is_some(), "it is drawn to the mean of calls");
    let found = one_of_each(&names, &added, Reach::Calls);
    let exit = part(&found, "exit");
    assert!(exit.is_estimate && ns(exit.unit.as_ref()) < Some(75.0), "{exit:?}");
}

#[test]
fn a_prediction_lies_between_costs_in_a_loop_and_after_a_walk() {
    let of = |rows: &[(Row, f64)]| added_under(&compared(rows), "sud");
    let warm_rows = [
        (row("syscall/getuid:via=raw", 100.0), 70.0),
        (row("syscall/uname", 100.0), 70.0),
        (row("process/fork-exit:touched_mib=0,peer_cpu=same", 300_000.0), 9_000.0),
        (row("process/wait", 1_000.0), 70.0),
        (row("syscall/getppid:via=raw", 100.0), 70.0),
    ];
    // The wait was not measured after a walk: the fork, from which its price is subtracted, stays warm. So
    // was getppid, which takes as much more as the others.
    let cool_rows = [
        (row("syscall/getuid:via=raw", 400.0), 150.0),
        (row("syscall/uname", 400.0), 150.0),
        (row("process/fork-exit:touched_mib=0,peer_cpu=same", 900_000.0), 20_000.0),
    ];
    let (warm, cool) = (of(&warm_rows), of(&cool_rows));
    let catalog = catalog();
    let warm = PriceList::of_added_costs([&warm], &catalog);
    let cool = PriceList::of_added_costs([&cool], &catalog);
    let forms = vec![
        form("getuid", None, 10, 0),
        form("getppid", None, 10, 0),
        form("fork", None, 1, 0),
        form("wait4", None, 1, 0),
    ];
    let costs = AddedCosts { warm: &warm, cool: &cool, reach: Reach::CallsAndTasks };
    let found = predict(&calls(forms), Faults::default(), costs).unwrap();
    for name in ["getuid", "getppid"] {
        assert_eq!(ns(part(&found, name).cool_amount.as_ref()), Some(1_500.0), "{name}");
    }
    assert_eq!(part(&found, "fork").cool_amount, None);
    let cool = found.cool.as_ref().unwrap();
    assert_eq!((cool.ns - found.warm.ns).round(), 2.0 * 800.0 + 80.0);
    let added = found.added();
    assert_eq!(added.ns.round(), (found.warm.ns + 840.0).round());
    let ends = [found.warm.ci95.unwrap()[0], cool.ci95.unwrap()[1]];
    assert_eq!(added.ci95, Some(ends));
}

#[test]
fn what_does_not_do_the_same_at_each_call_tells_of_a_call_by_its_own_cost_alone() {
    let rows = [
        (row("syscall/getuid:via=raw", 100.0), 2.0),
        (row("syscall/uname", 100.0), 3.0),
        (row("directory/getdents:files=10", 9_000.0), 400.0),
    ];
    let added = added_under(&compared(&rows), "sud");
    let names = ["getuid", "uname", "getdents64 directory", "no_such_call"];
    let found = one_of_each(&names, &[added], Reach::Anything);
    let long = part(&found, "getdents64 directory");
    // Two calls in the op.
    assert_eq!((ns(long.unit.as_ref()), &long.own_unit), (Some(200.0), &None));
    let unknown = part(&found, "no_such_call").unit.clone().unwrap();
    assert_eq!((unknown.ns, unknown.ci95), (3.0, Some([1.0, 200.5])));
}

#[test]
fn the_walk_between_two_calls_is_as_long_as_the_time_between_them() {
    let all = 1 << 20;
    let kib = |ns_a_call: f64| walk_between_calls(ns_a_call, all) >> 10;
    assert_eq!([kib(100.0), kib(1_500.0), kib(8_000.0)], [4, 16, 64]);
    assert_eq!([kib(100_000.0), kib(1e9)], [1_024, 1_024]);
    // Not more than the program touches at all.
    for all in [256 << 10, 512 << 10] {
        assert_eq!(walk_between_calls(1e9, all), all);
    }
    assert_eq!(walk_between_calls(1e9, 16 << 20), 1 << 20);
}

#[test]
fn a_call_within_the_op_of_another_item_is_charged_there_and_not_estimated() {
    let rows = [
        (row("syscall/getuid:via=raw", 100.0), 30.0),
        (row("process/fork-exit:touched_mib=0,peer_cpu=same", 300_000.0), 9_000.0),
    ];
    let of = |waits: u64, forks: u64| {
        let mut forms = vec![form("getuid", None, 1, 0), form("wait4", None, waits, 0)];
        forms.extend((forks > 0).then(|| form("fork", None, forks, 0)));
        predicted(&rows, forms, Faults::default()).unwrap()
    };
    let all = of(2, 2);
    let wait = part(&all, "wait4");
    assert!(wait.amount.is_none() && !wait.is_estimate);
    let why = "no price of process/wait in these runs; 2 are charged with fork";
    assert_eq!(wait.missing.as_deref(), Some(why));
    assert_eq!((all.unpriced_calls, all.warm.ns.round()), (0.0, 18_030.0));
    // Of more calls than ops the others are estimated.
    let more = of(5, 2);
    assert_eq!(ns(part(&more, "wait4").amount.as_ref()), Some(90.0));
    assert_eq!((more.unpriced_calls, more.warm.ns.round()), (3.0, 18_120.0));
    assert_eq!(of(5, 0).unpriced_calls, 5.0);
}

#[test]
fn without_a_single_added_cost_there_is_no_prediction() {
    let forms = || vec![form("getuid", None, 1, 0)];
    assert_eq!(predicted(&[], forms(), Faults::default()), None);
    let of_a_fault = [(row("fault/zero-fill:access=write,pages=4k", 500.0), 1.0)];
    let faults = || Faults { minor: 1.0, major: 0.0 };
    assert_eq!(predicted(&of_a_fault, forms(), faults()), None);
    // What may add to anything is charged for a fault, also below nothing.
    let rows = [
        (row("syscall/getuid:via=raw", 100.0), 2.0),
        (row("fault/zero-fill:access=write,pages=4k", 500.0), -3.0),
    ];
    let found = predicted_under(Reach::Anything, &rows, forms(), faults()).unwrap();
    assert_eq!(ns(part(&found, "minor page fault").amount.as_ref()), Some(-3.0));
}

#[test]
fn comparisons_of_other_targets_and_void_ones_are_no_added_costs() {
    let rows = [(row("syscall/getuid:via=raw", 100.0), 30.0)];
    let record = compared(&rows);
    assert_eq!(added_under(&record, "sud").results.len(), 1);
    assert!(added_under(&record, "ptrace").results.is_empty());
    let elsewhere = Change { host: "elsewhere", base: BASE, new: &["sud".to_owned()] };
    assert!(added_costs(&record, elsewhere).results.is_empty());
    let changed = |change: fn(&mut Comparison)| {
        let mut record = compared(&rows);
        record.comparisons.iter_mut().for_each(change);
        added_under(&record, "sud").results.len()
    };
    assert_eq!(changed(|it| it.flags.push("VOID".to_owned())), 0);
    let mut void = compared(&rows);
    void.comparisons[0].flags.push("VOID".to_owned());
    assert!(is_void(&void) && !is_void(&record));
    void.comparisons[0].control = true;
    assert!(!is_void(&void));
    assert_eq!(changed(|it| it.control = true), 0);
    assert_eq!(changed(|it| it.metric = "insn".to_owned()), 0);
}

#[test]
fn what_is_added_to_a_rate_is_the_time_that_a_message_takes_longer() {
    let mut base = row("pipe/throughput:by=pipe,size=1024", 1.024e9);
    base.unit = Unit::BytesPerSecond;
    let mut record = compared(&[(base, -1.0)]);
    // Half the rate: 2 us instead of 1 us.
    record.comparisons[0].ratio = Ratio { value: 0.5, ci95: Some([0.4, 0.8]) };
    let added = added_under(&record, "sud");
    let estimate = added.results[0].estimate.as_ref().unwrap();
    assert_eq!(estimate.median.round(), 1_000.0);
    let [low, high] = estimate.ci95.unwrap();
    assert_eq!([low.round(), high.round()], [250.0, 1_500.0]);
}

#[test]
fn the_forms_that_make_up_nearly_all_calls_are_priced_and_all_to_which_more_is_added() {
    let rows = vec![row("syscall/getuid:via=raw", 100.0), row("syscall/uname", 50.0)];
    let forms = vec![
        form("getuid", None, 960, 0),
        form("uname", None, 38, 0),
        form("nanosleep", None, 990_000, 0),
        form("execve", None, 1, 0),
        form("no_such_call", None, 1, 0),
    ];
    let found = charges(rows, forms, Faults { minor: 5.0, major: 0.0 });
    let expected = [
        "syscall/getuid",
        "process/fork-exec:link=static",
        "process/fork-exit",
        "fault/zero-fill:access=write,pages=4k,mapping_mib=usual,between=nothing",
    ];
    // The waits are most of the calls, and have no case.
    assert_eq!(selectors_to_price(&found.items, Reach::Anything), expected);
    // A change of calls adds nothing to faults, and one of calls alone no more to an exec than to them.
    assert_eq!(selectors_to_price(&found.items, Reach::CallsAndTasks), expected[..3]);
    assert_eq!(selectors_to_price(&found.items, Reach::Calls), expected[..1]);
}

#[test]
fn the_increase_of_a_mean_has_the_interval_of_both_sides() {
    let estimate = |mean: f64, sd: Option<f64>| Estimate {
        mean,
        sd,
        repetitions: 100,
        ..stored().results[0].estimate.clone().unwrap()
    };
    let found = mean_increase(&estimate(1.0, Some(0.3)), &estimate(1.5, Some(0.4)));
    assert_eq!(found.ns.round(), 0.5e9);
    let [low, high] = found.ci95.unwrap();
    // 1.973 standard errors of 184 degrees of freedom.
    assert!((low - 0.40135e9).abs() < 1e5 && (high - 0.59865e9).abs() < 1e5, "{found:?}");
    assert_eq!(mean_increase(&estimate(1.0, None), &estimate(1.5, Some(0.4))).ci95, None);
}

#[test]
fn prices_of_another_run_are_compared_where_both_have_one() {
    let forms = || {
        vec![form("getuid", None, 10, 0), form("uname", None, 10, 0), form("getppid", None, 3, 0)]
    };
    let here = vec![row("syscall/getuid:via=raw", 100.0), row("syscall/uname", 50.0)];
    let there = vec![row("syscall/getuid:via=raw", 300.0), row("syscall/getppid:via=raw", 1.0)];
    let here = charges(here, forms(), Faults::default());
    let found = compare_prices(&here.items, &charges(there, forms(), Faults::default()));
    assert_eq!((found.here.ns.round(), found.there.ns.round()), (1_000.0, 3_000.0));
    assert_eq!(found.unpriced, 13.0);
    let first = &found.items[0];
    assert_eq!((first.name.as_str(), first.ratio.map(f64::round)), ("getuid", Some(3.0)));
    let of = |name: &str| found.items.iter().find(|it| it.name == name).unwrap();
    assert!(of("uname").there.is_none() && of("uname").ratio.is_none());
    assert!(of("getppid").here.is_none() && of("getppid").there.is_some());
}

#[test]
fn prices_under_treatments_are_those_of_rows_under_exactly_these() {
    let mut treated = row("syscall/getuid:via=raw", 150.0);
    treated.target.treatments = vec!["nice=5".to_owned()];
    let record = record(vec![row("syscall/getuid:via=raw", 100.0), treated]);
    let catalog = catalog();
    let at = |treatments: &[String]| {
        let prices = PriceList::under(treatments, [&record], &catalog);
        let one = calls(vec![form("getuid", None, 1, 0)]);
        amount(&charge(&one, Faults::default(), &prices, 0.0), "getuid")
    };
    assert_eq!(at(&[]), Some(100.0));
    assert_eq!(at(&["nice=5".to_owned()]), Some(150.0));
    assert_eq!(at(&["nice=6".to_owned()]), None);
}
