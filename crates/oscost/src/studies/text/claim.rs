//! The claims of a study's file: each kind becomes quantities with bounds.

use toml::Spanned;

use super::raw::{self, RawKind, RawUnit};
use super::{LONGEST_CASE, LONGEST_TEXT, ParseError, Reader};
use crate::studies::claim::{Asks, Claim};
use crate::studies::quantity::{Measure, Quantity};
use crate::studies::{Series, Study, Table};

/// Classes of a claim, and orders.
const MOST_GROUPS: usize = 40;

impl Reader<'_> {
    pub(super) fn claim(&self, raw: &raw::Claim, study: &Study) -> Result<Claim, ParseError> {
        self.keys_fit(raw)?;
        let compares = study.columns.is_some();
        let of_two = matches!(raw.kind.as_ref(), RawKind::EqualAdded | RawKind::Ratio);
        if compares != of_two {
            let why = match compares {
                true => "of two places a claim is equal-added or ratio",
                false => "equal-added and ratio are said of two places",
            };
            return Err(self.refused(&raw.kind, why));
        }
        let (cases, asks) = match raw.kind.as_ref() {
            RawKind::EqualAdded | RawKind::Ratio => self.of_two_targets(raw, study)?,
            _ => {
                let quantities = self.quantities(raw, study)?;
                let mut cases: Vec<String> = Vec::new();
                for key in quantities.iter().flat_map(|it| it.measure.keys()) {
                    if !cases.iter().any(|case| case == key) {
                        cases.push(key.to_owned());
                    }
                }
                (cases, Asks::Within(quantities))
            }
        };
        Ok(Claim {
            says: self.words(&raw.says, "a claim", LONGEST_TEXT)?,
            at: self.words(&raw.at, "where a claim stands", LONGEST_TEXT)?,
            cases,
            asks,
        })
    }

    /// A key that a kind does not read would be a bound that nobody holds.
    fn keys_fit(&self, raw: &raw::Claim) -> Result<(), ParseError> {
        let given = [
            ("cases", raw.cases.is_some()),
            ("series", raw.series.is_some()),
            ("orders", raw.orders.is_some()),
            ("classes", raw.classes.is_some()),
            ("apart", raw.apart.is_some()),
            ("within-pct", raw.within_pct.is_some()),
            ("from", raw.from.is_some()),
            ("per", raw.per.is_some()),
            ("unit", raw.unit.is_some()),
            ("least", raw.least.is_some()),
            ("most", raw.most.is_some()),
        ];
        let (name, reads): (&str, &[&str]) = match raw.kind.as_ref() {
            RawKind::EqualAdded => ("equal-added", &["cases"]),
            RawKind::Ratio => ("a ratio", &["cases", "least", "most"]),
            RawKind::Order => ("order", &["cases", "orders"]),
            RawKind::Times => ("times", &["cases", "least", "most"]),
            RawKind::Classes => ("classes", &["classes", "apart"]),
            RawKind::Equal => ("equal", &["cases", "within-pct"]),
            RawKind::Flat => ("flat", &["cases", "series", "most"]),
            RawKind::Grows => ("grows", &["series", "from", "least", "most"]),
            RawKind::Slope => ("slope", &["series", "per", "unit", "least", "most"]),
            RawKind::Saturates => ("saturates", &["series", "least", "most"]),
            RawKind::Calls => ("calls", &["cases", "least", "most"]),
        };
        match given.iter().find(|(key, is)| *is && !reads.contains(key)) {
            None => Ok(()),
            Some((key, _)) => {
                let why = format!("{name} has no {key}; it has {}", reads.join(", "));
                Err(self.refused(&raw.kind, why))
            }
        }
    }

    fn of_two_targets(
        &self,
        raw: &raw::Claim,
        study: &Study,
    ) -> Result<(Vec<String>, Asks), ParseError> {
        let cases = self.keys(raw.cases.as_deref().unwrap_or_default(), study)?;
        if cases.is_empty() {
            return Err(self.refused(&raw.kind, "a claim is of cases"));
        }
        let asks = match (raw.kind.as_ref(), raw.least, raw.most) {
            (RawKind::EqualAdded, ..) if cases.len() >= 2 => Asks::EqualAdded,
            (RawKind::EqualAdded, ..) => {
                return Err(self.refused(&raw.kind, "equal-added is said of two cases at least"));
            }
            (_, Some(least), Some(most)) if 0.0 < least && least < most => {
                Asks::Ratio { least, most }
            }
            _ => return Err(self.refused(&raw.kind, "a ratio has 0 < least < most")),
        };
        Ok((cases, asks))
    }

    /// Rows that stand in a table, by the names that claims have for them; each once.
    fn keys(&self, raw: &[Spanned<String>], study: &Study) -> Result<Vec<String>, ParseError> {
        let mut keys: Vec<String> = Vec::new();
        for case in raw {
            let text = self.words(case, "a case", LONGEST_CASE)?;
            if study.row(&text).is_none() {
                return Err(self.refused(case, "a claim is of cases that stand in a table"));
            }
            if keys.contains(&text) {
                return Err(self.refused(case, "a claim names a case once"));
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
        least: usize,
    ) -> Result<Vec<Vec<String>>, ParseError> {
        let few = groups.iter().any(|group| group.len() < least);
        if groups.is_empty() || groups.len() > MOST_GROUPS || few {
            let why = format!("it has 1 to {MOST_GROUPS} lists, each of {least} cases at least");
            return Err(self.refused(&raw.kind, why));
        }
        groups.iter().map(|group| self.keys(group, study)).collect()
    }

    fn quantities(&self, raw: &raw::Claim, study: &Study) -> Result<Vec<Quantity>, ParseError> {
        let name = |key: &str| study.row(key).map_or(key.to_owned(), |row| row.name.clone());
        let cases = || self.keys(raw.cases.as_deref().unwrap_or_default(), study);
        let refused = |why: &str| self.refused(&raw.kind, why);
        let quantity =
            |name: String, measure| Quantity { name, measure, least: raw.least, most: raw.most };
        let bounded = || match (raw.least, raw.most) {
            (None, None) => Err(refused("it has least, most, or both")),
            (Some(least), Some(most)) if least > most => Err(refused("least is above most")),
            (least, most) if least.into_iter().chain(most).all(f64::is_finite) => Ok(()),
            _ => Err(refused("its bounds are numbers")),
        };
        Ok(match raw.kind.as_ref() {
            RawKind::EqualAdded | RawKind::Ratio => Vec::new(),
            RawKind::Order => {
                let orders = match (&raw.cases, &raw.orders) {
                    (Some(cases), None) => {
                        self.groups(raw, std::slice::from_ref(cases), study, 2)?
                    }
                    (None, Some(orders)) => self.groups(raw, orders, study, 2)?,
                    _ => return Err(refused("an order has cases, or orders")),
                };
                let steps = orders.iter().flat_map(|order| order.windows(2));
                let step = |step: &[String]| Quantity {
                    name: format!("{} over {}", name(&step[1]), name(&step[0])),
                    measure: Measure::Ratio(step[1].clone(), step[0].clone()),
                    least: Some(1.0),
                    most: None,
                };
                steps.map(step).collect()
            }
            RawKind::Times => {
                bounded()?;
                let [of, over] = &cases()?[..] else { return Err(refused("it has two cases")) };
                let words = format!("{} over {}", name(of), name(over));
                vec![quantity(words, Measure::Ratio(of.clone(), over.clone()))]
            }
            RawKind::Classes => {
                let classes = raw.classes.as_deref().unwrap_or_default();
                let classes = self.groups(raw, classes, study, 1)?;
                let apart = raw.apart.filter(|apart| apart.is_finite() && *apart >= 1.0);
                let (Some(apart), [_, _, ..]) = (apart, &classes[..]) else {
                    return Err(refused("it has two classes at least, and apart of 1 or more"));
                };
                let gap = |(two, at): (&[Vec<String>], usize)| Quantity {
                    name: format!("the cheapest of class {} over the dearest of {at}", at + 1),
                    measure: Measure::Gap(two[0].clone(), two[1].clone()),
                    least: Some(apart),
                    most: None,
                };
                classes.windows(2).zip(1..).map(gap).collect()
            }
            RawKind::Equal => {
                let cases = cases()?;
                let within = raw.within_pct.filter(|pct| *pct > 0.0 && *pct < 100.0);
                let (Some(within), [_, _, ..]) = (within, &cases[..]) else {
                    return Err(refused("it has two cases at least, and within-pct of 0 to 100"));
                };
                let of = |at: usize| {
                    let mut keys = cases.clone();
                    keys.swap(0, at);
                    Quantity {
                        name: format!("{} from the mean, %", name(&cases[at])),
                        measure: Measure::FromMean(keys),
                        least: Some(-within),
                        most: Some(within),
                    }
                };
                (0..cases.len()).map(of).collect()
            }
            RawKind::Flat => {
                bounded()?;
                let mut quantities = Vec::new();
                for (words, points) in self.curves(raw, study)? {
                    let keys = points.into_iter().map(|(_, key)| key).collect();
                    quantities.push(quantity(words, Measure::Spread(keys)));
                }
                let cases = cases()?;
                if cases.len() >= 2 {
                    let words = format!("{} to {}", name(&cases[0]), name(&cases[cases.len() - 1]));
                    quantities.push(quantity(words, Measure::Spread(cases)));
                }
                if quantities.is_empty() {
                    return Err(refused("it has series, or two cases at least"));
                }
                quantities
            }
            RawKind::Grows | RawKind::Slope | RawKind::Saturates => {
                bounded()?;
                let curves = self.curves(raw, study)?;
                if curves.is_empty() {
                    return Err(refused("it has series"));
                }
                let measure = |points| {
                    Ok(match (raw.kind.as_ref(), raw.per, raw.unit.map(RawUnit::unit)) {
                        (RawKind::Grows, ..) => Measure::Exponent(points),
                        (RawKind::Saturates, ..) => Measure::Saturation(points),
                        (_, Some(per), Some(unit)) if per > 0 => {
                            Measure::Slope { points, per, unit }
                        }
                        _ => return Err(refused("a slope has per and unit")),
                    })
                };
                let each = curves.into_iter();
                let each = each.map(|(words, points)| Ok(quantity(words, measure(points)?)));
                each.collect::<Result<_, _>>()?
            }
            RawKind::Calls => {
                bounded()?;
                let cases = cases()?;
                if cases.is_empty() {
                    return Err(refused("a claim is of cases"));
                }
                let each = cases.into_iter();
                each.map(|key| quantity(name(&key), Measure::Calls(key))).collect()
            }
        })
    }

    /// The points of the series that a claim is of: each with its number and its row's key, from
    /// `from` on.
    fn curves(&self, raw: &raw::Claim, study: &Study) -> Result<Vec<Curve>, ParseError> {
        let mut found = Vec::new();
        for named in raw.series.iter().flatten() {
            let text = self.words(named, "a series' name", LONGEST_TEXT)?;
            // Two tables may have a series of one name: `Figure 4: pipe` says which.
            let is = |table: &Table, series: &Series| {
                series.name == text || format!("{}: {}", table.name, series.name) == text
            };
            let all = study
                .tables
                .iter()
                .flat_map(|table| table.series.iter().map(move |series| (table, series)));
            let its: Vec<_> = all.filter(|(table, series)| is(table, series)).collect();
            let [(table, series)] = its[..] else {
                let why = match its.is_empty() {
                    true => "no table has a series of that name",
                    false => "several tables have it: write `TABLE: SERIES`",
                };
                return Err(self.refused(named, why));
            };
            let points = series.values.iter().zip(&table.rows[series.rows()]);
            let points: Vec<(u64, String)> = points
                .filter(|(value, _)| raw.from.is_none_or(|from| **value >= from))
                .map(|(value, row)| (*value, row.key()))
                .collect();
            if points.len() < 2 {
                return Err(self.refused(named, "fewer than two of its points are asked for"));
            }
            found.push((text, points));
        }
        Ok(found)
    }
}

/// A series' name, and its points.
type Curve = (String, Vec<(u64, String)>);
