//! Properties of peers: they switch as often as the definition says, and no longer exist when they
//! should not.

use std::collections::BTreeMap;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use oscost_model::case::Case;
use oscost_model::point::{Point, Value};

use super::super::tests::{all_points, context, is_not_applicable};
use super::BENCHES;
use crate::bench::{Bench, Context, Work};
use crate::kernel::process::usage::{ThreadUsage, thread};
use crate::kernel::process::{children, in_own_process, kill};

/// Every case of the family.
fn cases() -> impl Iterator<Item = (&'static Bench, Case)> {
    let at = |bench: &'static Bench| {
        let definition = bench.definition();
        let points = all_points(&definition).into_iter();
        let points = points.filter(move |point| !is_not_applicable(&definition, point));
        points.map(move |point| (bench, Case::new(bench.id, point)))
    };
    BENCHES.iter().flat_map(at)
}

/// Its work here; `None`, with a message, if this machine lacks something.
fn built(bench: &Bench, case: &Case, context: Context) -> Option<Work> {
    let work = bench.work(&case.point, context);
    let work = work.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("{case} cannot run here: {reason}");
        return None;
    }
    Some(work)
}

fn run_ops(work: &mut Work, ops: u64) -> bool {
    work.prepare(ops).and_then(|()| work.run(ops, 1)).is_ok()
}

/// What the process has: children, descriptors, threads, mappings.
#[derive(Debug, PartialEq)]
struct OpenResources {
    children: usize,
    descriptors: usize,
    threads: usize,
    mappings: usize,
}

fn open_resources() -> OpenResources {
    let entries = |path: &str| fs::read_dir(path).unwrap().count();
    OpenResources {
        children: children().len(),
        descriptors: entries("/proc/self/fd"),
        threads: entries("/proc/self/task"),
        mappings: fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
    }
}

#[test]
fn dropping_work_leaks_nothing() {
    in_own_process(|| {
        let context = context();
        let sweep = || {
            for (bench, case) in cases() {
                let before = open_resources();
                if let Some(mut work) = built(bench, &case, context) {
                    assert!(run_ops(&mut work, 3), "{case}");
                }
                let after = open_resources();
                assert_eq!(
                    (after.children, after.descriptors, after.threads),
                    (before.children, before.descriptors, before.threads),
                    "{case} leaves something behind"
                );
            }
        };
        // The first threads of a process create heaps and stacks that libc keeps.
        sweep();
        let first = open_resources();
        sweep();
        let second = open_resources();
        assert!(second.mappings <= first.mappings + 2, "{first:?}, then {second:?}");
    });
}

/// Switches of a process or thread: voluntary and involuntary.
fn switches_of(status: &str) -> (u64, u64) {
    let text = fs::read_to_string(status).unwrap();
    let fields: BTreeMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once(':')).collect();
    let field = |name: &str| fields[name].trim().parse().unwrap();
    (field("voluntary_ctxt_switches"), field("nonvoluntary_ctxt_switches"))
}

/// The status files of the peers of the calling process: its children and its threads.
fn peer_status_files() -> Vec<String> {
    let me = std::process::id();
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let threads = threads.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let threads = threads.filter(|thread| *thread != me.to_string());
    let threads = threads.map(|thread| format!("/proc/self/task/{thread}/status"));
    threads.chain(children().iter().map(|child| format!("/proc/{child}/status"))).collect()
}

/// Switches per op: the measured process's (voluntary, involuntary), and the peer's.
fn switches_per_op(work: &mut Work, ops: u64) -> [(f64, f64); 2] {
    let peer = peer_status_files().first().map_or((0, 0), |peer| switches_of(peer));
    let own = thread().unwrap();
    assert!(run_ops(work, ops));
    let after = thread().unwrap();
    let peer_after = peer_status_files().first().map_or((0, 0), |peer| switches_of(peer));
    let per_op = |after: u64, before: u64| (after - before) as f64 / ops as f64;
    let of = |usage: &ThreadUsage| (usage.voluntary_switches, usage.involuntary_switches);
    let (after, own) = (of(&after), of(&own));
    [
        (per_op(after.0, own.0), per_op(after.1, own.1)),
        (per_op(peer_after.0, peer.0), per_op(peer_after.1, peer.1)),
    ]
}

/// Repeats a check until it succeeds: other tests on the CPU cause preemptions now and then, but
/// this many consecutive failures, over a second or more, mean that the case is wrong.
fn assert_repeatedly(case: &Case, mut check: impl FnMut() -> Result<(), String>) {
    const TRIES: usize = 20;
    const PAUSE: Duration = Duration::from_millis(50);
    let mut failures = Vec::new();
    while let Err(failure) = check() {
        failures.push(failure);
        assert!(failures.len() < TRIES, "{case}: {failures:?}");
        sleep(PAUSE);
    }
}

/// The round-trip cases at those values.
fn round_trips(at: &[(&'static str, &'static str)]) -> Vec<(&'static Bench, Case)> {
    let values = at.iter().fold(Point::none(), |point, &(axis, value)| point.with(axis, value));
    cases()
        .filter(|(bench, _)| bench.axes.iter().any(|axis| axis.name == "between"))
        .filter(|(bench, _)| bench.id != "switch/half")
        .filter(|(_, case)| case.point.includes(&values))
        .collect()
}

#[test]
fn on_one_cpu_each_end_leaves_it_once_per_round_trip() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in round_trips(&[("peer_cpu", "same")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            // A task may be preempted by the one that it wakes before it waits: that switch is
            // involuntary, and replaces the voluntary one. A socket wakes its writer a second time.
            let max = if bench.id == "switch/unix" { 2.0 } else { 1.1 };
            assert_repeatedly(&case, || {
                let [own, peer] = switches_per_op(&mut work, 2_000);
                let is_expected = |(voluntary, involuntary): (f64, f64)| {
                    // An end that yields never sleeps, and all others do.
                    (0.99..=max).contains(&(voluntary + involuntary))
                        && (voluntary < 0.01) == (bench.id == "switch/yield")
                };
                let message = format!("{own:?} and {peer:?}");
                if [own, peer].into_iter().all(is_expected) { Ok(()) } else { Err(message) }
            });
        }
    });
}

#[test]
fn on_two_cpus_each_end_sleeps_while_waiting_and_a_single_process_never_does() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in round_trips(&[("peer_cpu", "other")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            // An end delayed by other tasks may find its answer there; one that spun would never
            // sleep.
            assert_repeatedly(&case, || {
                let [own, peer] = switches_per_op(&mut work, 500);
                let message = format!("{own:?} and {peer:?}");
                if own.0 > 0.5 && peer.0 > 0.5 { Ok(()) } else { Err(message) }
            });
        }
        for (bench, case) in round_trips(&[("peer_cpu", "none")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            assert_repeatedly(&case, || {
                let [own, _] = switches_per_op(&mut work, 500);
                let message = format!("{own:?}, {} peers", peer_status_files().len());
                if own.0 < 0.01 && peer_status_files().is_empty() { Ok(()) } else { Err(message) }
            });
        }
    });
}

/// The CPUs that a process or thread may run on, as the kernel lists them.
fn cpus_of(status: &str) -> String {
    let text = fs::read_to_string(status).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

#[test]
fn each_end_is_pinned_to_the_cpu_that_the_point_names() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases() {
            let Some(mut work) = built(bench, &case, context) else { continue };
            // A peer that is created for each op no longer exists after it.
            assert!(run_ops(&mut work, 1), "{case}");
            let (Some(own), Some(other)) = (context.cpu, context.other_cpu.or(context.cpu)) else {
                return;
            };
            let at_other = case.point.get("peer_cpu").is_some_and(|at| at.to_string() == "other");
            let expected = if at_other { other } else { own };
            for peer in peer_status_files() {
                assert_eq!(cpus_of(&peer), expected.to_string(), "{case}");
            }
            assert_eq!(cpus_of("/proc/self/status"), own.to_string(), "{case}");
        }
    });
}

#[test]
fn half_a_round_trip_is_computed_from_as_many_trips_as_are_made() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases().filter(|(bench, _)| bench.id == "switch/half") {
            let Some(mut work) = built(bench, &case, context) else { continue };
            assert_repeatedly(&case, || {
                let both = switches_per_op(&mut work, 100);
                let is_expected =
                    |(voluntary, involuntary)| (19.8..=22.0).contains(&(voluntary + involuntary));
                if both.into_iter().all(is_expected) { Ok(()) } else { Err(format!("{both:?}")) }
            });
            assert!(work.last_value().is_some_and(|figure| figure > 0), "{case}");
        }
    });
}

/// The cases of the CPU time of a round trip: those that spin, or the others.
fn cpu_time_cases(that_spin: bool) -> Vec<(&'static Bench, Case)> {
    cases()
        .filter(|(bench, _)| bench.id == "switch/cpu-time")
        .filter(|(_, case)| case.point.get("idle_us").is_some() == that_spin)
        .collect()
}

#[test]
fn the_cpu_time_of_a_round_trip_is_that_of_as_many_as_are_made() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cpu_time_cases(false) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            let has_peer = case.point.get("peer_cpu").is_some_and(|at| at.to_string() != "none");
            assert_repeatedly(&case, || {
                let [(voluntary, involuntary), _] = switches_per_op(&mut work, 100);
                let switches = voluntary + involuntary;
                // An end on another CPU may find its answer there, and does not sleep.
                let is_expected = if has_peer { switches > 10.0 } else { voluntary < 0.01 };
                if is_expected { Ok(()) } else { Err(format!("{voluntary} {involuntary}")) }
            });
            assert!(work.last_value().is_some_and(|figure| figure > 0), "{case}");
        }
    });
}

#[test]
fn a_peer_sleeps_before_each_round_trip_after_a_spin_which_is_in_no_figure() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cpu_time_cases(true) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            let idle_us = match case.point.get("idle_us") {
                Some(&Value::Number(us)) => us as i64,
                other => panic!("{case}: {other:?}"),
            };
            assert_repeatedly(&case, || {
                let [_, (voluntary, _)] = switches_per_op(&mut work, 3);
                // The peer's last sleep of an op may begin after the first of the next one.
                let sleeps = voluntary > 19.0;
                let figure_ps = work.last_value().unwrap_or(0);
                let is_without_spin = figure_ps > 0 && figure_ps < 1_000_000 * idle_us;
                let message = format!("{voluntary} switches, {figure_ps} ps");
                if sleeps && is_without_spin { Ok(()) } else { Err(message) }
            });
        }
    });
}

/// The cases of a one-way message at those values.
fn one_way(at: &[(&'static str, &'static str)]) -> Vec<(&'static Bench, Case)> {
    let values = at.iter().fold(Point::none(), |point, &(axis, value)| point.with(axis, value));
    cases()
        .filter(|(bench, _)| bench.id == "switch/one-way")
        .filter(|(_, case)| case.point.includes(&values))
        .collect()
}

#[test]
fn the_reader_of_a_one_way_message_sleeps_until_it_arrives() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in one_way(&[("peer", "stays")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            assert_repeatedly(&case, || {
                let [(voluntary, _), _] = switches_per_op(&mut work, 500);
                if voluntary > 0.9 { Ok(()) } else { Err(voluntary.to_string()) }
            });
        }
    });
}

/// The process waits for the exit of its peer, which takes the CPU from it, or was preempted by it
/// after the fork; the message is then in the pipe.
#[test]
fn a_peer_that_exits_on_the_same_cpu_takes_it_once_per_message() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in one_way(&[("peer", "exits"), ("peer_cpu", "same")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            assert_repeatedly(&case, || {
                let [(voluntary, involuntary), _] = switches_per_op(&mut work, 100);
                let message = format!("{voluntary} and {involuntary}");
                if voluntary + involuntary >= 0.99 { Ok(()) } else { Err(message) }
            });
        }
    });
}

/// A member of a larger ring may be preempted when it wakes its neighbour, and must run again to
/// wait: that is one more switch, and the definition says so.
#[test]
fn each_member_of_a_ring_leaves_the_cpu_once_per_lap_or_is_preempted_before() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases().filter(|(bench, _)| bench.id == "switch/ring") {
            let members = case.point.get("ring").unwrap().to_string();
            let Some(mut work) = built(bench, &case, context) else { continue };
            let range = match members.as_str() {
                "1" => 0.0..0.1,
                "2" => 0.98..1.2,
                _ => 0.98..2.1,
            };
            assert_repeatedly(&case, || {
                let [(voluntary, involuntary), _] = switches_per_op(&mut work, 300);
                let is_expected = range.contains(&(voluntary + involuntary));
                if is_expected { Ok(()) } else { Err(format!("{voluntary} and {involuntary}")) }
            });
        }
    });
}

#[test]
fn an_op_whose_peer_was_killed_fails() {
    in_own_process(|| {
        let context = context();
        // The CPU on which it died, and its footprint, make no difference.
        let at_point = |(_, case): &(&Bench, Case)| {
            let differs = |axis: &str, value: &str| {
                case.point.get(axis).is_some_and(|found| found.to_string() != value)
            };
            !differs("peer_cpu", "same") && !differs("footprint", "0")
        };
        for (bench, case) in cases().filter(at_point) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            // The last one: in a ring it is not the first member's neighbour.
            let Some(peer) = children().last().copied() else { continue };
            assert!(run_ops(&mut work, 1), "{case}");
            kill(peer);
            assert!(!run_ops(&mut work, 1_000), "{case}");
        }
    });
}

#[test]
fn a_one_way_message_arrives_later_than_it_was_sent() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases().filter(|(bench, _)| bench.id != "switch/quantum") {
            let Some(mut work) = built(bench, &case, context) else { continue };
            for _ in 0..20 {
                assert!(run_ops(&mut work, 1), "{case}");
                assert!(work.last_value().is_none_or(|ticks| ticks > 0), "{case}");
            }
        }
    });
}

#[test]
fn slices_and_switches_have_positive_lengths() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases().filter(|(bench, _)| bench.id == "switch/quantum") {
            let Some(mut work) = built(bench, &case, context) else { continue };
            for _ in 0..7 {
                assert!(run_ops(&mut work, 1), "{case}");
                assert!(work.last_value().is_some_and(|ticks| ticks > 0), "{case}");
            }
        }
    });
}

#[test]
fn a_case_that_cannot_be_pinned_or_lacks_a_second_cpu_says_so() {
    in_own_process(|| {
        let no_cpu = Context::DEFAULT;
        for (bench, case) in cases() {
            let work = bench.work(&case.point, no_cpu);
            let work = work.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
            let is_single_process =
                case.point.get("peer_cpu").is_some_and(|cpu| cpu.to_string() == "none");
            match work.unavailable_reason() {
                Some(reason) => {
                    assert!(!is_single_process && reason.contains("CPU"), "{case}: {reason}")
                }
                None => assert!(is_single_process, "{case}"),
            }
        }
    });
}
