//! What Slurm and its users say: options with lists of nodes, and the jobs that squeue and sacct print
//! in JSON, where others have jobs too.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::app::fleet::{SlurmOptions, slurm_tasks_in};
use oscost::hosts::slurm::SlurmSpec;
use oscost_model::fleet::FleetPlan;

/// The plan whose jobs are looked for.
const PLAN: &[u8] = include_bytes!("../seeds/fleet_plan/simulated.json");

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check_options(text);
    }
    let plan: FleetPlan = serde_json::from_slice(PLAN).expect("the seed is a plan");
    match slurm_tasks_in(&plan, bytes, |_| true) {
        Ok(tasks) => {
            for (task, found) in &tasks {
                assert!((*task as usize) < plan.tasks.len());
                let texts = [&found.job, &found.state, &found.reason, &found.required];
                assert!(texts.iter().all(|text| is_one_short_line(text)), "{found:?}");
            }
        }
        Err(why) => assert!(is_one_short_line(&why), "{why:?}"),
    }
}

fn check_options(text: &str) {
    if let Ok(options) = SlurmOptions::parse(text) {
        assert!(SlurmOptions::are_of_any_node(&options.of_any_node()));
    }
    match SlurmSpec::parse(text) {
        Ok(_) => assert!(SlurmOptions::parse(text).is_ok()),
        Err(error) => {
            let is_control = |letter: char| letter.is_control() && letter != '\n';
            assert!(!error.to_string().contains(is_control), "{error}");
        }
    }
}

fn is_one_short_line(text: &str) -> bool {
    text.len() < 8_000 && !text.contains(char::is_control)
}
