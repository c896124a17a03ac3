//! Comparisons of stored runs of which some share a boot: false verdicts, and what is found.

use oscost::estimate::comparison::verdict::{EffectEstimate, Verdict, separate_effect, verdicts};
use oscost_stats::between_runs::{Prior, RunDifference, RunMedian, RunVariation, run_difference};
use oscost_stats::boots::{BootVariation, RunsByBoot, boot_shares};

use super::{CheckResult, MARGIN, accept, normal};
use crate::shapes::Source;
use crate::share::share;

/// The prior of cases of one CPU.
const PRIOR: Prior = Prior { deviation: 0.05, degrees_of_freedom: 4.0 };
/// What fifteen repetitions that spread by 4 % leave open of a run.
const STANDARD_ERROR: f64 = 0.0129;

/// Earlier runs, each item of which is a boot of so many: none, twenty boots, and one.
const NONE: &[usize] = &[];
const TWENTY_BOOTS: &[usize] = &[1; 20];
const ONE_BOOT_OF_TWENTY: &[usize] = &[20];

/// Five runs a side, by the boots that they are of.
struct Design {
    name: &'static str,
    base: [usize; 5],
    new: [usize; 5],
    alternations: usize,
}

const OWN_BOOTS: Design = Design {
    name: "boots of their own, in turns",
    base: [0, 3, 4, 7, 8],
    new: [1, 2, 5, 6, 9],
    alternations: 5,
};
const SHARED_BOOTS: Design = Design {
    name: "two runs a boot, in turns",
    base: [0, 2, 2, 4, 4],
    new: [1, 1, 3, 3, 5],
    alternations: 5,
};
const BOOT_A_SIDE: Design =
    Design { name: "one boot a side", base: [0; 5], new: [1; 5], alternations: 1 };
const ONE_BOOT: Design =
    Design { name: "one boot, in turns", base: [0; 5], new: [0; 5], alternations: 5 };

/// The deviations of a machine's boots, and of the runs of a boot.
#[derive(Clone, Copy)]
struct Machine {
    boots: f64,
    runs: f64,
}

/// 3 % in all.
const MACHINE: Machine = Machine { boots: 0.025, runs: 0.0166 };

/// How the variation is taken from the runs: earlier ones, and those of the sides.
type Rule = fn(&[RunsByBoot<'_>], &Design) -> RunVariation;

fn by_boots(groups: &[RunsByBoot<'_>], design: &Design) -> RunVariation {
    let shares = boot_shares(&design.base, &design.new);
    BootVariation::of(groups, PRIOR).of_sides(shares, design.alternations)
}

/// The control: as if boots did not differ.
fn by_runs(groups: &[RunsByBoot<'_>], _: &Design) -> RunVariation {
    let runs: Vec<Vec<RunMedian>> = groups.iter().map(|boots| boots.concat()).collect();
    let runs: Vec<&[RunMedian]> = runs.iter().map(Vec::as_slice).collect();
    RunVariation::pooled(&runs, PRIOR)
}

/// The difference that a design finds in a row, with these earlier runs.
fn difference(
    design: &Design,
    earlier: &[usize],
    machine: Machine,
    effect: f64,
    rule: Rule,
    source: &mut Source,
) -> RunDifference {
    fn of_boot(level: f64, runs: usize, machine: Machine, source: &mut Source) -> Vec<RunMedian> {
        let deviation = machine.runs.hypot(STANDARD_ERROR);
        let mut run = || RunMedian {
            value: level + deviation * normal(source),
            standard_error: STANDARD_ERROR,
            count: 15,
        };
        (0..runs).map(|_| run()).collect()
    }
    let levels: Vec<f64> = (0..10).map(|_| machine.boots * normal(source)).collect();
    let mut side = |boots: &[usize; 5], effect: f64| -> Vec<Vec<RunMedian>> {
        let of = |boot: usize| boots.iter().filter(|&&it| it == boot).count();
        (0..10)
            .map(|boot| of_boot(levels[boot] + effect, of(boot), machine, source))
            .filter(|runs| !runs.is_empty())
            .collect()
    };
    let (base, new) = (side(&design.base, 0.0), side(&design.new, effect));
    let mut boot = |&runs: &usize| {
        let level = machine.boots * normal(source);
        of_boot(level, runs, machine, source)
    };
    let earlier: Vec<Vec<RunMedian>> = earlier.iter().map(&mut boot).collect();
    let groups =
        [&earlier, &base, &new].map(|boots| boots.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let variation = rule(&groups, design);
    run_difference(&base.concat(), &new.concat(), design.alternations, variation, 0.0).unwrap()
}

/// The share of rows with a verdict in comparisons of forty equal ones, in per cent.
fn false_verdicts(design: &Design, earlier: &[usize], machine: Machine, rule: Rule) -> f64 {
    const ROWS: usize = 40;
    const COMPARISONS: usize = 60;
    let mut source = Source::seeded(78);
    let mut called = 0;
    for _ in 0..COMPARISONS {
        let mut row =
            || separate_effect(difference(design, earlier, machine, 0.0, rule, &mut source));
        let rows: Vec<EffectEstimate> = (0..ROWS).map(|_| row()).collect();
        let judged = verdicts(&rows, &[MARGIN; ROWS]);
        called += judged.iter().filter(|it| it.verdict != Verdict::Inconclusive).count();
    }
    100.0 * called as f64 / (ROWS * COMPARISONS) as f64
}

/// S7: equal rows are rarely called different, whichever boots the runs are of.
pub(crate) fn equal_rows_of_boots() -> CheckResult {
    let (mut good, mut found) = (true, String::new());
    let machines = [MACHINE, Machine { boots: 0.05, runs: 0.01 }];
    for design in [OWN_BOOTS, SHARED_BOOTS, BOOT_A_SIDE, ONE_BOOT] {
        for earlier in [NONE, TWENTY_BOOTS, ONE_BOOT_OF_TWENTY] {
            let shares = machines.map(|it| false_verdicts(&design, earlier, it, by_boots));
            good &= shares.iter().all(|&it| it <= 1.0);
            let (name, boots) = (design.name, earlier.len());
            found.push_str(&format!("{name}, {boots} earlier boots: {shares:.2?} % of rows; "));
        }
    }
    let control = false_verdicts(&BOOT_A_SIDE, ONE_BOOT_OF_TWENTY, machines[1], by_runs);
    good &= control > 2.0;
    found.push_str(&format!("as if boots did not differ: {control:.1} %"));
    accept("S7 of boots", good, &found)
}

/// How often +10 % is found in a row whose runs differ by 3 %, most of it between boots.
pub(crate) fn ten_per_cent_by_boots() -> CheckResult {
    let (mut good, mut found) = (true, String::new());
    for (design, earlier, accepted) in [
        (OWN_BOOTS, NONE, 88.0..=98.0),
        (OWN_BOOTS, TWENTY_BOOTS, 93.0..=100.0),
        (OWN_BOOTS, ONE_BOOT_OF_TWENTY, 86.0..=97.0),
        (SHARED_BOOTS, NONE, 48.0..=68.0),
        (SHARED_BOOTS, TWENTY_BOOTS, 72.0..=88.0),
        (SHARED_BOOTS, ONE_BOOT_OF_TWENTY, 44.0..=66.0),
        (BOOT_A_SIDE, NONE, 0.0..=4.0),
        (BOOT_A_SIDE, TWENTY_BOOTS, 25.0..=47.0),
        (BOOT_A_SIDE, ONE_BOOT_OF_TWENTY, 0.0..=4.0),
        (ONE_BOOT, NONE, 97.0..=100.0),
    ] {
        let mut source = Source::seeded(79);
        let power = share(1_000, || {
            let effect = 1.1f64.ln();
            let row = difference(&design, earlier, MACHINE, effect, by_boots, &mut source);
            verdicts(&[separate_effect(row)], &[MARGIN])[0].verdict == Verdict::Larger
        });
        good &= accepted.contains(&power);
        let (name, boots) = (design.name, earlier.len());
        found.push_str(&format!("{name}, {boots} earlier boots: {power:.1} %; "));
    }
    accept("+10 % by boots", good, &found)
}
