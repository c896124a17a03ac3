//! A synthetic run of any number of rows with everything that runs contain: curves, floors,
//! classes, flags, unmeasured rows, and raw batches. It is deterministic.

use oscost_model::curve::{BoundedValue, Break, Curve, CurvePoint, Scaling};
use oscost_model::point::Point;
use oscost_model::record::{Estimate, Floor, Record, Repetition, Row, RowOutcome};
use oscost_model::seed::Seed;
use oscost_model::unit::Unit;
use oscost_model::worker::Sample;

/// The number of workers of a row.
const REPETITIONS: u32 = 12;
/// The number of sizes in a curve.
const SIZES: u32 = 7;
/// The other axis of each benchmark.
const WAYS: [&str; 3] = ["raw", "libc", "ring"];

/// A run of these benchmarks, by id and unit, which share this number of rows; each worker has this
/// number of raw batches.
pub(crate) fn run(benchmarks: &[(&str, Unit)], rows: usize, batches: u32) -> Record {
    let of_one = include_str!("../store/run-1.json");
    let mut record: Record = serde_json::from_str(of_one).unwrap();
    let plain = record.results[0].clone();
    let mut seed = Seed::new(23);
    record.comparisons.clear();
    record.results.clear();
    for (at, (benchmark, unit)) in benchmarks.iter().enumerate() {
        let share = rows / benchmarks.len() + usize::from(at < rows % benchmarks.len());
        // The costs of an operating system are between a nanosecond and a millisecond.
        let cost = 10f64.powf(6.0 * seed.unit());
        for nth in 0..share {
            let (way, step) = (nth / SIZES as usize, nth as u32 % SIZES);
            let size = 64u64 << (2 * step);
            let way = format!("{}{}", WAYS[way % WAYS.len()], way / WAYS.len());
            let mut row = Row {
                case: format!("{benchmark}:way={way},size={size}"),
                benchmark: (*benchmark).to_owned(),
                point: Point::none().with("way", way.as_str()).with("size", size),
                unit: *unit,
                ..plain.clone()
            };
            let figure = cost * (1.0 + size as f64 / 4_096.0) * (0.8 + 0.4 * seed.unit());
            add_repetitions(&mut row, figure, batches, &mut seed);
            add_floor_or_flag(&mut row, record.results.len());
            record.results.push(row);
        }
    }
    record.curves = curves(&record.results);
    record
}

/// Gives a row its repetitions and their estimate.
fn add_repetitions(row: &mut Row, figure: f64, batches: u32, seed: &mut Seed) {
    // The sum of twelve is nearly normal.
    let mut noise = || (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
    let sample = |round: u32, batch: u32, value: f64| Sample {
        round,
        batch,
        n: 1_000,
        ticks: (value * 2_600.0) as i64,
        ..Sample::default()
    };
    row.repetitions = (0..REPETITIONS)
        .map(|round| {
            let value = figure * (1.0 + 0.01 * noise());
            let sampled = (0..batches).map(|at| sample(round, at, value * (1.0 + 0.02 * noise())));
            Repetition {
                round,
                at_s: f64::from(round),
                arm: 0,
                value: Some(value),
                value_all: Some(value),
                batches: 60,
                rejected: Default::default(),
                lost_pct: Some(0.25),
                core_cycles_per_ns: None,
                reason: None,
                samples: Some(sampled.collect()),
                parameters: None,
            }
        })
        .collect();
    let estimate = row.estimate.as_mut().unwrap();
    *estimate = Estimate {
        median: figure,
        ci95: Some([figure * 0.99, figure * 1.012]),
        raw_median: figure,
        mean: figure,
        sd: Some(figure * 0.01),
        min: figure * 0.98,
        p10: figure * 0.985,
        repetitions: REPETITIONS,
        samples: u64::from(60 * REPETITIONS),
        quantiles: None,
        ..estimate.clone()
    };
    row.metrics.clear();
    let class = match figure {
        few if few < 20.0 => "user",
        few if few < 80.0 => "vdso",
        few if few < 1_000.0 => "light",
        few if few < 50_000.0 => "heavy",
        _ => "blocking",
    };
    row.class = Some(class.to_owned());
    row.flags.clear();
}

/// Gives some rows a floor, a flag, or a reason for having no figure.
fn add_floor_or_flag(row: &mut Row, at: usize) {
    let median = row.estimate.as_ref().map(|it| it.median);
    let below = median.filter(|_| at.is_multiple_of(3)).map(|median| median * 0.6);
    row.floor = below.map(|below| Floor {
        value: Some(below),
        of: vec!["2 x syscall/getppid:via=raw".to_owned()],
    });
    let flag = match at % 20 {
        3 => Some("SKEWED"),
        7 => Some("DRIFT"),
        11 => Some("BELOW_DETECTION"),
        13 => Some("NOT_CONVERGED"),
        _ => None,
    };
    row.flags.extend(flag.map(str::to_owned));
    if at % 40 == 39 {
        row.outcome = RowOutcome::Skipped;
        row.reason = Some(format!("needs {} open files, and 1024 may be open", 10_008 + at % 3));
        row.estimate = None;
        row.repetitions.clear();
    }
}

/// The curves of consecutive rows that differ in their size alone.
fn curves(rows: &[Row]) -> Vec<Curve> {
    let way = |row: &Row| row.point.get("way").cloned();
    let alike = |one: &Row, other: &Row| one.benchmark == other.benchmark && way(one) == way(other);
    rows.chunk_by(alike).filter(|rows| rows.len() > 2).map(curve).collect()
}

fn curve(rows: &[Row]) -> Curve {
    let first = &rows[0];
    let size = |row: &Row| row.point.get("size").and_then(|it| it.to_string().parse().ok());
    let point = |row: &Row| CurvePoint {
        value: size(row).unwrap_or(0),
        case: row.case.clone(),
        figure: row.estimate.as_ref().map(|it| it.median),
        ci95: row.estimate.as_ref().and_then(|it| it.ci95),
    };
    let bounded = |value: f64| BoundedValue { value, ci95: [value * 0.9, value * 1.1] };
    let cost = first.estimate.as_ref().map_or(1.0, |it| it.median);
    let way = first.point.get("way").map(ToString::to_string).unwrap_or_default();
    Curve {
        benchmark: first.benchmark.clone(),
        point: Point::none().with("way", way.as_str()),
        axis: "size".to_owned(),
        item: "byte".to_owned(),
        target: first.target.text.clone(),
        peer: None,
        unit: first.unit,
        better: first.better,
        points: rows.iter().map(point).collect(),
        breaks: Some(vec![Break {
            position: 4_096,
            interval: [1_024, 16_384],
            constants: vec!["a page, 4 KiB".to_owned()],
            refinement_values: Vec::new(),
        }]),
        saturation: None,
        scaling: Some(Scaling {
            model: "N".to_owned(),
            alternative_model: None,
            fixed_cost: bounded(cost),
            marginal_cost: Some(bounded(cost / 4_096.0)),
            crossover: None,
            exponent: None,
            fits: true,
        }),
        capacity: None,
        sentences: vec![format!("{way}: grows with the size, from a page on")],
    }
}
