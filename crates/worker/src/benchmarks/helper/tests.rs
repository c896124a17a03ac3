//! Which process makes the ops, and what becomes of errors: counts, not clocks.

use std::cell::Cell;
use std::rc::Rc;

use oscost_model::point::Point;

use super::*;
use crate::bench::Context;
use crate::kernel::process::in_own_process;

/// What the ops count: in a word that all processes share, and in one of which each has its own.
#[derive(Clone)]
struct OpCounts {
    shared: Rc<SharedWords>,
    own: Rc<Cell<u32>>,
}

impl OpCounts {
    /// Counts an op of this process; returns how many it has made.
    fn count_own(&self) -> u32 {
        self.own.set(self.own.get() + 1);
        self.own.get()
    }

    fn add_shared(&self, count: u32) {
        self.shared.word(0).fetch_add(count, Ordering::Relaxed);
    }

    fn shared(&self) -> u32 {
        self.shared.word(0).load(Ordering::Relaxed)
    }
}

/// Runs a test in a process of its own, with the parameters of a work and counts at 0.
fn with_counts(test: impl FnOnce(Params<'_>, OpCounts)) {
    in_own_process(|| {
        let point = Point::none();
        let shared = Rc::new(SharedWords::new().unwrap());
        let counts = OpCounts { shared, own: Rc::new(Cell::new(0)) };
        test(Params::new(&point, Context::DEFAULT), counts);
    });
}

#[test]
fn a_helper_makes_the_ops_of_each_round_and_its_parent_makes_none() {
    with_counts(|params, counts| {
        let of_helper = counts.clone();
        let mut work = in_helper(params, 5, Duration::ZERO, move || {
            Ok(move || {
                of_helper.count_own();
                of_helper.add_shared(1);
                Ok(())
            })
        })
        .unwrap();
        assert_eq!(work.op_count(), 5);
        assert_eq!(counts.shared(), 5, "the first round");
        for rounds in 2..5 {
            work.prepare(1).unwrap();
            work.run(1, 1).unwrap();
            assert_eq!(counts.shared(), 5 * rounds);
            assert!(work.last_value().is_some_and(|ticks| ticks > 0));
        }
        assert_eq!(counts.own.get(), 0);
    });
}

#[test]
fn an_error_of_the_set_up_or_of_an_op_reaches_the_worker() {
    in_own_process(|| {
        let point = Point::none();
        let params = Params::new(&point, Context::DEFAULT);
        let refused = in_helper(params, 2, Duration::ZERO, || {
            Err::<fn() -> Result<(), Errno>, Errno>(Errno::EPERM)
        });
        assert_eq!(refused.err(), Some(Errno::EPERM));
        let mut left = 5;
        let mut work = in_helper(params, 2, Duration::ZERO, move || {
            Ok(move || {
                left -= 1;
                if left < 0 { Err(Errno::ENOENT) } else { Ok(()) }
            })
        })
        .unwrap();
        assert_eq!(work.run(1, 1), Ok(()));
        assert_eq!(work.run(1, 1), Err(OpError { op: 0, errno: Errno::ENOENT }));
        assert_eq!(process::children().len(), 1);
        drop(work);
        assert_eq!(process::children(), Vec::<u32>::new());
    });
}

#[test]
fn each_op_of_a_child_has_a_child_of_its_own() {
    with_counts(|params, counts| {
        let of_children = counts.clone();
        let mut work = timed_in_child(params, move || {
            let of_child = of_children.clone();
            Ok(move || {
                of_child.add_shared(of_child.count_own());
                Ok(())
            })
        })
        .unwrap();
        work.run(3, 1).unwrap();
        assert_eq!((counts.shared(), counts.own.get()), (3, 0));
    });
}

#[test]
fn a_refused_op_is_a_skipped_row_and_another_error_is_an_error() {
    let of = |errno: Errno| if_permitted(Ok(Work::repeat(move || Err(errno))), "no key");
    let skipped = of(Errno::EPERM).unwrap();
    let reason = skipped.unavailable_reason().unwrap();
    assert!(reason.starts_with("no key: "), "{reason}");
    assert_eq!(of(Errno::EPROTO).err(), Some(Errno::EPROTO));
}
