//! Predictions: the costs that a user expects of cases before measuring them. They are kept until
//! they are removed; a run's record has a copy of those that it compares.

use oscost_model::record::{NumberedPrediction, Prediction};
use rusqlite::Connection;

use crate::store::error::{Cause, StoreError};
use crate::store::file::{Store, transaction};
use crate::store::limits::MAX_PREDICTIONS;

impl Store {
    /// Stores a prediction and returns its number.
    pub fn add_prediction(&mut self, predicted: &Prediction) -> Result<i64, StoreError> {
        predict(&mut self.conn, predicted)
            .map_err(|cause| self.error("store a prediction in".to_owned(), cause))
    }

    /// All predictions, in the order in which they were made.
    pub fn predictions(&self) -> Result<Vec<NumberedPrediction>, StoreError> {
        predictions(&self.conn)
            .map_err(|cause| self.error("read the predictions of".to_owned(), cause))
    }

    /// Removes the prediction with that number, or all, and returns how many were removed.
    pub fn remove_predictions(&mut self, number: Option<i64>) -> Result<usize, StoreError> {
        remove(&mut self.conn, number)
            .map_err(|cause| self.error("remove a prediction from".to_owned(), cause))
    }
}

fn predict(conn: &mut Connection, predicted: &Prediction) -> Result<i64, Cause> {
    let Prediction { case, estimate, hardware, software, below, made_at } = predicted;
    let tx = transaction(conn)?;
    let count: i64 = tx.query_row("SELECT count(*) FROM prediction", [], |row| row.get(0))?;
    if count >= MAX_PREDICTIONS as i64 {
        return Err(Cause::TooManyPredictions);
    }
    let number = tx.query_row(
        "INSERT INTO prediction (made_at, of_case, estimate, hardware, software, below)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING key",
        (made_at, case, estimate, hardware, software, below),
        |row| row.get(0),
    )?;
    tx.commit()?;
    Ok(number)
}

fn predictions(conn: &Connection) -> Result<Vec<NumberedPrediction>, Cause> {
    let mut statement = conn.prepare(
        "SELECT key, made_at, of_case, estimate, hardware, software, below
         FROM prediction ORDER BY key",
    )?;
    let rows = statement.query_map([], |row| {
        let prediction = Prediction {
            case: row.get("of_case")?,
            estimate: row.get("estimate")?,
            hardware: row.get("hardware")?,
            software: row.get("software")?,
            below: row.get("below")?,
            made_at: row.get("made_at")?,
        };
        Ok(NumberedPrediction { number: row.get("key")?, prediction })
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
    fn a_full_list_of_predictions_takes_no_more_until_one_is_removed() {
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
        assert_eq!(all.len(), MAX_PREDICTIONS);
        assert_eq!(all[0], NumberedPrediction { number, prediction: predicted("a/b") });
        let error = store.add_prediction(&predicted("g/h")).unwrap_err();
        assert!(matches!(error.cause, Cause::TooManyPredictions), "{error}");
        assert!(error.to_string().contains("it already has 1000 predictions, the maximum"));
        assert_eq!(store.remove_predictions(Some(number)).unwrap(), 1);
        let error = store.remove_predictions(Some(number)).unwrap_err();
        assert!(matches!(error.cause, Cause::NoPrediction(it) if it == number), "{error}");
        store.add_prediction(&predicted("g/h")).unwrap();
        assert_eq!(store.remove_predictions(None).unwrap(), MAX_PREDICTIONS);
        assert_eq!(store.predictions().unwrap(), []);
    }
}
