//! `oscost fleet links`: what messages cost between the nodes of a network, two nodes at a time.

mod network;
mod nodes;

use oscost_model::record::Record;
use oscost_model::seed::Seed;
use oscost_model::untrusted_text::display_text;

use self::network::Network;
pub use self::nodes::LinkLauncher;
use self::nodes::nodes_of;
use crate::app::error::{is_interrupted, is_usage};
use crate::app::interrupt::listen;
use crate::app::measurement::retention::{CompletedRun, Completion, Retention};
use crate::app::measurement::run_header::fresh_seed;
use crate::app::observer::Observer;
use crate::app::run::{self, run_until};
use crate::app::selection::effort::Effort;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::connect::BusyPolicy;
use crate::fleet::{
    AnalysedLinks, MeasuredNetwork, NodePair, all_pairs, analyse_links, balanced_pairs, usual_pairs,
};
use crate::hosts::Interrupt;
use crate::run::EventCounting;

/// The cases that are measured unless others are named: the latency of small messages by TCP and
/// UDP, and the throughput of large ones.
const CASES: [&str; 3] = [
    "socket/round-trip:by=tcp,size=64,peer_cpu=other",
    "socket/round-trip:by=udp,size=64,peer_cpu=other",
    "socket/throughput:by=tcp,size=65536,peer_cpu=other",
];
/// A longer reason of a failure is cut.
const MAX_REASON_CHARS: usize = 400;

/// What to measure between which nodes.
#[derive(Clone, Debug)]
pub struct Request {
    /// How nodes are reached.
    pub launcher: LinkLauncher,
    /// The number of pairs; without it, all of up to 32 nodes, and four for each of more.
    pub pairs: Option<usize>,
    /// The cases; without any, TCP and UDP round trips and TCP throughput.
    pub selectors: Vec<String>,
    /// How often each pair is measured.
    pub repeats: u32,
    /// The seed of pairs and order; without it, a fresh one.
    pub seed: Option<u64>,
    /// The time of each pair, in seconds; without it, that of a run.
    pub budget_s: Option<f64>,
    /// What to do while another run has a machine.
    pub on_busy: BusyPolicy,
}

/// A measurement of a pair: the workers are on the first node, their peers on the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LinkVisit {
    at: usize,
    peer: usize,
}

/// Measures between nodes, one pair at a time.
pub fn links(request: &Request, observer: &dyn Observer) -> anyhow::Result<MeasuredNetwork> {
    let nodes = nodes_of(&request.launcher)?;
    let interrupt = listen()?;
    let measure = |visit: LinkVisit| {
        let [at, peer] = [visit.at, visit.peer].map(|node| nodes[node].target.as_str());
        measure_pair(request, [at, peer], &interrupt, observer)
    };
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    links_between(names, request, observer, measure)
}

/// Measures the pairs of nodes in their order by `measure`.
fn links_between(
    nodes: Vec<String>,
    request: &Request,
    observer: &dyn Observer,
    measure: impl Fn(LinkVisit) -> anyhow::Result<Option<Record>>,
) -> anyhow::Result<MeasuredNetwork> {
    let seed = request.seed.unwrap_or_else(fresh_seed);
    let wanted = request.pairs.unwrap_or_else(|| usual_pairs(nodes.len()));
    let pairs = balanced_pairs(nodes.len(), wanted.min(all_pairs(nodes.len())), seed);
    let visits = visits(&pairs, request.repeats, seed);
    let mut network = Network::default();
    let mut has_ended_early = false;
    for (at, visit) in visits.iter().enumerate() {
        let [from, to] = [visit.at, visit.peer].map(|node| &nodes[node]);
        observer.status(&format!("{} of {}: {from} to {to}", at + 1, visits.len()));
        let pair = [visit.at.min(visit.peer), visit.at.max(visit.peer)];
        match measure(*visit) {
            Ok(Some(record)) => network.add(pair, &record),
            Ok(None) => has_ended_early = true,
            Err(error) if is_interrupted(&error) => has_ended_early = true,
            Err(error) if is_usage(&error) => return Err(error),
            Err(error) => {
                let why = display_text(&format!("{error:#}"), MAX_REASON_CHARS);
                observer.note(&format!("{from} to {to}: {why}"));
                network.add_failure(pair, why);
            }
        }
        if has_ended_early {
            break;
        }
    }
    network.check(has_ended_early)?;
    let count = nodes.len();
    let cases = network.cases(&pairs);
    let analyses = analyse_links(&cases, count);
    let analysed = cases.into_iter().zip(analyses);
    Ok(MeasuredNetwork {
        cases: analysed.map(|(case, analysis)| AnalysedLinks { case, analysis }).collect(),
        nodes,
        seed,
        pairs: pairs.len(),
        repeats: request.repeats,
        is_interrupted: has_ended_early,
    })
}

/// Each pair once in each round, in random order; which node has the workers alternates, so that a
/// figure of several repeats is of both directions.
fn visits(pairs: &[NodePair], repeats: u32, seed: u64) -> Vec<LinkVisit> {
    let mut seed = Seed::new(seed.wrapping_add(1));
    let mut visits = Vec::new();
    for round in 0..repeats {
        let mut order: Vec<&NodePair> = pairs.iter().collect();
        seed.shuffle(&mut order);
        visits.extend(order.into_iter().map(|&[a, b]| {
            let (at, peer) = if round.is_multiple_of(2) { (a, b) } else { (b, a) };
            LinkVisit { at, peer }
        }));
    }
    visits
}

/// Measures the cases of a request between two targets; `None` if the user ended it.
fn measure_pair(
    request: &Request,
    [at, peer]: [&str; 2],
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> anyhow::Result<Option<Record>> {
    let selectors = match request.selectors.is_empty() {
        true => CASES.map(str::to_owned).to_vec(),
        false => request.selectors.clone(),
    };
    let run_request = run::Request {
        selectors,
        programs: ProgramRequest::default(),
        study: None,
        effort: Effort::Quick,
        precision_pct: None,
        refine: false,
        budget_s: request.budget_s,
        treatments: None,
        at: at.to_owned(),
        event_counting: EventCounting::InNoRound,
        cpu: None,
        numa_turn: None,
        peer: Some(peer.to_owned()),
        peer_cpu: None,
        label: None,
        seed: None,
        retention: Retention { keep: false, raw_samples: false },
        on_busy: request.on_busy,
    };
    let CompletedRun { record, ended, .. } = run_until(interrupt, &run_request, observer)?;
    Ok((ended? != Completion::Interrupted).then_some(record))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use oscost_model::record::RowOutcome;

    use super::*;
    use crate::app::observer::test_observers::Silent;

    fn request() -> Request {
        Request {
            launcher: LinkLauncher::Ssh("hosts.txt".into()),
            pairs: None,
            selectors: Vec::new(),
            repeats: 2,
            seed: Some(7),
            budget_s: None,
            on_busy: BusyPolicy::Fail,
        }
    }

    /// A record with one row, which has this figure.
    fn record(value: f64) -> Record {
        let record = include_str!("../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(record).unwrap();
        record.results.truncate(1);
        let row = &mut record.results[0];
        (row.case, row.outcome) = ("socket/a".to_owned(), RowOutcome::Measured);
        row.flags.clear();
        row.estimate.as_mut().unwrap().median = value;
        record
    }

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|at| format!("n{at}")).collect()
    }

    #[test]
    fn each_pair_is_measured_in_both_directions_and_every_link_is_in_the_result() {
        let seen: RefCell<Vec<LinkVisit>> = RefCell::default();
        let measure = |visit: LinkVisit| -> anyhow::Result<Option<Record>> {
            seen.borrow_mut().push(visit);
            Ok(Some(record(100.0 + visit.at as f64)))
        };
        let asked = request();
        let outcome = links_between(names(4), &asked, &Silent, measure).unwrap();
        let seen = seen.into_inner();
        assert_eq!((seen.len(), outcome.pairs), (12, 6));
        for LinkVisit { at, peer } in &seen {
            let back = LinkVisit { at: *peer, peer: *at };
            assert!(seen.contains(&back), "{at} to {peer} alone");
        }
        let [only] = &outcome.cases[..] else { panic!("{:?}", outcome.cases) };
        assert_eq!(only.case.case, "socket/a");
        assert_eq!(only.case.links.len(), 6);
        assert_eq!(only.case.links[0].pair, [0, 1]);
        assert_eq!(only.case.links[0].median(), Some(100.5));
        assert!(outcome.has_figures() && !outcome.is_interrupted);
    }

    #[test]
    fn a_figure_that_cannot_be_told_from_zero_is_a_reason_and_no_figure() {
        let measure = |_: LinkVisit| -> anyhow::Result<Option<Record>> {
            let mut below = record(0.2);
            below.results[0].flags.push("BELOW_DETECTION".to_owned());
            Ok(Some(below))
        };
        let outcome = links_between(names(3), &request(), &Silent, measure).unwrap();
        let link = &outcome.cases[0].case.links[0];
        assert_eq!(link.reasons, ["it cannot be told from 0"]);
        assert!(link.values.is_empty() && !outcome.has_figures());
    }

    #[test]
    fn figures_of_very_noisy_runs_are_kept_and_nothing_is_concluded_from_them() {
        let measure = |_: LinkVisit| -> anyhow::Result<Option<Record>> {
            let mut noisy = record(100.0);
            noisy.conditions[0].class = Some("very-noisy".to_owned());
            Ok(Some(noisy))
        };
        let outcome = links_between(names(4), &request(), &Silent, measure).unwrap();
        let AnalysedLinks { case, analysis } = &outcome.cases[0];
        let link = &case.links[0];
        assert_eq!((&link.values[..], &link.not_claimable[..]), (&[100.0; 2][..], &[0, 1][..]));
        assert!(outcome.has_figures() && analysis.judged == 0);
    }

    #[test]
    fn a_failed_pair_has_its_reason_and_an_interrupt_keeps_what_was_measured() {
        let measure = |visit: LinkVisit| match visit.at + visit.peer {
            1 => anyhow::bail!("no route"),
            _ => Ok(Some(record(100.0))),
        };
        let asked = request();
        let outcome = links_between(names(3), &asked, &Silent, measure).unwrap();
        let links = &outcome.cases[0].case.links;
        assert_eq!((links[0].pair, links[0].median()), ([0, 1], None));
        assert_eq!(links[0].reasons, ["no route"], "once, of two repeats");
        assert_eq!(links[1].values.len(), 2);
        let left = RefCell::new(2);
        let ended = |_: LinkVisit| -> anyhow::Result<Option<Record>> {
            *left.borrow_mut() -= 1;
            Ok((*left.borrow() >= 0).then(|| record(100.0)))
        };
        let outcome = links_between(names(3), &asked, &Silent, ended).unwrap();
        assert!(outcome.is_interrupted && outcome.has_figures());
        let none = links_between(names(3), &asked, &Silent, |_| Ok(None)).unwrap_err();
        assert!(is_interrupted(&none));
        let failed = |_: LinkVisit| -> anyhow::Result<Option<Record>> { anyhow::bail!("no route") };
        let why = links_between(names(3), &asked, &Silent, failed).unwrap_err().to_string();
        assert!(why.contains("any two of these nodes: no route"), "{why}");
    }
}
