//! An untrusted plan of a fleet: it is refused in one line, or each of its tasks has a node and a seed.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::fleet::{check_plan, is_treated_side, task_seed};
use oscost_model::fleet::FleetPlan;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    let Ok(plan) = serde_json::from_slice::<FleetPlan>(bytes) else { return };
    match check_plan(&plan) {
        Ok(()) => {
            assert_eq!(plan.tasks.len(), plan.nodes.len() * plan.visits as usize);
            for (number, task) in (0..).zip(&plan.tasks).take(10) {
                assert!((task.node as usize) < plan.nodes.len() && task.visit < plan.visits);
                assert!(task_seed(&plan, number) < 1 << 53);
            }
            let treated =
                (0..plan.nodes.len().min(10) as u32).filter(|&it| is_treated_side(&plan, it));
            assert!(treated.count() <= plan.nodes.len().div_ceil(2));
            let again = serde_json::to_vec(&plan).expect("a plan can be written");
            let read: FleetPlan = serde_json::from_slice(&again).expect("and read again");
            assert_eq!(read, plan);
        }
        Err(why) => assert!(!why.is_empty() && !why.contains(char::is_control), "{why:?}"),
    }
}
