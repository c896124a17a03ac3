//! Requests to the HTTP server of `event/server`. Whatever bytes come, no more of them are taken than
//! there are, too many are not waited for, and what is answered is an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost_worker::benchmarks::event::server::http::{MOST_HEAD, first};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Some(request) = first(rest) {
        assert!(request.bytes > 0 && request.bytes <= rest.len());
        assert!(request.answer().starts_with(b"HTTP/1.1 "));
        rest = &rest[request.bytes..];
    }
    assert!(rest.len() < MOST_HEAD);
});
