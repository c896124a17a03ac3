//! How a document is written in each medium. Nothing here knows what kind of report it is.

pub mod book;
pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod parquet;
pub mod parquet_table;
pub mod progress;
pub mod svg;
pub mod terminal;
