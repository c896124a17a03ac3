//! What the processor counted of the ops of figures, beside these.

use std::collections::HashMap;

use oscost_model::record::{CountedMedian, CountedMedians};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, Rows, Statement, Transaction, params_from_iter};

use crate::store::error::Cause;
use crate::store::summaries::summary::Summary;
use crate::store::tables::schema::has_counts;

/// A position in the summary of a run: that of a figure among its figures, or of a machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SummaryPosition {
    pub(super) run: i64,
    pub(super) position: i64,
}

impl SummaryPosition {
    /// In the first two columns.
    fn of(row: &Row<'_>) -> Result<Self, Cause> {
        Ok(Self { run: row.get(0)?, position: row.get(1)? })
    }
}

/// The boots of all machines; an older store has none.
pub(super) fn boots(conn: &Connection) -> Result<HashMap<SummaryPosition, String>, Cause> {
    let mut found = HashMap::new();
    if has_counts(conn)? {
        let mut statement = conn.prepare("SELECT run, position, boot FROM machine_boot")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.insert(SummaryPosition::of(row)?, row.get(2)?);
        }
    }
    Ok(found)
}

/// The query of all counts in the order of their positions; `None` of an older store.
pub(super) fn counts_statement(conn: &Connection) -> Result<Option<Statement<'_>>, Cause> {
    if !has_counts(conn)? {
        return Ok(None);
    }
    let sql = "SELECT run, position, inherited, insn, insn_low, insn_high,
                      insn_user, insn_user_low, insn_user_high,
                      insn_kernel, insn_kernel_low, insn_kernel_high,
                      cpi, cpi_low, cpi_high, ghz, ghz_low, ghz_high,
                      time_ns, running_ns, counted_time_ratio
               FROM counted_figure ORDER BY run, position";
    Ok(Some(conn.prepare(sql)?))
}

/// Counts that are read along with the figures, which are in the same order: a store may have a
/// million of them, of which a history needs those of a case.
pub(super) struct CountsInOrder<'a> {
    rows: Rows<'a>,
    next: Option<NextCounts>,
}

struct NextCounts {
    position: SummaryPosition,
    counts: CountedMedians,
}

impl<'a> CountsInOrder<'a> {
    /// Those of a query by [`counts_statement`].
    pub(super) fn new(statement: &'a mut Statement<'_>) -> Result<Self, Cause> {
        Ok(Self { rows: statement.query([])?, next: None })
    }

    /// The counts at a position, which is behind those that were asked for before.
    pub(super) fn at(
        &mut self,
        position: SummaryPosition,
    ) -> Result<Option<CountedMedians>, Cause> {
        while self.next.as_ref().is_none_or(|next| next.position < position) {
            let Some(row) = self.rows.next()? else { return Ok(None) };
            let found = SummaryPosition::of(row)?;
            if found >= position {
                self.next = Some(NextCounts { position: found, counts: counts(row)? });
            }
        }
        Ok(self.next.take_if(|next| next.position == position).map(|next| next.counts))
    }
}

fn counts(row: &Row<'_>) -> Result<CountedMedians, Cause> {
    Ok(CountedMedians {
        inherited: row.get(2)?,
        insn: median(row, 3)?,
        insn_user: median(row, 6)?,
        insn_kernel: median(row, 9)?,
        cpi: median(row, 12)?,
        ghz: median(row, 15)?,
        time_ns: row.get(18)?,
        running_ns: row.get(19)?,
        counted_time_ratio: row.get(20)?,
    })
}

/// The median in three columns from this one on.
fn median(row: &Row<'_>, column: usize) -> Result<Option<CountedMedian>, Cause> {
    let median: Option<f64> = row.get(column)?;
    let (low, high): (Option<f64>, Option<f64>) = (row.get(column + 1)?, row.get(column + 2)?);
    let interval = low.zip(high).map(|(low, high)| [low, high]);
    Ok(median.map(|median| CountedMedian { median, interval }))
}

/// Stores what was counted in a run.
pub(super) fn insert_counts(tx: &Transaction<'_>, run: i64, of: &Summary) -> Result<(), Cause> {
    let mut statement =
        tx.prepare_cached("INSERT INTO machine_boot (run, position, boot) VALUES (?1, ?2, ?3)")?;
    for (at, machine) in of.machine_states.iter().enumerate() {
        if let Some(boot) = &machine.boot {
            statement.execute((run, at as i64, boot))?;
        }
    }
    let mut statement = tx.prepare_cached(
        "INSERT INTO counted_figure
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                 ?19, ?20, ?21)",
    )?;
    for (at, figure) in of.figures.iter().enumerate() {
        let Some(counts) = &figure.counts else { continue };
        let numbers = numbers(counts);
        // SQLite stores NaN as null, which is a quantity that is unknown.
        if !numbers.iter().flatten().all(|number| number.is_finite()) {
            let why = format!("what was counted of {} is not finite", figure.case);
            return Err(Cause::Invalid(why));
        }
        let keys = [run, at as i64, i64::from(counts.inherited)].map(Value::Integer);
        let numbers = numbers.into_iter().map(|it| it.map_or(Value::Null, Value::Real));
        statement.execute(params_from_iter(keys.into_iter().chain(numbers)))?;
    }
    Ok(())
}

/// The numbers in the order of their columns.
fn numbers(counts: &CountedMedians) -> Vec<Option<f64>> {
    let CountedMedians { insn, insn_user, insn_kernel, cpi, ghz, .. } = counts;
    let columns = |it: &Option<CountedMedian>| {
        let interval = it.and_then(|it| it.interval);
        [it.map(|it| it.median), interval.map(|[low, _]| low), interval.map(|[_, high]| high)]
    };
    let mut numbers: Vec<Option<f64>> =
        [insn, insn_user, insn_kernel, cpi, ghz].into_iter().flat_map(columns).collect();
    numbers.extend([counts.time_ns, counts.running_ns, counts.counted_time_ratio]);
    numbers
}
