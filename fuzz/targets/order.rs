//! A line that the supervisor reads: an order that it accepts must read as the same order after it
//! was written again.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost_model::protocol::Order;

fuzz_target!(|line: &[u8]| in_time(line.len(), || check(line)));

fn check(line: &[u8]) {
    if let Ok(order) = serde_json::from_slice::<Order>(line) {
        let again = serde_json::to_vec(&order).expect("an order can be written");
        assert_eq!(serde_json::from_slice::<Order>(&again).expect("and read again"), order);
    }
}
