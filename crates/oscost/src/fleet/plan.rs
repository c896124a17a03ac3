//! The plan of a fleet: which node is measured when.
//!
//! Nodes are visited in blocks: each block visits every node once, in an order of its own, so that a
//! node is measured at other places of a block, and at other hours, each time. What a node costs is
//! then not what its hour costs.

use oscost_model::fleet::{
    FLEET_SCHEMA, FleetLauncher, FleetMeasurement, FleetPlan, FleetTask, MAX_FLEET_NAME_BYTES,
    MAX_TASKS, is_fleet_name, is_node_name,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The maximum number of visits of a node.
pub const MAX_VISITS: u32 = 1_000;
/// The longest time between two visits, in seconds: 90 days.
const MAX_APART_S: f64 = 90.0 * 86_400.0;
/// Separates the lot of the sides from the orders of the blocks, which have the same seed.
const LOT_OF_SIDES: u64 = 0x5349_4445_5300_0001;

/// What a plan is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRequest {
    /// A UUID, version 7.
    pub id: String,
    /// The name of the fleet.
    pub fleet: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// The version of the tool.
    pub tool: String,
    /// The seed of the order.
    pub seed: u64,
    /// What each task measures.
    pub measurement: FleetMeasurement,
    /// How nodes are reached.
    pub launcher: FleetLauncher,
    /// The nodes.
    pub nodes: Vec<String>,
    /// How often each is visited.
    pub visits: u32,
    /// The least time between the planned beginnings of two visits of one node, in seconds.
    pub apart_s: f64,
    /// The maximum number of tasks at one time.
    pub at_once: Option<u32>,
    /// How long a task is expected to take, in seconds.
    pub task_s: f64,
}

impl PlanRequest {
    /// The plan: `visits` blocks, each with all nodes in an order of its own.
    ///
    /// A block begins `apart_s` after the one before it is expected to have begun its last task: a node
    /// that was the last in one block may be the first of the next.
    pub fn plan(self) -> Result<FleetPlan, String> {
        let mut order = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let count = self.nodes.len();
        let turns = self.at_once.map_or(0, |at_once| {
            count.div_ceil(usize::try_from(at_once.max(1)).unwrap_or(usize::MAX)).saturating_sub(1)
        });
        let block_s = self.apart_s + turns as f64 * self.task_s;
        let mut tasks = Vec::new();
        if count.saturating_mul(self.visits as usize) <= MAX_TASKS {
            for visit in 0..self.visits {
                let mut nodes: Vec<u32> = (0..).take(count).collect();
                shuffle(&mut order, &mut nodes);
                let begin_s = f64::from(visit) * block_s;
                tasks.extend(nodes.into_iter().map(|node| FleetTask { node, visit, begin_s }));
            }
        }
        let plan = FleetPlan {
            schema: FLEET_SCHEMA.to_owned(),
            id: self.id,
            fleet: self.fleet,
            created: self.created,
            tool: self.tool,
            seed: self.seed,
            measurement: self.measurement,
            launcher: self.launcher,
            nodes: self.nodes,
            visits: self.visits,
            apart_s: self.apart_s,
            at_once: self.at_once,
            tasks,
        };
        check_plan(&plan).map(|()| plan)
    }
}

/// Whether the node with this index has the treatments, where each node is measured on one side: half
/// of the nodes by lot.
pub fn is_treated_side(plan: &FleetPlan, node: u32) -> bool {
    let mut nodes: Vec<u32> = (0..).take(plan.nodes.len()).collect();
    shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(plan.seed ^ LOT_OF_SIDES), &mut nodes);
    nodes.iter().take(plan.nodes.len().div_ceil(2)).any(|&treated| treated == node)
}

/// The seed of a task, within the 53 bits that every reader of JSON keeps.
pub fn task_seed(plan: &FleetPlan, task: u32) -> u64 {
    Xoshiro256PlusPlus::seed_from_u64(plan.seed.rotate_left(32) ^ u64::from(task)).next_u64()
        & ((1 << 53) - 1)
}

/// Checks a plan that was read, or that was made of what a user typed; the error is the reason.
pub fn check_plan(plan: &FleetPlan) -> Result<(), String> {
    if plan.schema != FLEET_SCHEMA {
        return Err(format!("its schema is not {FLEET_SCHEMA}"));
    }
    if !is_fleet_name(&plan.fleet) {
        return Err(format!(
            "`{}` is not a name of a fleet: up to {MAX_FLEET_NAME_BYTES} letters, digits and `_.-`, \
             the first one a letter or a digit",
            plan.fleet.escape_debug()
        ));
    }
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if plan.id.len() != 36 || !plan.id.bytes().all(is_id) {
        return Err("its id is not a UUID".to_owned());
    }
    if plan.nodes.is_empty() {
        return Err("it has no node".to_owned());
    }
    if let Some(name) = plan.nodes.iter().find(|name| !is_node_name(name)) {
        return Err(format!(
            "`{}` is not a name of a node: letters, digits and `-_.@:`",
            name.escape_debug()
        ));
    }
    let mut names: Vec<&String> = plan.nodes.iter().collect();
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("node `{}` is there twice", pair[0]));
    }
    if !(1..=MAX_VISITS).contains(&plan.visits) {
        return Err(format!("each node is visited 1 to {MAX_VISITS} times"));
    }
    if !(0.0..=MAX_APART_S).contains(&plan.apart_s) {
        return Err("two visits are 0 s to 90 days apart".to_owned());
    }
    check_tasks(plan)
}

fn check_tasks(plan: &FleetPlan) -> Result<(), String> {
    let count = plan.nodes.len().saturating_mul(plan.visits as usize);
    if count > MAX_TASKS {
        return Err(format!("{count} visits: a plan has at most {MAX_TASKS}"));
    }
    let mut visited = vec![false; count];
    for task in &plan.tasks {
        let at = (task.visit as usize)
            .checked_mul(plan.nodes.len())
            .and_then(|block| block.checked_add(task.node as usize))
            .filter(|_| (task.node as usize) < plan.nodes.len());
        match at.and_then(|at| visited.get_mut(at)) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err("its tasks are not one for each visit of each node".to_owned()),
        }
        if !(task.begin_s.is_finite() && task.begin_s >= 0.0) {
            return Err("a task has no valid beginning".to_owned());
        }
    }
    match visited.iter().all(|&seen| seen) {
        true => Ok(()),
        false => Err("its tasks are not one for each visit of each node".to_owned()),
    }
}

/// Fisher and Yates, by the generator of which a seed is recorded.
fn shuffle(random: &mut Xoshiro256PlusPlus, items: &mut [u32]) {
    for last in (1..items.len()).rev() {
        let other = ((u128::from(random.next_u64()) * (last as u128 + 1)) >> 64) as usize;
        items.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::fleet::FleetSides;

    use super::*;

    fn request(nodes: usize, visits: u32, seed: u64) -> PlanRequest {
        PlanRequest {
            id: "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b".to_owned(),
            fleet: "lab".to_owned(),
            created: "2026-01-01T00:00:00Z".to_owned(),
            tool: "0.1.0".to_owned(),
            seed,
            measurement: FleetMeasurement {
                selectors: vec!["syscall".to_owned()],
                effort: "quick".to_owned(),
                budget_s: None,
                treatments: None,
                sides: FleetSides::Alone,
                respects_lock: true,
            },
            launcher: FleetLauncher::Ssh,
            nodes: (0..nodes).map(|node| format!("n{node}")).collect(),
            visits,
            apart_s: 3_600.0,
            at_once: Some(10),
            task_s: 60.0,
        }
    }

    /// The place of each node in a block.
    fn places(plan: &FleetPlan, visit: u32) -> Vec<usize> {
        let block: Vec<u32> =
            plan.tasks.iter().filter(|it| it.visit == visit).map(|it| it.node).collect();
        let place = |node: u32| block.iter().position(|&it| it == node).unwrap();
        (0..).take(plan.nodes.len()).map(place).collect()
    }

    /// The rank correlation of two orders.
    fn correlation(one: &[usize], other: &[usize]) -> f64 {
        let count = one.len() as f64;
        let squares: f64 =
            one.iter().zip(other).map(|(&a, &b)| (a as f64 - b as f64).powi(2)).sum();
        1.0 - 6.0 * squares / (count * (count * count - 1.0))
    }

    #[test]
    fn every_node_is_visited_as_often_as_planned_and_once_in_a_block() {
        for (nodes, visits) in [(1, 1), (4, 3), (33, 7)] {
            let plan = request(nodes, visits, 5).plan().unwrap();
            assert_eq!(plan.tasks.len(), nodes * visits as usize);
            for visit in 0..visits {
                let mut seen = places(&plan, visit);
                seen.sort_unstable();
                assert_eq!(seen, (0..nodes).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_seed_gives_one_plan_and_another_seed_another() {
        let tasks = |seed| request(40, 3, seed).plan().unwrap().tasks;
        assert_eq!(tasks(7), tasks(7));
        assert_ne!(tasks(7), tasks(8));
    }

    #[test]
    fn the_order_of_a_block_tells_nothing_of_another_or_of_the_names() {
        let named: Vec<usize> = (0..200).collect();
        let mut sum = 0.0;
        for seed in 0..50 {
            let plan = request(200, 2, seed).plan().unwrap();
            let (first, second) = (places(&plan, 0), places(&plan, 1));
            // The standard error of a rank correlation of 200 is 0.07.
            for pair in [correlation(&first, &second), correlation(&named, &first)] {
                assert!(pair.abs() < 0.32, "{pair}");
                sum += pair;
            }
        }
        assert!((sum / 100.0).abs() < 0.03, "{sum}");
    }

    #[test]
    fn a_node_that_is_last_and_then_first_is_as_long_apart_as_asked_for() {
        let plan = request(45, 3, 1).plan().unwrap();
        // Five turns of ten nodes: the last one begins 240 s after the first.
        for task in &plan.tasks {
            assert_eq!(task.begin_s, f64::from(task.visit) * (3_600.0 + 240.0));
        }
        let few = request(4, 2, 1).plan().unwrap();
        assert_eq!(few.tasks.last().unwrap().begin_s, 3_600.0);
        assert!(plan.tasks.is_sorted_by(|one, other| one.begin_s <= other.begin_s));
    }

    #[test]
    fn half_of_the_nodes_are_treated_by_lot() {
        let sides = |nodes, seed| -> Vec<bool> {
            let plan = request(nodes, 1, seed).plan().unwrap();
            (0..).take(nodes).map(|node| is_treated_side(&plan, node)).collect()
        };
        assert_eq!(sides(9, 3).iter().filter(|&&treated| treated).count(), 5);
        assert_eq!(sides(20, 3), sides(20, 3));
        assert_ne!(sides(20, 3), sides(20, 4));
    }

    #[test]
    fn tasks_have_seeds_of_their_own() {
        let plan = request(2, 1, 3).plan().unwrap();
        assert_ne!(task_seed(&plan, 0), task_seed(&plan, 1));
        assert_eq!(task_seed(&plan, 1), task_seed(&plan, 1));
    }

    #[test]
    fn what_is_no_plan_is_refused_with_the_reason() {
        let refused = |change: fn(&mut PlanRequest)| {
            let mut wanted = request(3, 2, 1);
            change(&mut wanted);
            wanted.plan().unwrap_err()
        };
        for (why, words) in [
            (refused(|it| it.fleet = "../x".to_owned()), "not a name of a fleet"),
            (refused(|it| it.nodes.clear()), "no node"),
            (refused(|it| it.nodes[1] = "n1;reboot".to_owned()), "not a name of a node"),
            (refused(|it| it.nodes[1] = "-w".to_owned()), "not a name of a node"),
            (refused(|it| it.nodes[1] = "n0".to_owned()), "`n0` is there twice"),
            (refused(|it| it.visits = 0), "1 to 1000 times"),
            (refused(|it| it.apart_s = f64::NAN), "0 s to 90 days"),
            (refused(|it| it.id = "x".to_owned()), "not a UUID"),
        ] {
            assert!(why.contains(words), "{why}");
        }
        let mut read = request(3, 2, 1).plan().unwrap();
        read.tasks[0].node = 99;
        assert!(check_plan(&read).unwrap_err().contains("one for each visit"));
        let mut read = request(3, 2, 1).plan().unwrap();
        read.tasks.pop();
        assert!(check_plan(&read).unwrap_err().contains("one for each visit"));
    }
}
