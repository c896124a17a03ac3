//! Checks of comparisons with known true effects, S7 to S12 of docs/explanation/METHOD.md, section
//! 10, each a function that returns its result: they must pass in the tests of `comparison.rs`, and
//! fail with an injected fault in those of `fault_injection.rs`.
//!
//! Seeds are fixed, so a check passes always or never.

pub(crate) mod stored_boots;
pub(crate) mod stored_runs;

use oscost::estimate::comparison::verdict::{
    EffectEstimate, Side, Verdict, neighbours, paired_effect, separate_effect, verdicts,
};
use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_stats::between_runs::{Prior, RunMedian, RunVariation, run_difference};
use oscost_stats::boots::BootVariation;
use oscost_stats::order::{median, sorted};

use crate::shapes::Source;
use crate::share::share;

/// The result of a check: what it found, as an error if it failed.
pub(crate) type CheckResult = Result<String, String>;

/// The margin of 1 %, as a logarithm.
const MARGIN: f64 = 0.009_950_330_853_168_1;
/// Pairs are spread over more than a minute.
const SPREAD_S: f64 = 600.0;
/// The standard error of a share near 5 % is then 0.34 points, near 80 % 0.63.
const RUNS: u32 = 4_000;

fn accept(name: &str, good: bool, found: &str) -> CheckResult {
    let text = format!("{name}: {found}");
    if good { Ok(text) } else { Err(text) }
}

/// A standard normal number.
fn normal(source: &mut Source) -> f64 {
    source.lognormal(1.0).ln()
}

/// The drift of a machine: the standard deviations of a slow drift and of sudden shifts of the
/// level.
#[derive(Clone, Copy, Debug)]
struct MachineDrift {
    drift: f64,
    shift: f64,
}

/// The logarithms of the costs of one case in consecutive runs: 2 % between runs, and the machine's
/// drift.
fn consecutive_runs(count: usize, machine: MachineDrift, source: &mut Source) -> Vec<f64> {
    const PERSISTENCE: f64 = 0.97;
    let fresh = machine.drift * (1.0f64 - PERSISTENCE * PERSISTENCE).sqrt();
    let mut drift = machine.drift * normal(source);
    let mut level = 0.0;
    (0..count)
        .map(|_| {
            drift = PERSISTENCE * drift + fresh * normal(source);
            // A new level after about twenty runs.
            if source.lognormal(1.0) > 5.2 {
                level = machine.shift * normal(source);
            }
            drift + level + 0.02 * normal(source)
        })
        .collect()
}

/// The effect found in runs of one case that belong to these sides.
fn judged(sides: &[Side], costs: &[f64]) -> EffectEstimate {
    let pairs = neighbours(sides);
    let values: Vec<[f64; 2]> =
        pairs.iter().map(|&[base, new]| [costs[base].exp(), costs[new].exp()]).collect();
    paired_effect(&values, SPREAD_S, MARGIN)
}

fn excludes_zero(it: &EffectEstimate) -> bool {
    it.interval.is_some_and(|interval| !interval.contains(0.0))
}

const DRIFTS: [MachineDrift; 4] = [
    MachineDrift { drift: 0.0, shift: 0.0 },
    MachineDrift { drift: 0.01, shift: 0.0 },
    MachineDrift { drift: 0.03, shift: 0.03 },
    MachineDrift { drift: 0.05, shift: 0.05 },
];

/// S7: thirty runs of one case on each side, alternating and one side after the other.
pub(crate) fn s7_pairs() -> CheckResult {
    use Side::{Base, New};
    let alternating: Vec<Side> = [Base, New, New, Base].into_iter().cycle().take(60).collect();
    let consecutive = [[Base; 30], [New; 30]].concat();
    let (mut good, mut found) = (true, String::new());
    for (name, sides) in [("alternating", alternating), ("consecutive", consecutive)] {
        for machine in DRIFTS {
            let mut source = Source::seeded(7);
            let alarms = share(RUNS, || {
                let costs = consecutive_runs(sides.len(), machine, &mut source);
                excludes_zero(&judged(&sides, &costs))
            });
            good &= alarms <= 6.0;
            found.push_str(&format!("{name}, {machine:?}: {alarms:.1} %; "));
        }
    }
    accept("S7 pairs", good, &found)
}

/// The variation of a row between runs, as a user's machine has it: half of it common to all rows.
const BETWEEN_RUNS: f64 = 0.035;

/// The effect between runs that did not alternate, of rows whose variation is known as well as the
/// prior is; none if the injected fault treats their repetitions as interleaved.
fn separate(base: &[RunMedian], new: &[RunMedian], alternations: usize) -> EffectEstimate {
    let prior = Prior { deviation: BETWEEN_RUNS, degrees_of_freedom: 4.0 };
    // Each run has a boot of its own.
    let boots = [base, new].map(|runs| runs.chunks(1).collect::<Vec<_>>());
    let shares = boots.iter().map(|it| 1.0 / it.len() as f64).sum();
    let variation = BootVariation::of(&boots, prior).of_sides(shares, alternations);
    let variation = match is_injected(InjectedFault::RunsAsInterleaved) {
        true => RunVariation { deviation: 0.0, ..variation },
        false => variation,
    };
    let found = run_difference(base, new, alternations, variation, 0.0);
    separate_effect(found.unwrap())
}

/// A run of a row: repetitions that spread by 4 % around its level.
fn run_of_row(level: f64, repetitions: u32, source: &mut Source) -> RunMedian {
    let logs: Vec<f64> = (0..repetitions).map(|_| level + 0.04 * normal(source)).collect();
    RunMedian::of(&logs).unwrap()
}

/// S7: two runs of the same forty rows, on a machine that differs by 2.5 % between runs, with
/// another 2.5 % for each row.
pub(crate) fn s7_separate_runs() -> CheckResult {
    const ROWS: usize = 40;
    let (mut good, mut found) = (true, String::new());
    for repetitions in [6, 15, 40] {
        let mut source = Source::seeded(70);
        let mut false_verdicts = 0;
        let runs = 500;
        let alarms = share(runs, || {
            let machines: [f64; 2] = std::array::from_fn(|_| 0.025 * normal(&mut source));
            let rows: Vec<EffectEstimate> = (0..ROWS)
                .map(|_| {
                    let [base, new] = machines.map(|machine| {
                        let level = machine + 0.025 * normal(&mut source);
                        run_of_row(level, repetitions, &mut source)
                    });
                    separate(&[base], &[new], 1)
                })
                .collect();
            let judged = verdicts(&rows, &[MARGIN; ROWS]);
            let alarms = judged.iter().filter(|it| it.verdict != Verdict::Inconclusive).count();
            false_verdicts += alarms;
            alarms > 0
        });
        let share_of_rows = 100.0 * false_verdicts as f64 / (ROWS as f64 * f64::from(runs));
        good &= alarms <= 5.0 && share_of_rows <= 1.0;
        found.push_str(&format!(
            "{repetitions} repetitions: {alarms:.1} % of comparisons alarm, {share_of_rows:.2} % of \
             rows; "
        ));
    }
    accept("S7 separate runs", good, &found)
}

/// S7: five runs on each side, one side after the other, on machines that drift.
pub(crate) fn s7_runs_in_a_row() -> CheckResult {
    let (mut good, mut found) = (true, String::new());
    for machine in DRIFTS {
        let mut source = Source::seeded(72);
        let alarms = share(RUNS, || {
            let levels = consecutive_runs(10, machine, &mut source);
            let runs: Vec<RunMedian> =
                levels.iter().map(|&level| run_of_row(level, 15, &mut source)).collect();
            excludes_zero(&separate(&runs[..5], &runs[5..], 1))
        });
        good &= alarms <= 6.0;
        found.push_str(&format!("{machine:?}: {alarms:.1} %; "));
    }
    accept("S7 runs in a row", good, &found)
}

/// Two runs in which one row of forty costs twice as much: that row alone is found.
pub(crate) fn separate_runs_power() -> CheckResult {
    const ROWS: usize = 40;
    let mut source = Source::seeded(71);
    let (mut others, runs) = (0, 500);
    let power = share(runs, || {
        let rows: Vec<EffectEstimate> = (0..ROWS)
            .map(|row| {
                let effect = if row == 0 { 1.7f64.ln() } else { 0.0 };
                let [base, new] = [0.0, effect].map(|level| {
                    let level = level + 0.025 * normal(&mut source);
                    run_of_row(level, 15, &mut source)
                });
                separate(&[base], &[new], 1)
            })
            .collect();
        let judged = verdicts(&rows, &[MARGIN; ROWS]);
        others += judged[1..].iter().filter(|it| it.verdict != Verdict::Inconclusive).count();
        judged[0].verdict == Verdict::Larger
    });
    let found = format!("found in {power:.1} %, {others} other rows in {runs} comparisons");
    accept("separate runs, +100 %", power >= 95.0 && others <= 10, &found)
}

/// Five runs on each side, in alternation, of a row that varies by 3 % between them: +10 % is found
/// in at least 80 %, and the smallest detectable effect of the whole rule in 75 to 85 %.
pub(crate) fn five_runs_a_side() -> CheckResult {
    let mut source = Source::seeded(73);
    let runs = |effect: f64, source: &mut Source| -> Vec<RunMedian> {
        (0..5).map(|_| run_of_row(effect + 0.03 * normal(source), 15, source)).collect()
    };
    let is_found = |it: EffectEstimate| verdicts(&[it], &[MARGIN])[0].verdict == Verdict::Larger;
    let power = share(RUNS, || {
        let (base, new) = (runs(0.0, &mut source), runs(1.1f64.ln(), &mut source));
        is_found(separate(&base, &new, 5))
    });
    let smallest: Vec<f64> = (0..1_000)
        .map(|_| {
            let found = separate(&runs(0.0, &mut source), &runs(0.0, &mut source), 5);
            verdicts(&[found], &[MARGIN])[0].detectable.unwrap()
        })
        .collect();
    let smallest = median(&sorted(&smallest)).unwrap();
    let of_smallest = share(RUNS, || {
        is_found(separate(&runs(0.0, &mut source), &runs(smallest, &mut source), 5))
    });
    let good = power >= 80.0 && (75.0..=85.0).contains(&of_smallest);
    let found = format!(
        "+10 % in {power:.1} %, the smallest detectable ({:.1} %) in {of_smallest:.1} %",
        100.0 * smallest.exp_m1()
    );
    accept("five runs a side", good, &found)
}

/// Pairs of a real effect, a twentieth of them disturbed, on a machine that drifts by 10 %.
fn pairs(effect: f64, sd: f64, count: usize, source: &mut Source) -> Vec<[f64; 2]> {
    (0..count)
        .map(|_| {
            let level = 0.1 * normal(source);
            let disturbed = source.lognormal(1.0) > 5.2;
            let noise = if disturbed { 3.0 * sd } else { sd } * normal(source);
            [level.exp(), (level + effect + noise).exp()]
        })
        .collect()
}

fn effect_found(sd: f64, count: usize, min_power: f64, seed: u64, name: &str) -> CheckResult {
    let effect = 1.05f64.ln();
    let mut source = Source::seeded(seed);
    let (mut held, mut wrong) = (0, 0);
    let power = share(RUNS, || {
        let it = paired_effect(&pairs(effect, sd, count, &mut source), SPREAD_S, MARGIN);
        held += u32::from(it.interval.is_some_and(|interval| interval.contains(effect)));
        wrong += u32::from(it.interval.is_some_and(|interval| interval.hi < 0.0));
        excludes_zero(&it)
    });
    let coverage = 100.0 * f64::from(held) / f64::from(RUNS);
    let found = format!("power {power:.1} %, coverage {coverage:.1} %, {wrong} of the wrong sign");
    accept(name, power >= min_power && coverage >= 93.0 && wrong == 0, &found)
}

/// S8: +5 %, sixteen pairs with a spread of 2 %.
pub(crate) fn s8_five_per_cent() -> CheckResult {
    effect_found(0.02, 16, 99.0, 8, "S8")
}

/// S9: +5 %, thirty pairs with a spread of 5 %.
pub(crate) fn s9_five_per_cent_in_noise() -> CheckResult {
    effect_found(0.05, 30, 95.0, 9, "S9")
}

/// S10: a difference of 3 %, the bound, is seldom called equivalent, no difference nearly always.
pub(crate) fn s10_equivalence() -> CheckResult {
    let called = |effect: f64, sd: f64, count: usize| {
        let mut source = Source::seeded(10);
        share(RUNS, || {
            let values: Vec<[f64; 2]> =
                (0..count).map(|_| [1.0, (effect + sd * normal(&mut source)).exp()]).collect();
            let it = paired_effect(&values, SPREAD_S, MARGIN);
            verdicts(&[it], &[MARGIN])[0].verdict == Verdict::Equivalent
        })
    };
    let bound = 1.03f64.ln();
    let falsely = [(0.02, 16), (0.10, 12)].map(|(sd, count)| called(bound, sd, count));
    let rightly = called(0.0, 0.02, 16);
    let good = falsely.iter().all(|&it| it <= 6.5) && rightly >= 95.0;
    accept("S10", good, &format!("falsely {falsely:.1?} %, rightly {rightly:.1} %"))
}

/// S11: a hundred rows, none or five of which differ.
pub(crate) fn s11_many_rows() -> CheckResult {
    const ROWS: usize = 100;
    let (mut good, mut found) = (true, String::new());
    for differ in [0, 5] {
        let mut source = Source::seeded(11);
        let (mut hits, mut shares) = (0, 0.0);
        let runs = 400;
        let any = share(runs, || {
            let rows: Vec<EffectEstimate> = (0..ROWS)
                .map(|row| {
                    let effect = if row < differ { 1.05f64.ln() } else { 0.0 };
                    paired_effect(&pairs(effect, 0.02, 30, &mut source), SPREAD_S, MARGIN)
                })
                .collect();
            let judged = verdicts(&rows, &[MARGIN; ROWS]);
            let is_found: Vec<bool> = judged.iter().map(|it| it.q <= 0.05).collect();
            let [right, wrong] = [&is_found[..differ], &is_found[differ..]]
                .map(|rows| rows.iter().filter(|&&found| found).count());
            hits += right;
            shares += wrong as f64 / (right + wrong).max(1) as f64;
            wrong > 0
        });
        let false_share = 100.0 * shares / f64::from(runs);
        let power = 100.0 * hits as f64 / (differ.max(1) as f64 * f64::from(runs));
        good &= match differ {
            0 => any <= 7.0,
            _ => false_share <= 5.0 && power >= 99.0,
        };
        found.push_str(&format!(
            "{differ} differ: any false {any:.1} %, share {false_share:.1} %, power {power:.1} %; "
        ));
    }
    accept("S11", good, &found)
}

/// S12: the smallest detectable effect is detected in four of five comparisons by the whole rule:
/// margin, interval, and correction for the number of rows, of which one differs.
pub(crate) fn s12_smallest_effect_among_many() -> CheckResult {
    const ROWS: usize = 40;
    let (mut good, mut found) = (true, String::new());
    for (sd, count) in [(0.02, 20), (0.02, 60), (0.05, 30), (0.002, 30)] {
        let mut source = Source::seeded(121);
        let mut row = |effect: f64| {
            let values: Vec<[f64; 2]> =
                (0..count).map(|_| [1.0, (effect + sd * normal(&mut source)).exp()]).collect();
            paired_effect(&values, SPREAD_S, MARGIN)
        };
        let smallest: Vec<f64> = (0..25)
            .flat_map(|_| {
                let rows: Vec<EffectEstimate> = (0..ROWS).map(|_| row(0.0)).collect();
                verdicts(&rows, &[MARGIN; ROWS])
            })
            // Blocks of merged pairs may be too few for a discovery.
            .filter_map(|it| it.detectable)
            .collect();
        let effect = median(&sorted(&smallest)).unwrap();
        // Of such comparisons: those in which blocks are too few have no detectable effect.
        let (mut comparisons, mut larger) = (0, 0);
        for _ in 0..1_000 {
            let rows = (0..ROWS).map(|at| row(if at == 0 { effect } else { 0.0 }));
            let judged = verdicts(&rows.collect::<Vec<_>>(), &[MARGIN; ROWS]);
            comparisons += u32::from(judged[0].detectable.is_some());
            larger += u32::from(judged[0].verdict == Verdict::Larger);
        }
        let power = 100.0 * f64::from(larger) / f64::from(comparisons);
        good &= (75.0..=85.0).contains(&power);
        found.push_str(&format!(
            "{count} pairs of sd {sd}: {:.1} % in {power:.1} %; ",
            100.0 * effect.exp_m1()
        ));
    }
    accept("S12 among many rows", good, &found)
}

/// S12: the smallest detectable effect is detected in four of five comparisons.
pub(crate) fn s12_smallest_effect() -> CheckResult {
    let (mut good, mut found) = (true, String::new());
    for (sd, count) in [(0.005, 16), (0.02, 20), (0.02, 60), (0.05, 30)] {
        let mut source = Source::seeded(12);
        let values = |effect: f64, source: &mut Source| -> Vec<[f64; 2]> {
            (0..count).map(|_| [1.0, (effect + sd * normal(source)).exp()]).collect()
        };
        let mut judged = |effect: f64| {
            let found = paired_effect(&values(effect, &mut source), SPREAD_S, MARGIN);
            verdicts(&[found], &[MARGIN])[0]
        };
        let detectable: Vec<f64> = (0..1_000).map(|_| judged(0.0).detectable.unwrap()).collect();
        let effect = median(&sorted(&detectable)).unwrap();
        let power = share(RUNS, || judged(effect).verdict == Verdict::Larger);
        good &= (75.0..=85.0).contains(&power);
        found.push_str(&format!("{count} pairs of sd {sd}: {power:.1} %; "));
    }
    accept("S12", good, &found)
}
