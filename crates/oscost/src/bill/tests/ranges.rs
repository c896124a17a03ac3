//! Calls of which no counter tells what makes them expensive: the cool end is that of another case.

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
