use super::*;
use std::cell::Cell;
use std::rc::Rc;

/// Fails unless the work runs exactly as many ops as each of these batches has.
fn assert_op_counts(make_work: impl FnOnce(Box<dyn FnMut() -> Result<(), Errno>>) -> Work) -> Work {
    let done = Rc::new(Cell::new(0u64));
    let count = Rc::clone(&done);
    let mut work = make_work(Box::new(move || {
        count.set(count.get() + 1);
        Ok(())
    }));
    for (iterations, unroll) in [(0, 1), (1, 1), (23, 1), (23, 2), (23, 4), (23, 8)] {
        done.set(0);
        work.run(iterations, unroll).unwrap();
        assert_eq!(
            done.get(),
            iterations * u64::from(unroll),
            "{iterations} iterations of {unroll}"
        );
    }
    work
}

#[test]
fn every_unroll_factor_runs_exactly_its_ops() {
    let mut work = assert_op_counts(Work::repeat);
    assert!(work.run(1, 3).is_err());
}

#[test]
fn a_loop_with_its_counter_in_memory_runs_as_many_ops() {
    assert_op_counts(Work::repeat_unoptimized);
}

#[test]
fn an_own_value_is_that_of_the_last_op() {
    let mut figures = [1_500, -2_500].into_iter();
    let mut work = Work::own_value(move || figures.next().ok_or(Errno::ENOENT));
    work.run(2, 1).unwrap();
    assert_eq!(work.last_value(), Some(-2_500));
    assert_eq!(work.run(3, 1), Err(OpError { op: 0, errno: Errno::ENOENT }));
}

#[test]
fn the_first_error_ends_the_batch_and_names_its_op() {
    let mut left = 5;
    let op = move || {
        left -= 1;
        if left < 0 { Err(Errno::ENOENT) } else { Ok(()) }
    };
    let expected = Err(OpError { op: 5, errno: Errno::ENOENT });
    assert_eq!(Work::repeat(op).run(100, 1), expected);
    assert_eq!(Work::with_loop(op).run(25, 4), expected);
}

#[test]
fn unavailable_work_gives_its_reason_and_never_runs() {
    let mut work = Work::unavailable("a second CPU");
    assert_eq!(work.unavailable_reason(), Some("a second CPU"));
    assert!(work.run(1, 1).is_err());
    assert_eq!(Work::repeat(|| Ok(())).unavailable_reason(), None);
}

#[test]
fn the_preparation_gets_the_number_of_ops_of_its_batch() {
    let prepared = Rc::new(Cell::new(0));
    let count = Rc::clone(&prepared);
    let mut work = Work::repeat(|| Ok(())).with_preparation(move |ops| {
        count.set(ops);
        Ok(())
    });
    work.prepare(42).unwrap();
    assert_eq!(prepared.get(), 42);
}

#[test]
fn a_walk_comes_after_the_preparation_of_a_timed_op_alone() {
    let order = Rc::new(Cell::new(0));
    let (prepared, walked) = (Rc::clone(&order), Rc::clone(&order));
    let mut work = Work::repeat(|| Ok(()))
        .with_preparation(move |_| {
            prepared.set(10 * prepared.get() + 1);
            Ok(())
        })
        .cooled_by(move || walked.set(10 * walked.get() + 2));
    assert!(work.is_cooled() && work.has_preparation() && work.shape == Shape::Cold);
    work.prepare(1).unwrap();
    assert_eq!(order.get(), 1);
    work.prepare_timed(1).unwrap();
    assert_eq!(order.get(), 112);
}

#[test]
fn only_ops_that_can_be_timed_alone_are_cooled() {
    let nothing = || Ok(());
    for work in [Work::repeat(nothing), Work::with_loop(nothing), Work::single_shot(nothing)] {
        assert_eq!(work.uncoolable_reason(), None, "{:?}", work.shape);
    }
    for work in [
        Work::cold(nothing, nothing),
        Work::transfer(|_| Ok(())),
        Work::own_value(|| Ok(0)),
        Work::own_ticks(|| Ok(0)),
        Work::with_loop(nothing).with_min_batch_ops(16),
        Work::repeat(nothing).with_op_count(2),
    ] {
        assert!(work.uncoolable_reason().is_some(), "{:?}", work.shape);
    }
}

#[test]
fn no_more_ops_are_prepared_than_a_batch_may_have() {
    let mut work = Work::repeat(|| Ok(())).with_preparation(|_| Ok(())).with_max_batch_ops(7);
    assert_eq!((work.max_batch_ops(), work.op_count(), work.has_preparation()), (7, 1, true));
    assert_eq!(work.prepare(7), Ok(()));
    assert_eq!(work.prepare(8), Err(OpError { op: 0, errno: Errno::E2BIG }));
    assert!(!Work::repeat(|| Ok(())).has_preparation());
}
