//! Series whose work, cycles per instruction, clock and waiting are known.

use oscost_model::record::{Cause, CountedMedian, CountedMedians};
use oscost_model::seed::Seed;

use super::*;
use crate::estimate::counters::origin::OTHER_TASKS;
use crate::estimate::history::Change;
use crate::estimate::made_up_series::series_of;

/// The index of the first run after the change.
const STEP: usize = 10;
/// The runs of a series.
const RUNS: usize = 20;

/// An op on a core, all of it known.
#[derive(Clone, Copy)]
struct Truth {
    user: f64,
    kernel: f64,
    cpi: f64,
    ghz: f64,
    waiting_ns: f64,
}

const GETPPID: Truth = Truth { user: 19.0, kernel: 293.0, cpi: 1.4, ghz: 2.5, waiting_ns: 0.0 };

impl Truth {
    fn running_ns(self) -> f64 {
        (self.user + self.kernel) * self.cpi / self.ghz
    }

    /// What a run on a shared core counts: its work varies by 0.005 %, its cycles by 1 %.
    fn counts(self, seed: &mut Seed) -> CountedMedians {
        let mut about = |value: f64, share: f64| value * (1.0 + share * (2.0 * seed.unit() - 1.0));
        let (user, kernel) = (self.user, about(self.kernel, 0.00005));
        let (cpi, ghz) = (about(self.cpi, 0.01), about(self.ghz, 0.005));
        let running_ns = (user + kernel) * cpi / ghz;
        let median = |median: f64| Some(CountedMedian { median, interval: None });
        CountedMedians {
            inherited: false,
            insn: median(user + kernel),
            insn_user: median(user),
            insn_kernel: median(kernel),
            cpi: median(cpi),
            ghz: median(ghz),
            time_ns: Some(running_ns + self.waiting_ns),
            running_ns: Some(running_ns),
            counted_time_ratio: Some(1.02),
        }
    }
}

/// A series that changes from one op to another, of runs of one worker in one boot.
fn series(base: Truth, new: Truth) -> Series {
    let mut seed = Seed::new(7);
    let point = |number: usize| {
        let truth = if number < STEP { base } else { new };
        Point {
            run: format!("{number:02}"),
            started: String::new(),
            median: truth.running_ns() + truth.waiting_ns,
            interval: None,
            between_run_ci95: None,
            class: None,
            imported: false,
            counts: Some(RunCounts {
                worker: "worker".to_owned(),
                boot: Some("boot".to_owned()),
                medians: truth.counts(&mut seed),
            }),
        }
    };
    let points: Vec<Point> = (0..RUNS).map(point).collect();
    let (from, to) = (points[0].median, points[STEP].median);
    let change = Change {
        point: STEP,
        before: points[STEP - 1].run.clone(),
        after: points[STEP].run.clone(),
        from,
        to,
        ratio: to / from,
        ci95: None,
        p: 0.001,
        q: 0.001,
        decomposition: None,
        not_decomposed: None,
        counted_runs: None,
    };
    Series { changes: vec![change], ..series_of(points) }
}

/// The counts of some runs, to be changed.
fn counts_to_change(points: &mut [Point]) -> impl Iterator<Item = &mut RunCounts> {
    points.iter_mut().filter_map(|it| it.counts.as_mut())
}

/// The only change of a series, explained.
fn explained_change(mut series: Series) -> Change {
    explain_changes(&mut series);
    series.changes.remove(0)
}

fn reason(series: Series) -> String {
    let change = explained_change(series);
    assert_eq!((change.decomposition, change.counted_runs), (None, None));
    change.not_decomposed.unwrap()
}

#[test]
fn added_work_is_named_with_its_place_and_a_shared_core_with_equal_work() {
    let filter = Truth { kernel: GETPPID.kernel + 91.0, ..GETPPID };
    let change = explained_change(series(GETPPID, filter));
    let found = change.decomposition.unwrap();
    assert_eq!(found.cause, Cause::Work);
    let [low, high] = found.insn.as_ref().unwrap().ci95.unwrap();
    assert!(low < 403.0 / 312.0 && 403.0 / 312.0 < high && high - low < 0.003, "{low} {high}");
    assert!(found.sentence.contains("(instructions: +91.0 in the kernel)"), "{}", found.sentence);
    assert_eq!(change.counted_runs, Some(CountedRuns { before: 10, since: 10 }));
    assert_eq!(change.not_decomposed, None);

    let shared = Truth { cpi: 1.3 * GETPPID.cpi, ..GETPPID };
    let found = explained_change(series(GETPPID, shared)).decomposition.unwrap();
    assert_eq!(found.cause, Cause::Core);
    assert!(found.sentence.starts_with("work 1.000 (to 0.0"), "{}", found.sentence);
    assert!(found.sentence.ends_with("the core was shared or its caches were colder"));
    let [low, high] = found.cpi.unwrap().ci95.unwrap();
    assert!(1.25 < low && high < 1.35, "{low} {high}");
    assert_eq!(found.counting.unwrap().value, 1.0);
}

#[test]
fn a_lower_clock_and_waiting_are_told_from_the_core() {
    let slow = Truth { ghz: GETPPID.ghz / 1.3, ..GETPPID };
    let found = explained_change(series(GETPPID, slow)).decomposition.unwrap();
    assert_eq!(found.cause, Cause::Clock);
    let waiting = Truth { waiting_ns: 80.0, ..GETPPID };
    let found = explained_change(series(GETPPID, waiting)).decomposition.unwrap();
    assert_eq!(found.cause, Cause::Waiting);
    assert!(found.sentence.ends_with(" ns more waiting per op"), "{}", found.sentence);
}

#[test]
fn a_change_that_the_counted_ops_do_not_show_has_no_cause() {
    let mut unseen = series(GETPPID, GETPPID);
    unseen.changes[0].ratio = 1.5;
    assert_eq!(explained_change(unseen).decomposition.unwrap().cause, Cause::Unknown);
}

#[test]
fn a_series_without_counts_says_nothing_and_one_with_some_says_what_is_missing() {
    let shared = Truth { cpi: 1.3 * GETPPID.cpi, ..GETPPID };
    let mut nothing = series(GETPPID, shared);
    nothing.points.iter_mut().for_each(|it| it.counts = None);
    let change = explained_change(nothing);
    assert_eq!((change.decomposition, change.not_decomposed), (None, None));
    // In cycles the core's rate is in no figure.
    let mut in_cycles = series(GETPPID, shared);
    in_cycles.unit = Unit::CyclesPerOp;
    let change = explained_change(in_cycles);
    assert_eq!((change.decomposition, change.not_decomposed), (None, None));

    let mut since_alone = series(GETPPID, shared);
    since_alone.points[..STEP].iter_mut().for_each(|it| it.counts = None);
    assert_eq!(reason(since_alone), "none of the runs before has counts");
    let mut before_alone = series(GETPPID, shared);
    before_alone.points[STEP..].iter_mut().for_each(|it| it.counts = None);
    assert_eq!(reason(before_alone), "none of the runs since has counts");
    let mut few = series(GETPPID, shared);
    few.points[..STEP - 2].iter_mut().for_each(|it| it.counts = None);
    assert!(reason(few).starts_with("fewer than three runs of one boot and worker"));

    // Three and more take part, wherever they are in their level.
    let mut some = series(GETPPID, shared);
    for (number, point) in some.points.iter_mut().enumerate() {
        if number % 3 != 0 {
            point.counts = None;
        }
    }
    let change = explained_change(some);
    assert_eq!(change.counted_runs, Some(CountedRuns { before: 4, since: 3 }));
    assert_eq!(change.decomposition.unwrap().cause, Cause::Core);
}

#[test]
fn only_runs_of_one_boot_and_worker_are_compared() {
    let shared = Truth { cpi: 1.3 * GETPPID.cpi, ..GETPPID };
    // The boot around the change explains it, whatever other boots counted.
    let mut three = series(GETPPID, shared);
    for it in counts_to_change(&mut three.points[..4]) {
        it.boot = Some("earlier".to_owned());
        it.medians.insn = Some(CountedMedian { median: 900.0, interval: None });
    }
    counts_to_change(&mut three.points[16..]).for_each(|it| it.boot = Some("later".to_owned()));
    let change = explained_change(three);
    assert_eq!(change.counted_runs, Some(CountedRuns { before: 6, since: 6 }));
    assert_eq!(change.decomposition.unwrap().cause, Cause::Core);

    let with = |of: &dyn Fn(&mut RunCounts)| {
        let mut changed = series(GETPPID, shared);
        counts_to_change(&mut changed.points[STEP..]).for_each(of);
        reason(changed)
    };
    assert!(with(&|it| it.boot = Some("other".to_owned())).contains("of two boots"));
    assert_eq!(with(&|it| it.boot = None), "the boot of a run is unknown");
    assert!(with(&|it| it.worker = "other".to_owned()).contains("the workers are two builds"));
    assert_eq!(with(&|it| it.medians.inherited = true), OTHER_TASKS);
    let in_user_mode =
        |it: &mut RunCounts| (it.medians.insn, it.medians.insn_kernel) = (None, None);
    assert!(with(&in_user_mode).contains("visible on one side only"));
}

#[test]
fn work_in_user_mode_alone_is_called_so() {
    let library = Truth { user: GETPPID.user + 40.0, ..GETPPID };
    let mut user = series(GETPPID, library);
    for it in counts_to_change(&mut user.points) {
        (it.medians.insn, it.medians.insn_kernel) = (None, None);
    }
    let found = explained_change(user).decomposition.unwrap();
    assert_eq!(found.insn, None);
    assert!(found.sentence.starts_with("work in user mode 3.1"), "{}", found.sentence);
}
