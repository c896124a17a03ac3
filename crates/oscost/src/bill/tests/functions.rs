//! What a function around each call adds, where the cost of both loops is known.

use oscost_model::bill::{Amount, BillItem};

use super::*;

/// A row of a case under a treatment.
fn under(case: &str, treatment: &str, ns: f64) -> Row {
    let mut row = row(case, ns);
    row.target.treatments = vec![treatment.to_owned()];
    row.class = Some("light".to_owned());
    row
}

/// Both rows of a case: through a function it takes so many ns more.
fn pair(case: &str, ns: f64, added: f64) -> [Row; 2] {
    [under(case, "call=inline", ns), under(case, "call=function", ns + added)]
}

/// A case with its price and its pair.
fn with_pair(case: &str, ns: f64, added: f64) -> Vec<Row> {
    let mut rows = vec![row(case, ns)];
    rows.extend(pair(case, ns, added));
    rows
}

fn charges_by(records: &[Record], forms: Vec<FormCount>) -> Charges {
    let (catalog, calls) = (catalog(), calls(forms));
    let prices = PriceList::new(records, &catalog);
    let cool = CoolPrices::new(records, &catalog, &prices, 1 << 20);
    let functions = FunctionPrices::new(records, &catalog, &prices);
    let mut charges = charge(&calls, Faults::default(), &prices, 10_000.0);
    charge_cool(&mut charges, &calls, &prices, &cool);
    charge_functions(&mut charges, &calls, &prices, &functions, 10_000.0);
    charges
}

fn charges_of(rows: Vec<Row>, forms: Vec<FormCount>) -> Charges {
    charges_by(&[record(rows)], forms)
}

fn item<'a>(charges: &'a Charges, name: &str) -> &'a BillItem {
    charges.items.iter().find(|item| item.name == name).unwrap()
}

fn source<'a>(charges: &'a Charges, name: &str) -> Option<&'a str> {
    item(charges, name).function_source.as_deref()
}

fn rounded(amount: &Option<Amount>) -> Option<f64> {
    amount.as_ref().map(|amount| amount.ns.round())
}

#[test]
fn what_a_function_adds_is_in_the_price_and_in_all_sums() {
    let mut rows = with_pair("syscall/getppid:via=raw", 100.0, 50.0);
    rows.push(row("syscall/getuid", 140.0));
    let forms = || vec![form("getppid", None, 10, 0), form("getuid", None, 10, 0)];
    let found = charges_of(rows, forms());
    assert_eq!(amount(&found, "getppid"), Some(1_500.0));
    assert_eq!(source(&found, "getppid"), Some("call=function"));
    let getppid = item(&found, "getppid");
    assert_eq!(rounded(&getppid.function_added), Some(500.0));
    assert_eq!(rounded(&getppid.unit), Some(150.0));
    assert_eq!(getppid.share_pct.map(f64::round), Some(15.0));
    // Ten times the interval of the loop through the function.
    let ci95 = getppid.amount.as_ref().and_then(|amount| amount.ci95);
    assert_eq!(ci95.map(|ends| ends.map(f64::round)), Some([1_350.0, 1_650.0]));
    // Its loop is of another benchmark, of which none is known to have raw calls.
    assert_eq!((amount(&found, "getuid"), source(&found, "getuid")), (Some(1_400.0), None));
    assert_eq!(found.charged.ns.round(), 2_900.0);
    let order: Vec<&str> = found.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(order, ["getppid", "getuid"]);
    assert_eq!(found.charged_cool, None);
}

#[test]
fn the_loop_through_the_function_is_charged_whatever_states_the_inlined_loops_were_in() {
    let case = "syscall/getppid:via=raw";
    for (price, inlined) in [(100.0, 145.0), (145.0, 100.0), (160.0, 100.0)] {
        let mut rows = vec![row(case, price)];
        rows.extend(pair(case, inlined, 150.0 - inlined));
        let found = charges_of(rows, vec![form("getppid", None, 10, 0)]);
        assert_eq!(amount(&found, "getppid"), Some(1_500.0), "{price} and {inlined}");
        let added = rounded(&item(&found, "getppid").function_added);
        assert_eq!(added, Some(10.0 * (150.0 - price)), "also below zero");
    }
}

#[test]
fn the_walk_comes_on_top_of_the_function() {
    let case = "syscall/getppid:via=raw";
    let mut rows = with_pair(case, 100.0, 50.0);
    rows.extend([under(case, "cool=0", 150.0), under(case, "cool=1M", 250.0)]);
    let found = charges_of(rows, vec![form("getppid", None, 10, 0)]);
    let getppid = item(&found, "getppid");
    assert_eq!(
        (rounded(&getppid.amount), rounded(&getppid.cool_amount)),
        (Some(1_500.0), Some(2_500.0))
    );
    assert_eq!(rounded(&getppid.cool_price), Some(250.0));
    assert_eq!(rounded(&found.charged_cool), Some(2_500.0));
    assert_eq!(getppid.cool_source.as_deref(), Some("cool=1M"));
}

#[test]
fn both_calls_of_a_pair_pay_their_part_and_a_price_is_less_what_is_subtracted() {
    let rows = with_pair("directory/open:by=openat", 1_000.0, 600.0);
    let forms = vec![form("openat file", None, 1, 0), form("close file", None, 1, 0)];
    let found = charges_of(rows, forms);
    assert_eq!(["openat file", "close file"].map(|name| amount(&found, name)), [Some(800.0); 2]);
    let (listing, seek) = ("directory/getdents:files=100", "syscall/lseek");
    let mut rows = with_pair(listing, 20_000.0, 300.0);
    rows.push(row(seek, 100.0));
    let forms = || vec![form("getdents64 directory", Some(4_096), 1, 3_200)];
    // Of the subtracted one it is not known what the function adds.
    let without = charges_of(rows.clone(), forms());
    assert_ne!(source(&without, "getdents64 directory"), Some("call=function"));
    rows.extend(pair(seek, 100.0, 60.0));
    let all = charges_of(rows, forms());
    assert_eq!(source(&all, "getdents64 directory"), Some("call=function"));
}

#[test]
fn another_size_of_a_benchmark_pays_the_ratio_and_a_longer_op_its_price() {
    let at = |size: u64| format!("file/read:via=read,size={size}");
    let mut rows = with_pair(&at(4_096), 400.0, 100.0);
    rows.push(row(&at(65_536), 2_000.0));
    let forms = || vec![form("read file", Some(65_536), 2, 2 * 65_536)];
    let longer = charges_of(rows.clone(), forms());
    assert_eq!((amount(&longer, "read file"), source(&longer, "read file")), (Some(4_000.0), None));
    rows.extend(with_pair("directory/getdents:files=100", 15_000.0, 750.0));
    let found = charges_of(rows, forms());
    // The middle of 1.25 and 1.05.
    assert_eq!(amount(&found, "read file"), Some(4_600.0));
    assert_eq!(source(&found, "read file"), Some("the ratio of 2 other calls, 1.15"));
    let mut by_library = with_pair("syscall/getppid:via=raw", 100.0, 50.0);
    by_library[0] = row("syscall/getppid:via=libc", 150.0);
    let found = charges_of(by_library, vec![form("getppid", None, 1, 0)]);
    assert_eq!(amount(&found, "getppid"), Some(150.0), "the library has its own function");
}

#[test]
fn rows_of_different_runs_are_no_pair() {
    let case = "syscall/getppid:via=raw";
    let one = record(vec![row(case, 100.0), under(case, "call=function", 150.0)]);
    let other = record(vec![under(case, "call=inline", 100.0)]);
    let found = charges_by(&[one, other], vec![form("getppid", None, 1, 0)]);
    assert_eq!((amount(&found, "getppid"), source(&found, "getppid")), (Some(100.0), None));
}

#[test]
fn the_cases_to_call_are_those_of_calls_that_are_not_measured() {
    let mut rows = with_pair("syscall/getuid:via=raw", 100.0, 50.0);
    rows.extend([
        row("directory/open:by=openat", 1_000.0),
        row("fault/zero-fill:access=write,pages=4k", 500.0),
        row("process/fork-exec:link=static", 900_000.0),
    ]);
    let forms = vec![
        form("getuid", None, 1, 0),
        form("openat file", None, 1, 0),
        form("execve", None, 1, 0),
    ];
    let (catalog, calls) = (catalog(), calls(forms));
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog);
    let functions = FunctionPrices::new([&record], &catalog, &prices);
    let faults = Faults { minor: 1.0, major: 0.0 };
    let mut charges = charge(&calls, faults, &prices, 10_000.0);
    charge_functions(&mut charges, &calls, &prices, &functions, 10_000.0);
    let cases =
        |refused: &str| cases_to_call(&charges.items, &catalog, |selector| selector == refused);
    assert_eq!(cases(""), ["directory/open:by=openat"]);
    assert_eq!(cases("directory/open:by=openat"), Vec::<String>::new());
}
