//! Parses the claims of a study: each kind becomes quantities with bounds.

use oscost_model::untrusted::ParseError;
use toml::Spanned;

use super::limits::{MAX_CASE_CHARS, MAX_TEXT_CHARS};
use super::raw::{self, RawKind, RawUnit};
use super::reader::Reader;
use crate::studies::claim::{Claim, Criterion};
use crate::studies::quantity::{Measure, Quantity, SeriesPoint};
use crate::studies::study::{Series, Study, Table};

/// The maximum number of classes or orders of a claim.
const MAX_GROUPS: usize = 40;

impl Reader<'_> {
    pub(super) fn claim(&self, raw: &raw::Claim, study: &Study) -> Result<Claim, ParseError> {
        self.check_keys(raw)?;
        let compares = study.columns.is_some();
        let of_two = matches!(raw.kind.as_ref(), RawKind::EqualAdded | RawKind::Ratio);
        if compares != of_two {
            let why = match compares {
                true => "a claim of a study with two columns is equal-added or ratio",
                false => "equal-added and ratio need a study with two columns",
            };
            return Err(self.error(&raw.kind, why));
        }
        let (cases, criterion) = match raw.kind.as_ref() {
            RawKind::EqualAdded | RawKind::Ratio => self.two_target_criterion(raw, study)?,
            _ => {
                let quantities = self.quantities(raw, study)?;
                let mut cases: Vec<String> = Vec::new();
                for key in quantities.iter().flat_map(|it| it.measure.keys()) {
                    if !cases.iter().any(|case| case == key) {
                        cases.push(key.to_owned());
                    }
                }
                (cases, Criterion::Within(quantities))
            }
        };
        Ok(Claim {
            statement: self.text_line(&raw.text, "a claim", MAX_TEXT_CHARS)?,
            location: self.text_line(&raw.location, "the location of a claim", MAX_TEXT_CHARS)?,
            cases,
            criterion,
        })
    }

    /// Rejects keys that the claim's kind does not use.
    fn check_keys(&self, raw: &raw::Claim) -> Result<(), ParseError> {
        let given = [
            ("cases", raw.cases.is_some()),
            ("series", raw.series.is_some()),
            ("orders", raw.orders.is_some()),
            ("classes", raw.classes.is_some()),
            ("min-ratio", raw.min_ratio.is_some()),
            ("within-pct", raw.within_pct.is_some()),
            ("from", raw.from.is_some()),
            ("per", raw.per.is_some()),
            ("unit", raw.unit.is_some()),
            ("min", raw.min.is_some()),
            ("max", raw.max.is_some()),
        ];
        let (name, reads): (&str, &[&str]) = match raw.kind.as_ref() {
            RawKind::EqualAdded => ("equal-added", &["cases"]),
            RawKind::Ratio => ("ratio", &["cases", "min", "max"]),
            RawKind::Order => ("order", &["cases", "orders"]),
            RawKind::Times => ("times", &["cases", "min", "max"]),
            RawKind::Classes => ("classes", &["classes", "min-ratio"]),
            RawKind::Equal => ("equal", &["cases", "within-pct"]),
            RawKind::Flat => ("flat", &["cases", "series", "max"]),
            RawKind::Grows => ("grows", &["series", "from", "min", "max"]),
            RawKind::Slope => ("slope", &["series", "per", "unit", "min", "max"]),
            RawKind::Saturates => ("saturates", &["series", "min", "max"]),
            RawKind::Calls => ("calls", &["cases", "min", "max"]),
        };
        match given.iter().find(|(key, is)| *is && !reads.contains(key)) {
            None => Ok(()),
            Some((key, _)) => {
                let why = format!(
                    "a claim of this kind ({name}) has no key `{key}`, only {}",
                    reads.join(", ")
                );
                Err(self.error(&raw.kind, why))
            }
        }
    }

    fn two_target_criterion(
        &self,
        raw: &raw::Claim,
        study: &Study,
    ) -> Result<(Vec<String>, Criterion), ParseError> {
        let cases = self.keys(raw.cases.as_deref().unwrap_or_default(), study)?;
        if cases.is_empty() {
            return Err(self.error(&raw.kind, "a claim needs cases"));
        }
        let criterion = match (raw.kind.as_ref(), raw.min, raw.max) {
            (RawKind::EqualAdded, ..) if cases.len() >= 2 => Criterion::EqualAdded,
            (RawKind::EqualAdded, ..) => {
                return Err(self.error(&raw.kind, "equal-added needs at least two cases"));
            }
            (_, Some(min), Some(max)) if 0.0 < min && min < max => Criterion::Ratio { min, max },
            _ => return Err(self.error(&raw.kind, "a ratio needs 0 < min < max")),
        };
        Ok((cases, criterion))
    }

    /// Checks that rows exist and are named once; returns their keys.
    fn keys(&self, raw: &[Spanned<String>], study: &Study) -> Result<Vec<String>, ParseError> {
        let mut keys: Vec<String> = Vec::new();
        for case in raw {
            let text = self.text_line(case, "a case", MAX_CASE_CHARS)?;
            if study.row(&text).is_none() {
                return Err(self.error(case, "the case is not in any table of the study"));
            }
            if keys.contains(&text) {
                return Err(self.error(case, "the case is named twice"));
            }
            keys.push(text);
        }
        Ok(keys)
    }

    /// Groups of rows.
    fn groups(
        &self,
        raw: &raw::Claim,
        groups: &[Vec<Spanned<String>>],
        study: &Study,
        min_cases: usize,
    ) -> Result<Vec<Vec<String>>, ParseError> {
        let few = groups.iter().any(|group| group.len() < min_cases);
        if groups.is_empty() || groups.len() > MAX_GROUPS || few {
            let why =
                format!("it needs 1 to {MAX_GROUPS} lists of at least {min_cases} cases each");
            return Err(self.error(&raw.kind, why));
        }
        groups.iter().map(|group| self.keys(group, study)).collect()
    }

    fn quantities(&self, raw: &raw::Claim, study: &Study) -> Result<Vec<Quantity>, ParseError> {
        let name = |key: &str| study.row(key).map_or(key.to_owned(), |row| row.name.clone());
        let cases = || self.keys(raw.cases.as_deref().unwrap_or_default(), study);
        let error = |why: &str| self.error(&raw.kind, why);
        let quantity =
            |name: String, measure| Quantity { name, measure, min: raw.min, max: raw.max };
        let bounded = || match (raw.min, raw.max) {
            (None, None) => Err(error("it needs min, max, or both")),
            (Some(min), Some(max)) if min > max => Err(error("min is above max")),
            (min, max) if min.into_iter().chain(max).all(f64::is_finite) => Ok(()),
            _ => Err(error("its bounds must be finite")),
        };
        Ok(match raw.kind.as_ref() {
            RawKind::EqualAdded | RawKind::Ratio => Vec::new(),
            RawKind::Order => {
                let orders = match (&raw.cases, &raw.orders) {
                    (Some(cases), None) => {
                        self.groups(raw, std::slice::from_ref(cases), study, 2)?
                    }
                    (None, Some(orders)) => self.groups(raw, orders, study, 2)?,
                    _ => return Err(error("an order needs either cases or orders")),
                };
                let steps = orders.iter().flat_map(|order| order.windows(2));
                let step = |step: &[String]| Quantity {
                    name: format!("{} over {}", name(&step[1]), name(&step[0])),
                    measure: Measure::Ratio(step[1].clone(), step[0].clone()),
                    min: Some(1.0),
                    max: None,
                };
                steps.map(step).collect()
            }
            RawKind::Times => {
                bounded()?;
                let [of, over] = &cases()?[..] else { return Err(error("it needs two cases")) };
                let words = format!("{} over {}", name(of), name(over));
                vec![quantity(words, Measure::Ratio(of.clone(), over.clone()))]
            }
            RawKind::Classes => {
                let classes = raw.classes.as_deref().unwrap_or_default();
                let classes = self.groups(raw, classes, study, 1)?;
                let min_ratio = raw.min_ratio.filter(|ratio| ratio.is_finite() && *ratio >= 1.0);
                let (Some(min_ratio), [_, _, ..]) = (min_ratio, &classes[..]) else {
                    return Err(error("it needs at least two classes, and min-ratio of 1 or more"));
                };
                let gap = |(two, at): (&[Vec<String>], usize)| Quantity {
                    name: format!(
                        "the cheapest of class {} over the most expensive of {at}",
                        at + 1
                    ),
                    measure: Measure::Gap(two[0].clone(), two[1].clone()),
                    min: Some(min_ratio),
                    max: None,
                };
                classes.windows(2).zip(1..).map(gap).collect()
            }
            RawKind::Equal => {
                let cases = cases()?;
                let within = raw.within_pct.filter(|pct| *pct > 0.0 && *pct < 100.0);
                let (Some(within), [_, _, ..]) = (within, &cases[..]) else {
                    return Err(error("it needs at least two cases, and within-pct of 0 to 100"));
                };
                let of = |at: usize| {
                    let mut keys = cases.clone();
                    keys.swap(0, at);
                    Quantity {
                        name: format!("{} from the mean, %", name(&cases[at])),
                        measure: Measure::FromMean(keys),
                        min: Some(-within),
                        max: Some(within),
                    }
                };
                (0..cases.len()).map(of).collect()
            }
            RawKind::Flat => {
                bounded()?;
                let mut quantities = Vec::new();
                for NamedSeries { name, points } in self.claim_series(raw, study)? {
                    let keys = points.into_iter().map(|it| it.key).collect();
                    quantities.push(quantity(name, Measure::Spread(keys)));
                }
                let cases = cases()?;
                if cases.len() >= 2 {
                    let words = format!("{} to {}", name(&cases[0]), name(&cases[cases.len() - 1]));
                    quantities.push(quantity(words, Measure::Spread(cases)));
                }
                if quantities.is_empty() {
                    return Err(error("it needs series, or at least two cases"));
                }
                quantities
            }
            RawKind::Grows | RawKind::Slope | RawKind::Saturates => {
                bounded()?;
                let all = self.claim_series(raw, study)?;
                if all.is_empty() {
                    return Err(error("it needs series"));
                }
                let measure = |points| {
                    Ok(match (raw.kind.as_ref(), raw.per, raw.unit.map(RawUnit::unit)) {
                        (RawKind::Grows, ..) => Measure::Exponent(points),
                        (RawKind::Saturates, ..) => Measure::Saturation(points),
                        (_, Some(per), Some(unit)) if per > 0 => {
                            Measure::Slope { points, per, unit }
                        }
                        _ => return Err(error("a slope needs per and unit")),
                    })
                };
                let each = all.into_iter();
                let each = each.map(|it| Ok(quantity(it.name, measure(it.points)?)));
                each.collect::<Result<_, _>>()?
            }
            RawKind::Calls => {
                bounded()?;
                let cases = cases()?;
                if cases.is_empty() {
                    return Err(error("a claim needs cases"));
                }
                let each = cases.into_iter();
                each.map(|key| quantity(name(&key), Measure::Calls(key))).collect()
            }
        })
    }

    /// The claim's series, each with its points from `from` on.
    fn claim_series(
        &self,
        raw: &raw::Claim,
        study: &Study,
    ) -> Result<Vec<NamedSeries>, ParseError> {
        let mut found = Vec::new();
        for named in raw.series.iter().flatten() {
            let name = self.text_line(named, "a series' name", MAX_TEXT_CHARS)?;
            // Series of two tables may have the same name: `Figure 4: pipe` tells them apart.
            let has_name = |(table, series): &(&Table, &Series)| {
                series.name == name || format!("{}: {}", table.name, series.name) == name
            };
            let all = study
                .tables
                .iter()
                .flat_map(|table| table.series.iter().map(move |series| (table, series)));
            let matching: Vec<_> = all.filter(has_name).collect();
            let [(table, series)] = matching[..] else {
                let why = match matching.is_empty() {
                    true => "no table has a series of that name",
                    false => "several tables have a series of that name: write `TABLE: SERIES`",
                };
                return Err(self.error(named, why));
            };
            let points = series.values.iter().zip(&table.rows[series.rows()]);
            let points: Vec<SeriesPoint> = points
                .filter(|(number, _)| raw.from.is_none_or(|from| **number >= from))
                .map(|(&number, row)| SeriesPoint { number, key: row.key() })
                .collect();
            if points.len() < 2 {
                return Err(self.error(named, "it has fewer than two points from `from` on"));
            }
            found.push(NamedSeries { name, points });
        }
        Ok(found)
    }
}

/// A series of a claim.
struct NamedSeries {
    name: String,
    points: Vec<SeriesPoint>,
}
