//! Requests to the HTTP server of `event/server`: for any input the parser consumes no more bytes than
//! it was given, never waits for more than the limit, and produces a valid answer.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost_worker::benchmarks::event::server::http::{MAX_HEAD_BYTES, parse_first};

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    let mut rest = bytes;
    while let Some(request) = parse_first(rest) {
        assert!(request.bytes > 0 && request.bytes <= rest.len());
        assert!(request.answer().starts_with(b"HTTP/1.1 "));
        rest = &rest[request.bytes..];
    }
    assert!(rest.len() < MAX_HEAD_BYTES);
}
