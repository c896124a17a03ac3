//! What each idle descriptor costs in the steps of a wait: said of the rows of one run.
//!
//! Study cs161-syscalls takes a call of select or poll apart: the set is passed and all of it is
//! checked; if nothing is ready the caller blocks on all of it; it is woken, and what has happened
//! is reported. Family `event` measures each of these alone, or so that they are what two costs
//! differ by. What a step costs for a descriptor is then a slope, and a difference of slopes
//! (docs/explanation/METHOD.md, section 8).

use std::collections::BTreeSet;

use oscost_model::curve::BoundedValue;
use oscost_model::point::Value;
use oscost_model::record::{Row, RowOutcome};
use oscost_model::steps::WaitSteps;
use oscost_model::unit::Unit;

use super::uncertainty::{MIN_RELATIVE_SD, PAIR_RESAMPLES};
use oscost_stats::crossing::{ResampledValue, Resampling, secant_slope};
use oscost_stats::scaling::SizeCost;

/// The axis whose number grows.
const AXIS: &str = "fds";
/// The axis in which the mechanisms differ.
const METHOD: &str = "method";
/// Between numbers that lie closer than this, as a ratio, a slope is mostly noise.
const MIN_RATIO: f64 = 5.0;

/// A cost whose slope is asked for: a benchmark, and where on its axes.
#[derive(Clone, Copy, Debug)]
struct CostQuery {
    benchmark: &'static str,
    words: &'static [(&'static str, &'static str)],
    /// Numbers where `at` has words: `waiters=1`.
    ones: &'static [&'static str],
    /// Whether its figure is the share of one of them, and not what all cost together.
    is_share: bool,
}

impl CostQuery {
    const fn total(benchmark: &'static str, at: &'static [(&'static str, &'static str)]) -> Self {
        Self { benchmark, words: at, ones: &[], is_share: false }
    }

    const fn per_descriptor(
        benchmark: &'static str,
        at: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { is_share: true, ..Self::total(benchmark, at) }
    }
}

/// A call that does not wait: it passes the set and checks all of it.
const CHECK: CostQuery = CostQuery::total("event/wait", &[("ready", "none")]);
/// The same, as a share.
const CHECK_SHARE: CostQuery = CostQuery::per_descriptor("event/idle", &[("step", "check")]);
/// What the caller does around the call.
const CALLER: CostQuery = CostQuery::total("event/caller", &[("ready", "one")]);
/// A call that may wait and finds the last one ready, after it has put itself on all lists.
const ON_ALL: CostQuery = CostQuery::total("event/wait", &[("ready", "one"), ("position", "last")]);
/// The same that finds the first one ready, and so stands on none.
const ON_NONE: CostQuery =
    CostQuery::total("event/wait", &[("ready", "one"), ("position", "first")]);
/// A call that has put itself on all lists, as a share: a check, and that.
const ON_ALL_SHARE: CostQuery = CostQuery::per_descriptor("event/idle", &[("step", "block")]);
/// From a byte written until the one who waits runs.
const WOKEN: CostQuery =
    CostQuery { ones: &["waiters"], ..CostQuery::total("event/wakeup", &[("peer_cpu", "same")]) };

impl CostQuery {
    /// The method and the number of a row that belongs to it.
    fn key_of<'a>(&self, row: &'a Row) -> Option<(&'a str, u64)> {
        let right = row.benchmark == self.benchmark
            && row.outcome == RowOutcome::Measured
            && row.unit == Unit::NsPerOp
            && row.point.iter().all(|(axis, value)| self.accepts(axis, value))
            && self.words.iter().all(|(axis, _)| row.point.get(axis).is_some());
        match (row.point.get(METHOD), row.point.get(AXIS)) {
            (Some(Value::Word(method)), Some(&Value::Number(number))) if right => {
                Some((method, number))
            }
            _ => None,
        }
    }

    /// An axis that is not spoken of goes unsaid.
    fn accepts(&self, axis: &str, value: &Value) -> bool {
        match self.words.iter().find(|(name, _)| *name == axis) {
            Some((_, word)) => matches!(value, Value::Word(it) if it == word),
            None if self.ones.contains(&axis) => *value == Value::Number(1),
            None => axis == METHOD || axis == AXIS,
        }
    }

    /// Its costs by one method, in ascending order of the number.
    fn costs(&self, method: &str, target: &str, rows: &[&Row]) -> Vec<SizeCost> {
        let own = rows.iter().filter(|row| row.target.text == target);
        let of = own.filter_map(|row| {
            let number = self.key_of(row).filter(|(it, _)| *it == method)?.1;
            let estimate = row.estimate.as_ref()?;
            // Without an interval nothing is sure, and what is below nothing has no slope.
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
        let mut sizes: Vec<SizeCost> = of.collect();
        sizes.sort_by(|one, other| one.n.total_cmp(&other.n));
        sizes.dedup_by(|one, other| one.n == other.n);
        sizes
    }
}

/// The steps of a wait, at each place where more than one of them was measured. All chance comes
/// from `seed`.
pub fn wait_steps<'a>(rows: impl IntoIterator<Item = &'a Row>, seed: u64) -> Vec<WaitSteps> {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let mut targets: Vec<&str> = Vec::new();
    for row in &rows {
        let target = row.target.text.as_str();
        if row.benchmark.starts_with("event/") && !targets.contains(&target) {
            targets.push(target);
        }
    }
    let at = |target: &str| -> Vec<WaitSteps> {
        let mut methods: Vec<&str> = Vec::new();
        for row in rows.iter().filter(|row| row.target.text == target) {
            let asked = [CHECK, CHECK_SHARE, CALLER, WOKEN];
            let found = asked.iter().find_map(|asked| asked.key_of(row));
            if let Some((method, _)) = found.filter(|(it, _)| !methods.contains(it)) {
                methods.push(method);
            }
        }
        methods.into_iter().filter_map(|method| split_steps(method, target, &rows, seed)).collect()
    };
    targets.into_iter().flat_map(at).collect()
}

/// One method's steps; `None` unless a part of what is measured can be told from another.
fn split_steps(method: &str, target: &str, rows: &[&Row], seed: u64) -> Option<WaitSteps> {
    let parts = [CHECK, CALLER, ON_ALL, ON_NONE, WOKEN, CHECK_SHARE, ON_ALL_SHARE];
    let costs = parts.map(|part| part.costs(method, target, rows));
    // All slopes are taken between the same two numbers: costs bend where caches end.
    let spans = |sizes: &&Vec<SizeCost>| match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) => last.n >= MIN_RATIO * first.n,
        _ => false,
    };
    let numbers = |sizes: &Vec<SizeCost>| -> BTreeSet<u64> {
        sizes.iter().map(|size| size.n as u64).collect()
    };
    let mut shared: Option<BTreeSet<u64>> = None;
    for sizes in costs.iter().filter(spans) {
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
    let less = |one: &Option<ResampledValue>, other: &Option<ResampledValue>| {
        Some(bounded_value(&one.as_ref()?.difference(other.as_ref()?)))
    };
    let known = |it: &Option<ResampledValue>| it.as_ref().map(bounded_value);
    let found = WaitSteps {
        target: target.to_owned(),
        method: method.to_owned(),
        between,
        check: known(check),
        caller: known(caller),
        wait_queues: less(on_all, on_none).or_else(|| less(on_all_share, check_share)),
        wakeup: known(woken),
        wakeup_beyond_check: less(woken, check),
    };
    let some = [&found.check, &found.caller, &found.wait_queues, &found.wakeup];
    (some.into_iter().flatten().count() >= 2).then_some(found)
}

fn bounded_value(drawn: &ResampledValue) -> BoundedValue {
    let known = drawn.estimate();
    BoundedValue { value: known.value, ci95: [known.interval.lo, known.interval.hi] }
}
