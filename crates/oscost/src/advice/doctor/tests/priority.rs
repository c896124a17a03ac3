//! Rules on how the scheduler ranks workers.

use super::*;

fn scheduled(policy: &str, nice: i32, weights: &[u64]) -> World {
    World::quiet().but(|world| {
        let scheduling = &mut world.facts.scheduling;
        scheduling.policy = Some(policy.to_owned());
        scheduling.nice = Some(nice);
        scheduling.cgroup_cpu_weights = Some(weights.to_vec());
    })
}

#[test]
fn an_ordinary_task_with_usual_weights_passes() {
    assert!(scheduled("other", 0, &[]).passes("priority"));
    assert!(scheduled("other", 0, &[100, 100]).passes("priority"));
    let unknown = World::quiet().but(|world| world.facts.scheduling.nice = None);
    assert!(unknown.is_unknown("priority"));
    // Old records have no weights.
    let without = World::quiet().but(|world| world.facts.scheduling.cgroup_cpu_weights = None);
    assert!(without.passes("priority"));
}

#[test]
fn nice_values_policies_and_weights_are_found_with_their_values() {
    let weight = |policy: &str, nice: i32| scheduled(policy, nice, &[]).weight("priority");
    assert_eq!(weight("other", 1), Some(Weight::Noise));
    assert_eq!(weight("other", -1), Some(Weight::Note));
    for policy in ["batch", "idle", "fifo", "rr", "deadline"] {
        assert_eq!(weight(policy, 0), Some(Weight::Biases), "{policy}");
    }
    let found = scheduled("idle", 19, &[100, 20]).found("priority");
    let told = "workers inherit the scheduling policy `idle`, the nice value 19 and the CPU weight \
                20 of control groups";
    assert_eq!(found.condition, told);
    let found = scheduled("other", 0, &[0, 20]).found("priority");
    assert!(found.condition.ends_with("the CPU weights 0, 20 of control groups"), "{found:?}");
    assert_eq!(found.weight, Weight::Noise);
}
