//! The file of a study (TOML): docs/reference/STUDY-FILES.md says what stands in one.
//!
//! It may come from anybody. Its size, the number of its rows and the length of its texts are
//! bounded, an unknown key is refused, and a refusal names the line.

mod claim;
mod raw;
mod table;

pub use oscost_model::untrusted::ParseError;

use oscost_model::study_method::{Statistic, StudyMethod};
use oscost_model::target::Target;
use oscost_model::untrusted::{display_text, line_at, one_line, utf8_text};
use toml::Spanned;

use super::condition::Condition;
use super::unit::Beats;
use super::{Column, Note, Protocol, Study, Table, Takes, When};
use raw::{RawOverhead, RawStatistic, RawTimed, RawWhen};

/// The longest file of a study: fifty times one of two tables.
pub const MOST_BYTES: usize = 256 << 10;
/// As many tables as there are figures and tables in a long paper.
const MOST_TABLES: usize = 24;
/// Rows of all tables: a run asks for a case for each of them.
const MOST_ROWS: usize = 200;
const MOST_CLAIMS: usize = 40;
const MOST_CONDITIONS: usize = 16;
const MOST_AUTHORS: usize = 12;
const MOST_NOTES: usize = 4;
/// Sentences; names stand at the side of a table of 80 columns.
const LONGEST_TEXT: usize = 400;
const LONGEST_NAME: usize = 24;
const LONGEST_CASE: usize = 200;
/// Two columns of figures, two of what is added, and the names fit into 80 columns.
const LONGEST_FIGURE: usize = 18;
/// Of one place there is one column of what was printed.
const LONGEST_FIGURE_ALONE: usize = 24;
/// A mean of fewer has no deviation; of more, a run would take hours.
const RUNS: std::ops::RangeInclusive<usize> = 2..=100;
/// Trials of a program, where the study says nothing.
const USUAL_RUNS: usize = 10;
/// Ten times what the largest of the five did.
const ITERATIONS: std::ops::RangeInclusive<u64> = 1..=100_000_000;
const EXPERIMENTS: std::ops::RangeInclusive<u32> = 1..=100_000;
/// From a clock of the seventies to one that no core will have.
const GHZ: std::ops::RangeInclusive<f64> = 0.000_1..=100.0;

/// Reads a study's file.
pub fn read(bytes: &[u8]) -> Result<Study, ParseError> {
    let text = utf8_text(bytes, "study", MOST_BYTES)?;
    let reader = Reader { text };
    let raw: raw::Study = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let why = display_text(error.message(), LONGEST_TEXT);
        ParseError { line: line_at(text.as_bytes(), at), reason: why }
    })?;
    reader.study(&raw)
}

struct Reader<'a> {
    text: &'a str,
}

/// What a row may say otherwise than its protocol.
struct Otherwise<'a> {
    timed: &'a Option<Spanned<RawTimed>>,
    iterations: &'a Option<Spanned<u64>>,
    experiments: &'a Option<Spanned<u32>>,
    statistic: Option<&'a Spanned<RawStatistic>>,
    overhead: Option<RawOverhead>,
}

impl Reader<'_> {
    /// The line of a place in the text, from 1.
    fn line(&self, at: usize) -> usize {
        line_at(self.text.as_bytes(), at)
    }

    fn refused<T>(&self, at: &Spanned<T>, why: impl Into<String>) -> ParseError {
        ParseError { line: self.line(at.span().start), reason: why.into() }
    }

    /// What is wrong with the whole of it.
    fn bounded<T>(
        &self,
        what: &str,
        list: &[T],
        least: usize,
        most: usize,
    ) -> Result<(), ParseError> {
        if (least..=most).contains(&list.len()) {
            return Ok(());
        }
        let bound = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        Err(ParseError {
            line: 1,
            reason: format!("it has {} {what}: {bound} are read", list.len()),
        })
    }

    /// A text in one line: line ends in it part words as blanks do.
    fn words(
        &self,
        raw: &Spanned<String>,
        what: &str,
        longest: usize,
    ) -> Result<String, ParseError> {
        one_line(raw.as_ref(), what, longest).map_err(|why| self.refused(raw, why))
    }

    fn study(&self, raw: &raw::Study) -> Result<Study, ParseError> {
        let id = self.words(&raw.id, "the id", LONGEST_NAME)?;
        if !id.bytes().all(is_kebab) {
            let why = "an id is lower-case letters, digits and dashes";
            return Err(self.refused(&raw.id, why));
        }
        self.bounded("authors", &raw.authors, 1, MOST_AUTHORS)?;
        self.bounded("tables", &raw.tables, 1, MOST_TABLES)?;
        self.bounded("claims", &raw.claims, 0, MOST_CLAIMS)?;
        self.bounded("conditions", &raw.conditions, 0, MOST_CONDITIONS)?;
        let authors = raw.authors.iter().map(|it| self.words(it, "an author", LONGEST_TEXT));
        let columns = self.columns(&raw.columns)?;
        let protocol = self.protocol(&raw.protocol, columns.is_some())?;
        let tables: Vec<Table> = raw
            .tables
            .iter()
            .map(|it| self.table(it, &protocol, columns.is_some()))
            .collect::<Result<_, _>>()?;
        let rows: Vec<_> = tables.iter().flat_map(|table| &table.rows).collect();
        self.bounded("rows", &rows, 1, MOST_ROWS)?;
        let conditions = raw.conditions.iter().map(|it| self.condition(it));
        let takes = raw.takes.map(|it| Takes { seconds: it.seconds, quick: it.quick });
        let mut study = Study {
            id,
            title: self.words(&raw.title, "the title", LONGEST_TEXT)?,
            authors: authors.collect::<Result<_, _>>()?,
            year: raw.year,
            source: self.words(&raw.source, "the source", LONGEST_TEXT)?,
            measured_on: self.words(&raw.measured_on, "the machine", LONGEST_TEXT)?,
            beats: self.beats(raw.core_ghz.as_ref())?,
            takes,
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

    /// What a machine of then had as its cycle; its counter ran with it, where it had one.
    fn beats(&self, raw: Option<&Spanned<f64>>) -> Result<Beats, ParseError> {
        let Some(raw) = raw else { return Ok(Beats::default()) };
        let ghz = *raw.as_ref();
        if !GHZ.contains(&ghz) {
            let why = format!("a core has {} to {} GHz", GHZ.start(), GHZ.end());
            return Err(self.refused(raw, why));
        }
        Ok(Beats { core_ghz: Some(ghz), ticks_per_ns: Some(ghz) })
    }

    fn runs(&self, raw: &Spanned<usize>) -> Result<usize, ParseError> {
        let runs = *raw.as_ref();
        if RUNS.contains(&runs) {
            return Ok(runs);
        }
        Err(self.refused(raw, format!("a study has {} to {} runs", RUNS.start(), RUNS.end())))
    }

    fn protocol(&self, raw: &raw::Protocol, compares: bool) -> Result<Protocol, ParseError> {
        let statistic = raw.statistic.as_ref();
        let study_method = match (compares, &raw.runs) {
            (true, None) => {
                let why = "a study with two columns has `runs`, and their mean and deviation";
                return Err(self.refused(&raw.statistic, why));
            }
            (true, Some(_)) => {
                let alone = raw.timed.is_none()
                    && raw.iterations.is_none()
                    && raw.experiments.is_none()
                    && raw.overhead.is_none();
                if *statistic != RawStatistic::MeanAndDeviation || !alone {
                    let why = "a study with two columns has `runs`, and `statistic = \
                               \"mean-and-deviation\"` of them, and no more";
                    return Err(self.refused(&raw.statistic, why));
                }
                None
            }
            (false, _) => self.study_method(
                None,
                &Otherwise {
                    timed: &raw.timed,
                    iterations: &raw.iterations,
                    experiments: &raw.experiments,
                    statistic: Some(&raw.statistic),
                    overhead: raw.overhead,
                },
            )?,
        };
        Ok(Protocol {
            runs: raw.runs.as_ref().map_or(Ok(USUAL_RUNS), |it| self.runs(it))?,
            study_method,
            there: self.words(&raw.there, "what the study did", LONGEST_TEXT)?,
            here: self.words(&raw.here, "what is done here", LONGEST_TEXT)?,
        })
    }

    /// How a row is timed: as its protocol says, but for what it says otherwise.
    fn study_method(
        &self,
        usual: Option<StudyMethod>,
        raw: &Otherwise<'_>,
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
        let study_method = match usual {
            Some(usual) => Some(StudyMethod {
                timed: timed.unwrap_or(usual.timed),
                iterations: iterations.unwrap_or(usual.iterations),
                experiments: experiments.unwrap_or(usual.experiments),
                statistic: statistic.unwrap_or(usual.statistic),
                clock: clock.unwrap_or(usual.clock),
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
            let why = "a manner has timed, iterations, experiments, statistic and overhead";
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
        Err(self.refused(raw, format!("there are {} to {} {what}", range.start(), range.end())))
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
        let name = self.words(&raw.name, "a column's name", LONGEST_FIGURE)?;
        let target = self.words(&raw.target, "a place", LONGEST_TEXT)?;
        if let Err(error) = Target::parse(&target) {
            let why = display_text(&error.to_string(), LONGEST_TEXT);
            return Err(self.refused(&raw.target, why));
        }
        Ok(Column { name, target })
    }

    fn condition(&self, raw: &raw::Condition) -> Result<Condition, ParseError> {
        let says = self.words(&raw.says, "a condition", LONGEST_TEXT)?;
        Ok(Condition { says, asks: raw.kind.asks() })
    }

    fn notes(&self, of: &Spanned<String>, raw: &[raw::Note]) -> Result<Vec<Note>, ParseError> {
        if raw.len() > MOST_NOTES {
            return Err(self.refused(of, format!("it has more than {MOST_NOTES} notes")));
        }
        let one = |raw: &raw::Note| {
            let when = match raw.when {
                None => When::Always,
                Some(RawWhen::NoCalls) => When::NoCalls,
            };
            Ok(Note { when, says: self.words(&raw.says, "a note", LONGEST_TEXT)? })
        };
        raw.iter().map(one).collect()
    }
}

fn is_kebab(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

#[cfg(test)]
mod tests;
