//! Text that a user types: targets, cases, values and estimates, each read back as it is printed.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::studies::figures::prediction::Estimate;
use oscost_model::case::Case;
use oscost_model::point::Value;
use oscost_model::target::Target;

fuzz_target!(|text: &str| in_time(text.len(), || check(text)));

/// A hint is on a line of its own.
fn is_control(letter: char) -> bool {
    letter.is_control() && letter != '\n'
}

fn check(text: &str) {
    match Target::parse(text) {
        Ok(target) => assert_eq!(Target::parse(&target.to_string()), Ok(target)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(case) = Case::parse(text) {
        assert_eq!(Case::parse(&case.to_string()), Some(case));
    }
    match Estimate::parse(text) {
        Ok(estimate) => assert_eq!(Estimate::parse(&estimate.to_string()), Ok(estimate)),
        Err(why) => assert!(why.len() < 400 && !why.contains(is_control), "{why:?}"),
    }
    let value = Value::parse(text);
    assert_eq!(Value::parse(&value.to_string()), value);
}
