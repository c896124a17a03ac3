use oscost_model::unit::Better;
use oscost_stats::random::{standard_normal, student};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::fleet::data::Fleet;
use crate::fleet::simulation::{FleetSimulation, simulate};

/// What visits of a fleet vary by.
#[derive(Clone, Copy, Debug)]
struct Noise {
    between_visits: f64,
    has_heavy_tails: bool,
}

impl Noise {
    fn fleet(self) -> Fleet {
        let between_visits = self.between_visits;
        let tail_degrees = self.has_heavy_tails.then_some(3);
        let cases = 20;
        simulate(&FleetSimulation { cases, between_visits, tail_degrees, ..Default::default() })
            .fleet
    }

    fn draw(self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let unit = match self.has_heavy_tails {
            true => student(random, 3) / 3f64.sqrt(),
            false => standard_normal(random),
        };
        self.between_visits * unit
    }

    /// The two measurements of a check, as logarithms of ratios to the node's own costs: of their
    /// variance a quarter is the visit's, a quarter the minutes' of a case, which both share, and the
    /// rest is their own.
    fn check(self, random: &mut Xoshiro256PlusPlus, cases: usize) -> [Vec<f64>; 2] {
        let common = 0.5 * self.draw(random);
        let (mut first, mut again) = (Vec::new(), Vec::new());
        for _ in 0..cases {
            let shared = common + 0.5 * self.draw(random);
            first.push(shared + 0.5f64.sqrt() * self.draw(random));
            again.push(shared + 0.5f64.sqrt() * self.draw(random));
        }
        [first, again]
    }
}

/// The figures of a node whose costs are these logarithms from those of its equals.
fn figures(equals: &GroupBaseline, log_ratios: &[f64]) -> Vec<CheckedFigure> {
    let figure = |(case, log_ratio): (&CaseBaseline, &f64)| {
        let log = case.centre + log_ratio;
        let median = if case.better == Better::Lower { log.exp() } else { (-log).exp() };
        CheckedFigure { case: case.case.clone(), median, log_error: Some(case.within_visit) }
    };
    equals.cases.iter().zip(log_ratios).map(figure).collect()
}

const NOISES: [Noise; 4] = [
    Noise { between_visits: 0.03, has_heavy_tails: false },
    Noise { between_visits: 0.18, has_heavy_tails: false },
    Noise { between_visits: 0.03, has_heavy_tails: true },
    Noise { between_visits: 0.18, has_heavy_tails: true },
];

#[test]
fn a_healthy_node_is_suspected_once_in_a_hundred_checks_and_hardly_ever_found() {
    const CHECKS: u32 = 4_000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(30);
    for noise in NOISES {
        let baseline = Baseline::of(&noise.fleet());
        let class = baseline.classes[0].class.clone().unwrap();
        let equals = baseline.equals_of(&class);
        let mut smallest = Vec::new();
        let mut findings = 0;
        for _ in 0..CHECKS {
            // The node's own costs are those of an ordinary one.
            let own: Vec<f64> =
                equals.cases.iter().map(|_| 0.01 * standard_normal(&mut random)).collect();
            let [first, again] = noise.check(&mut random, own.len()).map(|of| {
                let logs: Vec<f64> = of.iter().zip(&own).map(|(it, own)| it + own).collect();
                figures(equals, &logs)
            });
            let p = first.iter().map(|it| Measured::of(equals, it).unwrap().p());
            let q = adjusted(p.fold(1.0, f64::min), first.len());
            smallest.push(q);
            // Only suspects become findings.
            if q <= MAX_FALSE_SUSPECTS {
                let check = check_node(&baseline, &class, &first, Some(&again));
                assert_eq!((check.judged.len(), check.not_judged.len()), (20, 0));
                findings += check.findings.len();
            }
        }
        // The p values hold: 40 of 4,000 are expected to be so small, with a standard deviation of 6.
        let suspects = smallest.iter().filter(|&&q| q <= MAX_FALSE_SUSPECTS).count();
        assert!(suspects <= 60, "{noise:?}: {suspects}");
        // 4 are expected, and 0.13 findings.
        let rare = smallest.iter().filter(|&&q| q <= 0.001).count();
        assert!(rare <= 12, "{noise:?}: {rare}");
        assert!(findings <= 1, "{noise:?}: {findings}");
    }
}

#[test]
fn a_healthy_node_is_also_judged_right_by_a_few_nodes_that_differ_by_more_than_visits() {
    const FLEETS: u64 = 150;
    const CASES: usize = 8;
    let mut rare = 0;
    for nodes in [4, 6, 8] {
        for seed in 0..FLEETS {
            // One node more is simulated: it is checked by its first visit.
            let mut fleet = simulate(&FleetSimulation {
                nodes: nodes + 1,
                cases: CASES,
                visits: 10,
                between_visits: 0.01,
                between_nodes: 0.05,
                seed,
                ..Default::default()
            })
            .fleet;
            let visit = fleet.visits.iter().find(|visit| visit.node == nodes).unwrap().clone();
            fleet.visits.retain(|visit| visit.node < nodes);
            fleet.nodes.truncate(nodes);
            let baseline = Baseline::of(&fleet);
            let equals = &baseline.classes[0];
            for figure in &visit.figures {
                let figure = CheckedFigure {
                    case: fleet.cases[figure.case as usize].case.clone(),
                    median: figure.median,
                    log_error: Some(figure.log_error.into()),
                };
                rare += usize::from(Measured::of(equals, &figure).unwrap().p() <= 0.001);
            }
        }
    }
    // Of 3,600 p values 4 are expected to be so small, and about 10 are. With the degrees of freedom of
    // visits alone, and without the error of the median of the nodes, 140 would be.
    assert!(rare <= 40, "{rare}");
}

#[test]
fn whether_twice_the_cost_would_be_found_follows_from_the_judgement_itself() {
    let found = |between_visits: f64, has_heavy_tails: bool| {
        let baseline = Baseline::of(&Noise { between_visits, has_heavy_tails }.fleet());
        let class = baseline.classes[0].class.clone().unwrap();
        let equals = baseline.equals_of(&class);
        let check_at = |log_ratio: f64| {
            let first = figures(equals, &vec![log_ratio; equals.cases.len()]);
            check_node(&baseline, &class, &first, Some(&first))
        };
        let healthy = check_at(0.0);
        let doubled = check_at(LN_2);
        let says = healthy.judged.iter().filter(|it| it.finds_doubled_cost).count();
        assert_eq!(says, doubled.findings.len(), "{between_visits} {has_heavy_tails}");
        says
    };
    assert_eq!(found(0.03, false), 20);
    // An interval of 95 % is within a factor of 1.25, and one check in 30,000 is far beyond it.
    assert_eq!(found(0.03, true), 0);
    assert_eq!(found(0.18, true), 0);
}

#[test]
fn a_slow_case_is_found_again_and_what_was_slow_once_is_not() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(31);
    let noise = Noise { between_visits: 0.03, has_heavy_tails: false };
    let baseline = Baseline::of(&noise.fleet());
    let class = baseline.classes[0].class.clone().unwrap();
    let equals = baseline.equals_of(&class);
    let slow = equals.cases[3].case.clone();
    let (mut found, mut others, mut once) = (0, 0, 0);
    for _ in 0..100 {
        let [mut first, mut again] = noise.check(&mut random, equals.cases.len());
        first[3] += 1.3f64.ln();
        let slow_first = figures(equals, &first);
        let healthy = figures(equals, &again);
        once += check_node(&baseline, &class, &slow_first, Some(&healthy)).findings.len();
        let alone = check_node(&baseline, &class, &slow_first, None);
        assert!(alone.findings.is_empty() && alone.suspects.iter().any(|it| it.case == slow));
        again[3] += 1.3f64.ln();
        let twice = check_node(&baseline, &class, &slow_first, Some(&figures(equals, &again)));
        found += twice.findings.iter().filter(|it| it.case == slow).count();
        others += twice.findings.iter().filter(|it| it.case != slow).count();
        assert!(twice.findings.iter().all(|it| it.ci95[0] > 1.0 && it.ratio > 1.1));
    }
    // The mean of both is 15 % slow if the first alone is 30 % slow, which a healthy node may be once
    // in a thousand checks.
    assert!(found >= 90 && others == 0 && once <= 3, "{found} found, {others} others, {once} once");
}

#[test]
fn what_is_not_judged_has_a_reason_and_an_unknown_class_is_compared_with_all() {
    let baseline = Baseline::of(&Noise { between_visits: 0.03, has_heavy_tails: false }.fleet());
    let case = baseline.fleet.cases[0].case.clone();
    let figure = |case: &str, median: f64, log_error: Option<f64>| CheckedFigure {
        case: case.to_owned(),
        median,
        log_error,
    };
    let figures = [
        figure("no/such-case", 1.0, Some(0.01)),
        figure(&case, 0.0, Some(0.01)),
        figure(&case, 1.0, None),
    ];
    let check = check_node(&baseline, "another class", &figures, None);
    assert_eq!((check.class, check.judged.len(), check.not_judged.len()), (None, 0, 3));
    assert_eq!(baseline.fleet.nodes, 200);
    let usual = baseline.fleet.facts.iter().find(|fact| fact.name == "governor").unwrap();
    assert!(&*usual.value == "performance" && usual.nodes > 150, "{usual:?}");
    let once = simulate(&FleetSimulation { visits: 1, ..Default::default() }).fleet;
    assert!(Baseline::of(&once).fleet.cases.is_empty(), "visits tell nothing of each other");
}
