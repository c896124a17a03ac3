//! Prices: the rows of runs, asked by the selector of a case and by size.

use oscost_model::bill::Amount;
use oscost_model::case::Case;
use oscost_model::counters::CounterEvent;
use oscost_model::definition::{Catalog, Definition, Extent};
use oscost_model::point::{Point, Value};
use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::unit::Unit;

mod sizes;

pub(super) use self::sizes::{OtherSize, Price, Size, SizeFit, number_on, without};
use self::sizes::{SizedPrice, interpolated};
use super::row_pairs::RowPair;

/// The axis of the bytes of a rate.
pub(super) const SIZE_AXIS: &str = "size";

/// A row that prices.
struct PricedRow<'a> {
    row: &'a Row,
    /// The time of an op; `None` of a figure that is no time.
    amount: Option<Amount>,
    /// Its point with implied values.
    point: Point,
    axes: Vec<PricedAxis>,
}

/// An axis of a row.
struct PricedAxis {
    name: String,
    /// Whether its value is the first one of the price list.
    is_usual: bool,
    /// Whether it has several values by default.
    has_several: bool,
}

/// The rows of some runs.
pub struct PriceList<'a> {
    rows: Vec<PricedRow<'a>>,
    /// The list that is asked for what this one has no price of.
    others: Option<Box<PriceList<'a>>>,
    /// Whether they are differences of prices: what is added to an op.
    are_differences: bool,
}

/// What is added to the case of a row; `None` if that is not known.
pub(super) struct RowAddition<'a> {
    pub(super) row: &'a Row,
    pub(super) added: Option<Amount>,
}

impl<'a> PriceList<'a> {
    /// The measured rows without treatments of these runs, the first choice first.
    pub fn new(records: impl IntoIterator<Item = &'a Record>, catalog: &Catalog) -> Self {
        Self::under(&[], records, catalog)
    }

    /// The same of the rows under exactly these treatments.
    pub fn under(
        treatments: &[String],
        records: impl IntoIterator<Item = &'a Record>,
        catalog: &Catalog,
    ) -> Self {
        Self::of_rows(treatments, records, catalog, time_of)
    }

    /// The same with the instructions of the kernel that an op executes in the place of nanoseconds.
    pub fn of_kernel_instructions(
        treatments: &[String],
        records: impl IntoIterator<Item = &'a Record>,
        catalog: &Catalog,
    ) -> Self {
        Self::of_rows(treatments, records, catalog, kernel_instructions_of)
    }

    fn of_rows(
        treatments: &[String],
        records: impl IntoIterator<Item = &'a Record>,
        catalog: &Catalog,
        amount: fn(&Row) -> Option<Amount>,
    ) -> Self {
        let is_price = |row: &&Row| {
            row.outcome == RowOutcome::Measured
                && row.target.treatments == treatments
                && is_of_this_revision(row, catalog)
        };
        let priced = |row: &'a Row| priced_row(row, amount(row), catalog);
        let rows = records.into_iter().flat_map(|record| &record.results);
        let rows = rows.filter(is_price).map(priced).collect();
        Self { rows, others: None, are_differences: false }
    }

    /// Added costs, as `added_costs` makes them of comparisons.
    pub fn of_added_costs(
        records: impl IntoIterator<Item = &'a Record>,
        catalog: &Catalog,
    ) -> Self {
        Self { are_differences: true, ..Self::new(records, catalog) }
    }

    /// What is added to the cases of these rows, the first choice first.
    pub(super) fn of_additions(
        additions: impl IntoIterator<Item = RowAddition<'a>>,
        catalog: &Catalog,
    ) -> Self {
        let rows =
            additions.into_iter().map(|RowAddition { row, added }| priced_row(row, added, catalog));
        Self { rows: rows.collect(), others: None, are_differences: true }
    }

    /// What the second rows of these pairs have more than these prices of their cases, or than the first
    /// rows where a case has none: of several that have a case the first one.
    ///
    /// An inlined loop of calls may be in either of two states, and that of the pair in another one than
    /// that of the price; a loop through a function is always in one.
    pub(super) fn added_to_prices(
        pairs: impl IntoIterator<Item = RowPair<'a>>,
        prices: &PriceList<'_>,
        catalog: &Catalog,
    ) -> Self {
        let rows = pairs.into_iter().map(|RowPair { base, with }| {
            let own = prices.price(&with.case, None).filter(|price| price.row == with.case);
            let base = own.map(|price| price.amount).or_else(|| time_of(base));
            let added = time_of(with).zip(base).map(|(with, base)| above(&with, &base));
            priced_row(with, added, catalog)
        });
        Self { rows: rows.collect(), others: None, are_differences: true }
    }

    /// The same list, with another one for what it has no price of.
    #[must_use]
    pub fn with_others(self, others: PriceList<'a>) -> Self {
        Self { others: Some(Box::new(others)), ..self }
    }

    /// Whether a selector has a price in the other list alone.
    pub fn has_in_others_alone(&self, selector: &str) -> bool {
        self.own_price(selector, None).is_none() && self.has(selector)
    }

    /// The time of an op of the most usual row of a selector, in nanoseconds.
    pub(super) fn op_ns(&self, selector: &str) -> Option<f64> {
        self.price(selector, None).map(|price| price.amount.ns)
    }

    /// The case of the most usual row that fits a selector.
    pub fn usual_case(&self, selector: &str) -> Option<String> {
        self.price(selector, None).map(|price| price.row)
    }

    /// A metric of the most usual row of a selector.
    pub(super) fn metric(&self, selector: &str, name: &str) -> Option<f64> {
        let row = self.price(selector, None)?.row;
        self.metric_of_row(&row, name)
    }

    fn metric_of_row(&self, case: &str, name: &str) -> Option<f64> {
        let own = self.rows.iter().find(|it| it.row.case == case && it.amount.is_some());
        match own {
            Some(own) => own.row.metrics.get(name).map(|metric| metric.estimate.median),
            None => self.others.as_ref()?.metric_of_row(case, name),
        }
    }

    /// The flags of some cases with a price, each once.
    pub(super) fn flags_of<'b>(&self, cases: impl IntoIterator<Item = &'b String>) -> Vec<String> {
        let mut flags: Vec<String> = Vec::new();
        for flag in cases.into_iter().flat_map(|case| self.flags_of_row(case)) {
            if !flags.contains(flag) {
                flags.push(flag.clone());
            }
        }
        flags
    }

    fn flags_of_row(&self, case: &str) -> &[String] {
        let own = self.rows.iter().find(|it| it.row.case == case && it.amount.is_some());
        match (own, &self.others) {
            (Some(own), _) => &own.row.flags,
            (None, Some(others)) => others.flags_of_row(case),
            (None, None) => &[],
        }
    }

    /// Whether it has no price at all.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a selector has a price.
    pub fn has(&self, selector: &str) -> bool {
        self.price(selector, None).is_some()
    }

    /// What the op of a case takes more at one place on an axis than at another one, on the line of
    /// its rows: of the other list where this one has no line. `None` without a row, and of added costs:
    /// theirs have no such line.
    pub(super) fn added_along(&self, selector: &str, axis: &str, ends: [f64; 2]) -> Option<Amount> {
        if self.are_differences {
            return None;
        }
        let [from, to] = ends.map(|value| {
            let at = Size { axis, value, has_nothing: true, per_unit: false };
            self.own_price(selector, Some(at)).map(|price| price.amount)
        });
        let others = || self.others.as_ref()?.added_along(selector, axis, ends);
        let Some((from, to)) = from.zip(to) else { return others() };
        // A single row is no line. Both ends are of one list: two runs may be of two states.
        let is_flat = from == to && ends[0] != ends[1];
        let own = to.plus(&from.times(-1.0));
        Some(if is_flat { others().unwrap_or(own) } else { own })
    }

    /// The price of an op of the case that a selector means, at this size; of the other list where
    /// this one has none, or that of a single size which fits worse: the state of the machine changes a
    /// price by less than another size does.
    pub(super) fn price(&self, selector: &str, size: Option<Size<'_>>) -> Option<Price> {
        let other = || self.others.as_ref()?.price(selector, size);
        match self.own_price(selector, size) {
            Some(own) if own.fit.is_near() => Some(own),
            Some(own) => Some(other().filter(|it| it.fit.is_better_than(own.fit)).unwrap_or(own)),
            None => other(),
        }
    }

    /// The same of this list: of the most usual row that fits, the first one of several, and of
    /// those that differ from that row in their size alone.
    fn own_price(&self, selector: &str, size: Option<Size<'_>>) -> Option<Price> {
        let usual = self.usual_rows(&Case::parse(selector)?, size.map(|it| it.axis));
        let first = *usual.first()?;
        let size = size.filter(|size| number_on(&first.point, size.axis).is_some());
        let Some(size) = size else {
            let row = first.row.case.clone();
            let amount = first.amount.clone()?;
            return Some(Price { amount, row, fit: SizeFit::Near, is_near_rows: true });
        };
        // Rows that are as usual, and of other ops: those of one op may be of a single size.
        let mut best: Option<Price> = None;
        let mut seen: Vec<Vec<(&str, &Value)>> = Vec::new();
        for row in &usual {
            let others = without(&row.point, size.axis);
            if seen.contains(&others) {
                continue;
            }
            let price = self.price_of_op(&usual, &others, size);
            seen.push(others);
            best = match (best, price) {
                (Some(best), Some(price)) if !price.fit.is_better_than(best.fit) => Some(best),
                (best, price) => price.or(best),
            };
        }
        best
    }

    /// The rows of a case that are the most usual ones on the axes that are not asked for.
    fn usual_rows(&self, case: &Case, sized_by: Option<&str>) -> Vec<&PricedRow<'a>> {
        let fits = |it: &&PricedRow<'_>| {
            it.row.benchmark == case.benchmark
                && it.point.includes(&case.point)
                && it.amount.is_some()
        };
        let unusual_axes = |it: &&PricedRow<'_>| {
            let is_asked_for =
                |axis: &str| case.point.get(axis).is_some() || sized_by == Some(axis);
            it.axes.iter().filter(|axis| !axis.is_usual && !is_asked_for(&axis.name)).count()
        };
        let mut rows: Vec<&PricedRow<'a>> = self.rows.iter().filter(fits).collect();
        let least = rows.iter().map(unusual_axes).min();
        rows.retain(|it| Some(unusual_axes(it)) == least);
        rows
    }

    /// The price at this size of those of these rows that have these values on the other axes.
    fn price_of_op(
        &self,
        rows: &[&PricedRow<'_>],
        others: &[(&str, &Value)],
        size: Size<'_>,
    ) -> Option<Price> {
        let mut sizes: Vec<SizedPrice<'_>> = Vec::new();
        let mut has_several = false;
        for it in rows.iter().filter(|it| without(&it.point, size.axis) == others) {
            let Some(of_row) = number_on(&it.point, size.axis) else { continue };
            has_several |= it.axes.iter().any(|axis| axis.name == size.axis && axis.has_several);
            // Of two runs the first one has the price.
            let is_known = sizes.iter().any(|known| known.size == of_row);
            if let Some(amount) = it.amount.clone().filter(|_| !is_known) {
                let amount = if size.per_unit { amount.times(of_row as f64) } else { amount };
                sizes.push(SizedPrice { size: of_row, amount, row: &it.row.case });
            }
        }
        sizes.sort_by_key(|it| it.size);
        let price = interpolated(&sizes, size.value, size.has_nothing)?;
        let fit = SizeFit::of(&sizes, size.value);
        let fit = match (self.are_differences, has_several) {
            // A difference of a single size is never that of others: the price may have more sizes.
            (true, _) => fit.at_any_distance(),
            (false, true) => fit,
            (false, false) => SizeFit::Near,
        };
        Some(Price { fit, ..price })
    }
}

/// Whether a row was measured by what its benchmark does now. One that this catalog does not have is of no
/// other revision.
pub fn is_of_this_revision(row: &Row, catalog: &Catalog) -> bool {
    catalog.get(&row.benchmark).is_none_or(|definition| definition.rev == row.rev)
}

fn priced_row<'a>(row: &'a Row, amount: Option<Amount>, catalog: &Catalog) -> PricedRow<'a> {
    let definition = catalog.get(&row.benchmark);
    let point = definition.map(|it| it.with_implied(&row.point));
    let point = point.unwrap_or_else(|| row.point.clone());
    let axes = definition.map_or_else(Vec::new, |it| axes_of(it, &point));
    PricedRow { row, amount, point, axes }
}

fn axes_of(definition: &Definition, point: &Point) -> Vec<PricedAxis> {
    let axes = definition.axes.iter().map(|axis| PricedAxis {
        name: axis.name.clone(),
        is_usual: point.get(&axis.name) == axis.default_points_for(Extent::PriceList).first(),
        has_several: axis.default_points.len() > 1,
    });
    axes.collect()
}

/// What one amount has more than another one, so that the sum of both is the first one with its own
/// interval, where that is possible.
fn above(with: &Amount, base: &Amount) -> Amount {
    let ci95 = with.ci95.zip(base.ci95).map(|([low, high], [base_low, base_high])| {
        let ends = [low - base_low, high - base_high];
        if ends[0] <= ends[1] { ends } else { [low - base_high, high - base_low] }
    });
    Amount { ns: with.ns - base.ns, ci95 }
}

/// The time of an op of a row, with the interval of its long-run figure where that is known; `None`
/// of a figure that is no time.
pub(super) fn time_of(row: &Row) -> Option<Amount> {
    let estimate = row.estimate.as_ref()?;
    let ci95 = estimate.between_run_ci95.or(estimate.ci95);
    match row.unit {
        Unit::NsPerOp => Some(Amount { ns: estimate.median, ci95 }),
        Unit::Seconds => Some(Amount { ns: estimate.median, ci95 }.times(1e9)),
        Unit::BytesPerSecond => {
            let bytes = number_on(&row.point, SIZE_AXIS)? as f64;
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

/// The instructions of the kernel in an op of a row. `None` where they were not counted, and of an op
/// that takes its own time: its counts are those of more, and it has no ratio of times.
fn kernel_instructions_of(row: &Row) -> Option<Amount> {
    row.counters.as_ref().filter(|counters| counters.kernel)?.counted_time_ratio?;
    let metric = row.metrics.get(CounterEvent::InstructionsKernel.metric())?;
    Some(Amount { ns: metric.estimate.median, ci95: metric.estimate.ci95 })
}

#[cfg(test)]
mod tests;
