//! The parser of study files (TOML), whose format docs/reference/STUDY-FILES.md describes.
//!
//! Study files are untrusted: their size, their number of rows and the length of their texts are
//! limited, unknown keys are rejected, and errors name the line.

mod claim;
mod raw;
mod table;

pub use oscost_model::untrusted::ParseError;

use oscost_model::study_method::{Statistic, StudyMethod};
use oscost_model::target::Target;
use oscost_model::untrusted::{display_text, line_at, one_line, utf8_text};
use toml::Spanned;

use super::condition::Condition;
use super::unit::ClockRates;
use super::{Column, ExpectedDuration, Note, NoteCondition, Protocol, Study, Table};
use raw::{RawOverhead, RawStatistic, RawTimed, RawWhen};

/// The maximum size of a study file: fifty times a study of two tables.
pub const MAX_FILE_BYTES: usize = 256 << 10;
/// As many as the figures and tables of a long paper.
const MAX_TABLES: usize = 24;
/// Rows of all tables: a run measures a case for each of them.
const MAX_ROWS: usize = 200;
const MAX_CLAIMS: usize = 40;
const MAX_CONDITIONS: usize = 16;
const MAX_AUTHORS: usize = 12;
const MAX_NOTES: usize = 4;
/// Sentences, in characters. Names are the first column of a table of 80 columns.
const MAX_TEXT_CHARS: usize = 400;
const MAX_NAME_CHARS: usize = 24;
const MAX_CASE_CHARS: usize = 200;
/// Two columns of figures, two of differences, and the names fit into 80 columns.
const MAX_FIGURE_CHARS: usize = 18;
/// A study of a single target has one column of published figures.
const MAX_SINGLE_FIGURE_CHARS: usize = 24;
/// Fewer have no deviation; with more, a run would take hours.
const RUNS: std::ops::RangeInclusive<usize> = 2..=100;
/// Default trials of a program.
const DEFAULT_RUNS: usize = 10;
/// Ten times the maximum of the built-in studies.
const ITERATIONS: std::ops::RangeInclusive<u64> = 1..=100_000_000;
const EXPERIMENTS: std::ops::RangeInclusive<u32> = 1..=100_000;
/// From a clock of the 1970s to beyond any core.
const GHZ: std::ops::RangeInclusive<f64> = 0.000_1..=100.0;

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

struct Reader<'a> {
    text: &'a str,
}

/// The keys by which a row overrides the method of its protocol.
struct MethodOverrides<'a> {
    timed: &'a Option<Spanned<RawTimed>>,
    iterations: &'a Option<Spanned<u64>>,
    experiments: &'a Option<Spanned<u32>>,
    statistic: Option<&'a Spanned<RawStatistic>>,
    overhead: Option<RawOverhead>,
}

impl Reader<'_> {
    /// The line of a byte offset, from 1.
    fn line(&self, at: usize) -> usize {
        line_at(self.text.as_bytes(), at)
    }

    fn error<T>(&self, at: &Spanned<T>, why: impl Into<String>) -> ParseError {
        ParseError { line: self.line(at.span().start), reason: why.into() }
    }

    /// Checks the length of a list.
    fn bounded<T>(&self, what: &str, list: &[T], min: usize, max: usize) -> Result<(), ParseError> {
        if (min..=max).contains(&list.len()) {
            return Ok(());
        }
        let bound = if min == max { format!("{max}") } else { format!("{min} to {max}") };
        Err(ParseError {
            line: 1,
            reason: format!("the study has {} {what}, allowed: {bound}", list.len()),
        })
    }

    /// A text in one line of at most `max_chars` characters.
    fn text_line(
        &self,
        raw: &Spanned<String>,
        what: &str,
        max_chars: usize,
    ) -> Result<String, ParseError> {
        one_line(raw.as_ref(), what, max_chars).map_err(|why| self.error(raw, why))
    }

    fn study(&self, raw: &raw::Study) -> Result<Study, ParseError> {
        let id = self.text_line(&raw.id, "the id", MAX_NAME_CHARS)?;
        if !id.bytes().all(is_kebab) {
            let why = "an id consists of lower-case letters, digits and dashes";
            return Err(self.error(&raw.id, why));
        }
        self.bounded("authors", &raw.authors, 1, MAX_AUTHORS)?;
        self.bounded("tables", &raw.tables, 1, MAX_TABLES)?;
        self.bounded("claims", &raw.claims, 0, MAX_CLAIMS)?;
        self.bounded("conditions", &raw.conditions, 0, MAX_CONDITIONS)?;
        let authors = raw.authors.iter().map(|it| self.text_line(it, "an author", MAX_TEXT_CHARS));
        let columns = self.columns(&raw.columns)?;
        let protocol = self.protocol(&raw.protocol, columns.is_some())?;
        let tables: Vec<Table> = raw
            .tables
            .iter()
            .map(|it| self.table(it, &protocol, columns.is_some()))
            .collect::<Result<_, _>>()?;
        let rows: Vec<_> = tables.iter().flat_map(|table| &table.rows).collect();
        self.bounded("rows", &rows, 1, MAX_ROWS)?;
        let conditions = raw.conditions.iter().map(|it| self.condition(it));
        let duration = raw
            .duration
            .map(|it| ExpectedDuration { seconds: it.seconds, quick_seconds: it.quick_seconds });
        let mut study = Study {
            id,
            title: self.text_line(&raw.title, "the title", MAX_TEXT_CHARS)?,
            authors: authors.collect::<Result<_, _>>()?,
            year: raw.year,
            source: self.text_line(&raw.source, "the source", MAX_TEXT_CHARS)?,
            measured_on: self.text_line(&raw.measured_on, "the machine", MAX_TEXT_CHARS)?,
            clock_rates: self.clock_rates(raw.core_ghz.as_ref())?,
            expected_duration: duration,
            protocol,
            columns,
            conditions: conditions.collect::<Result<_, _>>()?,
            tables,
            claims: Vec::new(),
        };
        for claim in &raw.claims {
            study.claims.push(self.claim(claim, &study)?);
        }
        Ok(study)
    }

    /// The clock rates of the study's machine; its time stamp counter, if any, ran at core frequency.
    fn clock_rates(&self, raw: Option<&Spanned<f64>>) -> Result<ClockRates, ParseError> {
        let Some(raw) = raw else { return Ok(ClockRates::default()) };
        let ghz = *raw.as_ref();
        if !GHZ.contains(&ghz) {
            let why = format!("core-ghz must be {} to {}", GHZ.start(), GHZ.end());
            return Err(self.error(raw, why));
        }
        Ok(ClockRates { core_ghz: Some(ghz), ticks_per_ns: Some(ghz) })
    }

    fn runs(&self, raw: &Spanned<usize>) -> Result<usize, ParseError> {
        let runs = *raw.as_ref();
        if RUNS.contains(&runs) {
            return Ok(runs);
        }
        Err(self.error(raw, format!("runs must be {} to {}", RUNS.start(), RUNS.end())))
    }

    fn protocol(&self, raw: &raw::Protocol, compares: bool) -> Result<Protocol, ParseError> {
        let statistic = raw.statistic.as_ref();
        let study_method = match (compares, &raw.runs) {
            (true, None) => {
                let why = "a study with two columns needs `runs`";
                return Err(self.error(&raw.statistic, why));
            }
            (true, Some(_)) => {
                let alone = raw.timed.is_none()
                    && raw.iterations.is_none()
                    && raw.experiments.is_none()
                    && raw.overhead.is_none();
                if *statistic != RawStatistic::MeanAndDeviation || !alone {
                    let why = "a study with two columns needs `runs` and `statistic = \
                               \"mean-and-deviation\"`, and no other keys of a method";
                    return Err(self.error(&raw.statistic, why));
                }
                None
            }
            (false, _) => self.study_method(
                None,
                &MethodOverrides {
                    timed: &raw.timed,
                    iterations: &raw.iterations,
                    experiments: &raw.experiments,
                    statistic: Some(&raw.statistic),
                    overhead: raw.overhead,
                },
            )?,
        };
        Ok(Protocol {
            runs: raw.runs.as_ref().map_or(Ok(DEFAULT_RUNS), |it| self.runs(it))?,
            study_method,
            original: self.text_line(&raw.original, "the original method", MAX_TEXT_CHARS)?,
            replication: self.text_line(&raw.replication, "the replication", MAX_TEXT_CHARS)?,
        })
    }

    /// The method of a row: that of its protocol with the row's overrides.
    fn study_method(
        &self,
        default: Option<StudyMethod>,
        raw: &MethodOverrides<'_>,
    ) -> Result<Option<StudyMethod>, ParseError> {
        let iterations = self.within(raw.iterations.as_ref(), &ITERATIONS, "iterations")?;
        let experiments = self.within(raw.experiments.as_ref(), &EXPERIMENTS, "experiments")?;
        let statistic = match raw.statistic.map(|it| *it.as_ref()) {
            None => None,
            Some(RawStatistic::None) => return Ok(None),
            Some(RawStatistic::Mean) => Some(Statistic::Mean),
            Some(RawStatistic::MeanAndDeviation) => Some(Statistic::MeanAndDeviation),
            Some(RawStatistic::Minimum) => Some(Statistic::Minimum),
        };
        let timed = raw.timed.as_ref().map(|it| it.as_ref().timed());
        let clock = raw.overhead.map(RawOverhead::clock);
        let study_method = match default {
            Some(default) => Some(StudyMethod {
                timed: timed.unwrap_or(default.timed),
                iterations: iterations.unwrap_or(default.iterations),
                experiments: experiments.unwrap_or(default.experiments),
                statistic: statistic.unwrap_or(default.statistic),
                clock: clock.unwrap_or(default.clock),
            }),
            None => match (timed, iterations, experiments, statistic, clock) {
                (None, None, None, None, None) => return Ok(None),
                (
                    Some(timed),
                    Some(iterations),
                    Some(experiments),
                    Some(statistic),
                    Some(clock),
                ) => Some(StudyMethod { timed, iterations, experiments, statistic, clock }),
                _ => None,
            },
        };
        let Some(study_method) = study_method else {
            let why = "a study method needs timed, iterations, experiments, statistic and overhead";
            let line = raw.statistic.map_or(1, |it| self.line(it.span().start));
            return Err(ParseError { line, reason: why.to_owned() });
        };
        Ok(Some(study_method))
    }

    fn within<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        raw: Option<&Spanned<T>>,
        range: &std::ops::RangeInclusive<T>,
        what: &str,
    ) -> Result<Option<T>, ParseError> {
        let Some(raw) = raw else { return Ok(None) };
        if range.contains(raw.as_ref()) {
            return Ok(Some(*raw.as_ref()));
        }
        Err(self.error(raw, format!("{what} must be {} to {}", range.start(), range.end())))
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

    fn condition(&self, raw: &raw::Condition) -> Result<Condition, ParseError> {
        let text = self.text_line(&raw.text, "a condition", MAX_TEXT_CHARS)?;
        Ok(Condition { text, kind: raw.kind.kind() })
    }

    fn notes(&self, of: &Spanned<String>, raw: &[raw::Note]) -> Result<Vec<Note>, ParseError> {
        if raw.len() > MAX_NOTES {
            return Err(self.error(of, format!("it has more than {MAX_NOTES} notes")));
        }
        let one = |raw: &raw::Note| {
            let when = match raw.when {
                None => NoteCondition::Always,
                Some(RawWhen::NoCalls) => NoteCondition::NoCalls,
            };
            Ok(Note { when, text: self.text_line(&raw.text, "a note", MAX_TEXT_CHARS)? })
        };
        raw.iter().map(one).collect()
    }
}

fn is_kebab(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

#[cfg(test)]
mod tests;
