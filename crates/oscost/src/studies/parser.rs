//! Parses study files (TOML), whose format docs/reference/STUDY-FILES.md describes.
//!
//! Study files are untrusted: their size, their number of rows and the length of their texts are
//! limited, unknown keys are rejected, and errors name the line.

mod claim;
mod limits;
mod method;
mod placements;
mod quantities;
mod raw;
mod reader;
mod systems;
mod table;

pub use oscost_model::untrusted_text::ParseError;

use oscost_model::target::Target;
use oscost_model::untrusted_text::{display_text, line_at, utf8_text};
use toml::Spanned;

use self::limits::*;
use self::reader::{Reader, is_kebab};
use super::figures::unit::ClockRates;
use super::machine::condition::{Condition, ConditionKind};
use super::machine::machine_fact::{Counterpart, MachineFact};
use super::study::{Column, ProfileSeconds, Study, Table};

/// The maximum size of a study file: fifty times a study of two tables.
pub const MAX_FILE_BYTES: usize = 256 << 10;

/// Parses a study file.
pub fn parse(bytes: &[u8]) -> Result<Study, ParseError> {
    let text = utf8_text(bytes, "study", MAX_FILE_BYTES)?;
    let reader = Reader { text };
    let raw: raw::Study = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let why = display_text(error.message(), MAX_TEXT_CHARS);
        ParseError { line: line_at(text.as_bytes(), at), reason: why }
    })?;
    reader.study(&raw)
}

impl Reader<'_> {
    fn study(&self, raw: &raw::Study) -> Result<Study, ParseError> {
        let id = self.text_line(&raw.id, "the id", MAX_NAME_CHARS)?;
        if !id.bytes().all(is_kebab) {
            let why = "an id consists of lower-case letters, digits and dashes";
            return Err(self.error(&raw.id, why));
        }
        self.bounded("authors", &raw.authors, 1, MAX_AUTHORS)?;
        self.bounded("tables", &raw.tables, 1, MAX_TABLES)?;
        self.bounded("claims", &raw.claims, 0, MAX_CLAIMS)?;
        self.bounded("facts of its machine", &raw.machine, 0, MAX_MACHINE_FACTS)?;
        self.bounded("conditions", &raw.conditions, 0, MAX_CONDITIONS)?;
        let authors = raw.authors.iter().map(|it| self.text_line(it, "an author", MAX_TEXT_CHARS));
        let columns = self.columns(&raw.columns)?;
        let protocol = self.protocol(&raw.protocol, columns.is_some())?;
        let mut tables: Vec<Table> = raw
            .tables
            .iter()
            .map(|it| self.table(it, &protocol, columns.is_some()))
            .collect::<Result<_, _>>()?;
        let systems = self.systems(raw)?;
        self.add_systems(raw, &systems, &mut tables)?;
        self.add_acts(raw, &mut tables)?;
        self.add_placements(raw, &mut tables)?;
        let rows: Vec<_> = tables.iter().flat_map(|table| &table.rows).collect();
        self.bounded("rows", &rows, 1, MAX_ROWS)?;
        let conditions = raw.conditions.iter().map(|it| self.condition(it));
        let machine = raw.machine.iter().map(|it| self.machine_fact(it));
        let seconds = |it: raw::ProfileSeconds| ProfileSeconds {
            seconds: it.seconds,
            quick_seconds: it.quick_seconds,
        };
        let mut study = Study {
            id,
            title: self.text_line(&raw.title, "the title", MAX_TEXT_CHARS)?,
            authors: authors.collect::<Result<_, _>>()?,
            year: raw.year,
            source: self.text_line(&raw.source, "the source", MAX_TEXT_CHARS)?,
            measured_on: self.text_line(&raw.measured_on, "the machine", MAX_TEXT_CHARS)?,
            clock_rates: match systems.reference() {
                Some(system) => system.clock_rates,
                None => self.clock_rates(raw.core_ghz.as_ref())?,
            },
            systems,
            expected_duration: raw.duration.map(seconds),
            min_budget: raw.budget.map(seconds),
            protocol,
            columns,
            machine: machine.collect::<Result<_, _>>()?,
            conditions: conditions.collect::<Result<_, _>>()?,
            tables,
            claims: Vec::new(),
        };
        for claim in &raw.claims {
            study.claims.push(self.claim(claim, &study)?);
        }
        Ok(study)
    }

    /// The clock rates of the study's machine; its time stamp counter, if any, ran at core
    /// frequency.
    fn clock_rates(&self, raw: Option<&Spanned<f64>>) -> Result<ClockRates, ParseError> {
        let Some(raw) = raw else { return Ok(ClockRates::default()) };
        let ghz = *raw.as_ref();
        if !GHZ.contains(&ghz) {
            let why = format!("core-ghz must be {} to {}", GHZ.start(), GHZ.end());
            return Err(self.error(raw, why));
        }
        Ok(ClockRates { core_ghz: Some(ghz), ticks_per_ns: Some(ghz) })
    }

    fn columns(&self, raw: &[raw::Column]) -> Result<Option<[Column; 2]>, ParseError> {
        if raw.is_empty() {
            return Ok(None);
        }
        self.bounded("columns", raw, 2, 2)?;
        let columns: Vec<Column> =
            raw.iter().map(|it| self.column(it)).collect::<Result<_, _>>()?;
        Ok(<[Column; 2]>::try_from(columns).ok())
    }

    fn column(&self, raw: &raw::Column) -> Result<Column, ParseError> {
        let name = self.text_line(&raw.name, "a column's name", MAX_FIGURE_CHARS)?;
        let target = self.text_line(&raw.target, "a target", MAX_TEXT_CHARS)?;
        if let Err(error) = Target::parse(&target) {
            let why = display_text(&error.to_string(), MAX_TEXT_CHARS);
            return Err(self.error(&raw.target, why));
        }
        Ok(Column { name, target })
    }

    /// Why a condition of the method holds is stated by the study file, of others it is checked.
    fn condition(&self, raw: &raw::Condition) -> Result<Condition, ParseError> {
        let text = self.text_line(&raw.text, "a condition", MAX_TEXT_CHARS)?;
        let kind = raw.kind;
        if (kind == ConditionKind::Method) != raw.how.is_some() {
            let why = "a condition of the kind method, and only of that, says `how` it is kept";
            return Err(self.error(&raw.text, why));
        }
        let how = raw.how.as_ref().map(|it| self.text_line(it, "the way", MAX_TEXT_CHARS));
        Ok(Condition { text, kind, how: how.transpose()? })
    }

    fn machine_fact(&self, raw: &raw::MachineFact) -> Result<MachineFact, ParseError> {
        let text = |it: &Spanned<String>, what: &str| self.text_line(it, what, MAX_TEXT_CHARS);
        let counterpart = match (raw.fact, &raw.no_fact) {
            (Some(fact), None) => Counterpart::Fact(fact),
            (None, Some(why)) => Counterpart::Nothing(text(why, "a reason")?),
            _ => {
                let why = "a fact of the machine needs either `fact`, or `no-fact` with the reason";
                return Err(self.error(&raw.name, why));
            }
        };
        Ok(MachineFact {
            name: text(&raw.name, "a fact's name")?,
            published: text(&raw.published, "what is published")?,
            counterpart,
            note: raw.note.as_ref().map(|it| text(it, "a note")).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests;
