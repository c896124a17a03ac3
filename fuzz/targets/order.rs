//! A line that the supervisor reads: an order that it accepts must read as the same order after it
//! was written again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost_model::protocol::Order;

fuzz_target!(|line: &[u8]| {
    if let Ok(order) = serde_json::from_slice::<Order>(line) {
        let again = serde_json::to_vec(&order).expect("an order can be written");
        assert_eq!(serde_json::from_slice::<Order>(&again).expect("and read again"), order);
    }
});
