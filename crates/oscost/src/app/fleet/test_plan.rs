//! A plan for tests.

use oscost_model::fleet::{FleetLauncher, FleetMeasurement, FleetPlan, FleetSides};

use crate::fleet::PlanRequest;

/// A plan of nodes `n1`, `n2`, ... with one seed.
pub(crate) fn plan(nodes: usize, visits: u32, launcher: FleetLauncher) -> FleetPlan {
    let request = PlanRequest {
        id: "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b".to_owned(),
        fleet: "lab".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 1,
        measurement: FleetMeasurement {
            selectors: vec!["syscall/getppid".to_owned()],
            effort: "quick".to_owned(),
            budget_s: None,
            treatments: None,
            sides: FleetSides::Alone,
            respects_lock: false,
        },
        launcher,
        nodes: (1..=nodes).map(|node| format!("n{node}")).collect(),
        visits,
        apart_s: 0.0,
        at_once: Some(2),
        task_s: 30.0,
    };
    request.plan().unwrap()
}
