//! The option `--table` of what reports runs and bills alike.

use super::exports::{BillTable, Table};
use crate::app::UsageError;

/// What a line of CSV and Parquet is: the first two of a run, the others of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum TableChoice {
    /// A figure of a case on a target.
    Rows,
    /// Two figures compared.
    Comparisons,
    /// An item of a bill, or one of its totals.
    Items,
    /// What a change of a bill would add or save.
    Changes,
}

impl TableChoice {
    /// The table of a run.
    pub(super) fn of_run(self) -> anyhow::Result<Table> {
        match self {
            TableChoice::Rows => Ok(Table::Rows),
            TableChoice::Comparisons => Ok(Table::Comparisons),
            TableChoice::Items | TableChoice::Changes => {
                let what = "cannot write this table: it is one of a bill, and this is a run";
                Err(UsageError::with_hint(what, "`--table rows` or `--table comparisons`").into())
            }
        }
    }

    /// The table of a bill.
    pub(super) fn of_bill(self) -> anyhow::Result<BillTable> {
        match self {
            TableChoice::Items => Ok(BillTable::Items),
            TableChoice::Changes => Ok(BillTable::Changes),
            TableChoice::Rows | TableChoice::Comparisons => {
                let what = "cannot write this table: it is one of a run, and this is a bill";
                Err(UsageError::with_hint(what, "`--table items` or `--table changes`").into())
            }
        }
    }
}
