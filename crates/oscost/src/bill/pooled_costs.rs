//! What a change adds to each call, from what it adds to all of them.
//!
//! A filter or a probe adds nearly the same to every call, and the comparison of a call that takes 200 us
//! cannot tell 70 ns from nothing, where that of one of 100 ns can. Each added cost is therefore drawn to
//! the mean of all, the more, the worse it is known: partial pooling. Where calls differ beyond their
//! errors, as under a filter that searches a list, each stays its own.

use oscost_model::bill::{Amount, BillItem};
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
    /// Those of these items, whose units are added costs; `None` without any.
    pub(super) fn of<'a>(items: impl Iterator<Item = &'a BillItem> + Clone) -> Option<Self> {
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
        let pool = Pool::of(&bars);
        let of_others = match &pool {
            Some(pool) => amount_of(pool.other()),
            None => middle(items.filter_map(|item| Some(item.unit.as_ref()?.ns)).collect())?,
        };
        Some(Self { pool, of_others })
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

/// The median, from the least to the most.
fn middle(mut values: Vec<f64>) -> Option<Amount> {
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some(Amount { ns: (lower + upper) / 2.0, ci95: Some([least, most]) })
}
