//! Parses what relates a study to others: the systems that it compares, and the acts of its rows.

use oscost_model::untrusted_text::{ParseError, display_text};
use toml::Spanned;

use super::limits::{MAX_NAME_CHARS, MAX_SINGLE_FIGURE_CHARS, MAX_SYSTEMS, MAX_TEXT_CHARS};
use super::raw;
use super::reader::Reader;
use crate::studies::figures::published_figure::PublishedFigure;
use crate::studies::figures::unit::TableUnit;
use crate::studies::history::acts::{ACTS, Act, find_act};
use crate::studies::study::{Table, TableRow};
use crate::studies::system::{System, SystemFigure, Systems, TableSystems};

impl Reader<'_> {
    /// The systems of a study, and the one that stands for it.
    pub(super) fn systems(&self, raw: &raw::Study) -> Result<Systems, ParseError> {
        if raw.systems.is_empty() {
            return match &raw.reference_system {
                Some(name) => Err(self.error(name, "a reference system needs systems")),
                None => Ok(Systems::default()),
            };
        }
        self.bounded("systems", &raw.systems, 2, MAX_SYSTEMS)?;
        if let Some(ghz) = &raw.core_ghz {
            return Err(self.error(ghz, "a study of several systems has core-ghz in each of them"));
        }
        let mut list: Vec<System> = Vec::new();
        for it in &raw.systems {
            let system = System {
                name: self.text_line(&it.name, "a system's name", MAX_NAME_CHARS)?,
                description: self.text_line(&it.description, "a description", MAX_TEXT_CHARS)?,
                year: it.year,
                clock_rates: self.clock_rates(it.core_ghz.as_ref())?,
            };
            if list.iter().any(|other| other.name == system.name) {
                return Err(self.error(&it.name, "two systems have the same name"));
            }
            list.push(system);
        }
        let Some(name) = &raw.reference_system else {
            let why = "a study of several systems needs reference-system, the name of one";
            return Err(self.error(&raw.systems[0].name, why));
        };
        let reference = self.system_index(&list, name, name.as_ref())?;
        Ok(Systems { list, reference })
    }

    fn system_index<T>(
        &self,
        systems: &[System],
        at: &Spanned<T>,
        name: &str,
    ) -> Result<usize, ParseError> {
        let found = systems.iter().position(|system| system.name == name);
        found.ok_or_else(|| {
            self.error(at, format!("`{}` is not a system of the study", display_text(name, 60)))
        })
    }

    /// Adds to each table the figures of its systems; those of the reference system become the
    /// published figures of its rows.
    pub(super) fn add_systems(
        &self,
        raw: &raw::Study,
        systems: &Systems,
        tables: &mut [Table],
    ) -> Result<(), ParseError> {
        for (raw, table) in raw.tables.iter().zip(tables) {
            if let Some(names) = &raw.systems {
                self.add_table_systems(raw, names, systems, table)?;
            } else if let Some(row) = raw.rows.iter().find_map(|row| row.by_system.as_ref()) {
                return Err(self.error(row, "by-system needs the table's systems"));
            }
        }
        Ok(())
    }

    fn add_table_systems(
        &self,
        raw: &raw::Table,
        names: &Spanned<Vec<String>>,
        systems: &Systems,
        table: &mut Table,
    ) -> Result<(), ParseError> {
        if table.figures.len() != 1 {
            let why = "a table with systems has one column";
            return Err(self.error(names, why));
        }
        let order = names.as_ref().iter().map(|name| self.system_index(&systems.list, names, name));
        let order: Vec<usize> = order.collect::<Result<_, _>>()?;
        let unit = raw.systems_unit.unwrap_or(table.figures[0].unit);
        let of_reference = order.iter().position(|at| *at == systems.reference);
        let is_same_unit = raw.systems_unit.is_none();
        for (raw, row) in raw.rows.iter().zip(&mut table.rows) {
            let Some(texts) = &raw.by_system else { continue };
            if texts.as_ref().len() != order.len() {
                let why = "by-system needs a figure for each of the table's systems";
                return Err(self.error(texts, why));
            }
            if let Some(published) = &raw.published {
                return Err(self.error(published, "a row has either published or by-system"));
            }
            let each = texts.as_ref().iter().map(|text| self.system_figure(texts, text));
            row.by_system = each.collect::<Result<_, _>>()?;
            if let Some(at) = of_reference.filter(|_| is_same_unit) {
                let reference = row.by_system[at].as_ref();
                row.published = vec![reference.and_then(|it| it.figure.clone())];
            }
        }
        table.systems = Some(TableSystems { order, unit });
        Ok(())
    }

    /// A figure, `-` for none, or `[word]` for what is printed instead of one. What is zero or less
    /// is a text.
    fn system_figure<T>(
        &self,
        at: &Spanned<T>,
        text: &str,
    ) -> Result<Option<SystemFigure>, ParseError> {
        if let Some(word) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let is_short = (1..=MAX_SINGLE_FIGURE_CHARS).contains(&word.len());
            if !is_short || !word.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                return Err(self.error(at, "a word instead of a figure has 1 to 24 characters"));
            }
            return Ok(Some(SystemFigure { text: word.to_owned(), figure: None }));
        }
        // No ratio can be made of these: -1 for a failed measurement, 0 % and less of a slowdown.
        if text.parse::<f64>().is_ok_and(|number| number <= 0.0 && number.is_finite()) {
            return Ok(Some(SystemFigure { text: text.to_owned(), figure: None }));
        }
        let figure = PublishedFigure::parse(text, MAX_SINGLE_FIGURE_CHARS);
        let figure = figure.map_err(|why| self.error(at, format!("{why}, or [word]")))?;
        Ok(figure.map(|figure| SystemFigure { text: text.to_owned(), figure: Some(figure) }))
    }

    /// Adds to rows the acts that they name.
    pub(super) fn add_acts(
        &self,
        raw: &raw::Study,
        tables: &mut [Table],
    ) -> Result<(), ParseError> {
        for (raw, table) in raw.tables.iter().zip(tables) {
            for (raw, row) in raw.rows.iter().zip(&mut table.rows) {
                let Some(key) = &raw.same_as else { continue };
                let unit = table.figures.first().map_or(row.unit, |it| it.in_row(row).unit);
                row.same_as = Some(self.act(key, row, unit)?);
            }
            for (raw, series) in raw.series.iter().zip(&table.series) {
                let Some(it) = &raw.same_as else { continue };
                let Some(at) = series.values.iter().position(|value| value == it.at.as_ref())
                else {
                    return Err(self.error(&it.at, "`at` is not a value of the series"));
                };
                let row = &mut table.rows[series.first + at];
                let unit = table.figures.first().map_or(row.unit, |it| it.in_row(row).unit);
                row.same_as = Some(self.act(&it.act, row, unit)?);
            }
        }
        Ok(())
    }

    fn act(
        &self,
        key: &Spanned<String>,
        row: &TableRow,
        unit: TableUnit,
    ) -> Result<&'static Act, ParseError> {
        if row.case().is_none() || row.peer || row.metric.is_some() {
            let why = "an act needs a case on one machine, and no metric of a program";
            return Err(self.error(key, why));
        }
        let Some(act) = find_act(key.as_ref()) else {
            let keys: Vec<&str> = ACTS.iter().map(|act| act.key).collect();
            let unknown = display_text(key.as_ref(), 40);
            let why = format!("`{unknown}` is not an act; there are {}", keys.join(", "));
            return Err(self.error(key, why));
        };
        match unit.kind() == act.kind {
            true => Ok(act),
            false => {
                Err(self
                    .error(key, format!("the act {} has no figure in {}", act.key, unit.text())))
            }
        }
    }
}
