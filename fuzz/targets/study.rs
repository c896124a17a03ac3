//! An untrusted study file: it is refused in one message that names one of its lines, or everything
//! in it is within bounds.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::studies::parser::parse;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    match parse(bytes) {
        Ok(study) => {
            let rows: Vec<_> = study.tables.iter().flat_map(|table| &table.rows).collect();
            assert!(!rows.is_empty() && rows.len() <= 200);
            for row in rows {
                assert!(!row.name.is_empty() && !row.name.contains(char::is_control));
                for printed in row.published.iter().flatten() {
                    assert!(printed.low > 0.0 && printed.text.len() <= 24);
                }
            }
            for claim in &study.claims {
                assert!(claim.cases.iter().all(|case| study.row(case).is_some()));
            }
        }
        Err(refusal) => {
            let words = refusal.to_string();
            assert!(words.len() < 2_000 && !words.contains(char::is_control), "{words:?}");
            let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
            assert!((1..=lines).contains(&refusal.line), "{words}");
        }
    }
}
