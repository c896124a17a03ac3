//! Whether prices are those of a machine as it is now.

use std::time::Duration;

use oscost_model::record::{Machine, Record, Row, RowOutcome};
use oscost_model::unit::Better;
use oscost_stats::order;

/// Prices change within a day by what else the machine, or its host, does.
const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);
/// More mitigations than these are not named.
const MAX_NAMED: usize = 3;
/// A reference case has moved if its figure is more than this share larger or smaller than it was,
/// and that is beyond its variation between runs.
const MOVED_SHARE: f64 = 0.1;
/// The median of fewer prices than these says nothing of the others.
const MIN_AGAIN: usize = 3;

/// Why prices that were measured on one machine may not be those of another one, or of the same one
/// now; empty if nothing speaks against them. Their age is `None` if it is not known.
pub fn differences(priced: &Machine, now: &Machine, age: Option<Duration>) -> Vec<String> {
    let mut found = Vec::new();
    let known = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
    if priced.cpu.model_name != now.cpu.model_name {
        found.push(format!("the processor was {}", known(&priced.cpu.model_name)));
    }
    if priced.os.release != now.os.release {
        let [then, now] = [&priced.os.release, &now.os.release].map(known);
        found.push(format!("the kernel was {then}, and is {now}"));
    }
    let all = priced.mitigations.keys().chain(now.mitigations.keys());
    let mut changed: Vec<&str> = all
        .filter(|name| priced.mitigations.get(*name) != now.mitigations.get(*name))
        .map(String::as_str)
        .collect();
    changed.sort_unstable();
    changed.dedup();
    if !changed.is_empty() {
        let more = if changed.len() > MAX_NAMED { ", ..." } else { "" };
        changed.truncate(MAX_NAMED);
        found.push(format!("mitigations differ: {}{more}", changed.join(", ")));
    }
    if let Some(age) = age.filter(|&age| is_old(age)) {
        found.push(format!("they are {:.1} days old", age.as_secs_f64() / MAX_AGE.as_secs_f64()));
    }
    found
}

/// Whether prices of this age are stale, whatever else is known.
pub fn is_old(age: Duration) -> bool {
    age > MAX_AGE
}

/// Whether the reference cases of a run moved while it measured: its prices are those of two states
/// of the machine.
pub fn has_drifted(record: &Record) -> bool {
    let is_drift = |flag: &String| flag == "REFERENCE_DRIFT";
    record.conditions.iter().any(|there| there.flags.iter().any(is_drift))
}

/// Why the prices of one run are not those of the machine in a later one: the reference case that
/// moved between them under these treatments, if one of these did.
pub fn moved_reference_case(
    then: &Record,
    now: &Record,
    cases: &[&str],
    treatments: &[String],
) -> Option<String> {
    cases.iter().find_map(|case| {
        let figure = |record: &Record| reference_figure(record, case, treatments);
        let (then, now) = (figure(then)?, figure(now)?);
        let ratio = now.ns / then.ns;
        let near = 1.0 / (1.0 + MOVED_SHARE)..=1.0 + MOVED_SHARE;
        let is_far = !near.contains(&ratio);
        let are_apart = then.high < now.low || now.high < then.low;
        (is_far && are_apart)
            .then(|| format!("{case} took {:.1} ns then, and {:.1} ns now", then.ns, now.ns))
    })
}

/// What prices of a run are in those of a later one that has measured some of them again. A single one may have
/// moved by what its processes do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceRatios {
    count: usize,
    /// The median of what they took then over what they take now.
    median: f64,
}

impl PriceRatios {
    /// Those under these treatments; `None` of too few.
    pub fn of(then: &Record, now: &Record, treatments: &[String]) -> Option<Self> {
        let price_ns = |record: &Record, case: &str| {
            let mut rows = record.results.iter().filter(|row| is_own_price(row, treatments));
            let estimate = rows.find(|row| row.case == case)?.estimate.as_ref()?;
            // One of too few repetitions for an interval, as of a run that was interrupted, says little.
            (estimate.ci95.is_some() && estimate.median > 0.0).then_some(estimate.median)
        };
        let ratio = |row: &Row| Some(price_ns(then, &row.case)? / price_ns(now, &row.case)?);
        let again = now.results.iter().filter(|row| is_own_price(row, treatments));
        let mut ratios: Vec<f64> = again.filter_map(ratio).collect();
        let count = ratios.len();
        let median = order::median_in_place(&mut ratios).filter(|_| count >= MIN_AGAIN)?;
        Some(Self { count, median })
    }

    /// Why the prices of then are not those of the machine now, if they have moved.
    pub fn why_moved(self) -> Option<String> {
        let Self { count, median } = self;
        let near = 1.0 / (1.0 + MOVED_SHARE)..=1.0 + MOVED_SHARE;
        (!near.contains(&median)).then(|| {
            format!(
                "{count} prices that were measured again took {median:.2} times as long then \
                 (median)"
            )
        })
    }
}

/// Whether a row is a time that this run was to measure, and no case that every run has.
fn is_own_price(row: &Row, treatments: &[String]) -> bool {
    let is_of_every_run = |flag: &String| flag == "REFERENCE" || flag == "PRIMITIVE";
    row.outcome == RowOutcome::Measured
        && row.target.treatments == treatments
        && row.better == Better::Lower
        && !row.flags.iter().any(is_of_every_run)
}

/// The figure of a reference case, and where it lies in other runs.
struct ReferenceFigure {
    ns: f64,
    low: f64,
    high: f64,
}

/// That of a run, if its interval between runs is known.
fn reference_figure(record: &Record, case: &str, treatments: &[String]) -> Option<ReferenceFigure> {
    let is_it = |row: &&Row| {
        row.case == case
            && row.outcome == RowOutcome::Measured
            && row.target.treatments == treatments
    };
    let estimate = record.results.iter().find(is_it)?.estimate.as_ref()?;
    let [low, high] = estimate.between_run_ci95.filter(|_| estimate.median > 0.0)?;
    Some(ReferenceFigure { ns: estimate.median, low, high })
}
