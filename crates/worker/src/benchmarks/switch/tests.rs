//! Properties of peers: they switch as often as the definition says, and are gone when they should
//! be.

use std::collections::BTreeMap;
use std::fs;

use oscost_model::case::Case;
use oscost_model::point::Point;

use super::super::tests::{all_points, context};
use super::BENCHES;
use crate::bench::{Bench, Context, Work};
use crate::kernel::process::usage::{ThreadUsage, thread};
use crate::kernel::process::{children, in_own_process, kill};

/// Every case of the family.
fn cases() -> impl Iterator<Item = (&'static Bench, Case)> {
    let at = |bench: &'static Bench| {
        let points = all_points(&bench.definition()).into_iter();
        points.map(move |point| (bench, Case::new(bench.id, point)))
    };
    BENCHES.iter().flat_map(at)
}

/// Its work here; `None`, with a message, if this machine lacks something.
fn built(bench: &Bench, case: &Case, context: Context) -> Option<Work> {
    let work = bench.work(&case.point, context);
    let work = work.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
    if let Some(missing) = work.unavailable_reason() {
        eprintln!("{case} cannot run here: {missing}");
        return None;
    }
    Some(work)
}

fn done(work: &mut Work, ops: u64) -> bool {
    work.prepare(ops).and_then(|()| work.run(ops, 1)).is_ok()
}

/// What the process holds: children, descriptors, threads, mappings.
#[derive(Debug, PartialEq)]
struct Held {
    children: usize,
    descriptors: usize,
    threads: usize,
    mappings: usize,
}

fn held() -> Held {
    let entries = |path: &str| fs::read_dir(path).unwrap().count();
    Held {
        children: children().len(),
        descriptors: entries("/proc/self/fd"),
        threads: entries("/proc/self/task"),
        mappings: fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
    }
}

#[test]
fn dropping_a_work_leaves_nothing_behind() {
    in_own_process(|| {
        let context = context();
        let sweep = || {
            for (bench, case) in cases() {
                let before = held();
                if let Some(mut work) = built(bench, &case, context) {
                    assert!(done(&mut work, 3), "{case}");
                }
                let after = held();
                assert_eq!(
                    (after.children, after.descriptors, after.threads),
                    (before.children, before.descriptors, before.threads),
                    "{case} leaves something behind"
                );
            }
        };
        // The first threads of a process create heaps and stacks that libc keeps.
        sweep();
        let first = held();
        sweep();
        let second = held();
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
fn accounts_of_peers() -> Vec<String> {
    let me = std::process::id();
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let threads = threads.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let threads = threads.filter(|thread| *thread != me.to_string());
    let threads = threads.map(|thread| format!("/proc/self/task/{thread}/status"));
    threads.chain(children().iter().map(|child| format!("/proc/{child}/status"))).collect()
}

/// Switches per op: the measured process's (voluntary, involuntary), and the peer's.
fn switches_per_op(work: &mut Work, ops: u64) -> [(f64, f64); 2] {
    let peer = accounts_of_peers().first().map_or((0, 0), |peer| switches_of(peer));
    let own = thread().unwrap();
    assert!(done(work, ops));
    let now = thread().unwrap();
    let peers_now = accounts_of_peers().first().map_or((0, 0), |peer| switches_of(peer));
    let each = |now: u64, then: u64| (now - then) as f64 / ops as f64;
    let of = |usage: &ThreadUsage| (usage.voluntary_switches, usage.involuntary_switches);
    let (now, own) = (of(&now), of(&own));
    [
        (each(now.0, own.0), each(now.1, own.1)),
        (each(peers_now.0, peer.0), each(peers_now.1, peer.1)),
    ]
}

/// Repeats a check until it succeeds: other tests on the CPU cause preemptions now and then, but so
/// many failures in a row mean that the case is wrong.
fn in_peace(case: &Case, mut look: impl FnMut() -> Result<(), String>) {
    const TRIES: usize = 20;
    let wrong: Vec<String> = (0..TRIES).map_while(|_| look().err()).collect();
    assert!(wrong.len() < TRIES, "{case}: {wrong:?}");
}

/// The round-trip cases at those values.
fn round_trips(at: &[(&'static str, &'static str)]) -> Vec<(&'static Bench, Case)> {
    let wanted = at.iter().fold(Point::none(), |point, &(axis, value)| point.with(axis, value));
    cases()
        .filter(|(bench, _)| bench.axes.iter().any(|axis| axis.name == "between"))
        .filter(|(bench, _)| bench.id != "switch/half")
        .filter(|(_, case)| case.point.includes(&wanted))
        .collect()
}

#[test]
fn on_one_cpu_each_end_leaves_it_once_per_round_trip() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in round_trips(&[("peer_cpu", "same")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            let [own, peer] = switches_per_op(&mut work, 2_000);
            // A task may be preempted by the one that it wakes before it waits: that switch is
            // involuntary, and replaces the voluntary one. A socket wakes its writer once more.
            let most = if bench.id == "switch/unix" { 2.0 } else { 1.1 };
            for (waiting, forced) in [own, peer] {
                let all = waiting + forced;
                let said = format!("{case}: {own:?} and {peer:?}");
                assert!((0.99..=most).contains(&all), "{said}");
                // An end that yields never sleeps, and all others do.
                assert_eq!(waiting < 0.01, bench.id == "switch/yield", "{said}");
            }
        }
    });
}

#[test]
fn on_two_cpus_each_end_sleeps_while_waiting_and_a_single_process_never_does() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in round_trips(&[("peer_cpu", "other")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            let [own, peer] = switches_per_op(&mut work, 500);
            // An end delayed by other tasks may find its answer there; one that spun would never
            // sleep.
            assert!(own.0 > 0.5 && peer.0 > 0.5, "{case}: {own:?} and {peer:?}");
        }
        for (bench, case) in round_trips(&[("peer_cpu", "none")]) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            let [own, _] = switches_per_op(&mut work, 500);
            assert!(own.0 < 0.01 && accounts_of_peers().is_empty(), "{case}: {own:?}");
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
            // A peer that is created anew in each op is gone after it.
            assert!(done(&mut work, 1), "{case}");
            let (Some(own), Some(other)) = (context.cpu, context.other_cpu.or(context.cpu)) else {
                return;
            };
            let at_other = case.point.get("peer_cpu").is_some_and(|at| at.to_string() == "other");
            let theirs = if at_other { other } else { own };
            for peer in accounts_of_peers() {
                assert_eq!(cpus_of(&peer), theirs.to_string(), "{case}");
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
            in_peace(&case, || {
                let both = switches_per_op(&mut work, 100);
                let right = |(waiting, forced)| (19.8..=22.0).contains(&(waiting + forced));
                if both.into_iter().all(right) { Ok(()) } else { Err(format!("{both:?}")) }
            });
            assert!(work.last_value().is_some_and(|figure| figure > 0), "{case}");
        }
    });
}

#[test]
fn the_reader_of_a_one_way_message_sleeps_until_it_arrives() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases().filter(|(bench, _)| bench.id == "switch/one-way") {
            let Some(mut work) = built(bench, &case, context) else { continue };
            in_peace(&case, || {
                let [(waiting, _), _] = switches_per_op(&mut work, 500);
                if waiting > 0.9 { Ok(()) } else { Err(waiting.to_string()) }
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
            in_peace(&case, || {
                let [(waiting, forced), _] = switches_per_op(&mut work, 300);
                let right = range.contains(&(waiting + forced));
                if right { Ok(()) } else { Err(format!("{waiting} and {forced}")) }
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
            let is_not = |axis: &str, value: &str| {
                case.point.get(axis).is_some_and(|found| found.to_string() != value)
            };
            !is_not("peer_cpu", "same") && !is_not("footprint", "0")
        };
        for (bench, case) in cases().filter(at_point) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            // The last one: in a ring it is not the first member's neighbour.
            let Some(peer) = children().last().copied() else { continue };
            assert!(done(&mut work, 1), "{case}");
            kill(peer);
            assert!(!done(&mut work, 1_000), "{case}");
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
                assert!(done(&mut work, 1), "{case}");
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
                assert!(done(&mut work, 1), "{case}");
                assert!(work.last_value().is_some_and(|ticks| ticks > 0), "{case}");
            }
        }
    });
}

#[test]
fn a_case_that_cannot_be_pinned_or_lacks_a_second_cpu_says_so() {
    in_own_process(|| {
        let nowhere = Context::DEFAULT;
        for (bench, case) in cases() {
            let work = bench.work(&case.point, nowhere);
            let work = work.unwrap_or_else(|error| panic!("{case} is not built: {error}"));
            let by_itself = case.point.get("peer_cpu").is_some_and(|cpu| cpu.to_string() == "none");
            match work.unavailable_reason() {
                Some(missing) => {
                    assert!(!by_itself && missing.contains("CPU"), "{case}: {missing}")
                }
                None => assert!(by_itself, "{case}"),
            }
        }
    });
}
