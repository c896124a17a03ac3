//! How far the prices of a bill can be believed, by the runs that measured them.

use oscost_model::bill::{Bill, DoubtfulRun};

use super::reason::Reason;
use crate::advice::trust::Grade;
use crate::report::figures::per_cent;
use crate::report::text::{id_beginning, minute, plain, plural};

/// A fair run of less than this share of what is charged is no reason, in per cent.
const MIN_FAIR_PCT: f64 = 5.0;
/// A bill is poor from this share at prices of poor runs on, in per cent.
const POOR_FROM_PCT: f64 = 50.0;
/// More runs than these are counted.
const MAX_NAMED: usize = 2;

/// That prices are of runs that were disturbed as a whole: the worst runs, then how many others.
pub(super) fn reasons(bill: &Bill) -> Vec<Reason> {
    let runs = &bill.prices.doubtful;
    let (poor, others): (Vec<&DoubtfulRun>, Vec<&DoubtfulRun>) =
        runs.iter().partition(|run| is_poor(run));
    // What pairs add to prices has no share of its own.
    let matters = |run: &&DoubtfulRun| run.charged_pct.is_none_or(|pct| pct >= MIN_FAIR_PCT);
    let poor_pct: f64 = poor.iter().filter_map(|run| run.charged_pct).sum();
    let of_poor: fn(String) -> Reason = match poor_pct >= POOR_FROM_PCT {
        true => Reason::poor,
        false => Reason::fair,
    };
    let fair = others.into_iter().filter(matters).map(|run| Reason::fair(text(run)));
    let all = poor.into_iter().map(|run| of_poor(text(run))).chain(fair);
    let mut found: Vec<Reason> = all.collect();
    if found.len() > MAX_NAMED {
        let others = plural((found.len() - MAX_NAMED) as u64, "other run");
        found.truncate(MAX_NAMED);
        found.push(Reason::fair(format!("prices of {others} are doubtful, too")));
    }
    found
}

/// Whether prices are of a poor run.
pub(super) fn has_poor(bill: &Bill) -> bool {
    bill.prices.doubtful.iter().any(is_poor)
}

/// Whether a run is poor; of a document with another word the better grade is taken, which is a reason
/// as well.
fn is_poor(run: &DoubtfulRun) -> bool {
    run.grade == Grade::Poor.text()
}

/// Which part of the bill is by the prices of a run, and why they are doubtful.
fn text(run: &DoubtfulRun) -> String {
    let what = match run.charged_pct {
        Some(pct) => format!("{} of what is charged is at prices", per_cent(pct)),
        None => "what is added to its prices is by pairs".to_owned(),
    };
    let reasons: Vec<String> = run.reasons.iter().map(|reason| plain(reason)).collect();
    let (id, at) = (id_beginning(&run.id), minute(&run.started));
    format!(
        "{what} of run {id} ({at}), which is graded {}: {}",
        plain(&run.grade),
        reasons.join(", ")
    )
}
