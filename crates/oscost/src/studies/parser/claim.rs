//! Parses the claims of a study: which keys each kind has, and what it claims.

use oscost_model::untrusted_text::ParseError;

use super::limits::{MAX_SINGLE_FIGURE_CHARS, MAX_TEXT_CHARS};
use super::quantities::ClaimReader;
use super::raw::{self, RawKind};
use super::reader::Reader;
use crate::studies::claims::claim::{Claim, Criterion};
use crate::studies::figures::published_figure::PublishedFigure;
use crate::studies::figures::unit::{ClockRates, TableUnit, UnitKind};
use crate::studies::study::Study;

impl Reader<'_> {
    pub(super) fn claim(&self, raw: &raw::Claim, study: &Study) -> Result<Claim, ParseError> {
        self.check_keys(raw)?;
        let compares = study.columns.is_some();
        let of_two = matches!(
            raw.kind.as_ref(),
            RawKind::EqualAdded | RawKind::Added | RawKind::Ratio | RawKind::LargestRatio
        );
        if compares != of_two {
            let why = match compares {
                true => {
                    "a claim of a study with two columns is equal-added, added, ratio or \
                     largest-ratio"
                }
                false => {
                    "equal-added, added, ratio and largest-ratio need a study with two columns"
                }
            };
            return Err(self.error(&raw.kind, why));
        }
        let claim = ClaimReader { reader: self, raw, study };
        let (cases, criterion) = match of_two {
            true => {
                let cases = claim.cases()?;
                let criterion = self.two_target_criterion(raw, &cases)?;
                (cases, criterion)
            }
            false => {
                let quantities = claim.quantities()?;
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
            published: self.published_in_text(raw)?,
            note: raw
                .note
                .as_ref()
                .map(|it| self.text_line(it, "a note", MAX_TEXT_CHARS))
                .transpose()?,
            cases,
            criterion,
        })
    }

    /// What the study's text prints of the claim.
    fn published_in_text(&self, raw: &raw::Claim) -> Result<Option<PublishedFigure>, ParseError> {
        let Some(text) = &raw.published else { return Ok(None) };
        PublishedFigure::parse(text.as_ref(), MAX_SINGLE_FIGURE_CHARS)
            .map_err(|why| self.error(text, why))
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
            RawKind::Added => ("added", &["cases", "unit", "min", "max"]),
            RawKind::Ratio => ("ratio", &["cases", "min", "max"]),
            RawKind::LargestRatio => ("largest-ratio", &["cases"]),
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

    /// The criterion of a claim on two targets.
    fn two_target_criterion(
        &self,
        raw: &raw::Claim,
        cases: &[String],
    ) -> Result<Criterion, ParseError> {
        if cases.is_empty() {
            return Err(self.error(&raw.kind, "a claim needs cases"));
        }
        let size = |unit: TableUnit| Some((unit, unit.size(ClockRates::default())?));
        match (raw.kind.as_ref(), raw.min, raw.max) {
            (RawKind::EqualAdded, ..) if cases.len() >= 2 => Ok(Criterion::EqualAdded),
            (RawKind::LargestRatio, ..) if cases.len() >= 2 => Ok(Criterion::LargestRatio),
            (RawKind::EqualAdded | RawKind::LargestRatio, ..) => {
                let why = "equal-added and largest-ratio need at least two cases";
                Err(self.error(&raw.kind, why))
            }
            (RawKind::Added, Some(min), Some(max)) if min < max => {
                let unit = raw.unit.and_then(size);
                match unit.filter(|(unit, _)| unit.kind() == UnitKind::Time) {
                    Some((unit, _)) => Ok(Criterion::Added { min, max, unit }),
                    None => Err(self.error(&raw.kind, "added needs unit: ns, us, ms or s")),
                }
            }
            (RawKind::Added, ..) => Err(self.error(&raw.kind, "added needs min < max")),
            (_, Some(min), Some(max)) if 0.0 < min && min < max => {
                Ok(Criterion::Ratio { min, max })
            }
            _ => Err(self.error(&raw.kind, "a ratio needs 0 < min < max")),
        }
    }
}
