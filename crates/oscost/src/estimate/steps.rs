//! The cost per idle descriptor of the steps of a wait, from the rows of one run.
//!
//! Study cs161-syscalls splits a call of select or poll into steps: the set is passed and checked;
//! if nothing is ready, the caller blocks on the whole set; it is woken, and the events are
//! reported. Family `event` measures each step alone or as the difference of two costs. The cost of
//! a step per descriptor is then a slope, or a difference of slopes (docs/explanation/METHOD.md,
//! section 8).

use std::collections::BTreeSet;

use oscost_model::curve::BoundedValue;
use oscost_model::point::Value;
use oscost_model::record::{Row, RowOutcome};
use oscost_model::steps::WaitSteps;
use oscost_model::unit::Unit;

use super::uncertainty::{MIN_RELATIVE_SD, PAIR_RESAMPLES};
use oscost_stats::crossing::{ResampledValue, Resampling, secant_slope};
use oscost_stats::scaling::{SizeCost, ValueWithInterval};

/// The axis with the number of descriptors.
const AXIS: &str = "fds";
/// The axis with the mechanism.
const METHOD: &str = "method";
/// Between numbers with a smaller ratio, a slope is mostly noise.
const MIN_RATIO: f64 = 5.0;

/// Selects a cost whose slope is needed: a benchmark and its point.
#[derive(Clone, Copy, Debug)]
struct CostQuery {
    benchmark: &'static str,
    words: &'static [(&'static str, &'static str)],
    /// Axes whose value must be 1: `waiters=1`.
    ones: &'static [&'static str],
    /// Whether its figure is the cost per descriptor, not that of all descriptors.
    is_share: bool,
}

impl CostQuery {
    const fn total(
        benchmark: &'static str,
        words: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { benchmark, words, ones: &[], is_share: false }
    }

    const fn per_descriptor(
        benchmark: &'static str,
        words: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { is_share: true, ..Self::total(benchmark, words) }
    }
}

/// A call that does not wait: it passes and checks the whole set.
const CHECK: CostQuery = CostQuery::total("event/wait", &[("ready", "none")]);
/// The same per descriptor.
const CHECK_SHARE: CostQuery = CostQuery::per_descriptor("event/idle", &[("step", "check")]);
/// The work of the caller around the call.
const CALLER: CostQuery = CostQuery::total("event/caller", &[("ready", "one")]);
/// A call that finds the last descriptor ready, after it has been added to all wait queues.
const ON_ALL: CostQuery = CostQuery::total("event/wait", &[("ready", "one"), ("position", "last")]);
/// The same with the first descriptor ready, so that it has been added to none.
const ON_NONE: CostQuery =
    CostQuery::total("event/wait", &[("ready", "one"), ("position", "first")]);
/// A check and the adding to all wait queues, per descriptor.
const ON_ALL_SHARE: CostQuery = CostQuery::per_descriptor("event/idle", &[("step", "block")]);
/// From the write of a byte until the waiting process runs.
const WOKEN: CostQuery =
    CostQuery { ones: &["waiters"], ..CostQuery::total("event/wakeup", &[("peer_cpu", "same")]) };

impl CostQuery {
    /// The method and the number of a row that belongs to it.
    fn key_of<'a>(&self, row: &'a Row) -> Option<(&'a str, u64)> {
        let is_right = row.benchmark == self.benchmark
            && row.outcome == RowOutcome::Measured
            && row.unit == Unit::NsPerOp
            && row.point.iter().all(|(axis, value)| self.accepts(axis, value))
            && self.words.iter().all(|(axis, _)| row.point.get(axis).is_some());
        match (row.point.get(METHOD), row.point.get(AXIS)) {
            (Some(Value::Word(method)), Some(&Value::Number(number))) if is_right => {
                Some((method, number))
            }
            _ => None,
        }
    }

    /// Whether a point may have this value; other axes must have their implied values.
    fn accepts(&self, axis: &str, value: &Value) -> bool {
        match self.words.iter().find(|(name, _)| *name == axis) {
            Some((_, word)) => matches!(value, Value::Word(it) if it == word),
            None if self.ones.contains(&axis) => *value == Value::Number(1),
            None => axis == METHOD || axis == AXIS,
        }
    }

    /// Its costs with one method, in ascending order of the number.
    fn costs(&self, method: &str, target: &str, rows: &[&Row]) -> Vec<SizeCost> {
        let on_target = rows.iter().filter(|row| row.target.text == target);
        let sizes = on_target.filter_map(|row| {
            let number = self.key_of(row).filter(|(it, _)| *it == method)?.1;
            let estimate = row.estimate.as_ref()?;
            // A figure without an interval is too uncertain.
            estimate.ci95?;
            let values = row.repetitions.iter().filter_map(|repetition| repetition.value);
            let times = if self.is_share { number as f64 } else { 1.0 };
            let figure = times * estimate.median;
            let repetitions = values.filter(|value| *value > 0.0).map(|it| times * it).collect();
            (figure > 0.0).then_some(SizeCost {
                n: number as f64,
                figure,
                sd: MIN_RELATIVE_SD,
                repetitions,
            })
        });
        let mut sizes: Vec<SizeCost> = sizes.collect();
        sizes.sort_by(|one, other| one.n.total_cmp(&other.n));
        sizes.dedup_by(|one, other| one.n == other.n);
        sizes
    }
}

/// The steps of a wait, on each target on which more than one was measured. `seed` determines all
/// resampling.
pub fn wait_steps<'a>(rows: impl IntoIterator<Item = &'a Row>, seed: u64) -> Vec<WaitSteps> {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let mut targets: Vec<&str> = Vec::new();
    for row in &rows {
        let target = row.target.text.as_str();
        if row.benchmark.starts_with("event/") && !targets.contains(&target) {
            targets.push(target);
        }
    }
    let steps_on = |target: &str| -> Vec<WaitSteps> {
        let mut methods: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|row| row.target.text == target) {
            let queries = [CHECK, CHECK_SHARE, CALLER, WOKEN];
            let found = queries.iter().find_map(|query| query.key_of(row));
            if let Some((method, _)) = found.filter(|(it, _)| !methods.contains(it)) {
                methods.push(method);
            }
        }
        methods.into_iter().filter_map(|method| split_steps(method, target, &rows, seed)).collect()
    };
    targets.into_iter().flat_map(steps_on).collect()
}

/// One method's steps; `None` unless at least two steps can be separated.
fn split_steps(method: &str, target: &str, rows: &[&Row], seed: u64) -> Option<WaitSteps> {
    let parts = [CHECK, CALLER, ON_ALL, ON_NONE, WOKEN, CHECK_SHARE, ON_ALL_SHARE];
    let costs = parts.map(|part| part.costs(method, target, rows));
    // All slopes are between the same two numbers, since costs bend at the sizes of caches.
    let is_wide = |sizes: &&Vec<SizeCost>| match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) => last.n >= MIN_RATIO * first.n,
        _ => false,
    };
    let numbers = |sizes: &Vec<SizeCost>| -> BTreeSet<u64> {
        sizes.iter().map(|size| size.n as u64).collect()
    };
    let mut shared: Option<BTreeSet<u64>> = None;
    for sizes in costs.iter().filter(is_wide) {
        let own = numbers(sizes);
        shared = Some(shared.map_or(own.clone(), |shared| &shared & &own));
    }
    let shared = shared?;
    let between = [*shared.first()?, *shared.last()?];
    let ends = between.map(|number| number as f64);
    if ends[1] < MIN_RATIO * ends[0] {
        return None;
    }
    let mut seeds = seed..;
    let slopes = costs.each_ref().map(|sizes| {
        let seed = seeds.next().unwrap_or(seed);
        secant_slope(
            sizes,
            ends,
            Resampling { resamples: PAIR_RESAMPLES, extra_log_sd: MIN_RELATIVE_SD, seed },
        )
    });
    let [check, caller, on_all, on_none, woken, check_share, on_all_share] = &slopes;
    let check = if check.is_some() { check } else { check_share };
    let minus = |one: &Option<ResampledValue>, other: &Option<ResampledValue>| {
        Some(bounded_value(&one.as_ref()?.difference(other.as_ref()?)))
    };
    let bounded = |it: &Option<ResampledValue>| it.as_ref().map(bounded_value);
    let found = WaitSteps {
        target: target.to_owned(),
        method: method.to_owned(),
        between,
        check: bounded(check),
        caller: bounded(caller),
        wait_queues: minus(on_all, on_none).or_else(|| minus(on_all_share, check_share)),
        wakeup: bounded(woken),
        wakeup_beyond_check: minus(woken, check),
    };
    let steps = [&found.check, &found.caller, &found.wait_queues, &found.wakeup];
    (steps.into_iter().flatten().count() >= 2).then_some(found)
}

fn bounded_value(resampled: &ResampledValue) -> BoundedValue {
    let ValueWithInterval { value, interval } = resampled.estimate();
    BoundedValue { value, ci95: [interval.lo, interval.hi] }
}
