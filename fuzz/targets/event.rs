//! A line that the tool reads, perhaps from another machine: what it takes for an event, it must
//! take for the same event when that is written again. And the supervisor, which passes on by their
//! heads the lines that a worker may say, must take it for one about the same job.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost_model::protocol::{Event, EventHead};

fuzz_target!(|line: &[u8]| {
    if let Ok(event) = serde_json::from_slice::<Event>(line) {
        let again = serde_json::to_vec(&event).expect("an event can be written");
        assert_eq!(serde_json::from_slice::<Event>(&again).expect("and read again"), event);
        let head = serde_json::from_slice::<EventHead>(line).ok().map(|head| head.id);
        let worker_says_it = !matches!(event, Event::Hello(_) | Event::TimedOut { .. });
        assert_eq!(head, event.id().filter(|_| worker_says_it));
    }
});
