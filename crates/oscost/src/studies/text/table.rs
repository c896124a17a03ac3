//! The tables of a study's file.

use oscost_model::case::Case;
use oscost_model::program::FAMILY;
use oscost_model::untrusted::display_text;
use toml::Spanned;

use super::raw::RawUnit;
use super::{
    LONGEST_CASE, LONGEST_FIGURE, LONGEST_FIGURE_ALONE, LONGEST_NAME, LONGEST_TEXT, Otherwise,
    ParseError, Reader, is_kebab, raw,
};
use crate::studies::formula::Formula;
use crate::studies::unit::{Kind, TableUnit};
use crate::studies::{Figure, Predicted, Protocol, Published, Series, Subject, Table, TableRow};

/// Columns of figures in a table of 80 columns.
const MOST_FIGURES: usize = 4;
/// Curves of a figure.
const MOST_SERIES: usize = 8;
/// Points of a curve.
const MOST_VALUES: usize = 40;

impl Reader<'_> {
    pub(super) fn table(
        &self,
        raw: &raw::Table,
        protocol: &Protocol,
        compares: bool,
    ) -> Result<Table, ParseError> {
        if raw.rows.is_empty() && raw.series.is_empty() {
            return Err(self.refused(&raw.name, "a table has rows"));
        }
        if compares && !(raw.figures.is_empty() && raw.series.is_empty()) {
            let why = "a table of a study with two columns has neither columns nor series";
            return Err(self.refused(&raw.name, why));
        }
        if raw.figures.len() > MOST_FIGURES || raw.series.len() > MOST_SERIES {
            let why =
                format!("a table has at most {MOST_FIGURES} columns and {MOST_SERIES} series");
            return Err(self.refused(&raw.name, why));
        }
        let unit = raw.unit.unit();
        let figures = self.figures(raw, unit, compares)?;
        let columns = if compares { 2 } else { figures.len() };
        let has_columns = !raw.figures.is_empty();
        let of = Of { unit, protocol, columns, has_columns, compares };
        let mut rows: Vec<TableRow> =
            raw.rows.iter().map(|it| self.row(it, &of)).collect::<Result<_, _>>()?;
        let mut series = Vec::new();
        for it in &raw.series {
            let (one, its) = self.series(it, &of, rows.len())?;
            series.push(one);
            rows.extend(its);
        }
        for figure in &figures {
            let known = |name: &&str| rows.iter().any(|row| row.name == *name);
            if let Some(unknown) = figure.formula.rows().into_iter().find(|name| !known(name)) {
                let why = format!(
                    "a column names the row `{}`, which it has not",
                    display_text(unknown, 60)
                );
                return Err(self.refused(&raw.name, why));
            }
        }
        Ok(Table {
            name: self.words(&raw.name, "a table's name", LONGEST_NAME)?,
            title: self.words(&raw.title, "a title", LONGEST_TEXT)?,
            unit,
            figures,
            rows,
            series,
            notes: self.notes(&raw.name, &raw.notes)?,
        })
    }

    /// What stands in its columns: the figures of its rows, where nothing is said.
    fn figures(
        &self,
        raw: &raw::Table,
        unit: TableUnit,
        compares: bool,
    ) -> Result<Vec<Figure>, ParseError> {
        if compares {
            return Ok(Vec::new());
        }
        if raw.figures.is_empty() {
            return Ok(vec![Figure { name: String::new(), unit, formula: Formula::This }]);
        }
        let one = |raw: &raw::Figure| {
            let unit = raw.unit.unit();
            let formula = match &raw.figure {
                None => Formula::This,
                Some(text) => {
                    Formula::parse(text.as_ref()).map_err(|why| self.refused(text, why))?
                }
            };
            let wanted = i32::from(unit.kind() != Kind::Plain);
            // A plain number may also be the figure of what is counted.
            let fits =
                formula.degree() == Ok(wanted) || (unit.kind() == Kind::Plain && formula.is_this());
            if !fits {
                let why = format!(
                    "its formula does not come to {}: a time or a rate has one figure as its \
                     factor, a ratio none",
                    unit.text()
                );
                return Err(self.refused(raw.figure.as_ref().unwrap_or(&raw.name), why));
            }
            Ok(Figure {
                name: self.words(&raw.name, "a column's name", LONGEST_NAME)?,
                unit,
                formula,
            })
        };
        raw.figures.iter().map(one).collect()
    }

    /// A case in full; one with its other end on another machine as it is named there.
    fn case(&self, raw: &Spanned<String>, text: String, peer: bool) -> Result<String, ParseError> {
        let Some(case) = Case::parse(&text).filter(|parsed| parsed.to_string() == text) else {
            let why =
                format!("`{}` is no case: family/name:axis=value,...", display_text(&text, 60));
            return Err(self.refused(raw, why));
        };
        let cpu = case.point.get("peer_cpu").map(ToString::to_string);
        if peer && cpu.is_some_and(|cpu| cpu != "other") {
            let why = "on another machine the other end is on another CPU: peer_cpu=other";
            return Err(self.refused(raw, why));
        }
        Ok(text)
    }

    fn row(&self, raw: &raw::Row, of: &Of<'_>) -> Result<TableRow, ParseError> {
        let subject = match (&raw.case, &raw.cannot) {
            (Some(case), None) => {
                let text = self.words(case, "a case", LONGEST_CASE)?;
                Subject::Case(self.case(case, text, raw.peer)?)
            }
            (None, Some(why)) => Subject::Nothing(self.words(why, "a reason", LONGEST_TEXT)?),
            _ => {
                let why = "a row has a case, or says in `cannot` why it has none";
                return Err(self.refused(&raw.name, why));
            }
        };
        let at = raw.case.as_ref().or(raw.cannot.as_ref()).unwrap_or(&raw.name);
        if raw.unit.is_some() && of.has_columns {
            let why = "a row of a table with columns is counted as these say";
            return Err(self.refused(&raw.name, why));
        }
        let otherwise = Otherwise {
            timed: &raw.timed,
            iterations: &raw.iterations,
            experiments: &raw.experiments,
            statistic: raw.statistic.as_ref(),
            overhead: raw.overhead,
        };
        Ok(TableRow {
            name: self.words(&raw.name, "a row's name", LONGEST_NAME)?,
            metric: raw.metric.as_ref().map(|it| self.metric(it)).transpose()?,
            peer: raw.peer,
            unit: raw.unit.map_or(of.unit, RawUnit::unit),
            runs: raw.runs.as_ref().map_or(Ok(of.protocol.runs), |it| self.runs(it))?,
            // A program is run as a whole, and has trials.
            study_method: self
                .study_method_of(&raw.name, of, &otherwise)?
                .filter(|_| !is_program(&subject)),
            line: self.line(at.span().start),
            published: self.published(raw.published.as_ref(), of)?,
            predicted: raw.predicted.as_ref().map(|it| self.predicted(it)).transpose()?,
            notes: self.notes(&raw.name, &raw.notes)?,
            subject,
        })
    }

    /// How a row is timed; of two places nothing may be said.
    fn study_method_of(
        &self,
        name: &Spanned<String>,
        of: &Of<'_>,
        otherwise: &Otherwise<'_>,
    ) -> Result<Option<oscost_model::study_method::StudyMethod>, ParseError> {
        let study_method =
            self.study_method(of.protocol.study_method, otherwise).map_err(|refusal| {
                ParseError { line: refusal.line.max(self.line(name.span().start)), ..refusal }
            })?;
        if of.compares && study_method.is_some() {
            let why = "a row of a study with two columns is timed as `runs` says";
            return Err(self.refused(name, why));
        }
        Ok(study_method)
    }

    /// A figure for each column, to the letter.
    fn published(
        &self,
        raw: Option<&Spanned<Vec<String>>>,
        of: &Of<'_>,
    ) -> Result<Vec<Option<Published>>, ParseError> {
        let Some(raw) = raw else { return Ok(vec![None; of.columns]) };
        if raw.as_ref().len() != of.columns {
            return Err(self.refused(raw, "a row has a figure for each column"));
        }
        raw.as_ref().iter().map(|text| self.figure(raw, text, of)).collect()
    }

    fn figure<T>(
        &self,
        at: &Spanned<T>,
        text: &str,
        of: &Of<'_>,
    ) -> Result<Option<Published>, ParseError> {
        let longest = if of.compares { LONGEST_FIGURE } else { LONGEST_FIGURE_ALONE };
        let figure = Published::parse(text, longest).map_err(|why| self.refused(at, why))?;
        if of.compares && figure.as_ref().is_some_and(|it| it.single().is_none()) {
            let why = "what is compared is one figure, and no range or bound";
            return Err(self.refused(at, why));
        }
        Ok(figure)
    }

    fn predicted(&self, raw: &raw::Predicted) -> Result<Predicted, ParseError> {
        let one = |raw: &Option<Spanned<String>>| match raw {
            None => Ok(None),
            Some(text) => Published::parse(text.as_ref(), LONGEST_FIGURE_ALONE)
                .map_err(|why| self.refused(text, why)),
        };
        Ok(Predicted {
            hardware: one(&raw.hardware)?,
            software: one(&raw.software)?,
            total: one(&raw.total)?,
        })
    }

    fn metric(&self, raw: &Spanned<String>) -> Result<String, ParseError> {
        let metric = self.words(raw, "a metric", LONGEST_NAME)?;
        match metric.bytes().all(is_kebab) {
            true => Ok(metric),
            false => Err(self.refused(raw, "a metric is lower-case letters, digits and dashes")),
        }
    }

    /// A curve, and its rows; `first` is where these begin among those of the table.
    fn series(
        &self,
        raw: &raw::Series,
        of: &Of<'_>,
        first: usize,
    ) -> Result<(Series, Vec<TableRow>), ParseError> {
        let name = self.words(&raw.name, "a series' name", LONGEST_NAME)?;
        let values = raw.values.as_ref();
        if !(2..=MOST_VALUES).contains(&values.len()) || !values.is_sorted_by(|a, b| a < b) {
            let why = format!("a series has 2 to {MOST_VALUES} values, ascending");
            return Err(self.refused(&raw.values, why));
        }
        let text = self.words(&raw.case, "a case", LONGEST_CASE)?;
        if text.matches("{}").count() != 1 {
            let why = "the case of a series has {} where its value stands, once";
            return Err(self.refused(&raw.case, why));
        }
        let published = match &raw.published {
            None => vec![None; values.len()],
            Some(list) if list.as_ref().len() == values.len() => {
                let each = list.as_ref().iter().map(|text| self.figure(list, text, of));
                each.collect::<Result<_, _>>()?
            }
            Some(list) => return Err(self.refused(list, "a series has a figure for each value")),
        };
        let otherwise = Otherwise {
            timed: &raw.timed,
            iterations: &raw.iterations,
            experiments: &raw.experiments,
            statistic: raw.statistic.as_ref(),
            overhead: raw.overhead,
        };
        let study_method = self.study_method_of(&raw.name, of, &otherwise)?;
        let mut rows = Vec::new();
        for (value, figure) in values.iter().zip(published) {
            let case = text.replacen("{}", &value.to_string(), 1);
            // The other columns are made of the first.
            let mut published = vec![figure];
            published.resize(of.columns, None);
            rows.push(TableRow {
                name: format!("{name} {value}"),
                subject: Subject::Case(self.case(&raw.case, case, raw.peer)?),
                metric: None,
                peer: raw.peer,
                unit: of.unit,
                runs: of.protocol.runs,
                study_method,
                line: self.line(raw.case.span().start),
                published,
                predicted: None,
                notes: Vec::new(),
            });
        }
        let series = Series {
            axis: self.words(&raw.axis, "an axis", LONGEST_NAME)?,
            values: values.clone(),
            first,
            given: raw
                .given
                .as_ref()
                .map(|it| self.words(it, "what is stated", LONGEST_TEXT))
                .transpose()?,
            name,
        };
        Ok((series, rows))
    }
}

fn is_program(subject: &Subject) -> bool {
    let family = |case: &str| case.split('/').next().is_some_and(|family| family == FAMILY);
    matches!(subject, Subject::Case(case) if family(case))
}

/// What the rows of a table share.
struct Of<'a> {
    unit: TableUnit,
    protocol: &'a Protocol,
    columns: usize,
    has_columns: bool,
    compares: bool,
}
