//! Bills that were made: kept in the store, and two of them side by side (`oscost bill A B`).

use oscost_model::bill::Bill;
use oscost_model::bill_comparison::BillComparison;

use super::error::UsageError;
use super::observer::Observer;
use super::results::records::RecordReader;
use crate::bill::side_by_side;
use crate::store::Store;

/// Keeps a bill; returns its id. If that fails, it is noted, and the bill is shown all the same.
pub fn keep(bill: &Bill, observer: &dyn Observer) -> Option<String> {
    let Some(path) = Store::default_path() else {
        observer.note("this bill is not kept: neither XDG_DATA_HOME nor HOME names a folder");
        return None;
    };
    match Store::open(&path).and_then(|mut store| store.keep_bill(bill)) {
        Ok(()) => Some(bill.id.clone()),
        Err(error) => {
            observer.note(&format!("this bill is not kept: {error}"));
            None
        }
    }
}

/// What the second of two bills has more than the first one: of the store, or files.
pub fn compare(base: &str, new: &str) -> anyhow::Result<BillComparison> {
    let mut reader = RecordReader::new("compare");
    let (base, new) = (reader.read_bill(base)?, reader.read_bill(new)?);
    if base.id == new.id {
        let what = format!("cannot compare bill {} with itself: it is named twice", base.id);
        return Err(UsageError::with_hint(&what, "name two bills: `oscost runs list`").into());
    }
    side_by_side(&base, &new).map_err(|why| {
        let what = format!("cannot compare these bills: {why}");
        let hint = "compare two of commands, or two of `oscost bill --pid`";
        UsageError::with_hint(&what, hint).into()
    })
}
