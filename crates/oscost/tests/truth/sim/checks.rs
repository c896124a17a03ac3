//! Checks of the method with known true values, each a function that returns its result: they must
//! pass in the tests of `simulator.rs`, and fail with an injected fault in those of
//! `fault_injection.rs`.
//!
//! Numbers and acceptance figures: docs/explanation/METHOD.md, section 10. Seeds are fixed.

use oscost::run::{EventCounting, Profile};
use oscost_model::counters::INSN;
use oscost_model::record::{Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_model::worker::Mode;
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order;
use oscost_worker::bench::Shape;
use oscost_worker::engine::calibrate;
use oscost_worker::engine::clock_check::counter_problem;
use oscost_worker::engine::simulator::{
    AmortizedWork, ColdStart, Execution, Pathology, SimulatedMachine, SlowPath, Truth,
};

use super::{SimSession, SimulatedSubject, measure, measure_and_count_in, measure_in, measure_one};

/// The result of a check: what it found, as an error if it failed.
pub(crate) type CheckResult = Result<String, String>;

pub(crate) const DEFAULT: Profile = Profile::Default { precision_pct: 2.0 };

/// The results of many runs of one subject.
#[derive(Debug)]
pub(crate) struct Summary {
    pub runs: usize,
    /// The bias of the median of the estimates, in per cent.
    pub bias_pct: f64,
    /// The share of the intervals that contain the true value.
    pub coverage: f64,
    /// The share of runs without an estimate.
    pub unmeasurable: f64,
    /// The share of estimates below zero.
    pub negative: f64,
    /// The mean number of repetitions.
    pub repetitions: f64,
}

pub(crate) fn summarize(
    subject: &SimulatedSubject,
    profile: Profile,
    truth: f64,
    runs: usize,
) -> Summary {
    summarize_rows(truth, (0..runs).map(|run| measure_one(subject, profile, 1 + run as u64)))
}

fn summarize_rows(truth: f64, rows: impl Iterator<Item = Row>) -> Summary {
    let (mut estimates, mut holds, mut runs, mut repetitions) = (vec![], 0, 0, 0);
    for row in rows {
        runs += 1;
        let Some(estimate) = row.estimate else {
            assert_eq!(row.outcome, RowOutcome::Unmeasurable, "{:?}", row.reason);
            continue;
        };
        estimates.push(estimate.median);
        repetitions += estimate.repetitions as usize;
        let [low, high] = estimate.ci95.unwrap();
        holds += usize::from(low <= truth && truth <= high);
    }
    let measured = estimates.len().max(1) as f64;
    let negative = estimates.iter().filter(|&&value| value < 0.0).count() as f64 / measured;
    let median_estimate = order::median(&order::sorted(&estimates)).unwrap_or(f64::NAN);
    Summary {
        runs,
        bias_pct: 100.0 * (median_estimate / truth - 1.0),
        coverage: holds as f64 / measured,
        unmeasurable: 1.0 - estimates.len() as f64 / runs as f64,
        negative,
        repetitions: repetitions as f64 / measured,
    }
}

fn accept(name: &str, good: bool, found: impl std::fmt::Debug) -> CheckResult {
    let text = format!("{name}: {found:?}");
    if good { Ok(text) } else { Err(text) }
}

/// A call of 124 ns without loop overhead, preempted 125 times a second for 4 ms.
fn contended() -> Truth {
    Truth { loop_ns: 0.0, preemptions_per_s: 125.0, ..Truth::QUIET }
}

/// S1: the whole pipeline on a contended machine; the pilot chooses the batch length.
pub(crate) fn s1_pipeline() -> CheckResult {
    let found = summarize(&SimulatedSubject::op(contended()), DEFAULT, 124.0, 1_000);
    let good = found.bias_pct.abs() <= 0.5 && found.coverage >= 0.93 && found.unmeasurable <= 0.01;
    accept("S1", good, found)
}

/// S1 for an op without a cost: as often below 0 as above, and the intervals contain 0.
pub(crate) fn s1_nothing() -> CheckResult {
    let truth = Truth { op_ns: 0.0, ..Truth::QUIET };
    let found = summarize(&SimulatedSubject::op(truth), Profile::Quick, 0.0, 1_000);
    let good = found.coverage >= 0.93 && (0.4..=0.6).contains(&found.negative);
    accept("S1, an op without a cost", good, found)
}

/// S1 in each other mode: slopes exclude loop and clock, single shots exclude the clock.
pub(crate) fn s1_modes() -> CheckResult {
    let unrolled = SimulatedSubject::op(Truth { op_ns: 20.0, ..Truth::QUIET });
    let single = SimulatedSubject::op(Truth { op_ns: 80_000.0, ..Truth::QUIET });
    let cold = SimulatedSubject {
        shape: Shape::Cold,
        ..SimulatedSubject::op(Truth { op_ns: 3_000.0, ..Truth::QUIET })
    };
    let transfer = SimulatedSubject {
        shape: Shape::Transfer,
        unit: Unit::BytesPerSecond,
        truth: Truth { op_ns: 0.25, loop_ns: 0.0, call_ns: 2_000.0, ..Truth::QUIET },
    };
    let mut texts = Vec::new();
    for (subject, mode, truth) in [
        (unrolled, Mode::U, 20.0),
        (single, Mode::S, 80_000.0),
        (cold, Mode::C, 3_000.0),
        (transfer, Mode::T, 4e9),
    ] {
        let row = measure_one(&subject, Profile::Quick, 7);
        if row.mode != Some(mode) {
            return Err(format!("S1: mode {:?} was chosen, not {mode:?}", row.mode));
        }
        let found = summarize(&subject, DEFAULT, truth, 300);
        // 300 runs: the standard error of a share of 95 % is 1.3 points.
        let good = found.bias_pct.abs() <= 0.5 && found.coverage >= 0.93;
        texts.push(accept(&format!("S1, mode {mode:?}"), good, found)?);
    }
    Ok(texts.join("; "))
}

/// S1 for a process that costs half as much again in its first 2 ms.
pub(crate) fn s1_cold_start() -> CheckResult {
    let truth =
        Truth { cold_start: Some(ColdStart { factor: 1.5, until_ns: 2_000_000.0 }), ..contended() };
    let found = summarize(&SimulatedSubject::op(truth), DEFAULT, 124.0, 300);
    accept("S1, cold start", found.bias_pct.abs() <= 0.5 && found.coverage >= 0.92, found)
}

/// S4: processes that differ, six of them.
pub(crate) fn s4_hierarchy(runs: usize, between_sds: &[f64]) -> CheckResult {
    let mut texts = Vec::new();
    for &between_sd in between_sds {
        let truth = Truth { between_sd, loop_ns: 0.0, ..Truth::QUIET };
        let found = summarize(&SimulatedSubject::op(truth), Profile::Quick, TRUTH_IN_BATCH, runs);
        let good = found.coverage >= 0.93 && found.repetitions >= 6.0;
        texts.push(accept(&format!("S4, between {between_sd}"), good, found)?);
    }
    Ok(texts.join("; "))
}

/// The true value per op of a batch of about 400 calls of 124 ns, including clock and call: mode B
/// does not subtract them, since they are below 0.1 %.
const TRUTH_IN_BATCH: f64 = 124.0 + (19.0 + 2.0) / 403.0;

/// S5: batches that are autocorrelated within a process.
pub(crate) fn s5_autocorrelation() -> CheckResult {
    let truth = Truth { autocorrelation: 0.6, loop_ns: 0.0, ..Truth::QUIET };
    let found = summarize(&SimulatedSubject::op(truth), Profile::Quick, TRUTH_IN_BATCH, 1_000);
    accept("S5", found.coverage >= 0.93, found)
}

/// The control of S5: the coverage of intervals over the raw batches of one process.
pub(crate) fn s5_raw_batches() -> f64 {
    let truth = Truth { autocorrelation: 0.6, between_sd: 0.0, loop_ns: 0.0, ..Truth::QUIET };
    let runs = 1_000;
    let holds = (0..runs).filter(|&run| {
        let machine = SimulatedMachine::new(&truth, run, 0.0);
        let mut work = machine.work(Shape::Repeat);
        let values = (0..21).map(|_| {
            let start_ns = machine.now_ns();
            work.run(403, 1).unwrap();
            (machine.now_ns() - start_ns - truth.call_ns) / 403.0
        });
        let values = order::sorted(&values.collect::<Vec<_>>());
        median_hs(&values, Nominal::FIXED).unwrap().contains(124.0)
    });
    holds.count() as f64 / runs as f64
}

/// S6: adaptive stopping in the whole pipeline.
pub(crate) fn s6_stopping(runs: usize) -> CheckResult {
    let truth = Truth { between_sd: 0.02, loop_ns: 0.0, ..Truth::QUIET };
    let goal = Profile::Default { precision_pct: 1.0 };
    let found = summarize(&SimulatedSubject::op(truth), goal, TRUTH_IN_BATCH, runs);
    accept("S6", found.coverage >= 0.935 && found.repetitions <= 80.0, found)
}

/// S13: a third of the batches is preempted, and the kernel's accounting shows all of them.
pub(crate) fn s13_rejection() -> CheckResult {
    let truth = Truth { contaminated: 0.31, between_sd: 0.005, loop_ns: 0.0, ..Truth::QUIET };
    let found = summarize(&SimulatedSubject::op(truth), DEFAULT, TRUTH_IN_BATCH, 1_000);
    let good = found.bias_pct.abs() <= 0.1 && found.coverage >= 0.93 && found.unmeasurable == 0.0;
    accept("S13", good, found)
}

/// S13, second part: a real slow path remains in the quantiles.
pub(crate) fn s13_slow_path() -> CheckResult {
    let truth = Truth {
        op_ns: 60_000.0,
        slow_path: Some(SlowPath { share: 0.1, factor: 1.5 }),
        ..Truth::QUIET
    };
    let row = measure_one(&SimulatedSubject::op(truth), DEFAULT, 3);
    let quantiles = row.estimate.and_then(|estimate| estimate.quantiles).unwrap();
    let ratio = quantiles.p99.unwrap() / quantiles.p50;
    accept("S13, slow path of 10 % at 1.5", (1.4..1.6).contains(&ratio), ratio)
}

/// S14: contamination up to more than half. The estimate is right, or the row is unmeasurable.
pub(crate) fn s14_contamination() -> CheckResult {
    let mut texts = Vec::new();
    for contaminated in [0.05, 0.15, 0.25, 0.35, 0.45, 0.55] {
        let preemptions_seen = 0.9;
        let truth = Truth {
            contaminated,
            preemptions_seen,
            between_sd: 0.005,
            loop_ns: 0.0,
            ..Truth::QUIET
        };
        let found = summarize(&SimulatedSubject::op(truth), DEFAULT, TRUTH_IN_BATCH, 300);
        let is_right = found.unmeasurable == 1.0 || found.bias_pct.abs() <= 0.3;
        let good = is_right && (contaminated > 0.3 || found.unmeasurable == 0.0);
        texts.push(accept(&format!("S14, {contaminated}"), good, found)?);
    }
    Ok(texts.join("; "))
}

/// S19: clocks with a resolution from 1 ns to 1 us.
pub(crate) fn s19_quantum_sweep() -> CheckResult {
    let mut texts = Vec::new();
    for quantum_ns in [1.0, 10.0, 42.0, 1_000.0] {
        let truth = Truth { quantum_ticks: quantum_ns * 2.6, between_sd: 0.005, ..contended() };
        let subject = SimulatedSubject::op(truth);
        let row = measure_one(&subject, DEFAULT, 5);
        let flagged = row.flags.iter().any(|flag| flag == "COARSE_CLOCK");
        let found = summarize(&subject, DEFAULT, 124.0, 200);
        let good = found.bias_pct.abs() <= 0.5 || flagged;
        texts.push(accept(&format!("S19, {quantum_ns} ns (flagged: {flagged})"), good, found)?);
    }
    Ok(texts.join("; "))
}

/// S20: faulty counters. Each is refused, flagged, or measured correctly.
pub(crate) fn s20_pathologies() -> CheckResult {
    let faulty = |pathology, seed| {
        let truth = Truth { pathology: Some(pathology), ..Truth::QUIET };
        SimulatedMachine::new(&truth, seed, 1e9)
    };
    for seed in 0..20 {
        let healthy = SimulatedMachine::new(&Truth::QUIET, seed, 1e9);
        if let Some(why) = counter_problem(&mut healthy.clock(), Some("tsc")) {
            return Err(format!("S20: a healthy counter was refused: {why}"));
        }
        if counter_problem(&mut faulty(Pathology::StepsBack, seed).clock(), Some("tsc")).is_none() {
            return Err("S20: a counter that steps back was trusted".into());
        }
        if counter_problem(&mut faulty(Pathology::Trapped(2_000.0), seed).clock(), Some("tsc"))
            .is_none()
        {
            return Err("S20: a trapped counter was trusted".into());
        }
        let noisy = faulty(Pathology::OneTickNoise, seed);
        let quantum = calibrate::quantum(&mut noisy.clock()).unwrap();
        if !(24.0..=28.0).contains(&quantum) {
            return Err(format!("S20: a resolution of 26 ticks was found to be {quantum}"));
        }
    }
    // 200 parts per million, from the middle of the run on.
    let pathology = Some(Pathology::RateChanges(200.0, 1.03e9));
    let subject = SimulatedSubject::op(Truth { pathology, ..Truth::QUIET });
    for seed in 0..20 {
        let record = measure(std::slice::from_ref(&subject), Profile::Quick, seed);
        if !record.conditions[0].flags.iter().any(|flag| flag == "CLOCK_DRIFTED") {
            return Err("S20: a clock that changed its rate was not flagged".into());
        }
    }
    Ok("S20: 20 of 20 each".into())
}

/// S20: if a clock cannot be used, the next one is, the record contains the reason, and the figures
/// are still right.
pub(crate) fn s20_unusable_clocks() -> CheckResult {
    const NO_VDSO: &str = "the kernel maps no vDSO with clock_gettime";
    let trapped = Some(Pathology::Trapped(2_000.0));
    for (pathology, clocksource, vdso, chosen, reasons) in [
        (None, "tsc", None, "tsc", &[][..]),
        (trapped, "tsc", None, "vdso", &["tsc: a pair of reads takes", "trapped"]),
        (Some(Pathology::StepsBack), "tsc", None, "vdso", &["tsc: the counter stepped back"]),
        (None, "hpet", None, "vdso", &["tsc: the kernel uses clocksource `hpet`"]),
        (None, "tsc", Some(NO_VDSO), "tsc", &["vdso: the kernel maps no vDSO"]),
        (trapped, "tsc", Some(NO_VDSO), "syscall", &["trapped", "vdso: the kernel maps no vDSO"]),
        (None, "acpi_pm", Some(NO_VDSO), "syscall", &["`acpi_pm`", "vdso: the kernel maps no"]),
    ] {
        let what = format!("S20, {pathology:?}, {clocksource}, {vdso:?}");
        let subject = SimulatedSubject::op(Truth { pathology, ..Truth::QUIET });
        let session = SimSession::with_checked_clocks(vec![subject], clocksource, vdso);
        let record = measure_in(session, Profile::Quick, 3);
        let clock = record.machines[0].clock.as_ref().unwrap();
        let rejected_clocks = clock.rejected_clocks.join("; ");
        if clock.source != chosen || !reasons.iter().all(|reason| rejected_clocks.contains(reason))
        {
            return Err(format!("{what}: {} was used: {rejected_clocks}", clock.source));
        }
        if reasons.is_empty() && !rejected_clocks.is_empty() {
            return Err(format!(
                "{what}: no clock should have been passed over: {rejected_clocks}"
            ));
        }
        let row = &record.results[0];
        let median = row.estimate.as_ref().map_or(f64::NAN, |estimate| estimate.median);
        // The figure includes the loop, and processes differ by 2 %.
        if row.outcome != RowOutcome::Measured || (median / TRUTH_IN_BATCH - 1.0).abs() > 0.05 {
            return Err(format!("{what}: {:?}, {median} ns", row.outcome));
        }
    }
    Ok("S20: seven combinations, each with its clock and its reasons".into())
}

/// S21: counters that another program takes in the middle of a run. The row is timed to its end,
/// what was counted stays, and the rest is absent with its reason.
pub(crate) fn s21_taken_counters() -> CheckResult {
    const COUNTED: u32 = 1;
    /// Of an op, and in a batch with its loop.
    const TRUE_INSN: std::ops::RangeInclusive<f64> = 299.9..=302.1;
    let subject = SimulatedSubject::op(Truth::QUIET);
    let session = SimSession::with_counters(vec![subject], COUNTED);
    let row = measure_in(session, Profile::Quick, 3).results.remove(0);
    if row.outcome != RowOutcome::Measured || row.repetitions.len() < 6 {
        return Err(format!("S21: {:?} with {} repetitions", row.outcome, row.repetitions.len()));
    }
    let Some(insn) = row.metrics.get(INSN).map(|metric| &metric.estimate) else {
        return Err(format!("S21: no instructions, {:?}", row.counters));
    };
    if insn.repetitions != COUNTED || !TRUE_INSN.contains(&insn.median) {
        let (found, workers) = (insn.median, insn.repetitions);
        return Err(format!("S21: {found} instructions by {workers} workers, not by {COUNTED}"));
    }
    let void = row.counters.as_ref().map(|it| it.void.join("; ")).unwrap_or_default();
    match void.contains("cannot count instructions:u: perf_event_open: EBUSY") {
        true => Ok(format!("S21: {} instructions; then {void}", insn.median)),
        false => Err(format!("S21: no reason, {void}")),
    }
}

/// S26: work that one op does for many, as a kernel refills its random numbers at every 48th call on a
/// core of two nanoseconds an instruction: it is in the count of an op, and the row says so.
pub(crate) fn s26_amortized_work() -> CheckResult {
    const REFILL_INSN: f64 = 2_900.0;
    let mut found = Vec::new();
    for every in [48.0, 63.0] {
        let execution = Execution {
            insn_kernel: 330.0,
            ghz: 0.5,
            amortized: Some(AmortizedWork { every, insn: REFILL_INSN }),
            ..Execution::QUIET
        };
        let subject = SimulatedSubject::op(Truth { op_ns: 780.0, execution, ..Truth::QUIET });
        // Of an op, and in a batch with its loop.
        let op = execution.insn_user + execution.insn_kernel + REFILL_INSN / every;
        let truth = 0.995 * op..=1.005 * (op + execution.loop_insn);
        for seed in 1..=5 {
            let session = SimSession::with_counters(vec![subject.clone()], u32::MAX);
            let row = measure_in(session, Profile::Quick, seed).results.remove(0);
            let insn = row.metrics.get(INSN).map_or(f64::NAN, |it| it.estimate.median);
            let is_said = row.counters.as_ref().is_some_and(|it| it.amortized);
            if !truth.contains(&insn) || !is_said {
                return Err(format!("S26: every {every}th op, {insn}, {truth:?}: {is_said}"));
            }
            found.push(insn);
        }
    }
    Ok(format!("S26: {found:.1?} instructions"))
}

/// S27: work that a kernel does at its ticks for all ops since an earlier one, as it frees what RCU has
/// deferred, on a core of two nanoseconds an instruction: counted over many ticks it is in the count of
/// an op, and the row says so.
pub(crate) fn s27_deferred_work() -> CheckResult {
    const DEFERRED_INSN: f64 = 186.0;
    let mut shares = Vec::new();
    for every in [500.0, 570.0, 640.0, 710.0] {
        let execution = Execution {
            insn_kernel: 6_940.0,
            ghz: 0.5,
            interrupts_per_s: 250.0,
            interrupt_insn: 6_000.0,
            amortized: Some(AmortizedWork { every, insn: DEFERRED_INSN * every }),
            ..Execution::QUIET
        };
        let subject = SimulatedSubject::op(Truth { op_ns: 14_000.0, execution, ..Truth::QUIET });
        let truth = execution.insn_user + execution.insn_kernel + DEFERRED_INSN;
        for seed in 1..=3 {
            let session = SimSession::with_counters(vec![subject.clone()], u32::MAX);
            let counting = EventCounting::InEveryRound;
            let record = measure_and_count_in(session, Profile::Quick, seed, counting);
            let row = &record.results[0];
            let insn = row.metrics.get(INSN).map_or(f64::NAN, |it| it.estimate.median);
            let share = insn / truth;
            let is_said = row.counters.as_ref().is_some_and(|it| it.amortized && it.over_ticks);
            if !(0.99..=1.01).contains(&share) || !is_said {
                return Err(format!("S27: every {every}th op, {insn} of {truth} instructions"));
            }
            shares.push(share);
        }
    }
    // Ticks are 0.3 % of them.
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    accept("the mean share of what each op has", (mean - 1.0).abs() <= 0.006, mean)
}

/// Repetitions are spread over the run, so two equal cases on a drifting machine do not differ.
pub(crate) fn spread_repetitions() -> CheckResult {
    let truth = Truth { drift_per_s: 0.3, between_sd: 0.005, loop_ns: 0.0, ..Truth::QUIET };
    let subjects = vec![SimulatedSubject::op(truth); 4];
    let runs = 200;
    let differing = (0..runs).filter(|&seed| {
        let record = measure(&subjects, Profile::Quick, seed);
        let interval = |row: usize| record.results[row].estimate.as_ref().unwrap().ci95.unwrap();
        let ([low, high], [other_low, other_high]) = (interval(0), interval(3));
        high < other_low || other_high < low
    });
    let share = differing.count() as f64 / f64::from(runs as u32);
    accept("equal cases that differ on a drifting machine", share <= 0.05, share)
}
