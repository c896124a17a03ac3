//! Properties of the family.

use oscost_model::case::Case;

use crate::bench::Work;
use crate::benchmarks::find;
use crate::benchmarks::tests::context;
use crate::kernel::event::io_uring::Ring;
use crate::kernel::process::in_own_process;

/// The work of a case; `None`, with a message, if this machine lacks something for it.
fn work(text: &str) -> Option<Work> {
    let case = Case::parse(text).unwrap();
    let work = find(&case.benchmark).unwrap().work(&case.point, context()).unwrap();
    if let Some(reason) = work.unavailable_reason() {
        eprintln!("skipped: {text}: {reason}");
        return None;
    }
    Some(work)
}

/// Some batches as the engine runs them, the first of no ops.
fn run_batches(work: &mut Work, text: &str) {
    for ops in [0, 1, 7, 3].map(|ops: u64| ops.min(work.max_batch_ops())) {
        let done = work.prepare(ops).and_then(|()| work.run(ops, 1));
        assert_eq!(done.and_then(|()| work.verify()), Ok(()), "{text}");
    }
}

#[test]
fn a_figure_is_per_operation_in_batches_and_per_pair_otherwise() {
    if Ring::new(1).is_err() {
        return eprintln!("cannot run here: io_uring_setup(2) is refused");
    }
    in_own_process(|| {
        for (text, ops) in [
            ("io-uring/nop:batch=8,setup=plain", 8),
            ("io-uring/nop:batch=8,setup=defer-taskrun", 8),
            ("io-uring/nop:batch=8,setup=sqpoll", 8),
            ("io-uring/read:via=fixed-buffer,size=1,batch=32", 32),
            ("io-uring/write:via=fixed-file,batch=32", 32),
            ("io-uring/poll:batch=1", 1),
            ("io-uring/timeout:end=removed", 1),
            ("io-uring/timeout:end=counted", 1),
            ("io-uring/timeout:end=linked", 1),
            ("io-uring/timeout:end=linked-over", 1),
            ("io-uring/accept:shots=single", 1),
            ("io-uring/accept:shots=multishot", 1),
            ("io-uring/receive:shots=single", 1),
            ("io-uring/receive:shots=multishot", 1),
            ("io-uring/link:order=linked", 1),
        ] {
            let Some(mut work) = work(text) else { continue };
            assert_eq!(work.op_count(), ops, "{text}");
            run_batches(&mut work, text);
        }
    });
}

#[test]
fn rings_are_created_in_small_batches() {
    if Ring::new(1).is_err() {
        return eprintln!("cannot run here: io_uring_setup(2) is refused");
    }
    let Some(mut work) = work("io-uring/setup:entries=8") else { return };
    assert!(work.has_preparation() && work.max_batch_ops() <= 16);
    run_batches(&mut work, "io-uring/setup");
}
