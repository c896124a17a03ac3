//! Reports: what records and definitions say, as text, pages and tables.
//!
//! Two floors. `view` says, for each kind of report, what is to be shown, as plain data; `render`
//! says, for each medium, how that is written, and knows no kind. This room may not know how anything
//! was measured or stored. All text from outside is shown without its control characters.

mod catalog_page;
pub mod figures;
mod record_words;
pub mod render;
pub mod text;
pub mod view;

pub use self::catalog_page::catalog_page;
pub use self::record_words::record_words;
pub use self::render::book::{BookFile, files as book_files};
pub use self::render::csv::{csv, table as table_csv};
pub use self::render::html::report as html;
pub use self::render::markdown::{page as markdown_page, report as markdown};
pub use self::render::parquet::parquet;
pub use self::render::parquet_table::table as table_parquet;
pub use self::render::terminal::{
    DetailsOf, Screen, ScreenFormat, WIDTH, WholeTable, fitted, report as terminal,
    report_on as terminal_on, table as terminal_table,
};
pub use self::render::{json, progress};
pub use self::text::plain;
pub use self::view::answer::since;
pub use self::view::brief::brief;
pub use self::view::comparison::{ab, compare};
pub use self::view::lists::{catalog, kernels, runs, treatments, workloads};
pub use self::view::run::predictions;
pub use self::view::{
    bill, bill_comparison, doctor, explain, export, fleet, history, machine, machine_table, page,
    ph, run, self_check, study, words,
};
