//! Reads a data set: its own, or one that another program has written from it. All of it is
//! untrusted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use oscost_model::facts::Facts;
use oscost_model::fleet::{is_fleet_name, is_node_name};
use oscost_model::record::Machine;
use oscost_model::unit::{Better, Unit};
use oscost_model::untrusted_text::{display_text, is_control};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use serde::Deserialize;
use serde::de::value::{Error as UnknownValue, StrDeserializer};

use super::columns::{
    BETTER, CASE, CLASS_TEXT, FACTS, FAMILY, FLEET, LOG_ERROR, MEDIAN, NODE, NOT_CLAIMABLE,
    NUMA_NODE, REV, RUN, STARTED, UNIT,
};
use super::contained::{cannot_read, contained};
use crate::advice::classes::without_clock_source;
use crate::advice::machine_facts::machine_facts;
use crate::app::error::UsageError;
use crate::app::fleet::builder::{FleetBuilder, Visit};
use crate::files::input_file;
use crate::fleet::{CaseFigure, Fleet, FleetCase, FleetFact, LOST_TIME, STOLEN_TIME, USE_OF_NODE};

/// A file of a year of daily parts for ten classes has fewer.
const MAX_FILES: usize = 10_000;
/// The columns of a row group are in memory; DuckDB writes an eighth of that.
const MAX_LINES_OF_GROUP: i64 = 1 << 20;
/// Ten thousand nodes with thirty visits of a hundred cases.
const MAX_LINES: i64 = 30_000_000;
/// The description of thousands of row groups.
const MAX_METADATA_BYTES: u32 = 4 << 20;
/// The longest text but the facts.
const MAX_TEXT_BYTES: usize = 4 << 10;
/// The longest facts of a node.
const MAX_FACTS_BYTES: usize = 64 << 10;
/// The last millisecond of the year 9999.
const MAX_TIME_MS: i64 = 253_402_300_799_999;

/// What says nothing is concluded from a visit.
const NOT_CLAIMABLE_TEXTS: [&str; 2] = ["is very noisy", "has a clock that drifted"];

/// Reads the fleet of a data set: a folder of parts, or one file.
pub fn read_data_set(path: &Path) -> anyhow::Result<Fleet> {
    let files = match path.is_dir() {
        true => parts_of(path)?,
        false => vec![path.to_owned()],
    };
    let mut reading = Reading::default();
    for file in &files {
        reading.read_file(file).with_context(|| cannot_read(file))?;
    }
    let Some(name) = reading.fleet.take() else {
        let what = format!("cannot read the data set {}: it has no figures", path.display());
        let hint = "`oscost fleet report FLEET --data-set FOLDER` writes one";
        return Err(UsageError::with_hint(&what, hint).into());
    };
    Ok(reading.finish(&name))
}

/// The files of a data set's folder, in order: `day=*/class=*/*.parquet`. Links are not followed.
pub(super) fn parts_of(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for day in entries(folder, "day=")? {
        for class in entries(&day, "class=")? {
            for part in entries(&class, "")? {
                let is_part = part.extension().is_some_and(|ending| ending == "parquet")
                    && part.symlink_metadata().is_ok_and(|it| it.is_file());
                found.extend(is_part.then_some(part));
            }
        }
        ensure!(
            found.len() <= MAX_FILES,
            "cannot read the data set {}: it has more than {MAX_FILES} files\n  hint: `oscost fleet \
             report FLEET --data-set FOLDER` writes one into a new folder",
            folder.display()
        );
    }
    Ok(found)
}

/// Refuses a file whose end announces metadata that are too long: the reader allocates some hundred
/// bytes for each of them. What is no Parquet file is left to the reader.
fn check_length_of_metadata(mut file: &File) -> anyhow::Result<()> {
    let mut end = [0; 8];
    if file.seek(SeekFrom::End(-8)).is_err() {
        return Ok(());
    }
    file.read_exact(&mut end)?;
    let [a, b, c, d, ..] = end;
    let length = u32::from_le_bytes([a, b, c, d]);
    ensure!(
        !end.ends_with(b"PAR1") || length <= MAX_METADATA_BYTES,
        "its metadata have {length} bytes, the maximum is {MAX_METADATA_BYTES}"
    );
    Ok(())
}

/// What a folder has whose name begins so, in order; nothing if it is no folder.
fn entries(folder: &Path, prefix: &str) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.symlink_metadata().is_ok_and(|it| it.is_dir()) {
        return Ok(Vec::new());
    }
    let named = || format!("cannot list {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(named)? {
        let entry = entry.with_context(named)?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix)) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    fleet: Option<String>,
    builder: FleetBuilder,
    visits: BTreeMap<String, Visit>,
    fact_names: FactNames,
    lines: i64,
}

/// The facts that this program knows.
struct FactNames(Vec<&'static str>);

impl Default for FactNames {
    fn default() -> Self {
        let machine = Machine::new("m0", Facts::default(), Vec::new());
        let of_machine = machine_facts(&machine, None).into_iter().map(|fact| fact.name);
        Self(of_machine.chain([STOLEN_TIME, LOST_TIME, USE_OF_NODE]).collect())
    }
}

/// The columns of a row group.
struct Group {
    fleet: Vec<Option<ByteArray>>,
    node: Vec<Option<ByteArray>>,
    class: Vec<Option<ByteArray>>,
    run: Vec<Option<ByteArray>>,
    started: Vec<Option<i64>>,
    not_claimable: Vec<Option<ByteArray>>,
    numa_node: Vec<Option<i64>>,
    case: Vec<Option<ByteArray>>,
    family: Vec<Option<ByteArray>>,
    unit: Vec<Option<ByteArray>>,
    better: Vec<Option<ByteArray>>,
    rev: Vec<Option<i64>>,
    median: Vec<Option<f64>>,
    log_error: Vec<Option<f64>>,
    facts: Vec<Option<ByteArray>>,
}

impl Reading {
    fn read_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let file: File = input_file::open(path)?;
        check_length_of_metadata(&file)?;
        let file = contained(path, || Ok(SerializedFileReader::new(file)?))?;
        for at in 0..file.num_row_groups() {
            let lines = file.metadata().row_group(at).num_rows();
            ensure!(
                (0..=MAX_LINES_OF_GROUP).contains(&lines),
                "a row group has {lines} lines, the maximum is {MAX_LINES_OF_GROUP}"
            );
            self.lines += lines;
            ensure!(self.lines <= MAX_LINES, "it has more than {MAX_LINES} lines");
            let group = contained(path, || Group::read(&*file.get_row_group(at)?, lines as usize))?;
            for line in 0..lines as usize {
                self.add(&group, line).with_context(|| format!("line {line} of row group {at}"))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, group: &Group, line: usize) -> anyhow::Result<()> {
        let fleet = text(&group.fleet, line, FLEET)?;
        match &self.fleet {
            None => {
                ensure!(is_fleet_name(fleet), "`{FLEET}` is no name of a fleet");
                self.fleet = Some(fleet.to_owned());
            }
            Some(known) => ensure!(known == fleet, "it is of another fleet than the first line"),
        }
        let case = self.case(group, line)?;
        let median = group.median[line].context("`median` is missing")?;
        ensure!(median.is_finite() && median > 0.0, "`{MEDIAN}` is not above 0");
        let log_error = group.log_error[line].unwrap_or(f64::NAN);
        ensure!(log_error.is_nan() || log_error >= 0.0, "`{LOG_ERROR}` is below 0");
        let figure = CaseFigure { case, median, log_error: log_error as f32 };
        let run = text(&group.run, line, RUN)?;
        if !self.visits.contains_key(run) {
            let visit = self.visit(group, line, run)?;
            self.visits.insert(run.to_owned(), visit);
        }
        let facts = match &group.facts[line] {
            Some(json) => Some(self.facts(json.data())?),
            None => None,
        };
        let Some(visit) = self.visits.get_mut(run) else { bail!("its visit is missing") };
        visit.figures.push(figure);
        if let Some(facts) = facts {
            visit.facts = facts;
        }
        Ok(())
    }

    fn case(&mut self, group: &Group, line: usize) -> anyhow::Result<u32> {
        let unit = text(&group.unit, line, UNIT)?;
        let better = text(&group.better, line, BETTER)?;
        let rev = group.rev[line].with_context(|| format!("`{REV}` is missing"))?;
        let case = FleetCase {
            case: text(&group.case, line, CASE)?.to_owned(),
            family: text(&group.family, line, FAMILY)?.to_owned(),
            unit: known::<Unit>(unit).with_context(|| unknown(UNIT, unit))?,
            better: known::<Better>(better).with_context(|| unknown(BETTER, better))?,
            rev: u32::try_from(rev).with_context(|| format!("`{REV}` is no revision"))?,
        };
        self.builder.case(case).map_err(anyhow::Error::msg)
    }

    /// The visit of a line, without figures.
    fn visit(&mut self, group: &Group, line: usize, run: &str) -> anyhow::Result<Visit> {
        let node = text(&group.node, line, NODE)?;
        ensure!(is_node_name(node), "`{NODE}` is no name of a node");
        let ms = group.started[line].context("`started` is missing")?;
        ensure!((0..=MAX_TIME_MS).contains(&ms), "`{STARTED}` is no time");
        let not_claimable = match &group.not_claimable[line] {
            None => None,
            Some(_) => Some(not_claimable(text(&group.not_claimable, line, NOT_CLAIMABLE)?)),
        };
        let numa_node = group.numa_node[line].map(u32::try_from).transpose();
        let numa_node = numa_node.with_context(|| format!("`{NUMA_NODE}` is no number of one"))?;
        Ok(Visit {
            node: node.to_owned(),
            run: run.to_owned(),
            started_s: ms as f64 / 1e3,
            class: self.builder.text(&without_clock_source(text(&group.class, line, CLASS_TEXT)?)),
            facts: self.facts(b"{}")?,
            not_claimable,
            numa_node,
            figures: Vec::new(),
        })
    }

    /// The facts of a JSON object, in the order of this program.
    fn facts(&mut self, json: &[u8]) -> anyhow::Result<Vec<FleetFact>> {
        ensure!(json.len() <= MAX_FACTS_BYTES, "`{FACTS}` has more than {MAX_FACTS_BYTES} bytes");
        let found: BTreeMap<String, Option<String>> = serde_json::from_slice(json)
            .map_err(|_| anyhow::Error::msg("`facts` is no JSON object"))?;
        let mut facts = Vec::with_capacity(self.fact_names.0.len());
        for &name in &self.fact_names.0 {
            let value = found.get(name).and_then(Option::as_deref);
            ensure!(value.is_none_or(is_printable), "`{FACTS}` has control characters");
            facts.push(FleetFact { name, value: value.map(|value| self.builder.text(value)) });
        }
        Ok(facts)
    }

    fn finish(self, name: &str) -> Fleet {
        let Self { mut builder, visits, .. } = self;
        for mut visit in visits.into_values() {
            // A run is in two parts while the fleet is written again.
            visit.figures.sort_by_key(|figure| figure.case);
            visit.figures.dedup_by_key(|figure| figure.case);
            // Each run is there once: they are the keys.
            let _ = builder.add_visit(visit);
        }
        builder.finish(name)
    }
}

impl Group {
    fn read(group: &dyn RowGroupReader, lines: usize) -> anyhow::Result<Self> {
        let texts = |name| read_texts(group, name, lines);
        Ok(Self {
            fleet: texts(FLEET)?,
            node: texts(NODE)?,
            class: texts(CLASS_TEXT)?,
            run: texts(RUN)?,
            started: read_integers(group, STARTED, lines)?,
            not_claimable: texts(NOT_CLAIMABLE)?,
            numa_node: numa_nodes(group, lines)?,
            case: texts(CASE)?,
            family: texts(FAMILY)?,
            unit: texts(UNIT)?,
            better: texts(BETTER)?,
            rev: read_integers(group, REV, lines)?,
            median: read_floats(group, MEDIAN, lines)?,
            log_error: read_floats(group, LOG_ERROR, lines)?,
            facts: texts(FACTS)?,
        })
    }
}

/// The column of NUMA nodes, which older data sets lack.
fn numa_nodes(group: &dyn RowGroupReader, lines: usize) -> anyhow::Result<Vec<Option<i64>>> {
    let metadata = group.metadata();
    let is_it = |at: usize| metadata.column(at).column_descr().name() == NUMA_NODE;
    match (0..metadata.num_columns()).any(is_it) {
        true => read_integers(group, NUMA_NODE, lines),
        false => Ok(vec![None; lines]),
    }
}

/// Finds a column by its name.
fn column(group: &dyn RowGroupReader, name: &str) -> anyhow::Result<ColumnReader> {
    let metadata = group.metadata();
    let is_it = |at: &usize| {
        let column = metadata.column(*at).column_descr();
        column.name() == name && column.max_rep_level() == 0 && column.max_def_level() <= 1
    };
    let at = (0..metadata.num_columns()).find(is_it);
    let at = at.with_context(|| format!("it has no column `{name}`"))?;
    Ok(group.get_column_reader(at)?)
}

/// The values of a column that may be missing, by their definition levels; without levels none is.
fn spread<T>(values: Vec<T>, levels: &[i16], lines: usize) -> Option<Vec<Option<T>>> {
    if levels.is_empty() {
        return (values.len() == lines).then(|| values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    let spread = levels.iter().map(|level| if *level > 0 { values.next() } else { None });
    let spread: Vec<Option<T>> = spread.collect();
    (spread.len() == lines && values.next().is_none()).then_some(spread)
}

macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident: $reader:ident => $value:ty;)*) => {$(
        $(#[$doc])*
        fn $name(
            group: &dyn RowGroupReader,
            name: &str,
            lines: usize,
        ) -> anyhow::Result<Vec<Option<$value>>> {
            let ColumnReader::$reader(mut reader) = column(group, name)? else {
                bail!("the column `{name}` has another type");
            };
            let (mut values, mut levels) = (Vec::new(), Vec::new());
            reader.read_records(lines, Some(&mut levels), None, &mut values)?;
            spread(values, &levels, lines)
                .with_context(|| format!("the column `{name}` has not {lines} lines"))
        }
    )*};
}

reads! {
    /// Reads a column of texts.
    read_texts: ByteArrayColumnReader => ByteArray;
    /// Reads a column of numbers.
    read_floats: DoubleColumnReader => f64;
    /// Reads a column of whole numbers or times.
    read_integers: Int64ColumnReader => i64;
}

/// The text of a cell.
fn text<'a>(column: &'a [Option<ByteArray>], line: usize, name: &str) -> anyhow::Result<&'a str> {
    let cell = column[line].as_ref().with_context(|| format!("`{name}` is missing"))?;
    let text = std::str::from_utf8(cell.data()).ok().filter(|text| is_printable(text));
    let text = text.with_context(|| format!("`{name}` has control characters"))?;
    ensure!(text.len() <= MAX_TEXT_BYTES, "`{name}` has more than {MAX_TEXT_BYTES} bytes");
    Ok(text)
}

fn is_printable(text: &str) -> bool {
    !text.chars().any(|letter| is_control(letter) && letter != '\n' && letter != '\t')
}

/// A value as the record spells it; `None` if this program does not know it.
fn known<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<UnknownValue>::new(text)).ok()
}

fn unknown(column: &str, found: &str) -> String {
    format!("`{column}` is unknown: {}", display_text(found, 40))
}

/// Why nothing is concluded from a visit, in this program's words.
fn not_claimable(text: &str) -> &'static str {
    let known = NOT_CLAIMABLE_TEXTS.into_iter().find(|known| *known == text);
    known.unwrap_or("is marked as one that supports no claim")
}

#[cfg(test)]
mod tests;
