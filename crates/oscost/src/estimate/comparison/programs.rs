//! Comparisons of programs: which metric the verdict rests on, and how small a difference may be.
//!
//! A pair is one trial of each program, one after the other.

use std::collections::BTreeMap;

use oscost_model::journal::Pairing;
use oscost_model::program::{CPU, MetricValue, PEAK_MEMORY, REAL, SYSTEM, Trial, USER, Workload};
use oscost_model::unit::Unit;

use super::margins;
use super::pairs::{Pair, round_of};
use super::rows::is_cost;
use super::verdict::{
    EffectEstimate, Judgement, PairRule, PairTest, Verdict, interleaved_effect, verdicts,
};
use crate::estimate::rows::cpu_contention::is_busy;
use crate::estimate::rows::row_state::RowState;
use crate::estimate::rows::trials::{CountedTrial, counted_trials, has_peak_of_starter};

/// A metric in pairs of trials.
pub(super) struct MetricPairs {
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) pairs: Vec<Pair>,
}

/// The metric that the verdict on two commands rests on. It is chosen by their warm-ups, before
/// anything is timed, so that few hypotheses share the level. `None` for other workloads, whose
/// metrics are all judged together.
pub(super) fn judged_metric<'a>(workload: &'a Workload, sides: [&RowState; 2]) -> Option<&'a str> {
    workload.time?;
    let warm_ups = sides.map(|state| state.warm_up.as_ref().map(|it| &it.trial));
    Some(metric_by_warm_ups(workload, warm_ups))
}

/// The same by the warm-ups alone.
pub fn metric_by_warm_ups<'a>(workload: &'a Workload, warm_ups: [Option<&Trial>; 2]) -> &'a str {
    let is_busy = |trial: Option<&Trial>| trial.is_some_and(is_busy);
    match workload.primary == REAL && warm_ups.into_iter().all(is_busy) {
        true => CPU,
        false => &workload.primary,
    }
}

/// Whether a metric of two programs is one of the hypotheses, if the verdict rests on `judged`. User and
/// system time of workloads are none: they are parts of their real time, which the clock tick divides,
/// and would take a part of its level.
pub(super) fn is_hypothesis(workload: &Workload, judged: Option<&str>, metric: &str) -> bool {
    match judged {
        Some(judged) => metric == judged,
        None => metric == workload.primary || ![USER, SYSTEM].contains(&metric),
    }
}

/// Pairs of a command are merged into at most so many blocks, which take a second each in the
/// shortest usual run: longer than a worker, whose layout all of its trials share.
const MAX_BLOCKS: usize = 20;

/// How a metric is judged. Trials of commands follow each other in random order, so that their ratios are
/// symmetric: signed ranks find smaller differences of them than signs do.
pub(super) fn rule(workload: &Workload, metric: &str, looks: u32) -> PairRule {
    let (max_blocks, test) = match workload.time {
        Some(_) => (MAX_BLOCKS, PairTest::SignedRanks),
        None => (PairRule::default().max_blocks, PairTest::Signs),
    };
    PairRule { margin: margins::of_metric(metric).ln_1p(), looks, max_blocks, test }
}

/// The trials of two programs so far.
pub struct CompletedTrials<'a> {
    /// The program that is compared with.
    pub workload: &'a Workload,
    /// The runs of both with warm caches, base and new.
    pub warm_ups: [Option<&'a Trial>; 2],
    /// The trials of each, by round.
    pub trials: [&'a BTreeMap<u32, Trial>; 2],
    /// From the first of them to the last, in seconds.
    pub span_s: f64,
    /// How often there may be a look.
    pub looks: u32,
}

/// Whether each of these comparisons has found a difference among all `count` that the run makes, so
/// that more trials are not needed.
pub fn have_differences(found: &[CompletedTrials<'_>], count: usize) -> Vec<bool> {
    let effect = |it: &CompletedTrials<'_>| {
        let metric = metric_by_warm_ups(it.workload, it.warm_ups);
        let value = |trial: &Trial| {
            let metrics = it.workload.metrics(trial).into_iter();
            metrics.filter(|found| found.name == metric).map(|found| found.value).next()
        };
        let [base, new] = it.trials;
        let pairs = base.iter().filter_map(|(round, base)| {
            let pair = [value(base)?, value(new.get(round)?)?];
            pair.iter().all(|&value| is_cost(value)).then_some(pair)
        });
        let rule = rule(it.workload, metric, it.looks);
        let pairs: Vec<[f64; 2]> = pairs.collect();
        (interleaved_effect(&pairs, it.span_s, rule), rule.margin)
    };
    let (mut effects, mut margins): (Vec<_>, Vec<_>) = found.iter().map(effect).unzip();
    // The others may turn out to be no discoveries.
    let count = count.max(found.len());
    effects.resize(count, EffectEstimate { p: 1.0, ..EffectEstimate::default() });
    margins.resize(count, 0.0);
    let differs = |it: &Judgement| matches!(it.verdict, Verdict::Larger | Verdict::Smaller);
    verdicts(&effects, &margins)[..found.len()].iter().map(differs).collect()
}

/// What a reader has to know about two programs.
pub(super) fn flags(sides: [&RowState; 2]) -> impl Iterator<Item = &'static str> {
    let outputs = sides.map(|state| state.warm_up.as_ref().and_then(|it| it.output));
    // The output of one command may depend on its parameter.
    let [base, new] = sides.map(|state| &state.planned.case);
    let is_same = base.benchmark == new.benchmark && base != new;
    let differs = matches!(outputs, [Some(base), Some(new)] if base != new) && !is_same;
    differs.then_some("OUTPUT_DIFFERS").into_iter()
}

/// When a trial was run, and its metrics.
struct TrialMetrics {
    at_s: f64,
    metrics: Vec<MetricValue>,
}

/// The pairs of two rows, by metric.
pub(super) fn metric_pairs(
    versus: Pairing,
    workload: &Workload,
    sides: [&RowState; 2],
) -> Vec<MetricPairs> {
    let [base, new] = sides.map(|state| {
        let of_set = counted_trials(state).into_iter().filter(|it| it.worker.set == versus.set);
        let trials = of_set.filter_map(|CountedTrial { worker, trial }| {
            let metrics = workload.metrics(trial?);
            Some((round_of(worker.phase)?, TrialMetrics { at_s: worker.at_s, metrics }))
        });
        trials.collect::<BTreeMap<u32, TrialMetrics>>()
    });
    let Some(first) = base.values().next() else { return Vec::new() };
    // Two bounds have no ratio.
    let is_bound = sides.iter().any(|state| has_peak_of_starter(&counted_trials(state)));
    let compared = first.metrics.iter().filter(|it| workload.is_compared(&it.name));
    let compared = compared.filter(|it| it.name != PEAK_MEMORY || !is_bound);
    let of = |MetricValue { name, unit, .. }: &MetricValue| {
        let figure = |trial: &TrialMetrics| {
            let of_name = trial.metrics.iter().find(|it| it.name == *name);
            of_name.map(|it| it.value).filter(|&value| is_cost(value))
        };
        let both = base.iter().filter_map(|(round, it)| Some((it, new.get(round)?)));
        // A metric that is 0 in some trials is not compared: leaving out only those trials would
        // bias the ratio.
        let pairs = both.map(|(base, new)| {
            let at_s = base.at_s;
            let (base, new) = (figure(base)?, figure(new)?);
            let (ratio, added) = (new / base, new - base);
            Some(Pair { at_s, ratio, added, ties: 0, cycles_per_ns: None })
        });
        let pairs = pairs.collect::<Option<Vec<Pair>>>().filter(|pairs| !pairs.is_empty())?;
        Some(MetricPairs { name: name.clone(), unit: *unit, pairs })
    };
    compared.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use oscost_model::program::{Program, TreeUsage, TrialTime};

    use super::*;

    fn command() -> Workload {
        Workload {
            program: Program::default(),
            file: None,
            one_cpu: false,
            trials: 1,
            min_trials: 1,
            time: Some(TrialTime { first_look_s: 20.0, last_look_s: Some(62.0) }),
            figures: Vec::new(),
            primary: REAL.to_owned(),
            sampled: Vec::new(),
        }
    }

    fn warm_up(real_ns: u64, user_ns: u64, system_ns: u64) -> Trial {
        let usage = TreeUsage { user_ns, system_ns, ..TreeUsage::default() };
        Trial { real_ns, usage, ..Trial::default() }
    }

    #[test]
    fn a_busy_program_is_judged_by_its_cpu_time_and_a_waiting_one_by_its_real_time() {
        let judged = |base: Trial, new: Trial| {
            metric_by_warm_ups(&command(), [Some(&base), Some(&new)]).to_owned()
        };
        let (busy, waiting) = (warm_up(1_000, 600, 200), warm_up(1_000, 600, 100));
        assert_eq!(judged(busy.clone(), busy.clone()), CPU);
        assert_eq!(judged(busy.clone(), warm_up(1_000, 3_000, 900)), CPU, "on several CPUs");
        assert_eq!(judged(busy.clone(), waiting.clone()), REAL);
        let of_switches = |voluntary_switches| {
            let usage = TreeUsage { voluntary_switches, ..waiting.usage };
            Trial { usage, ..waiting.clone() }
        };
        assert_eq!(judged(busy.clone(), of_switches(1)), CPU, "that of its exit: it never slept");
        assert_eq!(judged(busy.clone(), of_switches(2)), REAL);
        let preempted = |voluntary_switches| {
            let usage = TreeUsage { involuntary_switches: 30, voluntary_switches, ..waiting.usage };
            Trial { usage, ..waiting.clone() }
        };
        assert_eq!(judged(busy.clone(), preempted(2)), CPU, "others had the CPU");
        assert_eq!(judged(busy.clone(), preempted(20)), REAL);
        let unknown = [Some(&busy), None];
        assert_eq!(metric_by_warm_ups(&command(), unknown), REAL);
        let speed = Workload { primary: "speed".to_owned(), ..command() };
        assert_eq!(metric_by_warm_ups(&speed, [Some(&busy); 2]), "speed");
    }

    #[test]
    fn the_modes_of_a_program_are_no_hypotheses_beside_its_time() {
        let speed = "speed".to_owned();
        let workload = Workload { time: None, primary: speed, ..command() };
        let hypotheses = |judged: Option<&str>| {
            let all = ["speed", REAL, USER, SYSTEM].into_iter();
            all.filter(|metric| is_hypothesis(&workload, judged, metric)).collect::<Vec<_>>()
        };
        assert_eq!(hypotheses(None), ["speed", REAL]);
        assert_eq!(hypotheses(Some(SYSTEM)), [SYSTEM]);
    }

    #[test]
    fn a_look_finds_a_difference_beyond_the_margin_alone() {
        let rounds = |ns: u64| -> BTreeMap<u32, Trial> {
            (0..40).map(|round| (round, warm_up(ns + u64::from(round % 7), 900, 100))).collect()
        };
        let (base, same, slower) = (rounds(100_000), rounds(100_001), rounds(102_000));
        let workload = command();
        let against = |new| CompletedTrials {
            workload: &workload,
            warm_ups: [None, None],
            trials: [&base, new],
            span_s: 20.0,
            looks: 2,
        };
        let all = [against(&same), against(&slower)];
        assert_eq!(have_differences(&all, 2), [false, true]);
        assert_eq!(have_differences(&[against(&slower)], 100), [true]);
        let few = rounds(102_000).into_iter().take(6).collect();
        assert_eq!(have_differences(&[against(&few)], 1), [false], "half the level needs more");
        let ten = rounds(102_000).into_iter().take(10).collect();
        assert_eq!(have_differences(&[against(&ten)], 1), [true]);
        assert_eq!(have_differences(&[against(&ten)], 100), [false], "one among many needs more");
    }
}
