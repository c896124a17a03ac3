//! Prices: the rows of runs, asked by the selector of a case and by size.

use oscost_model::bill::Amount;
use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::point::{Point, Value};
use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::unit::Unit;

/// The axis over which the price of a call that moves bytes is interpolated.
const SIZE_AXIS: &str = "size";

/// A row that prices.
struct PricedRow<'a> {
    row: &'a Row,
    /// Its point with implied values.
    point: Point,
}

/// The rows of some runs.
pub struct PriceList<'a> {
    rows: Vec<PricedRow<'a>>,
}

/// A price.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Price {
    /// The time of an op.
    pub(super) amount: Amount,
    /// The case that it is of; of two that were interpolated, the nearer one.
    pub(super) row: String,
}

/// A price at a size.
struct SizedPrice<'a> {
    size: u64,
    amount: Amount,
    row: &'a str,
}

impl<'a> PriceList<'a> {
    /// The measured rows without treatments of these runs, the first choice first.
    pub fn new(records: impl IntoIterator<Item = &'a Record>, catalog: &Catalog) -> Self {
        let is_price =
            |row: &&Row| row.outcome == RowOutcome::Measured && row.target.treatments.is_empty();
        let priced = |row: &'a Row| {
            let definition = catalog.get(&row.benchmark);
            let point = definition.map(|it| it.with_implied(&row.point));
            let point = point.unwrap_or_else(|| row.point.clone());
            PricedRow { row, point }
        };
        let rows = records.into_iter().flat_map(|record| &record.results);
        Self { rows: rows.filter(is_price).map(priced).collect() }
    }

    /// Whether it has no price at all.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a selector has a price.
    pub fn has(&self, selector: &str) -> bool {
        self.price(selector, None).is_some()
    }

    /// The price of an op of the case that a selector means, at this size: of the first row that
    /// fits it, and of those that differ from that row in their size alone.
    pub(super) fn price(&self, selector: &str, size: Option<f64>) -> Option<Price> {
        let case = Case::parse(selector)?;
        let fits = |it: &&PricedRow<'_>| {
            it.row.benchmark == case.benchmark
                && it.point.includes(&case.point)
                && time_of(it.row).is_some()
        };
        let first = self.rows.iter().find(fits)?;
        let (Some(size), Some(_)) = (size, size_of(&first.point)) else {
            return Some(Price { amount: time_of(first.row)?, row: first.row.case.clone() });
        };
        let others = without_size(&first.point);
        let mut sizes: Vec<SizedPrice<'_>> = Vec::new();
        for it in self.rows.iter().filter(fits) {
            let Some(of_row) = size_of(&it.point) else { continue };
            // Of two runs the first one has the price.
            let is_known = sizes.iter().any(|known| known.size == of_row);
            if !is_known
                && without_size(&it.point) == others
                && let Some(amount) = time_of(it.row)
            {
                sizes.push(SizedPrice { size: of_row, amount, row: &it.row.case });
            }
        }
        sizes.sort_by_key(|it| it.size);
        interpolated(&sizes, size)
    }
}

/// The price at a size: on the line between its neighbours; below the smallest size that of the
/// smallest, above the largest on the line through the last two.
fn interpolated(sizes: &[SizedPrice<'_>], size: f64) -> Option<Price> {
    let priced = |it: &SizedPrice<'_>| Price { amount: it.amount.clone(), row: it.row.to_owned() };
    let first = sizes.first()?;
    if size <= first.size as f64 {
        return Some(priced(first));
    }
    let above = sizes.iter().position(|it| it.size as f64 >= size);
    let at = above.unwrap_or(sizes.len() - 1);
    let Some(below) = at.checked_sub(1).and_then(|at| sizes.get(at)) else {
        return Some(priced(first));
    };
    let upper = &sizes[at];
    let weight = (size - below.size as f64) / (upper.size - below.size) as f64;
    let nearer = if weight < 0.5 { below } else { upper };
    let amount = below.amount.times(1.0 - weight).plus(&upper.amount.times(weight));
    Some(Price { amount, row: nearer.row.to_owned() })
}

/// The size of a point.
fn size_of(point: &Point) -> Option<u64> {
    match point.get(SIZE_AXIS) {
        Some(&Value::Number(size)) => Some(size),
        _ => None,
    }
}

fn without_size(point: &Point) -> Vec<(&str, &Value)> {
    point.iter().filter(|(axis, _)| *axis != SIZE_AXIS).collect()
}

/// The time of an op of a row, with the interval of its long-run figure where that is known; `None`
/// of a figure that is no time.
fn time_of(row: &Row) -> Option<Amount> {
    let estimate = row.estimate.as_ref()?;
    let ci95 = estimate.between_run_ci95.or(estimate.ci95);
    match row.unit {
        Unit::NsPerOp => Some(Amount { ns: estimate.median, ci95 }),
        Unit::Seconds => Some(Amount { ns: estimate.median, ci95 }.times(1e9)),
        Unit::BytesPerSecond => {
            let bytes = size_of(&row.point)? as f64;
            let time = |rate: f64| 1e9 * bytes / rate;
            let is_rate = |rate: &f64| *rate > 0.0;
            let ci95 = ci95.filter(|ends| ends.iter().all(is_rate));
            Some(estimate.median).filter(is_rate).map(|rate| Amount {
                ns: time(rate),
                ci95: ci95.map(|[low, high]| [time(high), time(low)]),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> [SizedPrice<'static>; 3] {
        let priced = |size, ns: f64, row| SizedPrice {
            size,
            amount: Amount { ns, ci95: Some([ns - 1.0, ns + 1.0]) },
            row,
        };
        [priced(1, 100.0, "one"), priced(101, 200.0, "more"), priced(1_101, 3_200.0, "most")]
    }

    #[test]
    fn a_price_lies_on_the_line_between_its_neighbours() {
        let of = |size: f64| interpolated(&sizes(), size).map(|it| (it.amount.ns, it.row));
        let priced = |ns, row: &str| Some((ns, row.to_owned()));
        assert_eq!(of(51.0), priced(150.0, "more"));
        assert_eq!(of(26.0), priced(125.0, "one"));
        assert_eq!(of(101.0), priced(200.0, "more"));
        // Below the smallest its price is paid; above the largest the last line goes on.
        assert_eq!(of(0.0), priced(100.0, "one"));
        assert_eq!(of(2_101.0), priced(6_200.0, "most"));
        assert_eq!(interpolated(&[], 1.0), None);
        let alone = interpolated(&sizes()[..1], 9.0).map(|it| it.amount.ns);
        assert_eq!(alone, Some(100.0));
    }

    #[test]
    fn the_interval_between_two_sizes_is_that_of_both() {
        let price = interpolated(&sizes(), 51.0).unwrap();
        assert_eq!(price.amount.ci95, Some([149.0, 151.0]));
    }
}
