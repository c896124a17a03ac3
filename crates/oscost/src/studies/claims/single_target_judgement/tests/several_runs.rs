//! Claims over several runs: rounds around known costs, which differ from run to run.

use oscost_stats::interval::Interval;

use super::*;
use crate::studies::claims::judgement::IntervalBasis;

/// What is asked of each run of a sequence.
struct Judged {
    verdict: Verdict,
    runs: usize,
    interval: Option<Interval>,
}

/// Judges the last of some runs, the oldest first, with all that are before it.
fn last_of<'a>(study: &'a Study, runs: &'a [Record]) -> JudgedClaim<'a> {
    let (last, before) = runs.split_last().unwrap();
    let earlier: Vec<Record> = before.iter().rev().cloned().collect();
    compare_single_target(study, last, &earlier).claims.remove(0)
}

/// A run of messages of 4 and 64 bytes, the larger of this cost, by oscost's own method and the
/// study's.
fn run_of(cost: f64) -> Record {
    latencies([[1_000.0; 2], [cost; 2], [1.0; 2], [1.0; 2]])
}

impl Draws {
    /// A run whose costs differ from the true ones by this deviation, each row for itself.
    fn run(&mut self, costs: [f64; 4], noise: f64, between: f64) -> Record {
        let costs = costs.map(|cost| cost * (between * self.normal()).exp());
        let [own, minima] = [(); 2].map(|()| self.rows(costs, noise));
        let mut record = record();
        record.results.clear();
        for (size, (own, minima)) in SIZES.into_iter().zip(own.iter().zip(&minima)).take(3) {
            let case = format!("pipe/round-trip:by=pipe,size={size},peer_cpu=other");
            add(&mut record, &case, own, Some(minima));
        }
        record
    }
}

/// Runs in a row, each judged with those before it.
struct Simulation<'a> {
    claim: &'a str,
    costs: [f64; 4],
    noise: f64,
    /// The deviation of each cost between runs.
    between: f64,
    /// After how many runs a verdict is asked for, ascending.
    counts: &'a [usize],
}

impl Simulation<'_> {
    fn sequence(&self, seed: u64) -> Vec<Judged> {
        let study = study(self.claim);
        let mut draws = Draws(Xoshiro256PlusPlus::seed_from_u64(seed));
        let runs: Vec<Record> = (0..*self.counts.last().unwrap())
            .map(|_| draws.run(self.costs, self.noise, self.between))
            .collect();
        let judge = |count: usize| {
            let judged = last_of(&study, &runs[..count]);
            let interval = judged.values[0].and_then(|it| it.interval);
            Judged { verdict: judged.verdict, runs: judged.runs, interval }
        };
        self.counts.iter().map(|&count| judge(count)).collect()
    }
}

#[test]
fn no_claim_flips_from_run_to_run_however_far_they_differ() {
    for between in [0.005, 0.02, 0.1] {
        for (claim, costs) in [
            (TIMES, [1e3, 3e3, 1e3, 1e3]),
            (TIMES, [1e3, 2.45e3, 1e3, 1e3]),
            (TIMES, [1e3, 2.2e3, 1e3, 1e3]),
            (ORDER, [1e3; 4]),
            (ORDER, [1e3, 1.1e3, 1.15e3, 1e3]),
        ] {
            let counts = &[1, 2, 3, 4, 5, 6];
            let simulation = Simulation { claim, costs, noise: 0.02, between, counts };
            for seed in 0..12 {
                let found = simulation.sequence(seed);
                let verdicts: Vec<&Verdict> = found.iter().map(|it| &it.verdict).collect();
                let mut decided = verdicts.iter().filter(|it| it.is_decided());
                let first = decided.next();
                let is_one = decided.all(|it| first.is_some_and(|first| it.is_same(first)));
                assert!(is_one, "{claim} {costs:?}, {between}: {verdicts:?}");
            }
        }
    }
}

#[test]
fn intervals_over_several_runs_hold_the_true_ratio_and_those_of_one_run_do_not() {
    const SEQUENCES: u64 = 150;
    const COUNTS: [usize; 5] = [1, 2, 3, 4, 7];
    for between in [0.0, 0.02, 0.1] {
        let costs = [1e3, 3e3, 1e3, 1e3];
        let simulation = Simulation { claim: TIMES, costs, noise: 0.02, between, counts: &COUNTS };
        let all: Vec<Vec<Judged>> = (0..SEQUENCES).map(|it| simulation.sequence(it)).collect();
        let held = |at: usize| {
            let held = all.iter().map(|sequence| &sequence[at]).filter(|it| {
                assert_eq!(it.runs, COUNTS[at]);
                it.interval.is_some_and(|it| it.contains(3.0))
            });
            held.count() as f64 / SEQUENCES as f64
        };
        let shares = [0, 1, 2, 3, 4].map(held);
        println!("deviation {between}: over {COUNTS:?} runs {shares:?} hold");
        // Of two runs the deviation is hardly known: at worst 87 of 100 hold.
        assert!(shares[1] >= 0.78 && shares[2] >= 0.88, "{between}: {shares:?}");
        assert!(shares[3..].iter().all(|it| *it >= 0.9), "{between}: {shares:?}");
        // The control.
        assert!(between < 0.1 || shares[0] < 0.6, "{shares:?}");
    }
}

#[test]
fn one_run_whose_rows_vary_between_runs_decides_nothing_near_a_bound() {
    let study = study(TIMES);
    let varying = |cost: f64| {
        let mut run = run_of(cost);
        for row in &mut run.results {
            let estimate = row.estimate.as_mut().unwrap();
            // A class of 5 %.
            estimate.ci95 = Some([99.0, 101.0]);
            estimate.between_run_ci95 = Some([87.0, 115.0]);
        }
        run
    };
    let alone = run_of(2_700.0);
    let judged = last_of(&study, std::slice::from_ref(&alone));
    assert_eq!(judged.verdict, Verdict::Holds, "by its rounds");
    assert_eq!(judged.interval_basis, Some(IntervalBasis::Rounds));
    let one = [varying(2_700.0)];
    let judged = last_of(&study, &one);
    assert_eq!(undecided(&judged), "its interval contains a bound");
    assert_eq!(judged.interval_basis, Some(IntervalBasis::VariationOfRows));
    // Far from the bounds it decides.
    let far = [varying(1_000.0)];
    assert_eq!(last_of(&study, &far).verdict, Verdict::DoesNotHold);
    // Runs that agree replace what is known of the rows.
    let four = [2_690.0, 2_700.0, 2_710.0, 2_700.0].map(varying);
    let judged = last_of(&study, &four);
    assert_eq!((&judged.verdict, judged.runs), (&Verdict::Holds, 4));
    assert_eq!(judged.interval_basis, Some(IntervalBasis::SeveralRuns));
}

#[test]
fn a_claim_that_no_run_decides_may_be_decided_by_all_together() {
    let study = study(TIMES);
    let mut wide = run_of(3_000.0);
    let rounds: Vec<f64> =
        (0..ROUNDS).map(|round| if round % 2 == 0 { 2_250.0 } else { 3_750.0 }).collect();
    let case = wide.results[1].case.clone();
    wide.results.truncate(1);
    wide.results[0].study_method = None;
    add(&mut wide, &case, &rounds, None);
    let one = [wide.clone()];
    assert_eq!(undecided(&last_of(&study, &one)), "its interval contains a bound");
    let eleven = vec![wide; 11];
    let judged = last_of(&study, &eleven);
    assert_eq!((&judged.verdict, judged.runs), (&Verdict::Holds, 11), "{judged:?}");
}

#[test]
fn few_runs_only_take_a_verdict_away() {
    let study = study(TIMES);
    let agreeing = [run_of(3_000.0), run_of(3_010.0)];
    let judged = last_of(&study, &agreeing);
    assert_eq!((&judged.verdict, judged.runs), (&Verdict::Holds, 2), "{judged:?}");
    for other in [2_000.0, 2_600.0] {
        let differing = [run_of(other), run_of(3_000.0)];
        let judged = last_of(&study, &differing);
        assert_eq!(judged.runs, 2);
        assert_eq!(undecided(&judged), "its interval contains a bound");
    }
}

#[test]
fn no_verdict_is_against_that_of_one_of_the_runs() {
    let study = study(TIMES);
    let mut runs = vec![run_of(3_000.0); 11];
    let agreeing = last_of(&study, &runs);
    assert_eq!((&agreeing.verdict, agreeing.runs), (&Verdict::Holds, 11));
    runs[4] = run_of(2_000.0);
    let judged = last_of(&study, &runs);
    let interval = judged.values[0].unwrap().interval.unwrap();
    assert!(interval.lo > 2.5 && interval.hi < 3.5, "all together hold: {interval:?}");
    let why = "all together say that it holds, and one of them alone that it does not hold";
    assert_eq!((undecided(&judged).as_str(), judged.runs), (why, 11));
}

#[test]
fn runs_on_which_no_claim_may_rest_do_not_count() {
    let study = study(TIMES);
    let count = |other: Record| last_of(&study, &[other, run_of(3_000.0)]).runs;
    assert_eq!(count(run_of(3_000.0)), 2);
    let mut noisy = run_of(3_000.0);
    noisy.conditions[0].class = Some("very-noisy".to_owned());
    let mut flagged = run_of(3_000.0);
    flagged.results[1].flags.push("UNRELIABLE".to_owned());
    let mut few_rounds = run_of(3_000.0);
    few_rounds.results[1].study_method.as_mut().unwrap().rounds.truncate(5);
    let mut missing = run_of(3_000.0);
    missing.results.remove(1);
    for other in [noisy, flagged, few_rounds, missing] {
        assert_eq!(count(other), 1);
    }
    // What is noisy itself rests on no other run either.
    let mut noisy = run_of(3_000.0);
    noisy.conditions[0].class = Some("very-noisy".to_owned());
    let runs = [run_of(3_000.0), noisy];
    let judged = last_of(&study, &runs);
    assert!(undecided(&judged).contains("very noisy") && judged.runs == 1, "{judged:?}");
}
