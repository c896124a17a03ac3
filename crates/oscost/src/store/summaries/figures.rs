//! Summaries of runs: what a history needs of thousands of runs, without reading their journals.
//!
//! A summary is computed from a run's record by the caller, since the store does not build records.
//! A run may lack one, if it was stored by an older oscost or if writing it failed; the store lists
//! such runs, and their summaries can be added later. A summary carries the number of the rules by
//! which it was made, and is only valid for these.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::de::value::{Error as UnknownValue, StrDeserializer};
use serde::{Deserialize, Serialize};

use crate::store::error::{Cause, StoreError};
use crate::store::file::{Store, transaction};
use crate::store::summaries::summary::{
    Figure, MachineState, RunState, SummarisedRun, Summary, UnsummarisedRun,
};
use crate::store::tables::schema::{create_run_state, has_imported, has_run_state};
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
    /// requested cases.
    pub fn figures(
        &self,
        rules: u32,
        is_requested: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<SummarisedRun>, StoreError> {
        figures(&self.conn, rules, is_requested)
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
    create_run_state(&tx)?;
    for table in ["figure", "machine_state", "run_state"] {
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
        Replaced::NoRun => return Err(Cause::NoRun),
        Replaced::Nothing => {}
        Replaced::Summary => delete_unused_texts(&tx)?,
    }
    drop(texts);
    Ok(tx.commit()?)
}

fn summarise_all(conn: &mut Connection, runs: &[SummarisedRun]) -> Result<(), Cause> {
    let tx = transaction(conn)?;
    let mut texts = TextTable::of(&tx)?;
    let mut any_replaced = false;
    for SummarisedRun { id, summary, .. } in runs {
        any_replaced |= replace(&tx, &mut texts, id, summary)? == Replaced::Summary;
    }
    if any_replaced {
        delete_unused_texts(&tx)?;
    }
    drop(texts);
    Ok(tx.commit()?)
}

/// What a new summary of a run took the place of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replaced {
    /// Nothing: there is no such run, and the summary was not stored.
    NoRun,
    /// Nothing: the run had no summary.
    Nothing,
    /// Another summary.
    Summary,
}

fn replace(
    tx: &Transaction<'_>,
    texts: &mut TextTable<'_>,
    id: &str,
    summary: &Summary,
) -> Result<Replaced, Cause> {
    let run = tx
        .prepare_cached("SELECT key FROM run WHERE id = ?1")?
        .query_row([id], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(run) = run else { return Ok(Replaced::NoRun) };
    create_run_state(tx)?;
    tx.prepare_cached("DELETE FROM run_state WHERE run = ?1")?.execute([run])?;
    let mut before = 0;
    for table in ["figure", "machine_state", "summary"] {
        let sql = format!("DELETE FROM {table} WHERE run = ?1");
        before += tx.prepare_cached(&sql)?.execute([run])?;
    }
    insert(tx, texts, run, summary)?;
    Ok(if before > 0 { Replaced::Summary } else { Replaced::Nothing })
}

fn insert(
    tx: &Transaction<'_>,
    texts: &mut TextTable<'_>,
    run: i64,
    summary: &Summary,
) -> Result<(), Cause> {
    let Summary {
        rules,
        tool,
        worker,
        catalog,
        link,
        peer,
        clock_drifted,
        run_state,
        machine_states,
        figures,
    } = summary;
    let [tool, worker, catalog, link] = [tool, worker, catalog, link].map(|text| texts.key(text));
    let peer = texts.optional_key(peer.as_ref())?;
    tx.prepare_cached(
        "INSERT INTO summary (run, rules, tool, worker, catalog, link, peer, clock_drifted)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((run, rules, tool?, worker?, catalog?, link?, peer, clock_drifted))?;
    if let Some(RunState { flags, lost_pct }) = run_state {
        tx.prepare_cached("INSERT INTO run_state (run, flags, lost_pct) VALUES (?1, ?2, ?3)")?
            .execute((run, flags.join(SEPARATOR), lost_pct))?;
    }
    let mut statement = tx.prepare_cached(
        "INSERT INTO machine_state (run, position, machine, kernel, release, build_id, microcode,
                                    command_line, mitigations, modules, tracers, clock, class)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for (at, state) in machine_states.iter().enumerate() {
        statement.execute((
            run,
            at as i64,
            texts.key(&state.machine)?,
            texts.key(&state.kernel)?,
            texts.optional_key(state.release.as_ref())?,
            texts.optional_key(state.build_id.as_ref())?,
            texts.optional_key(state.microcode.as_ref())?,
            texts.optional_key(state.command_line.as_ref())?,
            texts.optional_key(state.mitigations.as_ref())?,
            texts.optional_key(state.modules.as_ref())?,
            texts.optional_key(state.tracers.as_ref())?,
            texts.optional_key(state.clock.as_ref())?,
            texts.optional_key(state.class.as_ref())?,
        ))?;
    }
    let mut statement = tx.prepare_cached(
        "INSERT INTO figure (run, position, of_case, target, machine, peer, rev, unit, mode, flags,
                             median, low, high, cpu, subject, file, monitor)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?;
    for (at, figure) in figures.iter().enumerate() {
        // SQLite stores NaN as null, which these columns do not allow.
        let numbers = figure.interval.iter().flatten().chain([&figure.median]);
        if !numbers.into_iter().all(|number| number.is_finite()) {
            let why = format!("the figure of {} is not finite", figure.case);
            return Err(Cause::Invalid(why));
        }
        statement.execute(params![
            run,
            at as i64,
            texts.key(&figure.case)?,
            texts.key(&figure.target)?,
            figure.machine.map(|at| at as i64),
            figure.peer.map(|at| at as i64),
            figure.rev,
            texts.key(&serialized(figure.unit)?)?,
            figure.mode.map(|mode| texts.key(&serialized(mode)?)).transpose()?,
            texts.key(&figure.flags.join(SEPARATOR))?,
            figure.median,
            figure.interval.map(|[low, _]| low),
            figure.interval.map(|[_, high]| high),
            figure.cpu,
            texts.optional_key(figure.subject.as_ref())?,
            texts.optional_key(figure.file.as_ref())?,
            texts.optional_key(figure.monitor.as_ref())?,
        ])?;
    }
    Ok(())
}

/// The serialized form of an enum value.
fn serialized(value: impl Serialize) -> Result<String, Cause> {
    let text = serde_json::to_value(value).ok().and_then(|it| it.as_str().map(str::to_owned));
    text.ok_or_else(|| Cause::Invalid("a value has no text form".to_owned()))
}

/// Parses an enum value; `None` if this program does not know it.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    T::deserialize(StrDeserializer::<UnknownValue>::new(text)).ok()
}

/// Flags contain no spaces. A flag of an imported record that does is split into unknown flags.
const SEPARATOR: &str = " ";

fn figures(
    conn: &Connection,
    rules: u32,
    is_requested: &dyn Fn(&str) -> bool,
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
    let mut statement = tx.prepare(
        "SELECT run, machine, kernel, release, build_id, microcode, command_line, mitigations,
                modules, tracers, clock, class
         FROM machine_state ORDER BY run, position",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(of) = kept.get_mut(&row.get(0)?) {
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
            });
        }
    }
    let requested: HashMap<i64, bool> =
        texts.iter().map(|(&key, text)| (key, is_requested(text))).collect();
    let mut statement = tx.prepare(
        "SELECT run, of_case, target, machine, peer, rev, unit, mode, flags, median, low, high,
                cpu, subject, file, monitor
         FROM figure ORDER BY run, position",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let case: i64 = row.get(1)?;
        if !requested.get(&case).copied().unwrap_or(false) {
            continue;
        }
        if let Some(of) = kept.get_mut(&row.get(0)?) {
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
            of.summary.figures.push(Figure {
                case: text(case)?,
                target: text(row.get(2)?)?,
                machine: row.get::<_, Option<i64>>(3)?.map(|at| at as usize),
                peer: row.get::<_, Option<i64>>(4)?.map(|at| at as usize),
                cpu: row.get(12)?,
                rev: row.get(5)?,
                unit,
                mode,
                subject: optional_text(row.get(13)?)?,
                file: optional_text(row.get(14)?)?,
                monitor: optional_text(row.get(15)?)?,
                flags: flags.split_terminator(SEPARATOR).map(str::to_owned).collect(),
                median: row.get(9)?,
                interval: low.zip(high).map(|(low, high)| [low, high]),
            });
        }
    }
    Ok(order.into_iter().filter_map(|key| kept.remove(&key)).collect())
}
