//! What would change a bill, as a table.

use oscost_model::bill::{
    Alternative, Amount, MeasuredIncrease, MissingWhatIf, OtherPriceItem, OtherPrices, PriceRun,
    WhatIf, WhatIfItem,
};

use super::*;
use crate::report::view::export::sheet::Kind;

/// A bill that nothing would change yet.
fn bill() -> Bill {
    serde_json::from_str(include_str!("../../../../../tests/store/bill-1.json")).unwrap()
}

fn amount(ns: f64) -> Amount {
    Amount { ns, ci95: Some([0.5 * ns, 2.0 * ns]) }
}

fn run(id: &str) -> PriceRun {
    PriceRun { id: id.to_owned(), started: String::new() }
}

fn way(saving: Option<Amount>) -> Alternative {
    Alternative {
        item: "close file".to_owned(),
        times: 7.0,
        change: "by close_range(2)".to_owned(),
        condition: "if all are closed at once".to_owned(),
        from: "directory/open".to_owned(),
        instead: "descriptor/close-range".to_owned(),
        missing: saving.is_none().then(|| "no price".to_owned()),
        saving,
        is_whole_item: false,
        share_pct: None,
        unpriced: Vec::new(),
    }
}

fn what_if() -> WhatIf {
    let item = |name: &str, unit: Option<Amount>| WhatIfItem {
        name: name.to_owned(),
        times: 10.0,
        case: None,
        amount: unit.as_ref().map(|it| it.times(10.0)),
        missing: unit.is_none().then(|| "no added cost".to_owned()),
        unit,
        own_unit: None,
        cool_amount: None,
        is_estimate: false,
    };
    WhatIf {
        treatments: vec!["seccomp=docker".to_owned(), "nice=5".to_owned()],
        predicted_at: String::new(),
        runs: vec![run("one"), run("two")],
        predicted_system_ns: amount(1e3),
        predicted_real_ns: amount(2e3),
        warm_ns: Some(amount(1e3)),
        cool_ns: None,
        walk_bytes: None,
        estimated_ns: amount(0.0),
        unpriced_calls: 0.0,
        items: vec![item("getppid", Some(amount(100.0))), item("brk", None)],
        doubt: Some("few pairs".to_owned()),
        measured: Some(MeasuredIncrease {
            run: run("check"),
            pairs: 9,
            system_ns: amount(800.0),
            system_figure: "median".to_owned(),
            cpu_ns: Some(amount(900.0)),
            real_ns: None,
        }),
        not_measured: None,
        judged_by: "system".to_owned(),
        ratio: Some(1.25),
        judged: Some("within 25 % of the measured increase".to_owned()),
        check_to_judge_s: None,
    }
}

fn other_prices() -> OtherPrices {
    OtherPrices {
        run: run("there"),
        host: Some("ssh:db1".to_owned()),
        cpu: None,
        kernel: None,
        stale: vec!["the kernel was 6.1".to_owned()],
        here: amount(10.0),
        there: amount(30.0),
        ratio: Some(3.0),
        unpriced: 0.0,
        items: vec![OtherPriceItem {
            name: "getppid".to_owned(),
            times: 2.0,
            here: Some(amount(10.0)),
            there: Some(amount(30.0)),
            ratio: Some(3.0),
        }],
    }
}

/// A bill with each kind of change.
fn changed() -> Bill {
    let missing = MissingWhatIf { change: "ph".to_owned(), reason: "no root".to_owned() };
    Bill {
        alternatives: vec![way(Some(amount(2e6))), way(None)],
        what_if: vec![what_if()],
        other_prices: vec![other_prices()],
        missing_what_if: vec![missing],
        ..bill()
    }
}

/// The values of a column, from the first line on.
fn column<'a>(sheet: &'a ChangeSheet<'_>, name: &str) -> Vec<Value<'a>> {
    let at = headings().position(|heading| heading.name == name).unwrap();
    (0..sheet.line_count()).map(|line| sheet.cell(line, at)).collect()
}

#[test]
fn each_part_of_a_change_is_a_line() {
    let bill = changed();
    let sheet = ChangeSheet::of(&bill);
    let kinds = [
        "alternative",
        "alternative",
        "what-if",
        "what-if",
        "predicted-system",
        "predicted-real",
        "predicted-warm",
        "measured-system",
        "measured-cpu",
        "other-price",
        "other-prices",
        "no-answer",
    ];
    assert_eq!(column(&sheet, "kind"), kinds.map(Value::from));
    let unknown = || Value::Unknown;
    let number = Value::Float;
    let added = [-2e6, 0.0, 1e3, 0.0, 1e3, 2e3, 1e3, 800.0, 900.0].map(number);
    let found = column(&sheet, "added_ns");
    for (at, expected) in added.into_iter().enumerate() {
        // Two have no figure.
        assert_eq!(found[at], if [1, 3].contains(&at) { unknown() } else { expected }, "{at}");
    }
    assert_eq!(found[9..], [unknown(), unknown(), unknown()]);
    // A saving of 1 to 4 ms is an increase from -4 to -1 ms.
    assert_eq!(column(&sheet, "added_ci95_low_ns")[0], number(-4e6));
    assert_eq!(column(&sheet, "added_ci95_high_ns")[0], number(-1e6));
    // Of the 10 ms that the program spends in the kernel.
    assert_eq!(column(&sheet, "added_pct")[0], number(-20.0));
    assert_eq!(column(&sheet, "change")[2], "seccomp=docker+nice=5".into());
    assert_eq!(column(&sheet, "change")[9], "at=ssh:db1".into());
    assert_eq!(
        column(&sheet, "runs")[6..10],
        ["one two", "check", "check", "there"].map(Value::from)
    );
    assert_eq!(column(&sheet, "ratio")[4..6], [number(1.25), unknown()]);
    let judged = column(&sheet, "judged");
    assert_eq!((&judged[5], &judged[6]), (&unknown(), &unknown()));
    assert!(matches!(&judged[4], Value::Text(text) if text.starts_with("within 25 %")));
    assert_eq!(column(&sheet, "there_ns")[9..11], [number(30.0), number(30.0)]);
    let missing = [1, 3, 11].map(|line| column(&sheet, "missing").swap_remove(line));
    assert_eq!(missing, ["no price", "no added cost", "no root"].map(Value::from));
}

#[test]
fn values_are_of_the_type_of_their_column_and_only_what_may_be_empty_is() {
    let bill = changed();
    let sheet = ChangeSheet::of(&bill);
    for line in 0..sheet.line_count() {
        for (column, heading) in headings().enumerate() {
            let is_of_kind = match sheet.cell(line, column) {
                Value::Unknown => heading.unknown.is_some(),
                Value::Text(_) => heading.kind == Kind::Text,
                Value::Float(_) => heading.kind == Kind::Float,
                Value::Integer(_) => heading.kind == Kind::Integer,
                Value::Boolean(_) => heading.kind == Kind::Boolean,
            };
            assert!(is_of_kind, "line {line} has another value of `{}`", heading.name);
        }
    }
    assert!(crate::report::csv(&sheet).is_ok() && crate::report::parquet(&sheet).is_ok());
}

#[test]
fn a_bill_without_changes_is_a_table_without_lines() {
    let bill = bill();
    let sheet = ChangeSheet::of(&bill);
    assert_eq!(sheet.line_count(), 0);
    let csv = String::from_utf8(crate::report::csv(&sheet).unwrap()).unwrap();
    assert!(csv.starts_with("kind,bill,started,"), "{csv}");
    assert!(crate::report::parquet(&sheet).is_ok());
}
