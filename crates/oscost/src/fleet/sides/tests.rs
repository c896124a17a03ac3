use oscost_stats::random::standard_normal;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;

fn sides(node: usize, class: &str, case: usize, kind: MeasuredSides) -> NodeSides {
    NodeSides {
        node: format!("n{node}"),
        class: Arc::from(class),
        case: format!("syscall/case-{case:02}"),
        unit: Unit::NsPerOp,
        better: Better::Lower,
        kind,
    }
}

#[test]
fn a_node_with_many_visits_is_one_node() {
    let both = |node: usize, ratio: f64| {
        sides(node, "a", 0, MeasuredSides::Both { ratio, log_error: None })
    };
    let mut nodes: Vec<NodeSides> = (0..50).map(|_| both(0, 2.0)).collect();
    nodes.extend([both(1, 1.0), both(2, 1.0)]);
    let found = &compare_sides(&nodes)[0];
    assert_eq!(found.nodes, 3);
    assert!((found.ratio.unwrap() - 2f64.powf(1.0 / 3.0)).abs() < 1e-9, "{found:?}");
    assert_eq!(found.verdict, SideVerdict::Inconclusive);
    let alone = &compare_sides(&nodes[..50])[0];
    assert_eq!((alone.ratio, alone.p, alone.verdict), (None, 1.0, SideVerdict::Inconclusive));
}

#[test]
fn a_change_on_each_node_is_found_where_it_is_and_nowhere_else() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut nodes = Vec::new();
    for node in 0..30 {
        for case in 0..10 {
            let effect = if case == 4 { 1.08f64 } else { 1.0 };
            // One odd node decides nothing.
            let odd = if node == 7 { 3.0 } else { 1.0 };
            let ratio = effect * odd * (0.02 * standard_normal(&mut random)).exp();
            let kind = MeasuredSides::Both { ratio, log_error: Some(0.01) };
            nodes.push(sides(node, "a", case, kind));
        }
    }
    let found = compare_sides(&nodes);
    assert_eq!(found.len(), 10);
    for (case, it) in found.iter().enumerate() {
        let expected = if case == 4 { SideVerdict::Larger } else { SideVerdict::Equivalent };
        assert_eq!(it.verdict, expected, "{it:?}");
        assert_eq!(it.nodes, 30);
    }
}

#[test]
fn nodes_of_two_sides_are_compared_within_their_class() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(10);
    let (mut larger, mut wrong, mut held) = (0, 0, 0);
    for _ in 0..100 {
        let mut nodes = Vec::new();
        for node in 0..40 {
            // The slow class has the change three times as often as the fast one.
            let is_slow = node % 2 == 0;
            let is_new = if is_slow { node % 8 != 0 } else { node % 8 == 1 };
            for case in 0..2 {
                let class_factor = if is_slow { 2.0 } else { 1.0 };
                let effect = if is_new && case == 1 { 1.2 } else { 1.0 };
                let noise = (0.05 * standard_normal(&mut random)).exp();
                let median = 100.0 * class_factor * effect * noise;
                let kind = match is_new {
                    true => MeasuredSides::New { median },
                    false => MeasuredSides::Base { median },
                };
                nodes.push(sides(node, if is_slow { "slow" } else { "fast" }, case, kind));
            }
        }
        let found = compare_sides(&nodes);
        wrong +=
            usize::from(matches!(found[0].verdict, SideVerdict::Larger | SideVerdict::Smaller));
        larger += usize::from(found[1].verdict == SideVerdict::Larger);
        let [low, high] = found[1].ci95.unwrap();
        held += usize::from(low <= 1.2 && 1.2 <= high);
        assert_eq!(found[1].nodes, 40);
    }
    assert!(larger >= 90 && wrong <= 10 && held >= 88, "{larger} {wrong} {held}");
}
