//! The data set of a fleet: its figures as Parquet files, a line for each case of each visit, for
//! DuckDB and pandas, and to be analysed again without the records.
//!
//! `FOLDER/day=YYYY-MM-DD/class=HASH/part-FLEET~FIRST-LAST.parquet`: the day of the visits, the
//! class of their nodes, and the ids of the first and the last run of the part.

mod columns;
mod contained;
mod read;
mod write;

pub use contained::on_malformed_file;
pub use read::read_data_set;
pub use write::write_data_set;
