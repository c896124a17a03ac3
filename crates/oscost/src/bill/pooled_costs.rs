//! What a change adds to each call, from what it adds to all of them.
//!
//! A filter or a probe adds nearly the same to every call, and the comparison of a call that takes 200 us
//! cannot tell 70 ns from nothing, where that of one of 100 ns can. Each added cost is therefore drawn to
//! the mean of all, the more, the worse it is known: partial pooling. Where calls differ beyond their
//! errors, as under a filter that searches a list, each stays its own.
//!
//! A call that begins or ends a task is a call like the others to such a change, and its own cost, known to
//! microseconds, weighs nothing. Where a change does more at these, as a monitor that follows tasks, they
//! have a mean of their own. An exit, which does not return, has no end of a call: less is added to it by
//! what acts there, within the variance between calls.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::reach::Reach;
use oscost_stats::interval::NORMAL_95;
use oscost_stats::order;
use oscost_stats::partial_pooling::{ErrorBar, Pool};

use super::added_cost_cases::{is_call, is_of_task, is_one_call};

/// What is added to the calls of some items.
pub(super) struct PooledCosts {
    reach: Reach,
    /// `None` where fewer than two cases are known with their errors: then each cost is its own.
    calls: Option<Pool>,
    /// The same of calls that begin or end a process, where more is added to these.
    tasks: Option<Pool>,
    /// The cost of calls without one of their own.
    pub(super) of_others: Amount,
}

/// What the cost of an item is drawn to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PooledWith {
    /// The mean of calls.
    Calls,
    /// The mean of calls that begin or end a process.
    Tasks,
    /// Nothing: it is its own.
    None,
}

/// Whether an item has an added cost of its own. A call that pays no part of an op (it waits) is a call to
/// a filter, too.
pub(super) fn has_own(item: &BillItem) -> bool {
    item.part > 0.0 && item.amount.is_some()
}

/// What the cost of an item is drawn to under a change of this reach.
fn pooled_with(item: &BillItem, reach: Reach) -> PooledWith {
    match reach {
        _ if !is_call(&item.name) => PooledWith::None,
        _ if !is_of_task(&item.name) => PooledWith::Calls,
        Reach::Calls if is_one_call(item) => PooledWith::Calls,
        Reach::CallsAndTasks if is_one_call(item) => PooledWith::Tasks,
        _ => PooledWith::None,
    }
}

impl PooledCosts {
    /// Those of these items, whose units are added costs; `None` without any. Of a change that does not
    /// do the same at each call, such as a busy neighbour, each cost is its own.
    pub(super) fn of(items: &[BillItem], reach: Reach) -> Option<Self> {
        let pooled = |with: PooledWith| {
            items.iter().filter(move |item| has_own(item) && pooled_with(item, reach) == with)
        };
        let pool = |items| if reach.is_at_each_call() { pool_of(items) } else { None };
        let calls = pool(pooled(PooledWith::Calls).collect::<Vec<&BillItem>>());
        let tasks = pool(pooled(PooledWith::Tasks).collect());
        let of_others = match &calls {
            Some(pool) => amount_of(pool.other()),
            None => {
                let units = pooled(PooledWith::Calls).filter_map(|item| item.unit.as_ref());
                median(&units.collect::<Vec<&Amount>>())?
            }
        };
        Some(Self { reach, calls, tasks, of_others })
    }

    /// Whether an item pays by its own cost, drawn or not. That of an op which makes further calls is not
    /// that of a call, where a call is like any other.
    pub(super) fn pays_own(&self, item: &BillItem) -> bool {
        let is_task_of_others = self.reach == Reach::Calls && is_of_task(&item.name);
        has_own(item) && (!is_task_of_others || is_one_call(item))
    }

    /// Whether the change does no more at an item than at calls.
    pub(super) fn is_like_others(&self, item: &BillItem) -> bool {
        pooled_with(item, self.reach) == PooledWith::Calls
    }

    /// What calls take more by these costs, which are those after a walk. Its interval reaches to nothing.
    pub(super) fn added_by_walk(&self, cool: &PooledCosts) -> Amount {
        let more = cool.of_others.ns - self.of_others.ns;
        Amount { ns: more, ci95: Some([more.min(0.0), more.max(0.0)]) }
    }

    /// The cost of an item, of which this one was measured.
    pub(super) fn of_item(&self, item: &BillItem, own: &Amount) -> Amount {
        let pool = match pooled_with(item, self.reach) {
            PooledWith::Calls => self.calls.as_ref(),
            PooledWith::Tasks => self.tasks.as_ref(),
            PooledWith::None => None,
        };
        let drawn = pool.zip(error_bar(own)).map(|(pool, own)| pool.draw(own));
        drawn.map_or_else(|| own.clone(), amount_of)
    }
}

/// The pool of the costs of these items. Calls of one case, such as an open and its close, have one cost: it
/// counts once.
fn pool_of(items: Vec<&BillItem>) -> Option<Pool> {
    let mut seen: Vec<&[String]> = Vec::new();
    let mut bars = Vec::new();
    for item in items {
        if seen.contains(&item.rows.as_slice()) {
            continue;
        }
        seen.push(&item.rows);
        bars.extend(item.unit.as_ref().and_then(error_bar));
    }
    Pool::of(&bars)
}

/// A cost with its standard error; `None` without one above 0.
fn error_bar(amount: &Amount) -> Option<ErrorBar> {
    let [low, high] = amount.ci95?;
    let standard_error = (high - low) / 2.0 / NORMAL_95;
    (standard_error > 0.0).then_some(ErrorBar { value: amount.ns, standard_error })
}

fn amount_of(ErrorBar { value, standard_error }: ErrorBar) -> Amount {
    let half = NORMAL_95 * standard_error;
    Amount { ns: value, ci95: Some([value - half, value + half]) }
}

/// The median, in an interval that holds those of all.
fn median(amounts: &[&Amount]) -> Option<Amount> {
    let values = order::sorted(&amounts.iter().map(|amount| amount.ns).collect::<Vec<f64>>());
    let ends: Option<Vec<[f64; 2]>> = amounts.iter().map(|amount| amount.ci95).collect();
    let ci95 = ends.and_then(|ends| {
        ends.into_iter().reduce(|all, one| [all[0].min(one[0]), all[1].max(one[1])])
    });
    Some(Amount { ns: order::median(&values)?, ci95 })
}
