//! Properties of threads beside the measured one: they sleep, are woken and end when they should.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use oscost_model::case::Case;

use super::super::tests::{all_points, context};
use super::BENCHES;
use super::atomic::LINE;
use super::parked::ParkedThreads;
use crate::bench::{Bench, Context, Work};
use crate::kernel::Errno;
use crate::kernel::process::in_own_process;
use crate::kernel::process::usage::thread;

/// The cases of a benchmark; of many waiters as few as ten.
fn cases(id: &'static str) -> impl Iterator<Item = (&'static Bench, Case)> {
    let benches = BENCHES.iter().filter(move |bench| id.is_empty() || bench.id == id);
    let cases = benches.flat_map(|bench| {
        let points = all_points(&bench.definition()).into_iter();
        points.map(move |point| (bench, Case::new(bench.id, point)))
    });
    let is_small =
        |case: &Case| case.point.get("waiters").is_none_or(|waiters| waiters.to_string() != "100");
    cases.filter(move |(_, case)| is_small(case))
}

/// Its work here; `None`, with a message, if this machine lacks something or the point has no
/// meaning.
fn built(bench: &Bench, case: &Case, context: Context) -> Option<Work> {
    if case.to_string() == "sync/atomic:op=fence,line=shared" {
        return None;
    }
    let work = bench.work(&case.point, context);
    let work = work.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("{case} cannot run here: {reason}");
        return None;
    }
    Some(work)
}

fn run_ops(work: &mut Work, ops: u64) -> Result<(), Errno> {
    let done = work.prepare(ops).and_then(|()| work.run(ops, 1));
    done.map_err(|error| error.errno)
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn dropped_work_leaves_no_thread() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases("") {
            let before = threads();
            let Some(mut work) = built(bench, &case, context) else { continue };
            for _ in 0..3 {
                assert_eq!(run_ops(&mut work, 1), Ok(()), "{case}");
            }
            drop(work);
            // The kernel lists a thread a little longer than a join waits.
            let left = (0..1_000).find(|_| {
                std::thread::sleep(Duration::from_micros(100));
                threads() == before
            });
            assert!(left.is_some(), "{case}: {} threads, not {before}", threads());
        }
    });
}

#[test]
fn one_call_wakes_every_thread_that_waits_and_each_waits_again() {
    in_own_process(|| {
        let context = context();
        for cpu in [context.cpu, context.other_cpu, None] {
            let parked = ParkedThreads::start(10, cpu).unwrap();
            for _ in 0..23 {
                assert_eq!(parked.wake(), Ok(()), "CPU {cpu:?}");
                assert_eq!(parked.wait_until_all_wait(), Ok(()), "CPU {cpu:?}");
            }
        }
    });
}

#[test]
fn on_one_cpu_the_measured_thread_leaves_it_for_each_round_trip() {
    const TRIPS: u64 = 1_000;
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases("sync/handover") {
            let Some(mut work) = built(bench, &case, context) else { continue };
            let before = thread().unwrap();
            assert_eq!(run_ops(&mut work, TRIPS), Ok(()), "{case}");
            let after = thread().unwrap();
            let voluntary = after.voluntary_switches - before.voluntary_switches;
            let involuntary = after.involuntary_switches - before.involuntary_switches;
            if case.point.get("peer_cpu").is_some_and(|cpu| cpu.to_string() == "same") {
                // The other thread has no other time to run in.
                assert!(voluntary + involuntary >= TRIPS, "{case}: {voluntary} and {involuntary}");
            }
        }
    });
}

#[test]
fn every_addition_is_made_and_the_other_thread_writes_its_own_word() {
    const OPS: u64 = 23;
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases("sync/atomic") {
            let Some(mut work) = built(bench, &case, context) else { continue };
            let is = |axis: &str, value: &str| {
                case.point.get(axis).is_some_and(|found| found.to_string() == value)
            };
            let others = LINE.other.load(Ordering::SeqCst);
            for _ in 0..3 {
                assert_eq!(run_ops(&mut work, OPS), Ok(()), "{case}");
            }
            let own = LINE.own.load(Ordering::SeqCst);
            assert_eq!(own, if is("op", "add") { 3 * OPS } else { 0 }, "{case}");
            let written = LINE.other.load(Ordering::SeqCst) - others;
            assert_eq!(written >= 3, is("line", "shared"), "{case}: {written}");
        }
    });
}
