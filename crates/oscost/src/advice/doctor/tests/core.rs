use oscost_model::record::{CoreConditions, CoreFigure};

use super::World;
use crate::advice::doctor::finding::{RuleResult, Weight};

/// A core whose workers were worse than its best in so many per cent, by this factor.
fn core(worse_pct: f64, worse_by: Option<f64>) -> World {
    let figure =
        |best: f64| CoreFigure { case: None, workers: 20, best, median: best, worse_pct, worse_by };
    World::quiet().but(|world| {
        world.core = Some(CoreConditions {
            ghz: Some(figure(3.2)),
            cpi_of_loop: None,
            cpi_of_kernel_op: Some(figure(1.41)),
        });
    })
}

#[test]
fn a_core_that_takes_more_cycles_for_the_same_work_has_a_neighbour() {
    let found = core(40.0, Some(1.4)).found("neighbours");
    assert_eq!(found.weight, Weight::Noise);
    assert!(found.condition.contains("in 40 % of 20 workers"), "{}", found.condition);
    assert!(
        found.condition.contains("1.4 times the cycles per instruction"),
        "{}",
        found.condition
    );
    assert!(core(19.0, Some(1.4)).passes("neighbours"));
    assert!(core(0.0, None).passes("neighbours"));
    let guest = core(40.0, Some(1.4)).but(|world| world.facts.virtualization = Some("kvm".into()));
    assert!(guest.found("neighbours").fix.unwrap().starts_with("none from inside"));
}

#[test]
fn a_clock_that_varies_is_noise_and_a_core_without_counters_has_no_rule() {
    let found = core(40.0, Some(1.4)).found("frequency");
    assert!(
        found.condition.contains("1.4 times lower than the best, 3.20 GHz"),
        "{}",
        found.condition
    );
    assert!(core(0.0, None).passes("frequency"));
    for rule in ["neighbours", "frequency"] {
        assert_eq!(World::quiet().result(rule), RuleResult::NotApplicable);
    }
}
