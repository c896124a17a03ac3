//! Work: an op, the loop that the engine turns around it, and what comes before a batch.

use oscost_model::channel::ChannelObservation;
use oscost_model::file::FileObservation;

use crate::kernel::Errno;
use crate::kernel::cpu::black_box::{barrier, opaque, through_memory};

#[cfg(feature = "live")]
mod slowed;

/// An op that went wrong: it is never a fast figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtOp {
    /// How many ops of the batch were done (in mode U to within one turn of the loop).
    pub op: u64,
    /// Why the next one was not.
    pub why: Errno,
}

/// How an op lends itself to being timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Any number of times in a row; the pilot chooses between unrolled, batched and single shots.
    Repeat,
    /// Any number of times in a row, the loop's turn with them: never unrolled.
    Looped,
    /// One at a time, because its distribution matters.
    Single,
    /// One at a time, each after an eviction.
    Cold,
    /// Some bytes at a time.
    Transfer,
    /// One at a time, and each brings a figure of its own: what the clock shows is thrown away.
    Found,
    /// One at a time, and each brings the ticks that it took itself: its ends lie in two processes.
    Stamped,
}

/// The body of a benchmark, compiled around its op.
pub trait Run {
    /// Runs `turns` turns of a loop with `copies` copies of the op in each (1, 2, 4 or 8), and
    /// nothing else. A transfer moves `turns * copies` bytes.
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp>;

    /// Does what must come before a batch of `ops` ops, untimed: see [`Work::staged`].
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        Ok(())
    }

    /// What was seen of the file that the ops work on.
    fn seen(&self) -> Option<FileObservation> {
        None
    }

    /// What was seen of the channel that the ops go through.
    fn channel(&self) -> Option<ChannelObservation> {
        None
    }

    /// Looks whether the batch that was just run did what its ops claim to do, untimed.
    fn prove(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    /// Whether the last batch is no sample: what it waited for never came, as datagrams may, and
    /// that was counted.
    fn is_lost(&self) -> bool {
        false
    }

    /// The figure that the last op brought: see [`Shape::Found`] and [`Shape::Stamped`].
    fn brought(&self) -> i64 {
        0
    }

    /// How many of the ops whose cost is quoted the last batch came to, where that hangs on more
    /// than on how many were tried: of bytes that were sent, those that arrived.
    fn moved(&self) -> Option<u64> {
        None
    }
}

/// What comes before a batch, untimed; it is told how many ops the batch will have.
type Prepare = Box<dyn FnMut(u64) -> Result<(), Errno>>;

/// The work of a case, ready to be timed.
pub struct Work {
    /// How it lends itself to being timed.
    pub shape: Shape,
    body: Box<dyn Run>,
    prepare: Option<Prepare>,
    most_ops: u64,
    least_ops: u64,
    lacks: Option<String>,
    staged: bool,
    worth: u64,
}

impl Work {
    /// An op that can be repeated at will.
    pub fn repeat(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self::of(Shape::Repeat, Repeat::<_, false>(op))
    }

    /// An op that can be repeated at will, in a loop as compilers write it without optimisation: its
    /// counter lives in memory.
    pub fn repeat_plain(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self::of(Shape::Repeat, Repeat::<_, true>(op))
    }

    /// An op that is timed with the loop around it: because the loop is part of what is asked, or
    /// because it is no visible part of an op that enters the kernel. Its body is compiled once and
    /// not four times.
    pub fn looped(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self::of(Shape::Looped, Looped(op))
    }

    /// No work: what this place lacks for the case, and the way out. The row is skipped and says
    /// so.
    pub fn lacking(what: impl Into<String>) -> Self {
        let none = Looped(|| Err(Errno::ENOSYS));
        Self { lacks: Some(what.into()), ..Self::of(Shape::Looped, none) }
    }

    /// What this place lacks, where it lacks something.
    pub fn lacks(&self) -> Option<&str> {
        self.lacks.as_deref()
    }

    /// An op whose every single cost matters.
    pub fn single(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self { shape: Shape::Single, ..Self::repeat(op) }
    }

    /// An op that is wanted cold: `evict` runs before each, untimed.
    pub fn cold(
        evict: impl FnMut() -> Result<(), Errno> + 'static,
        op: impl FnMut() -> Result<(), Errno> + 'static,
    ) -> Self {
        Self::repeat(op).made_cold(evict)
    }

    /// This op, wanted cold.
    #[must_use]
    pub fn made_cold(self, mut evict: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self { shape: Shape::Cold, ..self.after(move |_| evict()) }
    }

    /// An act that moves as many bytes as it is told.
    pub fn transfer(act: impl FnMut(u64) -> Result<(), Errno> + 'static) -> Self {
        Self::of(Shape::Transfer, Transfer(act))
    }

    /// An op that finds its figure itself, in thousandths of a nanosecond: what no clock around it
    /// could show, as the step of another clock, or how late a timer was.
    pub fn found(op: impl FnMut() -> Result<i64, Errno> + 'static) -> Self {
        Self::of(Shape::Found, Bringing { op, last: 0 })
    }

    /// An op that takes its own time, in ticks of its [`Site`](super::Site)'s watch: from a read in
    /// one process to a read in another. What an empty pair of reads shows is subtracted as from
    /// any single shot.
    pub fn stamped(op: impl FnMut() -> Result<i64, Errno> + 'static) -> Self {
        Self { shape: Shape::Stamped, ..Self::found(op) }
    }

    /// This body as it is, for bodies that are no closures.
    pub fn of(shape: Shape, body: impl Run + 'static) -> Self {
        Self::boxed(shape, Box::new(body))
    }

    /// A body that does by itself what must come before its batches: [`Run::prepare`].
    pub fn staged(shape: Shape, body: impl Run + 'static) -> Self {
        Self { staged: true, ..Self::of(shape, body) }
    }

    /// Out of line, since each definition makes its work of it.
    #[inline(never)]
    fn boxed(shape: Shape, body: Box<dyn Run>) -> Self {
        Self {
            shape,
            body,
            prepare: None,
            most_ops: u64::MAX,
            least_ops: 1,
            lacks: None,
            staged: false,
            worth: 1,
        }
    }

    /// This work with something untimed before each batch.
    #[must_use]
    pub fn after(self, prepare: impl FnMut(u64) -> Result<(), Errno> + 'static) -> Self {
        Self { prepare: Some(Box::new(prepare)), ..self }
    }

    /// This work in batches of at most so many ops: what comes before them can provide no more.
    #[must_use]
    pub fn at_most(self, ops: u64) -> Self {
        Self { most_ops: ops.max(1), ..self }
    }

    /// This work in batches of at least so many ops of its body, where those do not take too long:
    /// with fewer it is the filling of what lies between two ends that is timed.
    #[must_use]
    pub fn at_least(self, ops: u64) -> Self {
        Self { least_ops: ops.max(1), ..self }
    }

    /// This work, each op of whose body is worth so many of the ops whose cost is quoted: a region
    /// that is mapped as a whole, say, and whose cost is quoted by the page.
    #[must_use]
    pub fn worth(self, ops: u64) -> Self {
        Self { worth: ops.max(1), ..self }
    }

    /// How many ops of the body a batch may have.
    pub fn most_ops(&self) -> u64 {
        self.most_ops
    }

    /// How many ops of the body a batch should have.
    pub fn least_ops(&self) -> u64 {
        self.least_ops
    }

    /// How many of the ops whose cost is quoted an op of the body is worth.
    pub fn ops_each(&self) -> u64 {
        self.worth
    }

    /// Whether something untimed comes before each batch.
    pub fn is_prepared(&self) -> bool {
        self.staged || self.prepare.is_some()
    }

    /// Does what must come before a batch of `ops` ops.
    pub fn prepare(&mut self, ops: u64) -> Result<(), AtOp> {
        if ops > self.most_ops {
            return Err(AtOp { op: 0, why: Errno::E2BIG });
        }
        let prepared = match &mut self.prepare {
            Some(prepare) => prepare(ops),
            None => Ok(()),
        };
        prepared.and_then(|()| self.body.prepare(ops)).map_err(|why| AtOp { op: 0, why })
    }

    /// Looks, untimed, whether the batch that was just run did what its ops claim to do.
    pub fn prove(&mut self) -> Result<(), AtOp> {
        self.body.prove().map_err(|why| AtOp { op: 0, why })
    }

    /// The figure that the last op brought, where it is not the clock around it that counts:
    /// thousandths of a nanosecond, or ticks.
    pub fn brought(&self) -> Option<i64> {
        matches!(self.shape, Shape::Found | Shape::Stamped).then(|| self.body.brought())
    }

    /// What was seen of the file that the ops work on, where there is one.
    pub fn seen(&self) -> Option<FileObservation> {
        self.body.seen()
    }

    /// What was seen of the channel that the ops go through, where there is one.
    pub fn channel(&self) -> Option<ChannelObservation> {
        self.body.channel()
    }

    /// Whether the last batch is no sample.
    pub fn is_lost(&self) -> bool {
        self.body.is_lost()
    }

    /// How many of the ops whose cost is quoted the last batch came to, where it knows better than
    /// who has run it.
    pub fn moved(&self) -> Option<u64> {
        self.body.moved()
    }

    /// Runs a batch: one indirect call, none for each op.
    #[inline(always)]
    pub fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        self.body.run(turns, copies)
    }
}

struct Repeat<F, const PLAIN: bool>(F);

impl<F: FnMut() -> Result<(), Errno>, const PLAIN: bool> Run for Repeat<F, PLAIN> {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        match copies {
            1 => repeat::<1, PLAIN, F>(&mut self.0, turns),
            2 => repeat::<2, PLAIN, F>(&mut self.0, turns),
            4 => repeat::<4, PLAIN, F>(&mut self.0, turns),
            8 => repeat::<8, PLAIN, F>(&mut self.0, turns),
            _ => Err(AtOp { op: 0, why: Errno::EINVAL }),
        }
    }
}

#[inline(never)]
fn repeat<const COPIES: u64, const PLAIN: bool, F: FnMut() -> Result<(), Errno>>(
    op: &mut F,
    turns: u64,
) -> Result<(), AtOp> {
    loop_of::<COPIES, PLAIN, F>(op, turns)
}

/// The timed loop. Its counter passes through [`opaque`], so that the compiler can neither count
/// the turns in advance nor unroll them: every number of copies pays for the same loop, and the
/// slope over the copies is the op alone. With `PLAIN` the counter goes through memory each turn.
#[inline(always)]
pub(super) fn loop_of<const COPIES: u64, const PLAIN: bool, F: FnMut() -> Result<(), Errno>>(
    op: &mut F,
    turns: u64,
) -> Result<(), AtOp> {
    let counter = |left| if PLAIN { through_memory(left) } else { opaque(left) };
    let mut left = counter(turns);
    while left != 0 {
        if let Err(why) = turn::<COPIES, F>(op) {
            return Err(AtOp { op: (turns - left) * COPIES, why });
        }
        left = counter(left - 1);
    }
    Ok(())
}

/// `COPIES` ops, written out: the conditions are known when it is compiled.
#[inline(always)]
fn turn<const COPIES: u64, F: FnMut() -> Result<(), Errno>>(op: &mut F) -> Result<(), Errno> {
    let mut once = || {
        let done = op();
        barrier();
        done
    };
    once()?;
    if COPIES >= 2 {
        once()?;
    }
    if COPIES >= 4 {
        once()?;
        once()?;
    }
    if COPIES >= 8 {
        once()?;
        once()?;
        once()?;
        once()?;
    }
    Ok(())
}

struct Looped<F>(F);

impl<F: FnMut() -> Result<(), Errno>> Run for Looped<F> {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        repeat::<1, false, F>(&mut self.0, turns * u64::from(copies))
    }
}

struct Transfer<F>(F);

impl<F: FnMut(u64) -> Result<(), Errno>> Run for Transfer<F> {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        (self.0)(turns * u64::from(copies)).map_err(|why| AtOp { op: 0, why })
    }
}

struct Bringing<F> {
    op: F,
    last: i64,
}

impl<F: FnMut() -> Result<i64, Errno>> Run for Bringing<F> {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        for op in 0..turns * u64::from(copies) {
            self.last = (self.op)().map_err(|why| AtOp { op, why })?;
        }
        Ok(())
    }

    fn brought(&self) -> i64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn every_number_of_copies_does_exactly_its_ops() {
        let done = Rc::new(Cell::new(0u64));
        let seen = Rc::clone(&done);
        let mut work = Work::repeat(move || {
            seen.set(seen.get() + 1);
            Ok(())
        });
        for (turns, copies) in [(0, 1), (1, 1), (23, 1), (23, 2), (23, 4), (23, 8)] {
            done.set(0);
            work.run(turns, copies).unwrap();
            assert_eq!(done.get(), turns * u64::from(copies), "{turns} turns of {copies}");
        }
        assert!(work.run(1, 3).is_err());
    }

    #[test]
    fn a_loop_with_its_counter_in_memory_does_as_many() {
        let done = Rc::new(Cell::new(0u64));
        let seen = Rc::clone(&done);
        let mut work = Work::repeat_plain(move || {
            seen.set(seen.get() + 1);
            Ok(())
        });
        for (turns, copies) in [(0, 1), (1, 1), (23, 2), (23, 8)] {
            done.set(0);
            work.run(turns, copies).unwrap();
            assert_eq!(done.get(), turns * u64::from(copies), "{turns} turns of {copies}");
        }
    }

    #[test]
    fn a_figure_that_is_found_is_the_last_ops() {
        let mut figures = [1_500, -2_500].into_iter();
        let mut work = Work::found(move || figures.next().ok_or(Errno::ENOENT));
        work.run(2, 1).unwrap();
        assert_eq!(work.brought(), Some(-2_500));
        assert_eq!(work.run(3, 1), Err(AtOp { op: 0, why: Errno::ENOENT }));
    }

    #[test]
    fn the_first_error_ends_the_batch_and_says_at_which_op() {
        let mut left = 5;
        let op = move || {
            left -= 1;
            if left < 0 { Err(Errno::ENOENT) } else { Ok(()) }
        };
        let stopped = Err(AtOp { op: 5, why: Errno::ENOENT });
        assert_eq!(Work::repeat(op).run(100, 1), stopped);
        assert_eq!(Work::looped(op).run(25, 4), stopped);
    }

    #[test]
    fn work_that_lacks_something_says_what_and_never_runs() {
        let mut work = Work::lacking("a second CPU");
        assert_eq!(work.lacks(), Some("a second CPU"));
        assert!(work.run(1, 1).is_err());
        assert_eq!(Work::repeat(|| Ok(())).lacks(), None);
    }

    #[test]
    fn what_comes_before_a_batch_is_told_how_many_ops_it_has() {
        let told = Rc::new(Cell::new(0));
        let seen = Rc::clone(&told);
        let mut work = Work::repeat(|| Ok(())).after(move |ops| {
            seen.set(ops);
            Ok(())
        });
        work.prepare(42).unwrap();
        assert_eq!(told.get(), 42);
    }

    #[test]
    fn no_more_ops_are_prepared_than_a_batch_may_have() {
        let mut work = Work::repeat(|| Ok(())).after(|_| Ok(())).at_most(7);
        assert_eq!((work.most_ops(), work.ops_each(), work.is_prepared()), (7, 1, true));
        assert_eq!(work.prepare(7), Ok(()));
        assert_eq!(work.prepare(8), Err(AtOp { op: 0, why: Errno::E2BIG }));
        assert!(!Work::repeat(|| Ok(())).is_prepared());
    }
}
