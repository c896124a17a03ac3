//! Calls of which no counter tells what makes them expensive: the cool end is that of another case.

use oscost_model::program_calls::KernelEvents;

use super::*;

const MIB: u64 = 1 << 20;
const FEW: &str = "directory/tree:act=stat,files=64";
const MANY: &str = "directory/tree:act=stat,files=4096";

fn at(selector: &str, depth: u32) -> String {
    format!("{selector},depth={depth}")
}

/// A case without a walk and after one, timed alone, which adds so much.
fn walked(case: &str, ns: f64, added: f64) -> [Row; 2] {
    let under = |walk: &str, ns: f64| {
        let mut row = row(case, ns);
        row.target.treatments = vec![format!("cool={walk}")];
        row.class = Some("light".to_owned());
        row
    };
    [under("0", ns), under("1M", ns + added)]
}

/// The prices of stat: 400 ns more of many files at a depth of 1, 900 at 6.
fn stat_rows() -> Vec<Row> {
    let mut rows = vec![row("file/stat:files=100", 600.0)];
    for (selector, [shallow, deep]) in [(FEW, [300.0, 500.0]), (MANY, [700.0, 1_400.0])] {
        rows.extend([row(&at(selector, 1), shallow), row(&at(selector, 6), deep)]);
    }
    rows
}

fn stats(depth: u32, calls: u64) -> FormCount {
    FormCount { depth: Some(depth), ..form("newfstatat", None, calls, 0) }
}

fn charges_by(records: &[Record], forms: Vec<FormCount>) -> Charges {
    let (catalog, calls) = (catalog(), calls(forms));
    let prices = PriceList::new(records, &catalog);
    let cool = CoolPrices::new(records, &catalog, &prices, MIB);
    let mut charges = charge(&calls, Faults::default(), &prices, 10_000.0);
    charge_cool(&mut charges, &calls, &prices, &cool);
    charges
}

/// The warm and the cool amount of an item, and where the cool one comes from.
fn range(rows: &[Row], forms: Vec<FormCount>, name: &str) -> (f64, f64, String) {
    let found = charges_by(&[record(rows.to_vec())], forms);
    let item = found.items.iter().find(|item| item.name == name).unwrap();
    let ns = |amount: &Option<Amount>| amount.as_ref().unwrap().ns.round();
    (ns(&item.amount), ns(&item.cool_amount), item.cool_source.clone().unwrap())
}

fn source(text: &str) -> String {
    text.to_owned()
}

#[test]
fn the_cool_end_has_what_many_files_add_and_what_a_walk_adds_to_them() {
    let mut rows = stat_rows();
    // What a walk adds to the case itself is not added, too.
    rows.extend(walked("file/stat:files=100", 600.0, 250.0));
    rows.extend(walked(&at(MANY, 6), 1_400.0, 120.0));
    let of = |forms: Vec<FormCount>| range(&rows, forms, "newfstatat");
    let both = source("cool=1M and directory/tree:act=stat,files=4096");
    assert_eq!(of(vec![stats(1, 10)]), (6e3, 6e3 + 10.0 * (400.0 + 120.0), both.clone()));
    // At a depth of 3 two fifths of the way from 400 to 900 ns; the price has no row of depths.
    assert_eq!(of(vec![stats(3, 10)]), (6e3, 6e3 + 10.0 * (600.0 + 120.0), both.clone()));
    let forms = vec![stats(1, 10), stats(6, 10)];
    assert_eq!(of(forms), (12e3, 12e3 + 10.0 * (400.0 + 900.0 + 240.0), both));
}

#[test]
fn without_a_walk_before_many_files_the_larger_of_both_is_the_cool_end() {
    let mut rows = stat_rows();
    rows.extend(walked("file/stat:files=100", 600.0, 250.0));
    let of = |rows: &[Row]| range(rows, vec![stats(1, 10)], "newfstatat");
    assert_eq!(of(&rows), (6e3, 10e3, source(MANY)));
    rows.truncate(rows.len() - 2);
    rows.extend(walked("file/stat:files=100", 600.0, 700.0));
    assert_eq!(of(&rows), (6e3, 13e3, source("cool=1M")));
}

#[test]
fn a_range_needs_both_of_its_ends() {
    for lacking in [FEW, MANY] {
        let mut rows = stat_rows();
        rows.retain(|row| !row.case.starts_with(lacking));
        rows.extend(walked("file/stat:files=100", 600.0, 250.0));
        let found = range(&rows, vec![stats(1, 10)], "newfstatat");
        assert_eq!(found, (6e3, 8.5e3, source("cool=1M")), "without {lacking}");
    }
}

#[test]
fn an_open_pays_the_whole_range_and_its_close_nothing_of_it() {
    let (few, many) =
        ("directory/tree:act=open-file,files=64", "directory/tree:act=open-file,files=4096");
    let base = "directory/open:by=openat";
    let mut rows = vec![row(base, 1_000.0), row(&at(few, 6), 1_500.0), row(&at(many, 6), 2_100.0)];
    rows.extend(walked(base, 1_000.0, 300.0));
    rows.extend(walked(&at(many, 6), 2_100.0, 200.0));
    let forms = || {
        let open = FormCount { depth: Some(6), ..form("openat file", None, 10, 0) };
        vec![open, form("close file", None, 10, 0)]
    };
    let (warm, cool, _) = range(&rows, forms(), "openat file");
    assert_eq!((warm, cool), (5e3, 5e3 + 10.0 * (600.0 + 100.0)));
    let (warm, cool, _) = range(&rows, forms(), "close file");
    assert_eq!((warm, cool), (5e3, 5e3 + 10.0 * 150.0));
}

#[test]
fn a_first_read_pays_more_at_the_cool_end_by_its_size() {
    let case = |span: u64, size: u64| format!("file/first-read:size={size},span_mib={span}");
    let base = |size: u64| format!("file/read:via=read,size={size}");
    let mut rows = vec![
        row(&base(4_096), 1_000.0),
        row(&base(65_536), 7_000.0),
        row(&case(1, 4_096), 1_100.0),
        row(&case(1, 65_536), 8_000.0),
        row(&case(64, 4_096), 2_100.0),
        row(&case(64, 65_536), 19_000.0),
    ];
    rows.extend(walked(&case(64, 4_096), 2_100.0, 500.0));
    // 34,816 bytes lie in the middle of both sizes: 6,000 ns more of 64 MiB.
    let read = |name: &str| vec![form(name, Some(65_536), 2, 2 * 34_816)];
    let (warm, cool, _) = range(&rows, read("read file"), "read file");
    assert_eq!((warm, cool), (2.0 * 4_000.0, 2.0 * (10_000.0 + 500.0)));
}

#[test]
fn the_case_to_cool_is_that_of_the_end_unless_it_cannot_be_cooled() {
    let mut rows = stat_rows();
    rows.extend(walked("timer/nothing", 0.4, 12.0));
    let (records, catalog) = ([record(rows)], catalog());
    let prices = PriceList::new(&records, &catalog);
    let forms = || vec![stats(6, 10)];
    let found = charges_by(&records, forms());
    let cases = |found: &Charges, uncoolable: &str| {
        let is_uncoolable = |case: &str| case == uncoolable;
        cases_to_cool(&found.items, MIB, &prices, &catalog, is_uncoolable)
    };
    let end = at(MANY, 6);
    assert_eq!(cases(&found, ""), std::slice::from_ref(&end));
    assert_eq!(cases(&found, &end), ["file/stat:files=100"]);
    let mut rows = records[0].results.clone();
    rows.extend(walked(&end, 1_400.0, 120.0));
    let measured = charges_by(&[record(rows)], forms());
    assert_eq!(cases(&measured, ""), Vec::<String>::new());
}

#[test]
fn a_walk_before_cold_ops_estimates_no_other_call() {
    let mut rows = stat_rows();
    rows.push(row("directory/missing:by=open,state=seen", 500.0));
    rows.extend(walked(&at(MANY, 6), 1_400.0, 14.0));
    let forms = || vec![stats(1, 10), form("openat ENOENT", None, 10, 0)];
    let cool_amount = |rows: &[Row]| {
        let found = charges_by(&[record(rows.to_vec())], forms());
        let item = found.items.iter().find(|item| item.name == "openat ENOENT").unwrap();
        item.cool_amount.as_ref().map(|amount| amount.ns.round())
    };
    assert_eq!(cool_amount(&rows), None);
    rows.extend(walked("file/stat:files=100", 600.0, 300.0));
    assert_eq!(cool_amount(&rows), Some(7_500.0));
}

#[test]
fn both_ends_of_a_range_are_lacking_until_they_are_measured() {
    let catalog = catalog();
    let lacking = |rows: Vec<Row>| {
        let records = [record(rows)];
        let prices = PriceList::new(&records, &catalog);
        let calls = calls(vec![stats(1, 1_000)]);
        let found = lacking_prices(&calls, Faults::default(), &prices, &prices, &catalog);
        let of_tree = found.into_iter().filter(|it| it.selector.starts_with("directory/tree"));
        of_tree.map(|it| (it.selector, it.size_axis)).collect::<Vec<_>>()
    };
    let end = |selector: &str| (selector.to_owned(), Some("depth".to_owned()));
    assert!(lacking(stat_rows()).is_empty());
    let mut without = stat_rows();
    without.retain(|row| !row.case.starts_with("directory/tree"));
    assert_eq!(lacking(without.clone()), [end(FEW), end(MANY)]);
    // That of deep paths alone is none of shallow ones.
    without.push(row(&at(FEW, 6), 500.0));
    assert_eq!(lacking(without.clone()), [end(FEW), end(MANY)]);
    without.push(row(&at(FEW, 1), 300.0));
    assert_eq!(lacking(without), [end(MANY)]);
}

const ONE_CPU: &str = "pipe/cpu-time:by=pipe,peer_cpu=same";
const TWO_CPUS: &str = "pipe/cpu-time:by=pipe,peer_cpu=other";

/// A walk before an op of nothing, and the prices of a pipe: a message of 4,096 bytes takes 1,000 ns, one
/// of 65,536 bytes 8,000. On two CPUs their CPU time is 2,000 and 20,000 ns more.
fn pipe_rows() -> Vec<Row> {
    let mut rows = walked("timer/nothing", 0.4, 12.0).to_vec();
    for (size, [whole, one_cpu, two_cpus]) in
        [(4_096_u32, [1_000.0, 1_100.0, 3_100.0]), (65_536, [8_000.0, 9_000.0, 29_000.0])]
    {
        let base = format!("pipe/throughput:by=pipe,size={size},peer_cpu=same");
        let mut rate = row(&base, 1e9 * f64::from(size) / whole);
        rate.unit = Unit::BytesPerSecond;
        let at = |selector: &str| format!("{selector},size={size}");
        rows.extend([rate, row(&at(ONE_CPU), one_cpu), row(&at(TWO_CPUS), two_cpus)]);
    }
    rows
}

#[test]
fn each_end_of_a_pipe_pays_half_of_what_two_cpus_take_more_at_its_size() {
    // 34,816 bytes lie in the middle of both sizes: 11,000 ns more on two CPUs.
    let forms = || {
        let write = form("write pipe", Some(65_536), 2, 2 * 34_816);
        vec![write, form("read pipe", Some(65_536), 1, 65_536)]
    };
    let of = |name: &str| range(&pipe_rows(), forms(), name);
    assert_eq!(of("write pipe"), (4_500.0, 4_500.0 + 11_000.0, source(TWO_CPUS)));
    assert_eq!(of("read pipe"), (4_000.0, 4_000.0 + 10_000.0, source(TWO_CPUS)));
}

#[test]
fn a_walk_that_adds_more_than_two_cpus_is_the_cool_end_and_is_not_added_to_them() {
    let mut rows = pipe_rows();
    // Another call of such a length takes five times as much after a walk.
    rows.push(row("directory/missing:by=open,state=seen", 1_000.0));
    rows.extend(walked("directory/missing:by=open,state=seen", 1_000.0, 4_000.0));
    let of = |calls: u64, bytes: u64| {
        let forms = vec![form("write pipe", Some(65_536), calls, calls * bytes)];
        let (warm, cool, _) = range(&rows, forms, "write pipe");
        (warm, cool)
    };
    assert_eq!(of(10, 4_096), (5_000.0, 25_000.0), "not 15,000");
}

#[test]
fn a_pipe_has_no_range_where_all_tasks_ran_on_one_cpu_or_an_end_has_no_price() {
    let cool_amount = |rows: Vec<Row>, other_cpu: u64, forks: Option<u64>| {
        let (records, catalog) = ([record(rows)], catalog());
        let events = KernelEvents {
            other_cpu,
            forks_to_other_cpu: forks,
            starts_on_other_cpu: Some(0),
            ..KernelEvents::default()
        };
        let forms = vec![form("write pipe", Some(4_096), 10, 40_960)];
        let calls = ProgramCalls { events: Some(events), ..calls(forms) };
        let prices = PriceList::new(&records, &catalog);
        let cool = CoolPrices::new(&records, &catalog, &prices, MIB);
        let mut found = charge(&calls, Faults::default(), &prices, 10_000.0);
        charge_cool(&mut found, &calls, &prices, &cool);
        let item = found.items.iter().find(|item| item.name == "write pipe").unwrap();
        item.cool_amount.as_ref().map(|amount| amount.ns.round())
    };
    assert_eq!(cool_amount(pipe_rows(), 0, Some(0)), None);
    for (other_cpu, forks) in [(1, Some(0)), (0, Some(1)), (0, None)] {
        assert_eq!(cool_amount(pipe_rows(), other_cpu, forks), Some(15_000.0));
    }
    for lacking in [ONE_CPU, TWO_CPUS] {
        let mut rows = pipe_rows();
        rows.retain(|row| !row.case.starts_with(lacking));
        assert_eq!(cool_amount(rows, 1, Some(1)), None, "without {lacking}");
    }
}

#[test]
fn both_ends_of_a_pipe_are_lacking_at_all_sizes_and_no_walk_is_asked_for() {
    let catalog = catalog();
    let forms = || vec![form("write pipe", Some(65_536), 1_000, 10_240_000)];
    let lacking = |rows: Vec<Row>, calls: &ProgramCalls| {
        let records = [record(rows)];
        let prices = PriceList::new(&records, &catalog);
        let found = lacking_prices(calls, Faults::default(), &prices, &prices, &catalog);
        let of_pipe = found.into_iter().filter(|it| it.selector.starts_with("pipe/"));
        of_pipe.map(|it| (it.selector, it.size_axis)).collect::<Vec<_>>()
    };
    let end = |selector: &str| (selector.to_owned(), Some("size".to_owned()));
    let counted = calls(forms());
    assert!(lacking(pipe_rows(), &counted).is_empty());
    let mut without = pipe_rows();
    without.retain(|row| !row.case.starts_with("pipe/cpu-time"));
    assert_eq!(lacking(without.clone(), &counted), [end(ONE_CPU), end(TWO_CPUS)]);
    let events = KernelEvents {
        forks_to_other_cpu: Some(0),
        starts_on_other_cpu: Some(0),
        ..KernelEvents::default()
    };
    let on_one_cpu = ProgramCalls { events: Some(events), ..calls(forms()) };
    assert!(lacking(without, &on_one_cpu).is_empty());
    let records = [record(pipe_rows())];
    let prices = PriceList::new(&records, &catalog);
    let found = charges_by(&records, forms());
    let cases = cases_to_cool(&found.items, MIB, &prices, &catalog, |_| false);
    assert_eq!(cases, Vec::<String>::new());
}
