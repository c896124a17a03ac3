//! Fleets with known faults, to test an analysis on, and what handles large fleets.

use std::sync::Arc;

use oscost_model::unit::{Better, Unit};
use oscost_stats::random::{standard_normal, student, uniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::data::{CaseFigure, Fleet, FleetCase, FleetFact, FleetNode, NodeVisit};

/// What a simulated fleet is like. Spreads are standard deviations of logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetSimulation {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of cases.
    pub cases: usize,
    /// How often each node is visited.
    pub visits: usize,
    /// The spread between visits of one node: half of its variance is common to all cases of a visit.
    pub between_visits: f64,
    /// The spread between nodes: half of its variance is common to all cases of a node.
    pub between_nodes: f64,
    /// The degrees of freedom of Student's distribution of visits, at least 3; `None` for a normal one.
    pub tail_degrees: Option<u32>,
    /// The share of nodes that are slow in one family, by 5 to 30 %.
    pub planted_share: f64,
    /// The number of classes of nodes.
    pub classes: usize,
    /// How many NUMA nodes each node has, which its visits measure in turn.
    pub numa_nodes: u32,
    /// The spread between NUMA nodes of one node: half of its variance is common to all cases of one.
    pub between_numa_nodes: f64,
    /// The share of nodes of which one NUMA node is slow in one family, by 5 to 30 %.
    pub slow_numa_share: f64,
    /// Equal seeds give equal fleets.
    pub seed: u64,
}

impl Default for FleetSimulation {
    fn default() -> Self {
        Self {
            nodes: 200,
            cases: 40,
            visits: 3,
            between_visits: 0.03,
            between_nodes: 0.01,
            tail_degrees: None,
            planted_share: 0.0,
            classes: 1,
            numa_nodes: 1,
            between_numa_nodes: 0.0,
            slow_numa_share: 0.0,
            seed: 0,
        }
    }
}

/// A node that was made slow.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantedFault {
    /// The index of the node.
    pub node: usize,
    /// The family that is slow.
    pub family: String,
    /// By how much: above 1.
    pub ratio: f64,
    /// The name of the fact that causes it.
    pub fact: &'static str,
    /// The only NUMA node that is slow; `None` if all are.
    pub numa_node: Option<u32>,
}

/// A simulated fleet, and what is true of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedFleet {
    /// The fleet.
    pub fleet: Fleet,
    /// The nodes that were made slow, by their index.
    pub planted: Vec<PlantedFault>,
}

/// The families of which a fleet has as many as its cases fill with eight each, at least three.
const FAMILIES: [&str; 12] = [
    "event", "fault", "file", "memory", "pipe", "process", "signal", "socket", "switch", "sync",
    "syscall", "thread",
];
const CASES_PER_FAMILY: usize = 8;
const MIN_FAMILIES: usize = 3;

/// A fact, and how often its other value occurs among healthy nodes.
struct SimulatedFact {
    name: &'static str,
    usual: &'static str,
    other: &'static str,
    share: f64,
}

/// The fact that slow nodes have in common.
const CAUSE: SimulatedFact =
    SimulatedFact { name: "transparent huge pages", usual: "madvise", other: "never", share: 0.0 };

/// Facts that cause nothing.
const OTHER_FACTS: [SimulatedFact; 5] = [
    SimulatedFact { name: "kernel", usual: "6.12.48", other: "6.12.41", share: 0.3 },
    SimulatedFact { name: "microcode", usual: "0xa0011d7", other: "0xa0011d1", share: 0.1 },
    SimulatedFact { name: "governor", usual: "performance", other: "schedutil", share: 0.05 },
    SimulatedFact { name: "clock source", usual: "tsc", other: "hpet", share: 0.01 },
    SimulatedFact { name: "NUMA balancing", usual: "1", other: "0", share: 0.2 },
];

/// A fact with another value on each node.
const SERIAL_NUMBER: &str = "serial number";

/// The time between two visits of a node.
const VISITS_APART_S: f64 = 6.0 * 3600.0;

/// Makes a fleet.
pub fn simulate(simulation: &FleetSimulation) -> SimulatedFleet {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(simulation.seed);
    let cases = simulated_cases(simulation.cases);
    let costs: Vec<f64> = cases.iter().map(|_| 50.0 * 1e3f64.powf(uniform(&mut random))).collect();
    let planted = plant(simulation, &cases, &mut random);
    let mut fault_of: Vec<Option<&PlantedFault>> = vec![None; simulation.nodes];
    planted.iter().for_each(|fault| fault_of[fault.node] = Some(fault));
    let (mut nodes, mut visits) = (Vec::new(), Vec::new());
    for (node, fault) in fault_of.iter().enumerate() {
        nodes.push(simulated_node(simulation, node, fault.is_some(), &mut random));
        let of_node = fault.filter(|fault| fault.numa_node.is_none());
        let logs = node_logs(simulation, &cases, &costs, of_node, &mut random);
        let of_numa_nodes = numa_logs(simulation, &cases, *fault, &mut random);
        for (visit, numa_node) in
            (0..simulation.visits).zip((0..simulation.numa_nodes.max(1)).cycle())
        {
            let started_s = VISITS_APART_S * visit as f64 + node as f64;
            let logs: Vec<f64> = match of_numa_nodes.get(numa_node as usize) {
                Some(more) => logs.iter().zip(more).map(|(log, more)| log + more).collect(),
                None => logs.clone(),
            };
            let figures = visit_figures(simulation, &cases, &logs, &mut random);
            let run = format!("{node}-{visit}");
            let numa_node = (simulation.numa_nodes > 1).then_some(numa_node);
            let not_claimable = None;
            visits.push(NodeVisit { node, run, started_s, not_claimable, numa_node, figures });
        }
    }
    let fleet =
        Fleet { name: "simulated".to_owned(), cases, nodes, visits, other_revisions: Vec::new() };
    SimulatedFleet { fleet, planted }
}

fn simulated_cases(count: usize) -> Vec<FleetCase> {
    let families = (count / CASES_PER_FAMILY).clamp(MIN_FAMILIES, FAMILIES.len());
    (0..count)
        .map(|at| {
            let family = FAMILIES[at * families / count.max(1)];
            // One case in five is a rate.
            let (unit, better) = match at % 5 {
                4 => (Unit::BytesPerSecond, Better::Higher),
                _ => (Unit::NsPerOp, Better::Lower),
            };
            FleetCase {
                case: format!("{family}/case-{at:03}"),
                family: family.into(),
                unit,
                better,
                rev: 1,
            }
        })
        .collect()
}

/// Chooses the slow nodes, which are slow in one family of the fleet, and those of which a NUMA node is.
fn plant(
    simulation: &FleetSimulation,
    cases: &[FleetCase],
    random: &mut Xoshiro256PlusPlus,
) -> Vec<PlantedFault> {
    let share = |share: f64| (share * simulation.nodes as f64).round() as usize;
    let slow = share(simulation.planted_share);
    let slow_numa = match simulation.numa_nodes {
        0 | 1 => 0,
        _ => share(simulation.slow_numa_share),
    };
    let count = slow + slow_numa;
    if cases.is_empty() {
        return Vec::new();
    }
    let family = &cases[below(random, cases.len())].family;
    let mut nodes: Vec<usize> = (0..simulation.nodes).collect();
    for at in 0..count.min(nodes.len()) {
        let other = at + below(random, nodes.len() - at);
        nodes.swap(at, other);
    }
    nodes.truncate(count);
    // They are in random order: the last ones have a slow NUMA node.
    let in_part: Vec<usize> = nodes.iter().copied().skip(slow).collect();
    nodes.sort_unstable();
    let fault = |node: usize| {
        let ratio = 1.05 + 0.25 * uniform(random);
        let is_in_part = in_part.contains(&node);
        let numa_node = is_in_part.then(|| below(random, simulation.numa_nodes as usize) as u32);
        PlantedFault { node, family: family.clone(), ratio, fact: CAUSE.name, numa_node }
    };
    nodes.into_iter().map(fault).collect()
}

/// A random index below a count.
fn below(random: &mut Xoshiro256PlusPlus, count: usize) -> usize {
    ((u128::from(random.next_u64()) * count as u128) >> 64) as usize
}

fn simulated_node(
    simulation: &FleetSimulation,
    node: usize,
    is_slow: bool,
    random: &mut Xoshiro256PlusPlus,
) -> FleetNode {
    let class = format!("model {}, 64 CPUs", node % simulation.classes.max(1));
    let fact = |name: &'static str, value: &str| FleetFact { name, value: Some(value.into()) };
    let mut facts = vec![fact("CPU", &class)];
    for it in &OTHER_FACTS {
        let value = if uniform(random) <= it.share { it.other } else { it.usual };
        facts.push(fact(it.name, value));
    }
    facts.push(fact(CAUSE.name, if is_slow { CAUSE.other } else { CAUSE.usual }));
    facts.push(fact(SERIAL_NUMBER, &format!("{:016x}", random.next_u64())));
    FleetNode { name: format!("node{node:05}"), class: Arc::from(class), facts }
}

/// The logarithms of a node's own costs.
fn node_logs(
    simulation: &FleetSimulation,
    cases: &[FleetCase],
    costs: &[f64],
    fault: Option<&PlantedFault>,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<f64> {
    let part = simulation.between_nodes * 0.5f64.sqrt();
    let common = part * standard_normal(random);
    let log = |(case, cost): (&FleetCase, &f64)| {
        let slow = fault.filter(|fault| fault.family == case.family);
        cost.ln()
            + common
            + part * standard_normal(random)
            + slow.map_or(0.0, |fault| fault.ratio.ln())
    };
    cases.iter().zip(costs).map(log).collect()
}

/// What each NUMA node of a node adds to the logarithms of its costs; nothing of a single one.
fn numa_logs(
    simulation: &FleetSimulation,
    cases: &[FleetCase],
    fault: Option<&PlantedFault>,
    random: &mut Xoshiro256PlusPlus,
) -> Vec<Vec<f64>> {
    let mut logs = Vec::new();
    if simulation.numa_nodes < 2 {
        return logs;
    }
    let part = simulation.between_numa_nodes * 0.5f64.sqrt();
    for numa_node in 0..simulation.numa_nodes {
        let fault = fault.filter(|fault| fault.numa_node == Some(numa_node));
        let common = part * standard_normal(random);
        let log = |case: &FleetCase| {
            let slow = fault.filter(|fault| fault.family == case.family);
            common + part * standard_normal(random) + slow.map_or(0.0, |fault| fault.ratio.ln())
        };
        logs.push(cases.iter().map(log).collect());
    }
    logs
}

/// The figures of a visit.
fn visit_figures(
    simulation: &FleetSimulation,
    cases: &[FleetCase],
    logs: &[f64],
    random: &mut Xoshiro256PlusPlus,
) -> Vec<CaseFigure> {
    let part = simulation.between_visits * 0.5f64.sqrt();
    let common = part * simulation.disturbance(random);
    let figure = |(at, (case, log)): (usize, (&FleetCase, &f64))| {
        let log = log + common + part * simulation.disturbance(random);
        let median = match case.better {
            Better::Lower => log.exp(),
            // Bytes of a megabyte in so many nanoseconds.
            Better::Higher => 1e15 / log.exp(),
        };
        let log_error = (simulation.between_visits / 3.0) as f32;
        CaseFigure { case: u32::try_from(at).unwrap_or(u32::MAX), median, log_error }
    };
    cases.iter().zip(logs).enumerate().map(figure).collect()
}

impl FleetSimulation {
    /// A disturbance with a variance of 1.
    fn disturbance(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        match self.tail_degrees {
            Some(degrees) => {
                let own = f64::from(degrees.max(3));
                student(random, degrees.max(3)) * ((own - 2.0) / own).sqrt()
            }
            None => standard_normal(random),
        }
    }
}
