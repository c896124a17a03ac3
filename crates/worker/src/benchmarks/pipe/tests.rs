//! Properties of channels: every point carries whole messages, describes its channel, and leaves
//! nothing behind.

use std::fs;

use oscost_model::case::Case;
use oscost_model::point::{Point, Value};

use super::super::exchange::{ControlStream, End, EndPair, InterruptHandler, MESSAGE_SIZES, serve};
use super::super::tests::{all_points, context};
use super::*;
use crate::bench::Context;
use crate::kernel::file::location::{queue_key, queue_name};
use crate::kernel::process::{children, in_own_process, kill};
use crate::kernel::time::stopwatch::Stopwatch;

/// Every case with one of these sizes.
fn cases(sizes: &[u64]) -> Vec<(&'static Bench, Case)> {
    let has_size = |point: &Point| match point.get("size") {
        Some(Value::Number(size)) => sizes.contains(size),
        _ => false,
    };
    let cases_of = |bench: &'static Bench| {
        let points = all_points(&bench.definition()).into_iter().filter(has_size);
        points.map(move |point| (bench, Case::new(bench.id, point))).collect::<Vec<_>>()
    };
    let is_spinning = |case: &Case| {
        let is = |axis: &str, word: &str| case.point.get(axis) == Some(&Value::from(word));
        is("by", "shm-spin") && is("peer_cpu", "same")
    };
    let all = BENCHES.iter().flat_map(cases_of).filter(|(_, case)| !is_spinning(case));
    all.collect()
}

/// Its work here; `None`, with a message, if this machine lacks something.
fn built(bench: &Bench, case: &Case, context: Context) -> Option<Work> {
    match bench.work(&case.point, context) {
        Err(Errno::UNAVAILABLE) => {
            let words = Errno::reason();
            assert!(words.len() > 20, "{case}: {words}");
            None
        }
        Err(error) => panic!("{case} is not built: {error}"),
        Ok(work) if work.unavailable_reason().is_some() => {
            eprintln!("{case} cannot run here: {:?}", work.unavailable_reason());
            None
        }
        Ok(work) => Some(work),
    }
}

fn run_batch(work: &mut Work, ops: u64) -> Result<(), OpError> {
    work.prepare(ops)?;
    work.run(ops, 1)?;
    work.verify()
}

#[test]
fn every_point_carries_verified_messages_and_describes_its_channel() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases(MESSAGE_SIZES) {
            let Some(mut work) = built(bench, &case, context) else { continue };
            for ops in [1, 3].map(|ops| work.max_batch_ops().min(ops)) {
                assert_eq!(run_batch(&mut work, ops), Ok(()), "{case}");
            }
            let observation = work.channel_observation().unwrap();
            assert!(observation.verified_messages >= 6, "{case}: {observation:?}");
            assert!(observation.peer_cpu.is_some(), "{case}");
            if let Some(&Value::Number(capacity)) = case.point.get("capacity") {
                assert_eq!(observation.capacity_bytes, Some(capacity), "{case}");
            }
            assert!(work.last_value().is_none_or(|ticks| ticks > 0), "{case}");
        }
    });
}

#[test]
fn messages_of_unusual_sizes_arrive() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases(&[4]) {
            for size in [1u64, 3, 4_097, 1_000_003] {
                let case = Case::new(bench.id, case.point.clone().with("size", size));
                let Some(mut work) = built(bench, &case, context) else { continue };
                let ops = work.max_batch_ops().min(2);
                assert_eq!(run_batch(&mut work, ops), Ok(()), "{case}");
            }
        }
    });
}

#[test]
fn a_message_too_large_for_a_queue_names_the_setting_to_raise() {
    in_own_process(|| {
        let context = context();
        for (by, setting) in [("mq", "fs.mqueue.msgsize_max"), ("sysv-mq", "kernel.msgmax")] {
            let point = Point::none().with("by", by).with("size", 16u64 << 20);
            let point = point.with("peer_cpu", "same");
            // A system whose limit was raised that far accepts the message.
            match BENCHES[0].work(&point, context).map(drop) {
                Err(Errno::UNAVAILABLE) => {
                    let words = Errno::reason();
                    assert!(words.contains(setting) || words.contains("RLIMIT"), "{words}");
                }
                other => eprintln!("{by}: {other:?}"),
            }
        }
    });
}

/// Children, descriptors, mappings and System V queues of this process.
fn open_resources() -> (usize, usize, usize, usize) {
    let entries = |path: &str| fs::read_dir(path).unwrap().count();
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let own_keys = [0, 1].map(|which| queue_key(&queue_name(), which).to_string());
    let queues = text("/proc/sysvipc/msg");
    let keys = queues.lines().filter_map(|line| line.split_whitespace().next());
    let queues = keys.filter(|key| own_keys.iter().any(|own| own == key)).count();
    (children().len(), entries("/proc/self/fd"), text("/proc/self/maps").lines().count(), queues)
}

#[test]
fn dropping_work_leaks_nothing() {
    in_own_process(|| {
        let context = context();
        let sweep = || {
            for (bench, case) in cases(&[4, 4_096]) {
                let before = open_resources();
                if let Some(mut work) = built(bench, &case, context) {
                    let ops = work.max_batch_ops().min(3);
                    run_batch(&mut work, ops).unwrap();
                }
                let after = open_resources();
                assert_eq!((after.0, after.1, after.3), (before.0, before.1, before.3), "{case}");
            }
        };
        // The first ones create heaps that libc keeps.
        sweep();
        let first = open_resources();
        sweep();
        assert!(open_resources().2 <= first.2 + 2, "{first:?}, then {:?}", open_resources());
    });
}

#[test]
fn an_op_whose_peer_was_killed_fails_and_says_so() {
    in_own_process(|| {
        let context = context();
        for (bench, case) in cases(&[64]) {
            if case.point.get("capacity").is_some() {
                continue;
            }
            let Some(mut work) = built(bench, &case, context) else { continue };
            kill(children()[0]);
            let ops = work.max_batch_ops().min(100_000);
            let error = run_batch(&mut work, ops).unwrap_err();
            assert_eq!(error.errno, Errno::CHECK_FAILED, "{case}: {}", error.errno);
            assert!(Errno::reason().contains("was killed"), "{case}: {}", Errno::reason());
        }
    });
}

/// An end that reports less than it received, or flips a bit.
struct CorruptingEnd {
    end: Box<dyn End>,
    short: bool,
    intact: u32,
}

impl End for CorruptingEnd {
    fn send(&mut self, message: &[u8], on_interrupt: InterruptHandler<'_>) -> Result<(), Errno> {
        self.end.send(message, on_interrupt)
    }

    fn receive(
        &mut self,
        into: &mut [u8],
        on_interrupt: InterruptHandler<'_>,
    ) -> Result<usize, Errno> {
        let received = self.end.receive(into, on_interrupt)?;
        if self.intact > 0 {
            self.intact -= 1;
            return Ok(received);
        }
        into[0] ^= 1;
        Ok(if self.short { received - 1 } else { received })
    }
}

/// The work of two ends of which the peer corrupts what it receives after `good` messages.
fn with_corrupting_peer(short: bool, intact: u32) -> Result<Work, Errno> {
    let point = Point::none().with("by", "pipe").with("size", 64u64).with("peer_cpu", "same");
    let at = Params::new(&point, context());
    let EndPair { own, peer } = mechanisms::make_ends(at, 64)?;
    let peer = Box::new(CorruptingEnd { end: peer, short, intact });
    let cpu = at.context.cpu.unwrap_or(0);
    let channel = Channel::with_child_running(
        cpu,
        EndPair { own, peer },
        |mut end, control: ControlStream| serve(&mut *end, &control, Stopwatch::Syscall),
    )?;
    channel.throughput(64, 1)
}

#[test]
fn a_peer_that_got_fewer_bytes_than_were_sent_fails_the_batch() {
    in_own_process(|| {
        let mut work = with_corrupting_peer(true, 3 + 5).unwrap();
        run_batch(&mut work, 5).unwrap();
        assert_eq!(run_batch(&mut work, 5).unwrap_err().errno, Errno::CHECK_FAILED);
        assert!(Errno::reason().contains("received 5 messages (315 bytes)"), "{}", Errno::reason());
    });
}

#[test]
fn a_corrupted_byte_fails_before_anything_is_timed() {
    in_own_process(|| {
        assert_eq!(with_corrupting_peer(false, 2).map(drop), Err(Errno::CHECK_FAILED));
        assert!(Errno::reason().contains("2 arrived intact"), "{}", Errno::reason());
    });
}

#[test]
fn a_silent_peer_times_out() {
    in_own_process(|| {
        let point = Point::none().with("by", "pipe").with("size", 64u64).with("peer_cpu", "same");
        let at = Params::new(&point, context());
        let ends = mechanisms::make_ends(at, 64).unwrap();
        let channel =
            Channel::with_child_running(at.context.cpu.unwrap_or(0), ends, |end, control| {
                // Both are kept open, so that the channel is not closed.
                let _open = (end, control);
                crate::kernel::process::pause_forever()
            });
        assert_eq!(channel.unwrap().throughput(64, 1).map(drop), Err(Errno::PEER_TIMED_OUT));
    });
}

#[test]
fn a_case_that_cannot_be_pinned_or_lacks_a_second_cpu_says_so() {
    in_own_process(|| {
        for (bench, case) in cases(&[64]) {
            let work = bench.work(&case.point, Context::DEFAULT).unwrap();
            assert!(
                work.unavailable_reason().is_some_and(|reason| reason.contains("CPU")),
                "{case}"
            );
        }
    });
}
