//! Predictions: what the user said of cases that were not measured yet. They stay until they are
//! removed; what a run's record holds of them is its own.

use oscost_model::record::Prediction;
use rusqlite::Connection;

use super::Store;
use super::error::{Cause, StoreError};
use super::write::transaction;

/// So many are kept: a hundred bills could not be predicted by hand.
pub const MAX_PREDICTIONS: usize = 1_000;

impl Store {
    /// Keeps a prediction, and tells the number that it got.
    pub fn add_prediction(&mut self, predicted: &Prediction) -> Result<i64, StoreError> {
        predict(&mut self.conn, predicted)
            .map_err(|cause| self.error("keep a prediction in".to_owned(), cause))
    }

    /// All predictions with their numbers, in the order in which they were made.
    pub fn predictions(&self) -> Result<Vec<(i64, Prediction)>, StoreError> {
        predictions(&self.conn)
            .map_err(|cause| self.error("read the predictions of".to_owned(), cause))
    }

    /// Removes the prediction of that number, or all, and tells how many there were.
    pub fn remove_predictions(&mut self, number: Option<i64>) -> Result<usize, StoreError> {
        remove(&mut self.conn, number)
            .map_err(|cause| self.error("remove a prediction from".to_owned(), cause))
    }
}

fn predict(conn: &mut Connection, predicted: &Prediction) -> Result<i64, Cause> {
    let Prediction { case, estimate, hardware, software, below, made_at: made } = predicted;
    let tx = transaction(conn)?;
    let there: i64 = tx.query_row("SELECT count(*) FROM prediction", [], |row| row.get(0))?;
    if there >= MAX_PREDICTIONS as i64 {
        return Err(Cause::TooManyPredictions);
    }
    let number = tx.query_row(
        "INSERT INTO prediction (made_at, of_case, estimate, hardware, software, below)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING key",
        (made, case, estimate, hardware, software, below),
        |row| row.get(0),
    )?;
    tx.commit()?;
    Ok(number)
}

fn predictions(conn: &Connection) -> Result<Vec<(i64, Prediction)>, Cause> {
    let mut statement = conn.prepare(
        "SELECT key, made_at, of_case, estimate, hardware, software, below
         FROM prediction ORDER BY key",
    )?;
    let rows = statement.query_map([], |row| {
        let predicted = Prediction {
            case: row.get("of_case")?,
            estimate: row.get("estimate")?,
            hardware: row.get("hardware")?,
            software: row.get("software")?,
            below: row.get("below")?,
            made_at: row.get("made_at")?,
        };
        Ok((row.get("key")?, predicted))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn remove(conn: &mut Connection, number: Option<i64>) -> Result<usize, Cause> {
    let tx = transaction(conn)?;
    let removed = match number {
        Some(number) => tx.execute("DELETE FROM prediction WHERE key = ?1", [number])?,
        None => tx.execute("DELETE FROM prediction", [])?,
    };
    match number {
        Some(number) if removed == 0 => return Err(Cause::NoPrediction(number)),
        _ => tx.commit()?,
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predicted(case: &str) -> Prediction {
        Prediction {
            case: case.to_owned(),
            estimate: Some("<1 us".to_owned()),
            hardware: None,
            software: Some("9 ns".to_owned()),
            below: None,
            made_at: "2026-11-22T08:15:00Z".to_owned(),
        }
    }

    #[test]
    fn a_store_takes_so_many_predictions_and_then_no_more_until_some_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.db")).unwrap();
        let number = store.add_prediction(&predicted("a/b")).unwrap();
        let more = format!(
            "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {})
             INSERT INTO prediction (made_at, of_case) SELECT 'then', 'c/d' FROM n",
            MAX_PREDICTIONS - 1
        );
        store.conn.execute(&more, []).unwrap();
        store.add_prediction(&predicted("e/f")).unwrap();
        let all = store.predictions().unwrap();
        assert_eq!((all.len(), &all[0]), (MAX_PREDICTIONS, &(number, predicted("a/b"))));
        let error = store.add_prediction(&predicted("g/h")).unwrap_err();
        assert!(matches!(error.cause, Cause::TooManyPredictions), "{error}");
        assert!(error.to_string().ends_with("it already has 1000 predictions, the maximum"));
        assert_eq!(store.remove_predictions(Some(number)).unwrap(), 1);
        let error = store.remove_predictions(Some(number)).unwrap_err();
        assert!(matches!(error.cause, Cause::NoPrediction(it) if it == number), "{error}");
        store.add_prediction(&predicted("g/h")).unwrap();
        assert_eq!(store.remove_predictions(None).unwrap(), MAX_PREDICTIONS);
        assert_eq!(store.predictions().unwrap(), []);
    }
}
