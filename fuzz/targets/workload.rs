//! An untrusted workload file: it is refused in one message that names one of its lines, or everything
//! in it is within bounds and can be resolved for a machine; its patterns read any output.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::workloads::{RunEnvironment, figures, parse};
use oscost_model::program::ProgramResult;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    match parse(bytes, "stem") {
        Ok(spec) => {
            assert!(!spec.command.is_empty() && spec.command.len() <= 1_024);
            assert!(spec.min_trials <= spec.trials && spec.quick_trials <= spec.trials);
            assert!(!spec.asks.contains(char::is_control));
            let definition = spec.definition();
            let point = spec.default_point();
            assert!(definition.is_complete(&point), "{point}");
            let environment = RunEnvironment {
                cpus: 2,
                start_folder: "/start".into(),
                cache: "/no/such/cache".into(),
                quick: false,
                skip_checks: true,
            };
            match spec.workload(&point, &environment) {
                Ok(workload) => {
                    assert!(!workload.program.command.is_empty());
                    let output = String::from_utf8_lossy(bytes).into_owned();
                    let result = ProgramResult { real_ns: 1, output, ..ProgramResult::default() };
                    if let Ok(found) = figures(&workload, &result, Some(1)) {
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
}
