use oscost_model::clock::ClockKind;

use super::*;

const CLOCK: Calibration = Calibration {
    kind: ClockKind::Tsc,
    ticks_per_ns: 2.0,
    quantum_ticks: 1.0,
    inside_ticks: 40.0,
    pair_ticks: 80.0,
};

fn study_method(timed: TimingScope, statistic: Statistic, clock: ClockCost) -> StudyMethod {
    StudyMethod { timed, iterations: 3, experiments: 2, statistic, clock }
}

fn window(n: u64, ticks: i64) -> Sample {
    // Disturbances are ignored by the method of a study.
    Sample { n, ticks, involuntary_switches: 1, migrated: true, ..Sample::default() }
}

/// Experiments that were done in one round.
fn in_one_round(experiments: &[Vec<Sample>]) -> Vec<Experiment> {
    experiments.iter().map(|samples| in_rounds(&[(0, samples)])).collect()
}

/// An experiment with parts in these rounds.
fn in_rounds(parts: &[(u32, &[Sample])]) -> Experiment {
    let part = |&(round, samples): &(u32, &[Sample])| {
        let samples = samples.to_vec();
        ExperimentPart { round, samples }
    };
    Experiment { parts: parts.iter().map(part).collect() }
}

fn value_and_deviation(
    study_method: StudyMethod,
    unit: Unit,
    experiments: &[Vec<Sample>],
) -> (Option<f64>, Option<f64>) {
    let figure = MethodReader { study_method, clock: &CLOCK, unit, is_returned: false }
        .figure(&in_one_round(experiments))
        .unwrap();
    assert_eq!((figure.reason, figure.method), (None, study_method));
    (figure.value, figure.deviation)
}

/// Shots of 100, 100 and 10,000 ns; then of 100, 200 and 300 ns.
fn shots() -> Vec<Vec<Sample>> {
    let of = |ns: [i64; 3]| ns.map(|ns| window(1, 2 * ns)).to_vec();
    vec![of([100, 100, 10_000]), of([100, 200, 300])]
}

#[test]
fn a_mean_includes_interruptions_and_a_minimum_does_not() {
    let of = |statistic| study_method(TimingScope::Each, statistic, ClockCost::Included);
    let in_ns = |statistic| value_and_deviation(of(statistic), Unit::NsPerOp, &shots());
    assert_eq!(in_ns(Statistic::Mean), (Some(1_800.0), None));
    assert_eq!(in_ns(Statistic::Minimum), (Some(100.0), None));
    let (mean, deviation) = in_ns(Statistic::MeanAndDeviation);
    // Experiments of 3,400 and 200 ns, with one degree of freedom.
    assert_eq!(mean, Some(1_800.0));
    assert!((deviation.unwrap() - 3_200.0 / 2f64.sqrt()).abs() < 1e-9, "{deviation:?}");
}

#[test]
fn one_experiment_has_no_deviation() {
    let of = study_method(TimingScope::Each, Statistic::MeanAndDeviation, ClockCost::Included);
    assert_eq!(value_and_deviation(of, Unit::NsPerOp, &shots()[1..]), (Some(200.0), None));
}

#[test]
fn the_clock_is_subtracted_from_each_window_or_from_none() {
    let of = |timed, clock| {
        value_and_deviation(
            study_method(timed, Statistic::Mean, clock),
            Unit::NsPerOp,
            &shots()[1..],
        )
        .0
    };
    assert_eq!(of(TimingScope::Each, ClockCost::Included), Some(200.0));
    assert_eq!(of(TimingScope::Each, ClockCost::Subtracted), Some(180.0));
    // Three windows are one loop, which includes the clock once.
    let in_loop = of(TimingScope::Together, ClockCost::Included).unwrap();
    assert!((in_loop - (600.0 - 2.0 * 20.0) / 3.0).abs() < 1e-9, "{in_loop}");
    assert_eq!(of(TimingScope::Together, ClockCost::Subtracted), Some(180.0));
}

#[test]
fn the_figure_of_a_loop_is_its_total_over_its_ops() {
    let loops = vec![vec![window(100, 20_000)], vec![window(300, 120_000)]];
    let of = |statistic| study_method(TimingScope::Together, statistic, ClockCost::Included);
    assert_eq!(value_and_deviation(of(Statistic::Mean), Unit::NsPerOp, &loops).0, Some(175.0));
    assert_eq!(value_and_deviation(of(Statistic::Minimum), Unit::NsPerOp, &loops).0, Some(100.0));
    assert_eq!(
        value_and_deviation(of(Statistic::MeanAndDeviation), Unit::NsPerOp, &loops).0,
        Some(150.0)
    );
    let read = MethodReader {
        study_method: of(Statistic::Mean),
        clock: &CLOCK,
        unit: Unit::NsPerOp,
        is_returned: false,
    };
    let figure = read.figure(&in_one_round(&loops)).unwrap();
    assert_eq!((figure.iterations, figure.experiments), (100, 2));
}

#[test]
fn each_round_has_the_statistic_of_its_own_ops() {
    let [one, other] = &shots()[..] else { panic!("two experiments") };
    let of = |statistic| MethodReader {
        study_method: study_method(TimingScope::Each, statistic, ClockCost::Included),
        clock: &CLOCK,
        unit: Unit::NsPerOp,
        is_returned: false,
    };
    // The first experiment has shots in both rounds, the second one in the last only.
    let experiments = [in_rounds(&[(0, &one[..2]), (1, &one[2..])]), in_rounds(&[(1, other)])];
    let mean = of(Statistic::Mean).figure(&experiments).unwrap();
    let round = |round, ops, value| StudyMethodRound { round, ops, value, deviation: None };
    assert_eq!(mean.rounds, [round(0, 2, 100.0), round(1, 4, 2_650.0)]);
    assert_eq!((mean.value, mean.ops, mean.iterations), (Some(1_800.0), 6, 3));
    // The median of the rounds is 1,375 ns.
    let distance = mean.distance_from_rounds_pct.unwrap();
    assert!((distance - 100.0 * (1_800.0 / 1_375.0 - 1.0)).abs() < 1e-9, "{distance}");
    let minimum = of(Statistic::Minimum).figure(&experiments).unwrap();
    assert_eq!((minimum.value, minimum.distance_from_rounds_pct), (Some(100.0), Some(0.0)));
    let spread = of(Statistic::MeanAndDeviation).figure(&experiments).unwrap();
    assert_eq!((spread.rounds[0].deviation, spread.rounds[1].value), (None, 5_100.0));
    // The experiments' means in the last round are 10,000 and 200 ns.
    let deviation = spread.rounds[1].deviation.unwrap();
    assert!((deviation - 9_800.0 / 2f64.sqrt()).abs() < 1e-9, "{deviation}");
    assert_eq!(spread.value, Some(1_800.0), "the mean of the means of whole experiments");
}

#[test]
fn a_loop_spread_over_rounds_includes_the_clock_once() {
    let experiment = in_rounds(&[(0, &[window(100, 20_000)]), (3, &[window(100, 30_000)])]);
    let read = MethodReader {
        study_method: study_method(TimingScope::Together, Statistic::Mean, ClockCost::Included),
        clock: &CLOCK,
        unit: Unit::NsPerOp,
        is_returned: false,
    };
    let figure = read.figure(&[experiment]).unwrap();
    let value = figure.value.unwrap();
    assert!((value - (25_000.0 - 20.0) / 200.0).abs() < 1e-9, "{value}");
    let rounds: Vec<(u32, f64)> = figure.rounds.iter().map(|it| (it.round, it.value)).collect();
    assert_eq!(rounds, [(0, 100.0), (3, 150.0)]);
    assert_eq!((figure.experiments, figure.iterations, figure.ops), (1, 200, 200));
}

#[test]
fn one_round_has_no_distance_from_the_others() {
    let of = study_method(TimingScope::Each, Statistic::Mean, ClockCost::Included);
    let read =
        MethodReader { study_method: of, clock: &CLOCK, unit: Unit::NsPerOp, is_returned: false };
    let figure = read.figure(&in_one_round(&shots())).unwrap();
    assert_eq!((figure.rounds.len(), figure.distance_from_rounds_pct), (1, None));
}

#[test]
fn a_rate_is_that_of_the_mean_time_and_needs_a_positive_time() {
    let loops = vec![vec![window(100, 20_000)]];
    let of = study_method(TimingScope::Together, Statistic::Mean, ClockCost::Included);
    assert_eq!(value_and_deviation(of, Unit::BytesPerSecond, &loops).0, Some(1e7));
    let read = MethodReader {
        study_method: of,
        clock: &CLOCK,
        unit: Unit::BytesPerSecond,
        is_returned: false,
    };
    assert!(read.figure(&in_one_round(&[vec![window(100, -1)]])).is_err());
    let below = value_and_deviation(of, Unit::NsPerOp, &[vec![window(100, -200)]]).0;
    assert_eq!(below, Some(-1.0), "nothing is clamped");
}

#[test]
fn a_returned_figure_does_not_include_the_clock() {
    let samples = vec![vec![window(1, 1_500), window(1, 2_500)]];
    let of = study_method(TimingScope::Each, Statistic::Mean, ClockCost::Subtracted);
    let read =
        MethodReader { study_method: of, clock: &CLOCK, unit: Unit::NsPerOp, is_returned: true };
    assert_eq!(read.figure(&in_one_round(&samples)).unwrap().value, Some(2.0));
}
