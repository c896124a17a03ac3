//! An untrusted profile of pH: it is refused in one line, or writing it again gives the same bytes.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::ph::profiles::profile_file::{Refusal, read, read_all, with_hash, write, write_all};

fn check_message(refusal: &Refusal) {
    let words = refusal.to_string();
    assert!(words.len() < 400 && !words.contains(char::is_control), "{words:?}");
    assert!(refusal.line > 0, "{words}");
}

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    match read_all(bytes) {
        Ok(profiles) => assert_eq!(write_all(&profiles).unwrap_or_default().as_bytes(), bytes),
        Err(refusal) => check_message(&refusal),
    }
    match read(bytes) {
        Ok(profile) => assert_eq!(write(&profile).as_bytes(), bytes),
        Err(refusal) => check_message(&refusal),
    }
    // Random bytes never have the right checksum in the last line: add it.
    let Ok(text) = str::from_utf8(bytes) else { return };
    let body = text.rsplit_once("end ").map_or(text, |(body, _)| body);
    let text = with_hash(body.to_owned());
    match read(text.as_bytes()) {
        Ok(profile) => assert_eq!(write(&profile), text),
        Err(refusal) => check_message(&refusal),
    }
}
