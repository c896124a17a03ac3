//! What the check finds, on types like all those of a record.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

fn no_bell(key: &str, text: &str) -> Result<(), String> {
    if text.contains('\u{7}') { Err(format!("rings, under `{key}`")) } else { Ok(()) }
}

#[derive(Serialize)]
struct Outer {
    inner: Vec<Inner>,
    pair: Option<[f64; 2]>,
    by_name: BTreeMap<String, String>,
}

#[derive(Serialize)]
enum Inner {
    Named { text: String },
    Alone(f64),
}

fn good() -> Outer {
    Outer {
        inner: vec![Inner::Alone(1.0), Inner::Named { text: "a".into() }],
        pair: Some([1.0, 2.0]),
        by_name: BTreeMap::from([("a".into(), "b".into())]),
    }
}

fn fault(at: &str, why: &str) -> Result<(), Fault> {
    Err(Fault { at: at.into(), why: why.into() })
}

#[test]
fn a_valid_value_passes() {
    assert_eq!(inspect(&good(), no_bell), Ok(()));
    assert_eq!(inspect(&json!({"a": [1, 2.5, null, "b", {"c": true}]}), no_bell), Ok(()));
}

#[test]
fn a_number_that_is_not_finite_is_named() {
    for (number, why) in [(f64::NAN, "is NaN"), (f64::NEG_INFINITY, "is -inf")] {
        let wrong = Outer { pair: Some([0.0, number]), ..good() };
        assert_eq!(inspect(&wrong, any_text), fault("pair[1]", why));
        let wrong = Outer { inner: vec![Inner::Alone(number)], ..good() };
        assert_eq!(inspect(&wrong, any_text), fault("inner[0]", why));
    }
}

#[test]
fn an_interval_that_ends_before_it_begins_is_found_at_any_depth() {
    #[derive(Serialize)]
    struct With {
        ci95: Option<[f64; 2]>,
    }
    let nested = |ci95| [BTreeMap::from([("metric", With { ci95 })])];
    for fine in [None, Some([1.0, 1.0]), Some([-2.0, -1.0])] {
        assert_eq!(inspect(&nested(fine), any_text), Ok(()));
    }
    let wrong = inspect(&nested(Some([2.0, 1.0])), any_text);
    assert_eq!(wrong, fault("[0]{}.ci95[1]", "is 1, below 2 where it begins"));
}

#[test]
fn every_text_and_every_map_key_is_checked_by_the_rule() {
    let bell = || "\u{7}".to_owned();
    let wrong = Outer { inner: vec![Inner::Named { text: bell() }], ..good() };
    assert_eq!(inspect(&wrong, no_bell), fault("inner[0].text", "rings, under `text`"));
    assert_eq!(inspect(&wrong, any_text), Ok(()));
    for (key, value) in [(bell(), "b".to_owned()), ("a".to_owned(), bell())] {
        let wrong = Outer { by_name: BTreeMap::from([(key, value)]), ..good() };
        assert_eq!(inspect(&wrong, no_bell), fault("by_name{}", "rings, under `by_name`"));
    }
}
