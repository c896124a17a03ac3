//! A line that the tool reads, perhaps from another machine: an event that it accepts must read as
//! the same event after it was written again. And the supervisor, which forwards a worker's lines by
//! their heads, must assign it to the same job.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost_model::protocol::{Event, EventHead};

fuzz_target!(|line: &[u8]| in_time(line.len(), || check(line)));

fn check(line: &[u8]) {
    if let Ok(event) = serde_json::from_slice::<Event>(line) {
        let again = serde_json::to_vec(&event).expect("an event can be written");
        assert_eq!(serde_json::from_slice::<Event>(&again).expect("and read again"), event);
        let head = serde_json::from_slice::<EventHead>(line).ok().map(|head| head.id);
        let from_worker = !matches!(event, Event::Hello(_));
        assert_eq!(head, event.id().filter(|_| from_worker));
    }
}
