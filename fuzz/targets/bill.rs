//! An untrusted bill: it is refused, or it reads as the same bill after it was written again.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::store::validate_bill;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    match validate_bill(bytes) {
        Ok(bill) => {
            let again = serde_json::to_vec(&bill).expect("a bill can be written");
            assert_eq!(validate_bill(&again).expect("and read again"), bill);
            assert!(bill.items.iter().all(|item| item.times >= 0.0), "bars rely on it");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.len() < 2_000 && !text.contains(char::is_control), "{text:?}");
        }
    }
}
