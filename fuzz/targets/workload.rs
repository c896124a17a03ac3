//! An untrusted workload file: it is refused in one message that names one of its lines, or everything
//! in it is within bounds and can be resolved for a machine; its patterns read any output.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oscost::workloads::{Here, figures, parse};
use oscost_model::program::Ran;

fuzz_target!(|bytes: &[u8]| {
    match parse(bytes, "stem") {
        Ok(spec) => {
            assert!(!spec.command.is_empty() && spec.command.len() <= 1_024);
            assert!(spec.least <= spec.trials && spec.quick <= spec.trials);
            assert!(!spec.asks.contains(char::is_control));
            let definition = spec.definition();
            let point = spec.usual();
            assert!(definition.is_complete(&point), "{point}");
            let here = Here {
                cpus: 2,
                folder: "/here".into(),
                cache: "/no/such/cache".into(),
                quick: false,
            };
            match spec.workload(&point, &here) {
                Ok(workload) => {
                    assert!(!workload.program.command.is_empty());
                    let output = String::from_utf8_lossy(bytes).into_owned();
                    let ran = Ran { real_ns: 1, output, ..Ran::default() };
                    if let Ok(found) = figures(&workload, &ran, Some(1)) {
                        assert!(found.values().all(|value| value.is_finite()));
                    }
                }
                Err(missing) => assert!(!missing.to_string().contains(char::is_control)),
            }
        }
        Err(refusal) => {
            let words = refusal.to_string();
            assert!(words.len() < 4_000 && !words.contains(char::is_control), "{words:?}");
            let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
            assert!((1..=lines).contains(&refusal.line), "{words}");
        }
    }
});
