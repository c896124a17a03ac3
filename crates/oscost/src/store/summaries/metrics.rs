//! The further metrics of programs, beside their figures.

use rusqlite::{Connection, Statement, Transaction};

use crate::store::error::Cause;
use crate::store::summaries::counts::SummaryPosition;
use crate::store::summaries::summary::{MetricFigure, Summary};
use crate::store::tables::schema::has_metrics;

/// The query of the metrics at a position; `None` of an older store. Few figures are of programs, so
/// that each of them is looked up.
pub(super) fn metrics_statement(conn: &Connection) -> Result<Option<Statement<'_>>, Cause> {
    if !has_metrics(conn)? {
        return Ok(None);
    }
    let sql = "SELECT metric, median, low, high FROM metric_figure
               WHERE run = ?1 AND position = ?2 ORDER BY metric";
    Ok(Some(conn.prepare(sql)?))
}

/// The metrics at a position, by their names.
pub(super) fn metrics_at(
    statement: &mut Statement<'_>,
    at: SummaryPosition,
) -> Result<Vec<MetricFigure>, Cause> {
    let rows = statement.query_map([at.run, at.position], |row| {
        let (low, high): (Option<f64>, Option<f64>) = (row.get(2)?, row.get(3)?);
        let interval = low.zip(high).map(|(low, high)| [low, high]);
        Ok(MetricFigure { metric: row.get(0)?, median: row.get(1)?, interval })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Stores the metrics of a run's programs.
pub(super) fn insert_metrics(tx: &Transaction<'_>, run: i64, of: &Summary) -> Result<(), Cause> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO metric_figure (run, position, metric, median, low, high)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (at, figure) in of.figures.iter().enumerate() {
        for MetricFigure { metric, median, interval } in &figure.metrics {
            // SQLite stores NaN as null, which is no median.
            if !interval.iter().flatten().chain([median]).all(|number| number.is_finite()) {
                let why = format!("{metric} of {} is not finite", figure.case);
                return Err(Cause::Invalid(why));
            }
            let [low, high] = [0, 1].map(|end| interval.map(|ends| ends[end]));
            statement.execute((run, at as i64, metric, median, low, high))?;
        }
    }
    Ok(())
}
