use std::collections::BTreeMap;

use oscost_model::channel::{ChannelObservation, Datagrams};
use oscost_model::definition::Axis;
use oscost_model::facts::{Cache, Facts};
use oscost_model::record::{
    DisturbanceSummary, Estimate, Machine, Overhead, Repetition, Row, RowOutcome, TargetInfo,
};

use super::capacity::{CapacityVerdict, CurveBends, verdict};
use super::*;

mod crossings;

/// The sizes of study cs736-2019.
const NINE: [u64; 9] = [4, 16, 64, 256, 1_024, 4_096, 65_536, 262_144, 524_288];

/// Half octaves from 4 to 1 Mi.
fn many() -> Vec<u64> {
    (0..=36).map(|at| (4.0 * (f64::from(at) / 2.0).exp2()).round() as u64).collect()
}

fn definition(unit: Unit) -> Definition {
    let axis = |name: &str| Axis {
        name: name.into(),
        sets: "something".into(),
        points: vec![],
        default_points: vec![],
        implied: (name == "capacity").then(|| Value::from("system")),
        price_list_points: vec![],
        thorough_points: vec![],
        range: Some((1, 1 << 30)),
        item: String::new(),
    };
    Definition {
        id: "made/up".into(),
        asks: String::new(),
        op: String::new(),
        expected: String::new(),
        unit,
        explanation: String::new(),
        calls: vec![],
        floor: vec![],
        compare_with: vec![],
        axes: vec![axis("size"), axis("by"), axis("capacity")],
        needs: vec![],
        in_price_list: false,
        switches: false,
        major_faults: false,
        bytes_axis: "size".into(),
        peer_may_be_remote: false,
        setup_us: Point::none(),
        rev: 1,
        source: String::new(),
    }
}

/// A row whose repetitions lie evenly within 1 % of a figure.
fn row(definition: &Definition, point: Point, figure: f64) -> Row {
    let values: Vec<f64> = (-7..=7).map(|at| figure * (1.0 + f64::from(at) / 700.0)).collect();
    let repetition = |value: &f64| Repetition {
        round: 0,
        at_s: 0.0,
        arm: 0,
        value: Some(*value),
        value_all: Some(*value),
        batches: 21,
        rejected: BTreeMap::new(),
        lost_pct: None,
        core_cycles_per_ns: None,
        reason: None,
        samples: None,
        parameters: None,
    };
    let low = figure.min(figure * 1.005) - figure.abs() * 0.005;
    Row {
        case: format!("{}:{point}", definition.id),
        benchmark: definition.id.clone(),
        rev: 1,
        point,
        target: TargetInfo {
            text: "local".into(),
            host: "local".into(),
            treatments: vec![],
            machine: "m0".into(),
            cpu: None,
            peer: None,
        },
        outcome: RowOutcome::Measured,
        reason: None,
        mode: None,
        unit: definition.unit,
        better: definition.unit.better(),
        estimate: Some(Estimate {
            between_run_ci95: None,
            levels: None,
            exact: false,
            median: figure,
            ci95: Some([low, figure + figure.abs() * 0.005]),
            raw_median: figure,
            overhead: Overhead { clock: None, loop_cost: None },
            mean: figure,
            sd: None,
            sd_within: None,
            min: figure,
            p10: figure,
            repetitions: 15,
            samples: 315,
            ops_per_sample: 1,
            half_width_pct: Some(0.5),
            converged: true,
            quantiles: None,
        }),
        metrics: BTreeMap::new(),
        repetitions: values.iter().map(repetition).collect(),
        calls: None,
        monitor: None,
        core_rate: None,
        floor: None,
        expected: String::new(),
        class: None,
        multiples: BTreeMap::new(),
        primary_metric: None,
        command: None,
        program: None,
        sampled_parameters: Vec::new(),
        counters: None,
        file: None,
        channel: None,
        disturbed: DisturbanceSummary {
            lost_repetitions: 0,
            rejected_pct: None,
            rejected: BTreeMap::new(),
            lost_pct: None,
            median_all: None,
            plan: None,
        },
        study_method: None,
        flags: vec![],
    }
}

fn sweep(definition: &Definition, sizes: &[u64], cost: impl Fn(f64) -> f64) -> Vec<Row> {
    let at = |&size: &u64| {
        row(definition, Point::none().with("size", size).with("by", "pipe"), cost(size as f64))
    };
    sizes.iter().map(at).collect()
}

fn machine() -> Machine {
    let mut facts = Facts::default();
    facts.memory.page_bytes = Some(4_096);
    facts.memory.huge_page_kib = Some(2_048);
    let cache = |level, kind: &str, kib| Cache {
        level: Some(level),
        kind: Some(kind.to_owned()),
        size_kib: Some(kib),
        ..Cache::default()
    };
    facts.caches = vec![
        cache(1, "Data", 32),
        cache(1, "Instruction", 64),
        cache(2, "Unified", 512),
        cache(3, "Unified", 16_384),
    ];
    Machine::new("m0", facts, vec![])
}

fn curves_of(definition: &Definition, rows: &[Row]) -> Vec<Curve> {
    let rows: Vec<DefinedRow<'_>> = rows.iter().map(|row| DefinedRow { definition, row }).collect();
    curves(&rows, Some(&machine()), 1).curves
}

fn only(definition: &Definition, rows: &[Row]) -> Curve {
    let mut found = curves_of(definition, rows);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A cost that increases by half above a size.
fn jump(after: f64) -> impl Fn(f64) -> f64 {
    move |n: f64| 5_000.0 * n.powf(0.1) * if n > after { 1.5 } else { 1.0 }
}

#[test]
fn a_constant_inside_its_interval_explains_a_break() {
    let costs = definition(Unit::NsPerOp);
    let mut rows = sweep(&costs, &many(), jump(65_536.0));
    for row in &mut rows {
        row.channel =
            Some(ChannelObservation { capacity_bytes: Some(65_536), ..Default::default() });
    }
    let curve = only(&costs, &rows);
    let breaks = curve.breaks.unwrap();
    assert_eq!(breaks.len(), 1, "{breaks:?}");
    assert_eq!(breaks[0].interval, [65_536, 92_682]);
    assert_eq!(breaks[0].constants, ["the channel's capacity (64Ki)"]);
    assert_eq!(
        curve.sentences[0],
        "break at 76.1Ki in [64Ki..90.5Ki]: the channel's capacity (64Ki)"
    );
    // The same curve over something that is not bytes has no constants.
    let mut others = definition(Unit::NsPerOp);
    others.axes[0].name = "fds".into();
    others.bytes_axis = String::new();
    for row in &mut rows {
        let Some(size) = row.point.get("size").cloned() else { panic!("no size") };
        row.point = Point::none().with("fds", size);
    }
    let curve = only(&others, &rows);
    assert_eq!(curve.breaks.unwrap()[0].constants, Vec::<String>::new());
    assert_eq!(curve.sentences[0], "unexplained break at 77936 in [65536..92682]");
}

#[test]
fn a_break_without_a_constant_is_unexplained() {
    let costs = definition(Unit::NsPerOp);
    let curve = only(&costs, &sweep(&costs, &many(), jump(1_024.0)));
    assert_eq!(curve.breaks.as_ref().unwrap()[0].constants, Vec::<String>::new());
    assert_eq!(curve.sentences[0], "unexplained break at 1.19Ki in [1Ki..1.41Ki]");
}

#[test]
fn a_fixed_and_a_marginal_cost_bend_a_curve_without_a_break() {
    let costs = definition(Unit::NsPerOp);
    for sizes in [NINE.to_vec(), many()] {
        let curve = only(&costs, &sweep(&costs, &sizes, |n| 5_000.0 + 0.2 * n));
        assert_eq!(curve.breaks, Some(vec![]), "{curve:?}");
        let law = curve.scaling.unwrap();
        assert_eq!((law.model.as_str(), law.alternative_model, law.fits), ("N", None, true));
        assert!((law.crossover.unwrap().value / 25_000.0 - 1.0).abs() < 0.01);
        let words = "no break: 5.00 us + 0.20 ns x N; the growing part is larger than the fixed one from \
             24.4Ki on";
        assert_eq!(curve.sentences[0], words);
        assert!(law.exponent.unwrap().value > 0.8);
        // The same holds for the rate of the same bytes.
        let rates = definition(Unit::BytesPerSecond);
        let curve = only(&rates, &sweep(&rates, &sizes, |n| 1e9 * n / (5_000.0 + 0.2 * n)));
        assert_eq!((curve.breaks, &curve.sentences[0][..]), (Some(vec![]), words));
    }
}

#[test]
fn a_constant_cost_is_reported_as_the_same_at_every_size() {
    let costs = definition(Unit::NsPerOp);
    // Noise makes a line fit better than a constant, which does not suffice to prefer it.
    let curve = only(&costs, &sweep(&costs, &NINE, |n| 4_321.0 + n % 5.0));
    let law = curve.scaling.unwrap();
    assert_eq!((law.model.as_str(), law.marginal_cost, law.crossover), ("1", None, None));
    assert_eq!(curve.sentences[0], "no break: 4.32 us at every size");
    assert_eq!(curve.saturation, None, "a cost does not saturate");
}

#[test]
fn a_rate_saturates_at_the_size_from_which_on_it_stays_near_the_largest() {
    let rates = definition(Unit::BytesPerSecond);
    let curve = only(&rates, &sweep(&rates, &NINE, |n| 1e6 * n.min(4_096.0)));
    assert_eq!(curve.saturation.as_ref().unwrap().from, 4_096);
    assert!(curve.sentences.contains(&"saturates from 4Ki".to_owned()), "{:?}", curve.sentences);
    let growing = only(&rates, &sweep(&rates, &NINE, |n| 1e6 * n));
    assert_eq!(growing.saturation, None);
    assert!(growing.sentences.contains(&"does not saturate up to 512Ki".to_owned()));
    let falling = |n: f64| if n > 65_536.0 { 1e9 } else { 1e6 * n.sqrt() * 100.0 };
    let falls = only(&rates, &sweep(&rates, &NINE, falling));
    assert_eq!(falls.saturation, None);
    assert!(
        falls.sentences.contains(&"does not saturate: the largest is at 64Ki".to_owned()),
        "{falls:?}"
    );
}

#[test]
fn without_intervals_a_curve_has_no_breaks_laws_or_saturation() {
    let rates = definition(Unit::BytesPerSecond);
    let mut rows = sweep(&rates, &NINE, |n| 1e6 * n.min(4_096.0));
    for row in &mut rows {
        row.estimate.as_mut().unwrap().ci95 = None;
    }
    let curve = only(&rates, &rows);
    assert_eq!((&curve.breaks, &curve.scaling, &curve.saturation), (&None, &None, &None));
    assert_eq!(curve.points.iter().filter(|point| point.figure.is_some()).count(), 9);
    assert_eq!(
        curve.sentences,
        [
            "9 points without an interval, not used for breaks",
            "no search for breaks: that takes 8 points with intervals",
        ]
    );
}

#[test]
fn missing_or_invalid_points_are_shown_and_not_used() {
    let costs = definition(Unit::NsPerOp);
    let mut rows = sweep(&costs, &many(), jump(65_536.0));
    rows[3].estimate = None;
    rows[3].outcome = RowOutcome::Skipped;
    for (at, figure) in [(5, -3.0), (6, 0.0), (7, f64::NAN)] {
        let estimate = rows[at].estimate.as_mut().unwrap();
        (estimate.median, estimate.ci95) = (figure, Some([figure - 1.0, figure + 1.0]));
    }
    rows.reverse();
    let curve = only(&costs, &rows);
    assert!(curve.points.is_sorted_by_key(|point| point.value));
    assert_eq!((curve.points.len(), curve.points[3].figure), (37, None));
    assert_eq!(curve.breaks.unwrap()[0].interval, [65_536, 92_682]);
    assert_eq!(curve.sentences[1], "2 of 37 points not measured");
    assert_eq!(curve.sentences[2], "2 points that may be 0, not used for breaks");
}

#[test]
fn few_points_form_no_curve_or_one_without_breaks() {
    let costs = definition(Unit::NsPerOp);
    assert_eq!(curves_of(&costs, &[]), []);
    assert_eq!(curves_of(&costs, &sweep(&costs, &NINE[..1], |n| n)), []);
    assert_eq!(curves_of(&costs, &sweep(&costs, &NINE[..4], |n| n)), []);
    assert_eq!(
        curves_of(&costs, &sweep(&costs, &[1, 2, 3, 4, 5, 6, 7, 8, 9], |n| n)),
        [],
        "no decade"
    );
    assert_eq!(curves_of(&costs, &sweep(&costs, &[0, 1, 2, 4, 8, 16], |n| n))[0].points.len(), 5);
    let curve = only(&costs, &sweep(&costs, &NINE[..7], |n| n));
    assert_eq!((curve.breaks, curve.scaling), (None, None));
    let mut reference_cases = sweep(&costs, &NINE, |n| n);
    reference_cases[0].flags.push("REFERENCE".into());
    assert_eq!(only(&costs, &reference_cases).points.len(), 8, "an unrequested row is not a point");
}

#[test]
fn a_curve_of_nine_points_reports_that_it_shows_one_break_at_most() {
    let costs = definition(Unit::NsPerOp);
    let curve = only(&costs, &sweep(&costs, &NINE, jump(1_024.0)));
    assert_eq!(curve.breaks.as_ref().unwrap()[0].interval, [1_024, 4_096]);
    assert_eq!(curve.sentences[0], "break at 2Ki in [1Ki..4Ki]: a page (4Ki)");
    assert_eq!(
        curve.sentences[1],
        "9 points show one break at most, since a segment has 4 or more"
    );
    assert_eq!(curve.sentences[2], "`--refine` measures eight more sizes around each break");
    let closer = [1_195, 1_393, 1_625, 1_896, 2_212, 2_580, 3_010, 3_511];
    assert_eq!(curve.breaks.unwrap()[0].refinement_values, closer);
    let narrow = only(&costs, &sweep(&costs, &many(), jump(1_024.0)));
    assert_eq!(narrow.breaks.unwrap()[0].refinement_values, Vec::<u64>::new());
}

#[test]
fn curves_are_separated_by_all_other_axes_and_by_target() {
    let costs = definition(Unit::NsPerOp);
    let mut rows = sweep(&costs, &NINE, |n| n);
    for row in sweep(&costs, &NINE, |n| 2.0 * n) {
        let Some(size) = row.point.get("size").cloned() else { panic!("no size") };
        rows.push(Row { point: Point::none().with("size", size).with("by", "fifo"), ..row });
    }
    let remote = sweep(&costs, &NINE, |n| 3.0 * n).into_iter().map(|mut row| {
        row.target.text = "ssh:there".into();
        row
    });
    rows.extend(remote);
    let found = curves_of(&costs, &rows);
    let keys: Vec<(String, &str)> =
        found.iter().map(|it| (it.point.to_string(), it.target.as_str())).collect();
    let expected = [("by=pipe", "local"), ("by=fifo", "local"), ("by=pipe", "ssh:there")];
    assert_eq!(keys, expected.map(|(point, target)| (point.to_owned(), target)));
}

#[test]
fn local_and_remote_peers_are_separate_curves() {
    let costs = definition(Unit::NsPerOp);
    let mut rows = sweep(&costs, &NINE, |n| n);
    rows.extend(sweep(&costs, &NINE, |n| 30.0 * n).into_iter().map(|mut row| {
        row.target.peer = Some("m1".into());
        row
    }));
    let found = curves_of(&costs, &rows);
    let keys: Vec<(Option<&str>, usize, f64)> = found
        .iter()
        .map(|it| (it.peer.as_deref(), it.points.len(), it.points[0].figure.unwrap()))
        .collect();
    let first = NINE[0] as f64;
    assert_eq!(keys, [(None, 9, first), (Some("m1"), 9, 30.0 * first)]);
}

#[test]
fn every_constant_of_a_channel_and_a_machine_has_a_name() {
    let channel = ChannelObservation {
        capacity_bytes: Some(1 << 20),
        pipe_buf_bytes: Some(4_096),
        send_buffer_bytes: Some(2_626_560),
        receive_buffer_bytes: Some(131_072),
        mtu_bytes: Some(1_500),
        segment_bytes: Some(1_448),
        datagrams: Some(Datagrams::default()),
        ..Default::default()
    };
    let all = constants::constants([&channel, &channel].into_iter(), Some(&machine()));
    let names = constants::constants_in(&all, 4_096, [1, 1 << 40]).join(", ");
    for name in [
        "PIPE_BUF (4Ki), a page (4Ki)",
        "a segment (1.41Ki)",
        "the MTU (1.46Ki)",
        "half of L1d (16Ki), L1d (32Ki)",
        "the largest datagram (64.0Ki)",
        "the receive buffer (128Ki)",
        "half of L2 (256Ki), L2 (512Ki)",
        "the channel's capacity (1Mi)",
        "a huge page (2Mi), the send buffer (2.50Mi)",
        "half of L3 (8Mi), L3 (16Mi)",
    ] {
        for name in name.split(", ") {
            assert!(names.contains(name), "{name} is not in {names}");
        }
    }
    assert!(!names.contains("(64Ki)"), "an instruction cache contains no data: {names}");
    assert_eq!(constants::constants_in(&all, 10_000, [5_000, 12_000]), Vec::<String>::new());
    assert_eq!(constants::constants([].into_iter(), None), []);
}

/// Curves of a channel at three capacities, each with its bends.
fn three_capacities(bends: [&[[u64; 2]]; 3]) -> Vec<CurveBends> {
    let capacities = [4_096, 65_536, 1_048_576];
    let curve = |(capacity, bends): (u64, &[[u64; 2]])| CurveBends {
        capacity,
        bends: Some(bends.to_vec()),
        sizes: [4, 524_288],
    };
    capacities.into_iter().zip(bends).map(curve).collect()
}

#[test]
fn a_capacity_explains_only_a_break_that_moves_with_it() {
    const AT_4: [u64; 2] = [4_096, 5_793];
    const AT_64: [u64; 2] = [65_536, 92_682];
    const AT_16: [u64; 2] = [16_384, 23_170];
    let unclear = |curves: &[CurveBends], words: &str| match verdict(curves) {
        Some(CapacityVerdict::Unclear(why)) => assert!(why.contains(words), "{why}"),
        other => panic!("{other:?}"),
    };
    // It moves; a break at 1 Mi is not visible, since that is beyond the largest size.
    assert_eq!(verdict(&three_capacities([&[AT_4], &[AT_64], &[]])), Some(CapacityVerdict::Moves));
    // It also moves if all curves break at a page as well.
    assert_eq!(
        verdict(&three_capacities([&[AT_4], &[AT_4, AT_64], &[AT_4]])),
        Some(CapacityVerdict::Moves)
    );
    // It stays, at one of the capacities or elsewhere.
    assert_eq!(
        verdict(&three_capacities([&[AT_64], &[AT_64], &[AT_64]])),
        Some(CapacityVerdict::Stays)
    );
    assert_eq!(
        verdict(&three_capacities([&[AT_16], &[AT_16], &[AT_16]])),
        Some(CapacityVerdict::Stays)
    );
    unclear(&three_capacities([&[], &[], &[]]), "no break at any capacity");
    // An interval that contains two capacities is evidence for neither, and not against the others.
    const BOTH: [u64; 2] = [1_024, 262_144];
    assert_eq!(verdict(&three_capacities([&[BOTH], &[AT_64], &[]])), Some(CapacityVerdict::Moves));
    unclear(&three_capacities([&[BOTH], &[AT_64], &[AT_64, AT_4]]), "are unrelated");
    unclear(&three_capacities([&[BOTH], &[BOTH], &[]]), "too wide");
    unclear(&three_capacities([&[AT_4], &[BOTH], &[BOTH]]), "too wide");
    unclear(&three_capacities([&[AT_16], &[AT_64], &[]]), "and some do not");
    unclear(&three_capacities([&[AT_4, AT_64], &[AT_4, AT_64], &[AT_4, AT_64]]), "are unrelated");
    let mut unknown = three_capacities([&[AT_4], &[AT_64], &[]]);
    unknown[2].bends = None;
    unclear(&unknown, "enough points");
    assert_eq!(verdict(&unknown[..1]), None, "one capacity is no test");
}

#[test]
fn curves_of_three_capacities_have_the_verdict() {
    let costs = definition(Unit::NsPerOp);
    let of_three = |after: fn(u64) -> f64| {
        let mut rows = Vec::new();
        for capacity in [4_096, 65_536, 1_048_576] {
            for mut row in sweep(&costs, &many(), jump(after(capacity))) {
                row.point = row.point.with("capacity", capacity);
                row.channel = Some(ChannelObservation {
                    capacity_bytes: Some(capacity),
                    ..Default::default()
                });
                rows.push(row);
            }
        }
        let verdicts = curves_of(&costs, &rows).into_iter().map(|it| it.capacity.unwrap());
        verdicts.map(|it| it.verdict).collect::<Vec<_>>()
    };
    assert_eq!(of_three(|capacity| capacity as f64), ["moves"; 3]);
    assert_eq!(of_three(|_| 65_536.0), ["stays"; 3]);
    let one = sweep(&costs, &many(), jump(65_536.0));
    assert_eq!(only(&costs, &one).capacity, None);
}

#[test]
fn results_depend_on_the_seed_alone() {
    let costs = definition(Unit::NsPerOp);
    let rows = sweep(&costs, &NINE, |n| 5_000.0 + 0.2 * n);
    assert_eq!(curves_of(&costs, &rows), curves_of(&costs, &rows));
}
