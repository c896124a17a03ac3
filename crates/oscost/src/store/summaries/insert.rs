//! Storing a summary.

use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::store::error::Cause;
use crate::store::summaries::counts::insert_counts;
use crate::store::summaries::metrics::insert_metrics;
use crate::store::summaries::summary::{RunState, Summary};
use crate::store::tables::schema::create_later_summary_tables;
use crate::store::tables::texts::TextTable;

/// Flags contain no spaces. A flag of an imported record that does is split into unknown flags.
pub(super) const SEPARATOR: &str = " ";

/// What a new summary of a run took the place of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplacedSummary {
    /// Nothing: there is no such run, and the summary was not stored.
    NoRun,
    /// Nothing: the run had no summary.
    Nothing,
    /// Another summary.
    Summary,
}

/// Stores the summary of a run in place of an earlier one.
pub(super) fn replace(
    tx: &Transaction<'_>,
    texts: &mut TextTable<'_>,
    id: &str,
    summary: &Summary,
) -> Result<ReplacedSummary, Cause> {
    let run = tx
        .prepare_cached("SELECT key FROM run WHERE id = ?1")?
        .query_row([id], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(run) = run else { return Ok(ReplacedSummary::NoRun) };
    create_later_summary_tables(tx)?;
    // An older program, which does not know these tables, deletes only from the others.
    for table in ["run_state", "counted_figure", "machine_boot", "metric_figure"] {
        tx.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?.execute([run])?;
    }
    let mut before = 0;
    for table in ["figure", "machine_state", "summary"] {
        let sql = format!("DELETE FROM {table} WHERE run = ?1");
        before += tx.prepare_cached(&sql)?.execute([run])?;
    }
    insert(tx, texts, run, summary)?;
    Ok(if before > 0 { ReplacedSummary::Summary } else { ReplacedSummary::Nothing })
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
    insert_counts(tx, run, summary)?;
    insert_metrics(tx, run, summary)
}

/// The serialized form of an enum value.
fn serialized(value: impl Serialize) -> Result<String, Cause> {
    let text = serde_json::to_value(value).ok().and_then(|it| it.as_str().map(str::to_owned));
    text.ok_or_else(|| Cause::Invalid("a value has no text form".to_owned()))
}
