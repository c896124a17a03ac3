//! What a user types: places, cases and values read back from how they are shown.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost_model::case::Case;
use oscost_model::place::Place;
use oscost_model::point::Value;

fuzz_target!(|text: &str| {
    match Place::parse(text) {
        Ok(place) => assert_eq!(Place::parse(&place.to_string()), Ok(place)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(case) = Case::parse(text) {
        assert_eq!(Case::parse(&case.to_string()), Some(case));
    }
    let value = Value::parse(text);
    assert_eq!(Value::parse(&value.to_string()), value);
});
