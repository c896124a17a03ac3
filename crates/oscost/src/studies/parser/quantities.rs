//! Parses the quantities of a claim: numbers computed from the figures of some rows, with bounds.

use oscost_model::untrusted_text::ParseError;
use toml::Spanned;

use super::limits::{MAX_CASE_CHARS, MAX_TEXT_CHARS};
use super::raw::{self, RawKind};
use super::reader::Reader;
use crate::studies::claims::quantity::{Measure, NEAR_LARGEST, Quantity, SeriesPoint};
use crate::studies::study::{Placement, Series, Study, Table};

/// The maximum number of classes or orders of a claim.
const MAX_GROUPS: usize = 40;

/// Reads one claim of a study.
pub(super) struct ClaimReader<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) raw: &'a raw::Claim,
    pub(super) study: &'a Study,
}

/// A series of a claim.
struct NamedSeries {
    name: String,
    points: Vec<SeriesPoint>,
}

impl ClaimReader<'_> {
    /// An error at the claim's kind.
    pub(super) fn error(&self, why: impl Into<String>) -> ParseError {
        self.reader.error(&self.raw.kind, why)
    }

    /// The keys of the claim's cases.
    pub(super) fn cases(&self) -> Result<Vec<String>, ParseError> {
        self.keys(self.raw.cases.as_deref().unwrap_or_default())
    }

    /// The quantities of a claim on one target.
    pub(super) fn quantities(&self) -> Result<Vec<Quantity>, ParseError> {
        match self.raw.kind.as_ref() {
            RawKind::EqualAdded | RawKind::Added | RawKind::Ratio | RawKind::LargestRatio => {
                Ok(Vec::new())
            }
            RawKind::Order => self.order(),
            RawKind::Times => self.times(),
            RawKind::Classes => self.classes(),
            RawKind::Equal => self.equal(),
            RawKind::Flat => self.flat(),
            RawKind::Grows | RawKind::Slope | RawKind::Saturates => self.of_series(),
            RawKind::Calls => self.calls(),
        }
    }

    /// Each case costs more than the one before.
    fn order(&self) -> Result<Vec<Quantity>, ParseError> {
        let orders = match (&self.raw.cases, &self.raw.orders) {
            (Some(cases), None) => self.groups(std::slice::from_ref(cases), 2)?,
            (None, Some(orders)) => self.groups(orders, 2)?,
            _ => return Err(self.error("an order needs either cases or orders")),
        };
        let step = |step: &[String]| Quantity {
            name: format!("{} over {}", self.row_name(&step[1]), self.row_name(&step[0])),
            measure: Measure::Ratio(step[1].clone(), step[0].clone()),
            min: Some(1.0),
            max: None,
        };
        Ok(orders.iter().flat_map(|order| order.windows(2)).map(step).collect())
    }

    /// The ratio of two cases.
    fn times(&self) -> Result<Vec<Quantity>, ParseError> {
        self.check_bounds()?;
        let [of, over] = &self.cases()?[..] else { return Err(self.error("it needs two cases")) };
        let name = format!("{} over {}", self.row_name(of), self.row_name(over));
        Ok(vec![self.quantity(name, Measure::Ratio(of.clone(), over.clone()))])
    }

    /// The gaps between classes of cases.
    fn classes(&self) -> Result<Vec<Quantity>, ParseError> {
        let classes = self.groups(self.raw.classes.as_deref().unwrap_or_default(), 1)?;
        let min_ratio = self.raw.min_ratio.filter(|ratio| ratio.is_finite() && *ratio >= 1.0);
        let (Some(min_ratio), [_, _, ..]) = (min_ratio, &classes[..]) else {
            return Err(self.error("it needs at least two classes, and min-ratio of 1 or more"));
        };
        let gap = |(two, at): (&[Vec<String>], usize)| Quantity {
            name: format!("the cheapest of class {} over the most expensive of {at}", at + 1),
            measure: Measure::Gap(two[0].clone(), two[1].clone()),
            min: Some(min_ratio),
            max: None,
        };
        Ok(classes.windows(2).zip(1..).map(gap).collect())
    }

    /// The difference of each case from the mean of all.
    fn equal(&self) -> Result<Vec<Quantity>, ParseError> {
        let cases = self.cases()?;
        let within = self.raw.within_pct.filter(|pct| *pct > 0.0 && *pct < 100.0);
        let (Some(within), [_, _, ..]) = (within, &cases[..]) else {
            return Err(self.error("it needs at least two cases, and within-pct of 0 to 100"));
        };
        let from_mean = |at: usize| {
            let mut keys = cases.clone();
            keys.swap(0, at);
            Quantity {
                name: format!("{} from the mean, %", self.row_name(&cases[at])),
                measure: Measure::FromMean(keys),
                min: Some(-within),
                max: Some(within),
            }
        };
        Ok((0..cases.len()).map(from_mean).collect())
    }

    /// The spread of each series, and of the cases.
    fn flat(&self) -> Result<Vec<Quantity>, ParseError> {
        self.check_bounds()?;
        let mut quantities = Vec::new();
        for NamedSeries { name, points } in self.series()? {
            let keys = points.into_iter().map(|it| it.key).collect();
            quantities.push(self.quantity(name, Measure::Spread(keys)));
        }
        let cases = self.cases()?;
        if let [first, .., last] = &cases[..] {
            let name = format!("{} to {}", self.row_name(first), self.row_name(last));
            quantities.push(self.quantity(name, Measure::Spread(cases)));
        }
        if quantities.is_empty() {
            return Err(self.error("it needs series, or at least two cases"));
        }
        Ok(quantities)
    }

    /// The exponent, slope or saturation of each series.
    fn of_series(&self) -> Result<Vec<Quantity>, ParseError> {
        self.check_bounds()?;
        let series = self.series()?;
        if series.is_empty() {
            return Err(self.error("it needs series"));
        }
        if *self.raw.kind.as_ref() == RawKind::Saturates {
            return Ok(series.into_iter().flat_map(|it| self.saturation(it)).collect());
        }
        let measure = |points| {
            Ok(match (self.raw.kind.as_ref(), self.raw.per, self.raw.unit) {
                (RawKind::Grows, ..) => Measure::Exponent(points),
                (_, Some(per), Some(unit)) if per > 0 => Measure::Slope { points, per, unit },
                _ => return Err(self.error("a slope needs per and unit")),
            })
        };
        let each = series.into_iter();
        each.map(|it| Ok(self.quantity(it.name, measure(it.points)?))).collect()
    }

    /// Where a series of rates saturates, and that it stays there.
    fn saturation(&self, NamedSeries { name, points }: NamedSeries) -> [Quantity; 2] {
        let retention = Quantity {
            name: format!("{name}, beyond that"),
            measure: Measure::Retention(points.clone()),
            min: Some(NEAR_LARGEST),
            max: None,
        };
        [self.quantity(name, Measure::Saturation(points)), retention]
    }

    /// The system calls of each case.
    fn calls(&self) -> Result<Vec<Quantity>, ParseError> {
        self.check_bounds()?;
        let cases = self.cases()?;
        if cases.is_empty() {
            return Err(self.error("a claim needs cases"));
        }
        let calls = |key: String| self.quantity(self.row_name(&key), Measure::Calls(key));
        Ok(cases.into_iter().map(calls).collect())
    }

    /// A quantity with the bounds of the claim.
    fn quantity(&self, name: String, measure: Measure) -> Quantity {
        Quantity { name, measure, min: self.raw.min, max: self.raw.max }
    }

    fn check_bounds(&self) -> Result<(), ParseError> {
        match (self.raw.min, self.raw.max) {
            (None, None) => Err(self.error("it needs min, max, or both")),
            (Some(min), Some(max)) if min > max => Err(self.error("min is above max")),
            (min, max) if min.into_iter().chain(max).all(f64::is_finite) => Ok(()),
            _ => Err(self.error("its bounds must be finite")),
        }
    }

    fn row_name(&self, key: &str) -> String {
        self.study.row(key).map_or(key.to_owned(), |row| row.published_name().to_owned())
    }

    /// Checks that rows exist and are named once; returns their keys.
    fn keys(&self, raw: &[Spanned<String>]) -> Result<Vec<String>, ParseError> {
        let mut keys: Vec<String> = Vec::new();
        for case in raw {
            let text = self.reader.text_line(case, "a case", MAX_CASE_CHARS)?;
            if self.study.row(&text).is_none() {
                return Err(self.reader.error(case, "the case is not in any table of the study"));
            }
            if keys.contains(&text) {
                return Err(self.reader.error(case, "the case is named twice"));
            }
            keys.push(text);
        }
        Ok(keys)
    }

    /// Groups of rows, each with at least `min_cases`.
    fn groups(
        &self,
        groups: &[Vec<Spanned<String>>],
        min_cases: usize,
    ) -> Result<Vec<Vec<String>>, ParseError> {
        let few = groups.iter().any(|group| group.len() < min_cases);
        if groups.is_empty() || groups.len() > MAX_GROUPS || few {
            return Err(self.error(format!(
                "it needs 1 to {MAX_GROUPS} lists of at least {min_cases} cases each"
            )));
        }
        groups.iter().map(|group| self.keys(group)).collect()
    }

    /// The claim's series, each with its points from `from` on.
    fn series(&self) -> Result<Vec<NamedSeries>, ParseError> {
        let mut found = Vec::new();
        for named in self.raw.series.iter().flatten() {
            let name = self.reader.text_line(named, "a series' name", MAX_TEXT_CHARS)?;
            // Series of two tables may have the same name: `Figure 4: pipe` tells them apart.
            let has_name = |(table, series): &(&Table, &Series)| {
                let its = series.published_name();
                // Where the study states no placement, the claim is judged in both by the rows of one.
                series.placement != Placement::TwoCpus
                    && (its == name || format!("{}: {its}", table.name) == name)
            };
            let tables = self.study.tables.iter();
            let all =
                tables.flat_map(|table| table.series.iter().map(move |series| (table, series)));
            let matching: Vec<_> = all.filter(has_name).collect();
            let [(table, series)] = matching[..] else {
                let why = match matching.is_empty() {
                    true => "no table has a series of that name",
                    false => "several tables have a series of that name: write `TABLE: SERIES`",
                };
                return Err(self.reader.error(named, why));
            };
            let points = series.values.iter().zip(&table.rows[series.rows()]);
            let points: Vec<SeriesPoint> = points
                .filter(|(number, _)| self.raw.from.is_none_or(|from| **number >= from))
                .map(|(&number, row)| SeriesPoint { number, key: row.key() })
                .collect();
            if points.len() < 2 {
                let why = "it has fewer than two points from `from` on";
                return Err(self.reader.error(named, why));
            }
            found.push(NamedSeries { name, points });
        }
        Ok(found)
    }
}
