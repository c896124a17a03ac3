mod several_runs;

use oscost_model::record::{CoreConditions, CoreFigure, Record, Row};
use oscost_model::study_method::{
    ClockCost, Statistic, StudyMethod, StudyMethodFigure, StudyMethodRound, TimingScope,
};
use oscost_model::unit::Unit;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::studies::claims::judgement::{Basis, JudgedClaim};
use crate::studies::claims::verdict::Verdict;
use crate::studies::comparison::single_target::compare_single_target;
use crate::studies::parser;
use crate::studies::study::{Placement, Study};
use crate::studies::test_record::{measured_row, stored_record};

/// A study that takes the smallest op, without its claims.
const HEAD: &str = r#"
id = "small"
title = "Messages"
authors = ["A"]
year = 2001
source = "somewhere"
measured-on = "something"

[protocol]
original = "x"
replication = "y"
timed = "each"
iterations = 1000
experiments = 1
statistic = "minimum"
overhead = "included"

[[table]]
name = "Figure 1"
title = "Latencies"
unit = "us"

[[table.series]]
name = "pipe"
axis = "size"
values = [4, 64, 256, 1024]
case = "pipe/round-trip:by=pipe,size={},peer_cpu=other"

[[table]]
name = "Figure 2"
title = "Rates"
unit = "MB/s"

[[table.series]]
name = "rate"
axis = "size"
values = [4, 64, 256, 1024]
case = "pipe/throughput:by=pipe,size={},peer_cpu=other"
statistic = "none"

[[table]]
name = "Table 1"
title = "Switches"
unit = "us"

[[table.row]]
name = "signals"
case = "switch/signal:between=processes,peer_cpu=same"
placement = "not given"

[[table.row]]
name = "pipes"
case = "switch/pipe:between=processes,peer_cpu=same"
placement = "not given"
"#;

const ORDER: &str = r#"
kind = "order"
cases = [
  "pipe/round-trip:by=pipe,size=4,peer_cpu=other",
  "pipe/round-trip:by=pipe,size=64,peer_cpu=other",
  "pipe/round-trip:by=pipe,size=256,peer_cpu=other",
]
"#;
const TIMES: &str = r#"
kind = "times"
cases = [
  "pipe/round-trip:by=pipe,size=64,peer_cpu=other",
  "pipe/round-trip:by=pipe,size=4,peer_cpu=other",
]
min = 2.5
max = 3.5
"#;
const SATURATES: &str = "kind = \"saturates\"\nseries = [\"rate\"]\nmin = 64\nmax = 256\n";
const SIGNALS: &str = r#"
kind = "times"
cases = [
  "switch/signal:between=processes,peer_cpu=same",
  "switch/pipe:between=processes,peer_cpu=same",
]
min = 1.5
max = 2.5
"#;

const SIZES: [u64; 4] = [4, 64, 256, 1024];
const ROUNDS: usize = 12;

fn study(claim: &str) -> Study {
    let text = format!("{HEAD}\n[[claim]]\ntext = \"so\"\nlocation = \"here\"\n{claim}");
    parser::parse(text.as_bytes()).unwrap()
}

/// A record without rows.
fn record() -> Record {
    let mut record = stored_record();
    record.comparisons.clear();
    record
}

/// Adds a row with these figures of its rounds: oscost's own, and those of the study's minimum.
fn add(record: &mut Record, case: &str, own: &[f64], minimum: Option<&[f64]>) {
    let mut row: Row = measured_row(&stored_record(), case, own);
    row.flags.clear();
    row.study_method = minimum.map(|values| {
        let round = |(round, &value): (u32, &f64)| StudyMethodRound {
            round,
            ops: 1_000,
            value,
            deviation: None,
        };
        let rounds: Vec<StudyMethodRound> = (0..).zip(values).map(round).collect();
        StudyMethodFigure {
            method: StudyMethod {
                timed: TimingScope::Each,
                iterations: 1_000,
                experiments: 1,
                statistic: Statistic::Minimum,
                clock: ClockCost::Included,
            },
            iterations: 1_000,
            experiments: 1,
            ops: 1_000 * values.len() as u64,
            value: values.iter().copied().reduce(f64::min),
            deviation: None,
            rounds,
            distance_from_rounds_pct: None,
            reason: None,
        }
    });
    record.results.push(row);
}

/// Figures of twelve rounds around a cost: within 2 % of it.
fn around(cost: f64) -> Vec<f64> {
    (0..ROUNDS).map(|round| cost * (1.0 + 0.01 * (round as f64 % 5.0 - 2.0))).collect()
}

/// A record of round trips with these costs: oscost's own, and the study's minima.
fn latencies(costs: [[f64; 2]; 4]) -> Record {
    let mut record = record();
    record.results.clear();
    for (size, [own, minimum]) in SIZES.into_iter().zip(costs) {
        let case = format!("pipe/round-trip:by=pipe,size={size},peer_cpu=other");
        add(&mut record, &case, &around(own), Some(&around(minimum)));
    }
    record
}

fn rates(rates: [f64; 4]) -> Record {
    let mut record = record();
    record.results.clear();
    for (size, rate) in SIZES.into_iter().zip(rates) {
        add(&mut record, &format!("pipe/throughput:by=pipe,size={size},peer_cpu=other"), &[], None);
        let row = record.results.last_mut().unwrap();
        *row = measured_row(&stored_record(), &row.case.clone(), &around(rate));
        row.unit = Unit::BytesPerSecond;
        row.flags.clear();
    }
    record
}

fn switches(one: [f64; 2], two: [f64; 2]) -> Record {
    let mut record = record();
    record.results.clear();
    for (cpu, [signal, pipe]) in [("same", one), ("other", two)] {
        for (by, cost) in [("signal", signal), ("pipe", pipe)] {
            let case = format!("switch/{by}:between=processes,peer_cpu={cpu}");
            add(&mut record, &case, &around(cost), Some(&around(cost)));
        }
    }
    record
}

fn judged<'a>(study: &'a Study, record: &'a Record) -> JudgedClaim<'a> {
    compare_single_target(study, record, &[]).claims.remove(0)
}

fn undecided(judged: &JudgedClaim<'_>) -> String {
    match &judged.verdict {
        verdict if verdict.is_undecided() => verdict.reason().unwrap(),
        other => panic!("{other:?}: {judged:?}"),
    }
}

#[test]
fn a_claim_that_holds_by_the_minimum_and_fails_by_the_median_shows_both() {
    let study = study(TIMES);
    let record = latencies([[1_000.0, 900.0], [1_850.0, 2_600.0], [1.0, 1.0], [1.0, 1.0]]);
    let judged = judged(&study, &record);
    assert_eq!((&judged.verdict, judged.basis), (&Verdict::Holds, Basis::StudyStatistic));
    assert!((judged.values[0].unwrap().value - 2_600.0 / 900.0).abs() < 0.05, "{judged:?}");
    let own = judged.own.unwrap();
    assert_eq!(own.judgement.verdict, Verdict::DoesNotHold);
    assert!((own.judgement.values[0].unwrap().value - 1.85).abs() < 0.03, "{own:?}");
    assert!(own.difference.contains("the smallest op"), "{}", own.difference);
    assert!(own.difference.contains("leaves the clock's cost"), "{}", own.difference);
}

#[test]
fn a_claim_in_cycles_is_judged_by_the_clock_that_the_processor_counted() {
    let claim =
        "kind = \"slope\"\nseries = [\"pipe\"]\nper = 1\nunit = \"cycle\"\nmin = 2.7\nmax = 3.3\n";
    let study = study(claim);
    // One nanosecond a byte.
    let mut record = latencies(SIZES.map(|size| [1_000.0 + size as f64; 2]));
    let figure = |median| CoreFigure {
        case: None,
        workers: 6,
        best: median,
        median,
        worse_pct: 0.0,
        worse_by: None,
    };
    for (counted, verdict) in [(3.0, Verdict::Holds), (2.0, Verdict::DoesNotHold)] {
        let ghz = Some(figure(counted));
        let core = CoreConditions { ghz, cpi_of_loop: None, cpi_of_kernel_op: None };
        record.conditions[0].core = Some(core);
        let judged = judged(&study, &record);
        assert_eq!(judged.verdict, verdict);
        // The smallest of the rounds is 2 % below their median.
        assert!((judged.values[0].unwrap().value / counted - 0.99).abs() < 0.02, "{judged:?}");
        let compared = compare_single_target(&study, &record, &[]);
        assert_eq!(compared.counted_core_ghz, Some(counted));
    }
    // A clock that is none is not taken.
    let core = CoreConditions { ghz: Some(figure(0.0)), cpi_of_loop: None, cpi_of_kernel_op: None };
    record.conditions[0].core = Some(core);
    assert_eq!(compare_single_target(&study, &record, &[]).counted_core_ghz, None);
}

#[test]
fn verdicts_that_agree_are_shown_once() {
    let study = study(TIMES);
    let record = latencies([[1_000.0, 900.0], [3_000.0, 2_600.0], [1.0, 1.0], [1.0, 1.0]]);
    let judged = judged(&study, &record);
    assert_eq!((judged.verdict, judged.own), (Verdict::Holds, None));
}

#[test]
fn few_rounds_of_the_study_s_statistic_leave_oscost_s_own() {
    let study = study(TIMES);
    let mut record = latencies([[1_000.0, 900.0], [1_850.0, 2_600.0], [1.0, 1.0], [1.0, 1.0]]);
    record.results[1].study_method.as_mut().unwrap().rounds.truncate(5);
    let judged_by_own = judged(&study, &record);
    let found = (&judged_by_own.verdict, judged_by_own.basis, &judged_by_own.own);
    assert_eq!(found, (&Verdict::DoesNotHold, Basis::OwnEstimates, &None));
}

#[test]
fn two_costs_of_an_order_within_a_twentieth_have_no_difference() {
    let study = study(ORDER);
    let of = |costs: [f64; 3]| {
        let [a, b, c] = costs.map(|cost| [cost, cost]);
        latencies([a, b, c, [1.0, 1.0]])
    };
    let verdict = |costs| judged(&study, &of(costs)).verdict;
    assert_eq!(verdict([1_000.0, 1_200.0, 1_500.0]), Verdict::Holds);
    assert_eq!(verdict([1_000.0, 1_015.0, 1_020.0]), Verdict::NoDifference);
    assert_eq!(verdict([1_000.0, 985.0, 1_000.0]), Verdict::NoDifference);
    // One step decides if it is the wrong way round.
    assert_eq!(verdict([1_000.0, 1_015.0, 700.0]), Verdict::DoesNotHold);
    let record = of([1_000.0, 1_015.0, 1_500.0]);
    let partly = judged(&study, &record);
    assert_eq!(partly.verdict, Verdict::NoDifference);
    let because = partly.because.unwrap();
    assert_eq!(because, "within 5 %: pipe 64 over pipe 4; the others are in that order");
}

#[test]
fn an_order_that_noise_hides_says_how_far_its_interval_reaches() {
    let study = study(ORDER);
    let mut record = latencies([[1_000.0; 2], [1_000.0; 2], [1_500.0; 2], [1.0; 2]]);
    let noisy: Vec<f64> =
        (0..ROUNDS).map(|round| if round % 2 == 0 { 800.0 } else { 1_250.0 }).collect();
    let case = record.results[1].case.clone();
    record.results.remove(1);
    add(&mut record, &case, &noisy, Some(&noisy));
    let why = undecided(&judged(&study, &record));
    assert_eq!(why, "an interval lies partly within 5 % of 1: pipe 64 over pipe 4");
}

#[test]
fn an_order_is_refuted_only_beyond_a_twentieth() {
    let study = study(ORDER);
    let verdict = |share: f64| {
        let mut record = latencies([[1_000.0; 2], [1_000.0; 2], [1_500.0; 2], [1.0; 2]]);
        let rounds: Vec<f64> =
            (0..ROUNDS).map(|round| 1_000.0 * (share + 0.02 * (round % 3) as f64)).collect();
        let case = record.results[1].case.clone();
        record.results.remove(1);
        add(&mut record, &case, &rounds, Some(&rounds));
        judged(&study, &record).verdict
    };
    assert!(matches!(verdict(0.93), Verdict::Undecided(_)), "the whole interval lies below 1");
    assert_eq!(verdict(0.85), Verdict::DoesNotHold);
}

#[test]
fn six_rounds_refute_neither_of_two_comparisons_and_the_claim_says_so() {
    let study = study(ORDER);
    let mut record = record();
    record.results.clear();
    for (size, cost) in SIZES.into_iter().zip([1_000.0, 500.0, 250.0, 1.0]) {
        let case = format!("pipe/round-trip:by=pipe,size={size},peer_cpu=other");
        add(&mut record, &case, &around(cost)[..6], None);
    }
    let judged = judged(&study, &record);
    let why = "too few rounds for an interval that is corrected for 2 comparisons: pipe 64 over pipe \
               4, pipe 256 over pipe 64";
    assert_eq!(undecided(&judged), why);
    let interval = judged.values[0].unwrap().interval.unwrap();
    assert!(interval.hi < 0.6, "alone it would refute the order: {interval:?}");
    let correction = judged.deciding[0].as_ref().and_then(|it| it.correction).unwrap();
    assert_eq!((correction.comparisons, correction.interval), (2, None));
}

#[test]
fn the_statistic_over_all_ops_is_judged_with_those_of_the_rounds() {
    let study = study(TIMES);
    let mut record = latencies([[1_000.0; 2], [3_000.0; 2], [1.0; 2], [1.0; 2]]);
    // In one round an op was as fast as none in the others: the minimum of the run is its own.
    let mut minima = around(3_000.0);
    minima[0] = 1_960.0;
    let case = record.results[1].case.clone();
    record.results.remove(1);
    add(&mut record, &case, &around(3_000.0), Some(&minima));
    let judged = judged(&study, &record);
    assert_eq!(undecided(&judged), "its interval contains a bound");
    let estimate = judged.values[0].unwrap();
    let interval = estimate.interval.unwrap();
    assert!((estimate.value - 2.0).abs() < 1e-9, "1,960 over 980: {estimate:?}");
    assert!(interval.lo == estimate.value && interval.hi > 2.9, "{interval:?}");
}

#[test]
fn a_rate_that_falls_beyond_its_peak_does_not_saturate() {
    let study = study(SATURATES);
    let verdict = |it: [f64; 4]| {
        let record = rates(it);
        let judged = judged(&study, &record);
        (judged.verdict, judged.because)
    };
    assert_eq!(verdict([1e8, 9.5e9, 1e10, 9.7e9]), (Verdict::Holds, None));
    let fallen = (Verdict::DoesNotHold, Some("it falls to 10 % of its peak, at 1024".to_owned()));
    assert_eq!(verdict([1e8, 1.07e10, 1.06e10, 1.07e9]), fallen);
    // It still grows: the largest is the last.
    assert_eq!(verdict([1e8, 1e9, 3e9, 1e10]), (Verdict::DoesNotHold, None));
    assert_eq!(verdict([1e8, 9.5e9, 1e10, 8.5e9]).0, Verdict::DoesNotHold);
}

#[test]
fn a_claim_without_a_placement_holds_only_in_both() {
    let study = study(SIGNALS);
    let names: Vec<&str> = study.tables[2].rows.iter().map(|row| row.name.as_str()).collect();
    let expected = ["signals (1 CPU)", "signals (2 CPUs)", "pipes (1 CPU)", "pipes (2 CPUs)"];
    assert_eq!(names, expected);
    assert_eq!(study.requested_cases().len(), 12);
    let verdict = |one, two| {
        let record = switches(one, two);
        let judged = judged(&study, &record);
        let placements: Vec<Placement> = judged.placements.iter().map(|it| it.placement).collect();
        assert_eq!(placements, Placement::BOTH);
        judged.verdict
    };
    assert_eq!(verdict([200.0, 100.0], [2_000.0, 1_000.0]), Verdict::Holds);
    assert_eq!(verdict([120.0, 100.0], [1_200.0, 1_000.0]), Verdict::DoesNotHold);
    let open = verdict([200.0, 100.0], [1_200.0, 1_000.0]);
    let why = "on one CPU it holds, on two CPUs it does not hold: the study does not say where \
               they ran";
    assert_eq!(open, Verdict::DependsOnPlacement(why.to_owned()));
}

#[test]
fn no_verdict_rests_on_a_noisy_run_or_on_a_flagged_row() {
    let study = study(TIMES);
    let record = || latencies([[1_000.0; 2], [3_000.0; 2], [1.0; 2], [1.0; 2]]);
    assert_eq!(judged(&study, &record()).verdict, Verdict::Holds);
    let mut noisy = record();
    noisy.conditions[0].class = Some("very-noisy".to_owned());
    let why = undecided(&judged(&study, &noisy));
    assert_eq!(why, "it would hold, but the run is very noisy");
    let missing = Record { results: noisy.results[..1].to_vec(), ..noisy.clone() };
    assert!(matches!(judged(&study, &missing).verdict, Verdict::NotMeasured(_)));
    for flag in ["UNRELIABLE", "CALLS_UNEXPECTED"] {
        let mut flagged = record();
        flagged.results[1].flags.push(flag.to_owned());
        let why = undecided(&judged(&study, &flagged));
        let expected = format!("it would hold, but no claim may rest on pipe 64, which is {flag}");
        assert_eq!(why, expected);
        // A row that the claim is not about does not matter.
        flagged.results.swap(1, 2);
        flagged.results[1].flags.push(flag.to_owned());
        flagged.results[2].flags.clear();
        assert_eq!(judged(&study, &flagged).verdict, Verdict::Holds);
    }
}

/// Draws of a cost that is skewed like costs are: the noise is the larger of two draws in a third
/// of the rounds, and a round's drift is shared by all rows.
struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// The figures of each row in each round.
    fn rows(&mut self, costs: [f64; 4], noise: f64) -> [Vec<f64>; 4] {
        let mut rows: [Vec<f64>; 4] = Default::default();
        for _ in 0..ROUNDS {
            let drift = 1.0 + 0.05 * self.normal();
            for (row, cost) in rows.iter_mut().zip(costs) {
                let tail = if self.uniform() < 0.3 { noise * self.normal().abs() } else { 0.0 };
                row.push(cost * drift * (1.0 + noise * self.normal() + tail).max(0.1));
            }
        }
        rows
    }
}

/// The verdicts of 200 runs on these true costs, each with its own noise.
fn verdicts(claim: &str, costs: [f64; 4], noise: f64) -> Vec<Verdict> {
    let study = study(claim);
    (0..200)
        .map(|seed| {
            let mut draws = Draws(Xoshiro256PlusPlus::seed_from_u64(seed));
            let [own, minima] = [(); 2].map(|()| draws.rows(costs, noise));
            let mut record = record();
            record.results.clear();
            for (size, (own, minima)) in SIZES.into_iter().zip(own.iter().zip(&minima)) {
                let case = format!("pipe/round-trip:by=pipe,size={size},peer_cpu=other");
                add(&mut record, &case, own, Some(minima));
            }
            judged(&study, &record).verdict
        })
        .collect()
}

#[test]
fn no_claim_flips_between_holds_and_does_not_hold_by_noise_alone() {
    let count = |verdicts: &[Verdict], verdict: &Verdict| {
        verdicts.iter().filter(|it| *it == verdict).count()
    };
    for noise in [0.005, 0.02, 0.1] {
        // Far inside the bounds, far outside, and an order of equal costs.
        for (claim, costs, wrong) in [
            (TIMES, [1.0, 3.0, 1.0, 1.0], &[Verdict::DoesNotHold][..]),
            (TIMES, [1.0, 1.85, 1.0, 1.0], &[Verdict::Holds]),
            (ORDER, [1.0, 1.3, 2.0, 1.0], &[Verdict::DoesNotHold]),
            (ORDER, [1.0, 1.3, 0.9, 1.0], &[Verdict::Holds]),
        ] {
            let found = verdicts(claim, costs, noise);
            let flips: usize = wrong.iter().map(|it| count(&found, it)).sum();
            assert_eq!(flips, 0, "{claim} {costs:?}, noise {noise}");
        }
    }
    // On a bound a run may decide wrongly, in at most the share that the intervals allow on a side.
    let on_bound = verdicts(TIMES, [1.0, 2.5, 1.0, 1.0], 0.02);
    assert!(count(&on_bound, &Verdict::DoesNotHold) <= 10, "{on_bound:?}");
    assert!(count(&on_bound, &Verdict::Holds) <= 10, "{on_bound:?}");
    // Equal costs: there is no difference, or the noise is too large; rarely anything else.
    for noise in [0.005, 0.01] {
        let equal = verdicts(ORDER, [1.0, 1.01, 1.02, 1.0], noise);
        assert_eq!(count(&equal, &Verdict::NoDifference), 200, "noise {noise}: {equal:?}");
    }
    let noisy = verdicts(ORDER, [1.0, 1.0, 1.0, 1.0], 0.1);
    let decided = [Verdict::Holds, Verdict::DoesNotHold].map(|verdict| count(&noisy, &verdict));
    assert!(decided[0] <= 1 && decided[1] <= 10, "{decided:?}");
}

#[test]
fn a_smallest_op_of_a_few_steps_of_the_clock_does_not_judge() {
    let study = study(TIMES);
    let mut record = record();
    record.machines[0].clock.as_mut().unwrap().q_ns = 10.0;
    let cases = [4, 64].map(|size| format!("pipe/round-trip:by=pipe,size={size},peer_cpu=other"));
    // Of 100 and 200 ns: 2 times by the minimum, where each is right to 10 ns only.
    for ((case, own), minimum) in cases.iter().zip([100.0, 300.0]).zip([100.0, 200.0]) {
        add(&mut record, case, &around(own), Some(&around(minimum)));
    }
    let judged = &compare_single_target(&study, &record, &[]).claims[0];
    assert_eq!((&judged.verdict, judged.basis), (&Verdict::Holds, Basis::OwnEstimates));
    assert!(judged.because.as_ref().unwrap().contains("a few steps of the clock"));
    // With a finer clock the same figures decide.
    record.machines[0].clock.as_mut().unwrap().q_ns = 0.1;
    let judged = &compare_single_target(&study, &record, &[]).claims[0];
    assert_eq!((&judged.verdict, judged.basis), (&Verdict::DoesNotHold, Basis::StudyStatistic));
}
