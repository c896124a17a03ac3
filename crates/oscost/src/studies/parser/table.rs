//! Parses the tables of a study.

use oscost_model::case::Case;
use oscost_model::untrusted_text::{ParseError, display_text};
use toml::Spanned;

use super::limits::{
    MAX_CASE_CHARS, MAX_FIGURE_CHARS, MAX_NAME_CHARS, MAX_NOTES, MAX_SINGLE_FIGURE_CHARS,
    MAX_TEXT_CHARS,
};
use super::method::MethodOverrides;
use super::raw::{self, RawNoteCondition};
use super::reader::{Reader, is_kebab};
use crate::studies::figures::formula::Formula;
use crate::studies::figures::published_figure::PublishedFigure;
use crate::studies::figures::unit::{TableUnit, UnitKind};
use crate::studies::study::{
    Figure, Note, NoteCondition, Placement, Protocol, PublishedPrediction, Series, Subject, Table,
    TableRow,
};

/// The columns of figures that fit into 80 columns.
const MAX_FIGURES: usize = 4;
/// Curves of a figure.
const MAX_SERIES: usize = 8;
/// Points of a curve.
const MAX_VALUES: usize = 40;

impl Reader<'_> {
    pub(super) fn table(
        &self,
        raw: &raw::Table,
        protocol: &Protocol,
        compares: bool,
    ) -> Result<Table, ParseError> {
        if raw.rows.is_empty() && raw.series.is_empty() {
            return Err(self.error(&raw.name, "a table needs rows"));
        }
        if compares && !(raw.figures.is_empty() && raw.series.is_empty()) {
            let why =
                "a table of a study with two columns may have no columns or series of its own";
            return Err(self.error(&raw.name, why));
        }
        if raw.figures.len() > MAX_FIGURES || raw.series.len() > MAX_SERIES {
            let why = format!("a table has at most {MAX_FIGURES} columns and {MAX_SERIES} series");
            return Err(self.error(&raw.name, why));
        }
        let unit = raw.unit;
        let figures = self.figures(raw, unit, compares)?;
        let columns = if compares { 2 } else { figures.len() };
        let has_columns = !raw.figures.is_empty();
        let context = TableContext { unit, protocol, columns, has_columns, compares };
        let mut rows: Vec<TableRow> =
            raw.rows.iter().map(|it| self.row(it, &context)).collect::<Result<_, _>>()?;
        let mut series = Vec::new();
        for it in &raw.series {
            let (one, its) = self.series(it, &context, rows.len())?;
            series.push(one);
            rows.extend(its);
        }
        for figure in &figures {
            let known = |name: &&str| rows.iter().any(|row| row.name == *name);
            if let Some(unknown) = figure.formula.rows().into_iter().find(|name| !known(name)) {
                let why = format!(
                    "a column refers to the row `{}`, which the table does not have",
                    display_text(unknown, 60)
                );
                return Err(self.error(&raw.name, why));
            }
        }
        Ok(Table {
            name: self.text_line(&raw.name, "a table's name", MAX_NAME_CHARS)?,
            title: self.text_line(&raw.title, "a title", MAX_TEXT_CHARS)?,
            unit,
            figures,
            rows,
            series,
            systems: None,
            notes: self.notes(&raw.name, &raw.notes)?,
        })
    }

    /// The columns of a table; by default one column with the figures of its rows.
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
            let unit = raw.unit;
            let formula = match &raw.figure {
                None => Formula::This,
                Some(text) => Formula::parse(text.as_ref()).map_err(|why| self.error(text, why))?,
            };
            let required = i32::from(unit.kind() != UnitKind::Plain);
            // A plain number may also be a count.
            let fits = formula.degree() == Ok(required)
                || (unit.kind() == UnitKind::Plain && formula.is_own_figure());
            if !fits {
                let why = format!(
                    "its formula does not give a figure in {}: a time or a rate has one figure as \
                     factor, a ratio none",
                    unit.text()
                );
                return Err(self.error(raw.figure.as_ref().unwrap_or(&raw.name), why));
            }
            Ok(Figure {
                name: self.text_line(&raw.name, "a column's name", MAX_NAME_CHARS)?,
                unit,
                formula,
            })
        };
        raw.figures.iter().map(one).collect()
    }

    /// Checks a case; a case with a remote peer must have `peer_cpu=other`.
    fn case(&self, raw: &Spanned<String>, text: String, peer: bool) -> Result<String, ParseError> {
        let Some(case) = Case::parse(&text).filter(|parsed| parsed.to_string() == text) else {
            let why = format!(
                "`{}` is not a case: expected family/name:axis=value,...",
                display_text(&text, 60)
            );
            return Err(self.error(raw, why));
        };
        let cpu = case.point.get("peer_cpu").map(ToString::to_string);
        if peer && cpu.is_some_and(|cpu| cpu != "other") {
            let why = "a peer on another machine needs peer_cpu=other";
            return Err(self.error(raw, why));
        }
        Ok(text)
    }

    fn row(&self, raw: &raw::Row, context: &TableContext<'_>) -> Result<TableRow, ParseError> {
        let subject = match (&raw.case, &raw.unmeasurable) {
            (Some(case), None) => {
                let text = self.text_line(case, "a case", MAX_CASE_CHARS)?;
                Subject::Case(self.case(case, text, raw.peer)?)
            }
            (None, Some(why)) => {
                Subject::Unmeasurable(self.text_line(why, "a reason", MAX_TEXT_CHARS)?)
            }
            _ => {
                let why = "a row needs either `case`, or `unmeasurable` with the reason";
                return Err(self.error(&raw.name, why));
            }
        };
        let at = raw.case.as_ref().or(raw.unmeasurable.as_ref()).unwrap_or(&raw.name);
        if raw.unit.is_some() && context.has_columns {
            let why = "a row of a table with columns may not have its own unit";
            return Err(self.error(&raw.name, why));
        }
        let overrides = MethodOverrides {
            timed: &raw.timed,
            iterations: &raw.iterations,
            experiments: &raw.experiments,
            statistic: raw.statistic.as_ref(),
            overhead: raw.overhead,
        };
        Ok(TableRow {
            name: self.text_line(&raw.name, "a row's name", MAX_NAME_CHARS)?,
            metric: raw.metric.as_ref().map(|it| self.metric(it)).transpose()?,
            peer: raw.peer,
            placement: Placement::Stated,
            unit: raw.unit.unwrap_or(context.unit),
            runs: raw.runs.as_ref().map_or(Ok(context.protocol.runs), |it| self.runs(it))?,
            // A program has trials instead.
            study_method: self
                .study_method_of(&raw.name, context, &overrides)?
                .filter(|_| !subject.is_program()),
            line: self.line(at.span().start),
            published: self.published(raw.published.as_ref(), context)?,
            by_system: Vec::new(),
            same_as: None,
            predicted: raw.predicted.as_ref().map(|it| self.predicted(it)).transpose()?,
            notes: self.notes(&raw.name, &raw.notes)?,
            subject,
        })
    }

    /// The method of a row; a study of two targets has none.
    fn study_method_of(
        &self,
        name: &Spanned<String>,
        context: &TableContext<'_>,
        overrides: &MethodOverrides<'_>,
    ) -> Result<Option<oscost_model::study_method::StudyMethod>, ParseError> {
        let study_method =
            self.study_method(context.protocol.study_method, overrides).map_err(|refusal| {
                ParseError { line: refusal.line.max(self.line(name.span().start)), ..refusal }
            })?;
        if context.compares && study_method.is_some() {
            let why = "a row of a study with two columns may not have its own method";
            return Err(self.error(name, why));
        }
        Ok(study_method)
    }

    /// The published figures, one for each column.
    fn published(
        &self,
        raw: Option<&Spanned<Vec<String>>>,
        context: &TableContext<'_>,
    ) -> Result<Vec<Option<PublishedFigure>>, ParseError> {
        let Some(raw) = raw else { return Ok(vec![None; context.columns]) };
        if raw.as_ref().len() != context.columns {
            return Err(self.error(raw, "a row needs a figure for each column"));
        }
        raw.as_ref().iter().map(|text| self.figure(raw, text, context)).collect()
    }

    fn figure<T>(
        &self,
        at: &Spanned<T>,
        text: &str,
        context: &TableContext<'_>,
    ) -> Result<Option<PublishedFigure>, ParseError> {
        let max_chars = if context.compares { MAX_FIGURE_CHARS } else { MAX_SINGLE_FIGURE_CHARS };
        let figure = PublishedFigure::parse(text, max_chars).map_err(|why| self.error(at, why))?;
        if context.compares && figure.as_ref().is_some_and(|it| it.single().is_none()) {
            let why = "a compared figure may not be a range or a bound";
            return Err(self.error(at, why));
        }
        Ok(figure)
    }

    fn predicted(&self, raw: &raw::RawPrediction) -> Result<PublishedPrediction, ParseError> {
        let one = |raw: &Option<Spanned<String>>| match raw {
            None => Ok(None),
            Some(text) => PublishedFigure::parse(text.as_ref(), MAX_SINGLE_FIGURE_CHARS)
                .map_err(|why| self.error(text, why)),
        };
        Ok(PublishedPrediction {
            hardware: one(&raw.hardware)?,
            software: one(&raw.software)?,
            total: one(&raw.total)?,
        })
    }

    fn metric(&self, raw: &Spanned<String>) -> Result<String, ParseError> {
        let metric = self.text_line(raw, "a metric", MAX_NAME_CHARS)?;
        match metric.bytes().all(is_kebab) {
            true => Ok(metric),
            false => {
                Err(self.error(raw, "a metric consists of lower-case letters, digits and dashes"))
            }
        }
    }

    /// A series and its rows; `first` is the index of its first row in the table.
    fn series(
        &self,
        raw: &raw::Series,
        context: &TableContext<'_>,
        first: usize,
    ) -> Result<(Series, Vec<TableRow>), ParseError> {
        let name = self.text_line(&raw.name, "a series' name", MAX_NAME_CHARS)?;
        let values = raw.values.as_ref();
        if !(2..=MAX_VALUES).contains(&values.len()) || !values.is_sorted_by(|a, b| a < b) {
            let why = format!("a series needs 2 to {MAX_VALUES} ascending values");
            return Err(self.error(&raw.values, why));
        }
        let text = self.text_line(&raw.case, "a case", MAX_CASE_CHARS)?;
        if text.matches("{}").count() != 1 {
            let why = "the case of a series needs `{}` once, in place of its value";
            return Err(self.error(&raw.case, why));
        }
        let published = match &raw.published {
            None => vec![None; values.len()],
            Some(list) if list.as_ref().len() == values.len() => {
                let each = list.as_ref().iter().map(|text| self.figure(list, text, context));
                each.collect::<Result<_, _>>()?
            }
            Some(list) => return Err(self.error(list, "a series needs a figure for each value")),
        };
        let overrides = MethodOverrides {
            timed: &raw.timed,
            iterations: &raw.iterations,
            experiments: &raw.experiments,
            statistic: raw.statistic.as_ref(),
            overhead: raw.overhead,
        };
        let study_method = self.study_method_of(&raw.name, context, &overrides)?;
        let runs = raw.runs.as_ref().map_or(Ok(context.protocol.runs), |it| self.runs(it))?;
        let mut rows = Vec::new();
        for (value, figure) in values.iter().zip(published) {
            let case = text.replacen("{}", &value.to_string(), 1);
            // The other columns are computed from the first.
            let mut published = vec![figure];
            published.resize(context.columns, None);
            let subject = Subject::Case(self.case(&raw.case, case, raw.peer)?);
            rows.push(TableRow {
                name: format!("{name} {value}"),
                study_method: study_method.filter(|_| !subject.is_program()),
                subject,
                metric: None,
                peer: raw.peer,
                placement: Placement::Stated,
                unit: context.unit,
                runs,
                line: self.line(raw.case.span().start),
                published,
                by_system: Vec::new(),
                same_as: None,
                predicted: None,
                notes: Vec::new(),
            });
        }
        let series = Series {
            axis: self.text_line(&raw.axis, "an axis", MAX_NAME_CHARS)?,
            values: values.clone(),
            first,
            placement: Placement::Stated,
            given: raw
                .statement
                .as_ref()
                .map(|it| self.text_line(it, "a statement", MAX_TEXT_CHARS))
                .transpose()?,
            name,
        };
        Ok((series, rows))
    }

    fn notes(&self, of: &Spanned<String>, raw: &[raw::Note]) -> Result<Vec<Note>, ParseError> {
        if raw.len() > MAX_NOTES {
            return Err(self.error(of, format!("it has more than {MAX_NOTES} notes")));
        }
        let one = |raw: &raw::Note| {
            let when = match raw.when {
                None => NoteCondition::Always,
                Some(RawNoteCondition::NoCalls) => NoteCondition::NoCalls,
            };
            let text = self.text_line(&raw.text, "a note", MAX_TEXT_CHARS)?;
            Ok(Note { when, differs: raw.differs, text })
        };
        raw.iter().map(one).collect()
    }
}

/// Properties of a table that its rows need.
struct TableContext<'a> {
    unit: TableUnit,
    protocol: &'a Protocol,
    columns: usize,
    has_columns: bool,
    compares: bool,
}
