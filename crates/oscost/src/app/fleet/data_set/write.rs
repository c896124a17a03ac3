//! Writes a data set.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use oscost_model::fleet::is_fleet_name;
use oscost_model::hash;
use oscost_model::unit::Better;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::columns::{
    BETTER, CASE, CLASS_TEXT, COLUMNS, Column, FACTS, FAMILY, FLEET, Kind, LOG_ERROR, MEDIAN, NODE,
    NOT_CLAIMABLE, NUMA_NODE, REV, RUN, STARTED, UNIT, VISIT,
};
use crate::app::error::UsageError;
use crate::files::output_file;
use crate::fleet::{CaseFigure, Fleet, FleetCase, FleetNode, NodeVisit};

/// How many visits a file has: with a hundred cases each, its columns take some 100 MB in memory.
const VISITS_OF_PART: usize = 2_000;

/// How many letters of the hash of a class its folder has.
const HASH_LETTERS: usize = 12;

/// Writes the figures of a fleet into a folder, which is made if there is none. Older parts of the
/// same fleet are removed when all new ones are there; what else is there stays.
pub fn write_data_set(fleet: &Fleet, folder: &Path) -> anyhow::Result<()> {
    if !is_fleet_name(&fleet.name) {
        let what = format!("cannot name a data set `{}`", fleet.name.escape_debug());
        let hint = "a fleet's name has letters, digits, `_`, `.` and `-`";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    let fail = |path: &Path| format!("cannot write {}", path.display());
    let mut written = BTreeSet::new();
    for (partition, visits) in partitions(fleet) {
        let place = folder.join(partition);
        fs::create_dir_all(&place).with_context(|| fail(&place))?;
        for part in visits.chunks(VISITS_OF_PART) {
            let path = place.join(part_name(fleet, part));
            let bytes = part_bytes(fleet, part).with_context(|| fail(&path))?;
            output_file::write(&path, &bytes).with_context(|| fail(&path))?;
            written.insert(path);
        }
    }
    fs::create_dir_all(folder).with_context(|| fail(folder))?;
    for old in super::read::parts_of(folder)? {
        let is_of_fleet = old
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(&part_prefix(fleet)));
        if is_of_fleet && !written.contains(&old) {
            fs::remove_file(&old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
    }
    Ok(())
}

/// A visit with its number.
#[derive(Clone, Copy)]
struct NumberedVisit<'a> {
    visit: &'a NodeVisit,
    number: usize,
}

/// The visits of each folder, in their order.
fn partitions(fleet: &Fleet) -> BTreeMap<PathBuf, Vec<NumberedVisit<'_>>> {
    let mut found: BTreeMap<PathBuf, Vec<NumberedVisit<'_>>> = BTreeMap::new();
    let mut numbers = vec![0; fleet.nodes.len()];
    let mut hashes: BTreeMap<&str, String> = BTreeMap::new();
    for visit in &fleet.visits {
        let Some(node) = fleet.nodes.get(visit.node) else { continue };
        let number = numbers[visit.node];
        numbers[visit.node] += 1;
        let hash = hashes.entry(&node.class).or_insert_with(|| {
            hash::content(node.class.as_bytes()).chars().take(HASH_LETTERS).collect()
        });
        let time = UNIX_EPOCH + Duration::try_from_secs_f64(visit.started_s).unwrap_or_default();
        let time = humantime::format_rfc3339_seconds(time).to_string();
        let day = time.split('T').next().unwrap_or_default();
        let partition = PathBuf::from(format!("day={day}")).join(format!("class={hash}"));
        found.entry(partition).or_default().push(NumberedVisit { visit, number });
    }
    found
}

fn part_prefix(fleet: &Fleet) -> String {
    format!("part-{}~", fleet.name)
}

fn part_name(fleet: &Fleet, visits: &[NumberedVisit<'_>]) -> String {
    let runs: BTreeSet<&str> = visits.iter().map(|it| it.visit.run.as_str()).collect();
    let end = |run: Option<&&str>| run.copied().unwrap_or_default().to_owned();
    format!("{}{}-{}.parquet", part_prefix(fleet), end(runs.first()), end(runs.last()))
}

/// A line of a data set.
#[derive(Clone, Copy)]
struct Line<'a> {
    fleet: &'a str,
    node: &'a FleetNode,
    visit: NumberedVisit<'a>,
    case: &'a FleetCase,
    figure: CaseFigure,
    /// The facts, in the first line of a visit.
    facts: Option<&'a str>,
}

fn part_bytes(fleet: &Fleet, visits: &[NumberedVisit<'_>]) -> anyhow::Result<Vec<u8>> {
    let facts: BTreeMap<usize, String> =
        visits.iter().map(|it| (it.visit.node, facts_json(&fleet.nodes[it.visit.node]))).collect();
    let mut lines = Vec::new();
    for visit in visits {
        let node = &fleet.nodes[visit.visit.node];
        for (at, figure) in visit.visit.figures.iter().enumerate() {
            let Some(case) = fleet.cases.get(figure.case as usize) else { continue };
            let facts = facts.get(&visit.visit.node).filter(|_| at == 0).map(String::as_str);
            let fleet = &fleet.name;
            lines.push(Line { fleet, node, visit: *visit, case, figure: *figure, facts });
        }
    }
    Ok(file(&lines)?)
}

/// The facts of a node as a JSON object in their order.
fn facts_json(node: &FleetNode) -> String {
    let texts = node.facts.iter().map(|fact| {
        let value = fact.value.as_deref().map_or(serde_json::Value::Null, serde_json::Value::from);
        format!("{}:{value}", serde_json::Value::from(fact.name))
    });
    let texts: Vec<String> = texts.collect();
    format!("{{{}}}", texts.join(","))
}

fn file(lines: &[Line<'_>]) -> ParquetResult<Vec<u8>> {
    let schema = KeyValue::new("oscost.schema".to_owned(), "oscost.fleet-figures/1".to_owned());
    let properties = WriterProperties::builder()
        .set_created_by("oscost".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![schema]))
        .build();
    let fields = COLUMNS.iter().map(field).collect::<ParquetResult<_>>()?;
    let schema = Type::group_type_builder("oscost").with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in &COLUMNS {
        let Some(mut writer) = group.next_column()? else { break };
        match column.kind {
            Kind::Text => {
                let text = |line: &Line<'_>| text(line, column.name).map(ByteArray::from);
                write::<ByteArrayType>(&mut writer, column, lines, &text)?;
            }
            Kind::Float => {
                write::<DoubleType>(&mut writer, column, lines, &|line| float(line, column.name))?;
            }
            Kind::Integer | Kind::Time => {
                write::<Int64Type>(&mut writer, column, lines, &|line| integer(line, column.name))?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

/// How a column is declared.
fn field(column: &Column) -> ParquetResult<Arc<Type>> {
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Integer => (Physical::INT64, None),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
    };
    let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    Ok(Arc::new(field.build()?))
}

/// Writes the values of a column, and a definition level for each line if it may lack one.
fn write<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    lines: &[Line<'_>],
    value: &dyn Fn(&Line<'_>) -> Option<T::T>,
) -> ParquetResult<()> {
    let values: Vec<Option<T::T>> = lines.iter().map(value).collect();
    let levels: Vec<i16> = values.iter().map(|it| i16::from(it.is_some())).collect();
    let known: Vec<T::T> = values.into_iter().flatten().collect();
    let levels = column.is_optional.then_some(levels.as_slice());
    writer.typed::<T>().write_batch(&known, levels, None)?;
    Ok(())
}

/// What a line has in a column of texts.
fn text<'a>(line: &Line<'a>, column: &str) -> Option<&'a str> {
    match column {
        FLEET => Some(line.fleet),
        NODE => Some(&line.node.name),
        CLASS_TEXT => Some(&line.node.class),
        RUN => Some(&line.visit.visit.run),
        NOT_CLAIMABLE => line.visit.visit.not_claimable,
        CASE => Some(&line.case.case),
        FAMILY => Some(&line.case.family),
        UNIT => Some(line.case.unit.text()),
        BETTER => Some(match line.case.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        }),
        FACTS => line.facts,
        _ => None,
    }
}

fn float(line: &Line<'_>, column: &str) -> Option<f64> {
    match column {
        MEDIAN => Some(line.figure.median),
        LOG_ERROR => Some(f64::from(line.figure.log_error)).filter(|error| error.is_finite()),
        _ => None,
    }
}

fn integer(line: &Line<'_>, column: &str) -> Option<i64> {
    match column {
        STARTED => Some((line.visit.visit.started_s * 1e3).round() as i64),
        VISIT => Some(line.visit.number as i64),
        NUMA_NODE => line.visit.visit.numa_node.map(i64::from),
        REV => Some(i64::from(line.case.rev)),
        _ => None,
    }
}
