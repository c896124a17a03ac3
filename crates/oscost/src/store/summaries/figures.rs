//! Summaries of runs: what a history needs of thousands of runs, without reading their journals.
//!
//! A summary is computed from a run's record by the caller, since the store does not build records.
//! A run may lack one, if it was stored by an older oscost or if writing it failed; the store lists
//! such runs, and their summaries can be added later. A summary carries the number of the rules by
//! which it was made, and is only valid for these.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;
use serde::Deserialize;
use serde::de::value::{Error as UnknownValue, StrDeserializer};

use crate::store::error::{Cause, StoreError};
use crate::store::file::{Store, transaction};
use crate::store::summaries::counts::{CountsInOrder, SummaryPosition, boots, counts_statement};
use crate::store::summaries::insert::{ReplacedSummary, SEPARATOR, replace};
use crate::store::summaries::metrics::{metrics_at, metrics_statement};
use crate::store::summaries::summary::{
    Figure, MachineState, RunState, SummarisedRun, Summary, UnsummarisedRun,
};
use crate::store::tables::schema::{create_later_summary_tables, has_imported, has_run_state};
use crate::store::tables::texts::{TextTable, delete_unused_texts};

impl Store {
    /// Stores the summary of a run, replacing an existing one.
    pub fn summarise(&mut self, id: &str, summary: &Summary) -> Result<(), StoreError> {
        summarise(&mut self.conn, id, summary)
            .map_err(|cause| self.error(format!("store the figures of run {id} in"), cause))
    }

    /// Stores the summaries of many runs in one transaction, replacing existing ones; runs that
    /// were deleted meanwhile are left out.
    pub fn summarise_all(&mut self, runs: &[SummarisedRun]) -> Result<(), StoreError> {
        summarise_all(&mut self.conn, runs)
            .map_err(|cause| self.error("store the figures of runs in".to_owned(), cause))
    }

    /// The ended runs without a summary by these rules, the oldest first.
    ///
    /// Runs that have not ended are left out: they are still running, or were killed. So are visits of
    /// a fleet's nodes, which are thousands, and belong to the series of no machine.
    pub fn without_figures(&self, rules: u32) -> Result<Vec<UnsummarisedRun>, StoreError> {
        without_figures(&self.conn, rules)
            .map_err(|cause| self.error("list the runs without figures of".to_owned(), cause))
    }

    /// Deletes all summaries by other rules at once, since finding unused texts scans all figures,
    /// which is too slow to do for each run.
    pub fn delete_outdated_figures(&mut self, rules: u32) -> Result<(), StoreError> {
        delete_outdated(&mut self.conn, rules)
            .map_err(|cause| self.error("delete old figures of".to_owned(), cause))
    }

    /// The number of runs that have not ended.
    pub fn count_unended(&self) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM run WHERE ended IS NULL";
        let found = self.conn.query_row(sql, [], |row| row.get::<_, i64>(0));
        let found = found.map(|count| count as usize).map_err(Cause::from);
        found.map_err(|cause| self.error("count the runs of".to_owned(), cause))
    }

    /// The cases of all figures, in order.
    pub fn cases(&self) -> Result<Vec<String>, StoreError> {
        cases(&self.conn).map_err(|cause| self.error("list the cases of".to_owned(), cause))
    }

    /// All runs with a summary by these rules, the oldest first, each with its figures of the
    /// requested cases, without their counts.
    pub fn figures(
        &self,
        rules: u32,
        is_requested: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<SummarisedRun>, StoreError> {
        figures(&self.conn, rules, is_requested, Counts::LeftOut)
            .map_err(|cause| self.error("read the figures of".to_owned(), cause))
    }

    /// The same with what was counted.
    pub fn figures_with_counts(
        &self,
        rules: u32,
        is_requested: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<SummarisedRun>, StoreError> {
        figures(&self.conn, rules, is_requested, Counts::Read)
            .map_err(|cause| self.error("read the figures of".to_owned(), cause))
    }
}

fn cases(conn: &Connection) -> Result<Vec<String>, Cause> {
    let mut statement = conn.prepare(
        "SELECT value FROM text WHERE key IN (SELECT of_case FROM figure) ORDER BY value",
    )?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn without_figures(conn: &Connection, rules: u32) -> Result<Vec<UnsummarisedRun>, Cause> {
    let without_fleets = match has_imported(conn)? {
        true => "AND key NOT IN (SELECT run FROM imported WHERE fleet IS NOT NULL)",
        false => "",
    };
    let mut statement = conn.prepare(&format!(
        "SELECT id, started, record IS NOT NULL FROM run WHERE ended IS NOT NULL
         AND key NOT IN (SELECT run FROM summary WHERE rules = ?1) {without_fleets}
         ORDER BY started, id"
    ))?;
    let rows = statement.query_map([rules], |row| {
        Ok(UnsummarisedRun { id: row.get(0)?, started: row.get(1)?, imported: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn delete_outdated(conn: &mut Connection, rules: u32) -> Result<(), Cause> {
    let others = "SELECT run FROM summary WHERE rules != ?1";
    if !conn.prepare(others)?.exists([rules])? {
        return Ok(());
    }
    let tx = transaction(conn)?;
    create_later_summary_tables(&tx)?;
    let with_runs =
        ["figure", "machine_state", "run_state", "counted_figure", "machine_boot", "metric_figure"];
    for table in with_runs {
        tx.execute(&format!("DELETE FROM {table} WHERE run IN ({others})"), [rules])?;
    }
    tx.execute("DELETE FROM summary WHERE rules != ?1", [rules])?;
    delete_unused_texts(&tx)?;
    Ok(tx.commit()?)
}

fn summarise(conn: &mut Connection, id: &str, summary: &Summary) -> Result<(), Cause> {
    let tx = transaction(conn)?;
    let mut texts = TextTable::of(&tx)?;
    match replace(&tx, &mut texts, id, summary)? {
        ReplacedSummary::NoRun => return Err(Cause::NoRun),
        ReplacedSummary::Nothing => {}
        ReplacedSummary::Summary => delete_unused_texts(&tx)?,
    }
    drop(texts);
    Ok(tx.commit()?)
}

fn summarise_all(conn: &mut Connection, runs: &[SummarisedRun]) -> Result<(), Cause> {
    let tx = transaction(conn)?;
    let mut texts = TextTable::of(&tx)?;
    let mut any_replaced = false;
    for SummarisedRun { id, summary, .. } in runs {
        any_replaced |= replace(&tx, &mut texts, id, summary)? == ReplacedSummary::Summary;
    }
    if any_replaced {
        delete_unused_texts(&tx)?;
    }
    drop(texts);
    Ok(tx.commit()?)
}

/// Parses an enum value; `None` if this program does not know it.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<UnknownValue>::new(text)).ok()
}

/// Whether counts are read with figures: they are larger than these.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Read,
    LeftOut,
}

fn figures(
    conn: &Connection,
    rules: u32,
    is_requested: &dyn Fn(&str) -> bool,
    which_counts: Counts,
) -> Result<Vec<SummarisedRun>, Cause> {
    // One transaction, since another process may delete a run between the queries.
    let tx = conn.unchecked_transaction()?;
    let mut statement = tx.prepare("SELECT key, value FROM text")?;
    let texts: HashMap<i64, String> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, rusqlite::Error>>()?;
    let text = |key: i64| {
        let found = texts.get(&key).cloned();
        found.ok_or_else(|| Cause::Damaged(format!("it has no text {key}")))
    };
    let optional_text = |key: Option<i64>| key.map(text).transpose();

    let mut order = Vec::new();
    let mut kept: BTreeMap<i64, SummarisedRun> = BTreeMap::new();
    let mut statement = tx.prepare(
        "SELECT run, id, started, record IS NOT NULL, tool, worker, catalog, link, peer,
                clock_drifted
         FROM summary JOIN run ON run.key = summary.run
         WHERE rules = ?1 AND ended IS NOT NULL ORDER BY started, id",
    )?;
    let mut rows = statement.query([rules])?;
    while let Some(row) = rows.next()? {
        let summary = Summary {
            rules,
            tool: text(row.get(4)?)?,
            worker: text(row.get(5)?)?,
            catalog: text(row.get(6)?)?,
            link: text(row.get(7)?)?,
            peer: optional_text(row.get(8)?)?,
            clock_drifted: row.get(9)?,
            ..Summary::default()
        };
        let (id, started, imported) = (row.get(1)?, row.get(2)?, row.get(3)?);
        order.push(row.get(0)?);
        kept.insert(row.get(0)?, SummarisedRun { id, started, imported, summary });
    }
    if has_run_state(&tx)? {
        let mut statement = tx.prepare("SELECT run, flags, lost_pct FROM run_state")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(of) = kept.get_mut(&row.get(0)?) {
                let flags: String = row.get(1)?;
                let flags = flags.split_terminator(SEPARATOR).map(str::to_owned).collect();
                of.summary.run_state = Some(RunState { flags, lost_pct: row.get(2)? });
            }
        }
    }
    let mut boots = boots(&tx)?;
    let mut statement = tx.prepare(
        "SELECT run, machine, kernel, release, build_id, microcode, command_line, mitigations,
                modules, tracers, clock, class, position
         FROM machine_state ORDER BY run, position",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(of) = kept.get_mut(&row.get(0)?) {
            let position = SummaryPosition { run: row.get(0)?, position: row.get(12)? };
            of.summary.machine_states.push(MachineState {
                machine: text(row.get(1)?)?,
                kernel: text(row.get(2)?)?,
                release: optional_text(row.get(3)?)?,
                build_id: optional_text(row.get(4)?)?,
                microcode: optional_text(row.get(5)?)?,
                command_line: optional_text(row.get(6)?)?,
                mitigations: optional_text(row.get(7)?)?,
                modules: optional_text(row.get(8)?)?,
                tracers: optional_text(row.get(9)?)?,
                clock: optional_text(row.get(10)?)?,
                class: optional_text(row.get(11)?)?,
                boot: boots.remove(&position),
            });
        }
    }
    let requested: HashMap<i64, bool> =
        texts.iter().map(|(&key, text)| (key, is_requested(text))).collect();
    let mut counted = match which_counts {
        Counts::Read => counts_statement(&tx)?,
        Counts::LeftOut => None,
    };
    let mut counts = counted.as_mut().map(CountsInOrder::new).transpose()?;
    let mut of_programs = metrics_statement(&tx)?;
    let mut statement = tx.prepare(
        "SELECT run, of_case, target, machine, peer, rev, unit, mode, flags, median, low, high,
                cpu, subject, file, monitor, position
         FROM figure ORDER BY run, position",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let case: i64 = row.get(1)?;
        if !requested.get(&case).copied().unwrap_or(false) {
            continue;
        }
        if let Some(of) = kept.get_mut(&row.get(0)?) {
            let position = SummaryPosition { run: row.get(0)?, position: row.get(16)? };
            let (low, high): (Option<f64>, Option<f64>) = (row.get(10)?, row.get(11)?);
            let flags = text(row.get(8)?)?;
            // A newer oscost may have stored the figure with a unit or mode that is unknown here.
            let Some(unit) = read(&text(row.get(6)?)?) else { continue };
            let mode = match optional_text(row.get(7)?)? {
                None => None,
                Some(text) => match read(&text) {
                    None => continue,
                    known => known,
                },
            };
            let subject = optional_text(row.get(13)?)?;
            let metrics = match &mut of_programs {
                Some(statement) if subject.is_some() => metrics_at(statement, position)?,
                _ => Vec::new(),
            };
            of.summary.figures.push(Figure {
                case: text(case)?,
                target: text(row.get(2)?)?,
                machine: row.get::<_, Option<i64>>(3)?.map(|at| at as usize),
                peer: row.get::<_, Option<i64>>(4)?.map(|at| at as usize),
                cpu: row.get(12)?,
                rev: row.get(5)?,
                unit,
                mode,
                subject,
                file: optional_text(row.get(14)?)?,
                monitor: optional_text(row.get(15)?)?,
                flags: flags.split_terminator(SEPARATOR).map(str::to_owned).collect(),
                median: row.get(9)?,
                interval: low.zip(high).map(|(low, high)| [low, high]),
                counts: match &mut counts {
                    Some(counts) => counts.at(position)?.map(Box::new),
                    None => None,
                },
                metrics,
            });
        }
    }
    Ok(order.into_iter().filter_map(|key| kept.remove(&key)).collect())
}
