//! What a change adds to each call, from what it adds to all of them.
//!
//! A filter or a probe adds nearly the same to every call, and the comparison of a call that takes 200 us
//! cannot tell 70 ns from nothing, where that of one of 100 ns can. Each added cost is therefore drawn to
//! the mean of all, the more, the worse it is known: partial pooling. Where calls differ beyond their
//! errors, as under a filter that searches a list, each stays its own.

use oscost_model::bill::{Amount, BillItem};
use oscost_stats::order;
use oscost_stats::partial_pooling::{ErrorBar, Pool};

/// Half of an interval of 95 % in standard errors.
const HALF_WIDTH_ERRORS: f64 = 1.96;

/// What is added to the calls of some items.
pub(super) struct PooledCosts {
    /// `None` where fewer than two cases are known with their errors: then each cost is its own.
    pool: Option<Pool>,
    /// The cost of calls without one of their own.
    pub(super) of_others: Amount,
}

impl PooledCosts {
    /// Those of these items, whose units are added costs; `None` without any. Of a change that does not
    /// do the same at each call, such as a busy neighbour, each cost is its own.
    pub(super) fn of<'a>(
        items: impl Iterator<Item = &'a BillItem> + Clone,
        is_at_each_call: bool,
    ) -> Option<Self> {
        // Calls of one case, such as an open and its close, have one cost: it counts once.
        let mut seen: Vec<&[String]> = Vec::new();
        let mut bars = Vec::new();
        for item in items.clone() {
            if seen.contains(&item.rows.as_slice()) {
                continue;
            }
            seen.push(&item.rows);
            bars.extend(item.unit.as_ref().and_then(error_bar));
        }
        let pool = if is_at_each_call { Pool::of(&bars) } else { None };
        let of_others = match &pool {
            Some(pool) => amount_of(pool.other()),
            None => median(&items.filter_map(|item| item.unit.as_ref()).collect::<Vec<_>>())?,
        };
        Some(Self { pool, of_others })
    }

    /// What calls take more by these costs, which are those after a walk. Its interval reaches to nothing.
    pub(super) fn added_by_walk(&self, cool: &PooledCosts) -> Amount {
        let more = cool.of_others.ns - self.of_others.ns;
        Amount { ns: more, ci95: Some([more.min(0.0), more.max(0.0)]) }
    }

    /// The cost of a call with one of its own.
    pub(super) fn of_call(&self, own: &Amount) -> Amount {
        let drawn = self.pool.as_ref().zip(error_bar(own)).map(|(pool, own)| pool.draw(own));
        drawn.map_or_else(|| own.clone(), amount_of)
    }
}

/// A cost with its standard error; `None` without one above 0.
fn error_bar(amount: &Amount) -> Option<ErrorBar> {
    let [low, high] = amount.ci95?;
    let standard_error = (high - low) / 2.0 / HALF_WIDTH_ERRORS;
    (standard_error > 0.0).then_some(ErrorBar { value: amount.ns, standard_error })
}

fn amount_of(ErrorBar { value, standard_error }: ErrorBar) -> Amount {
    let half = HALF_WIDTH_ERRORS * standard_error;
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
