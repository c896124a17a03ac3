//! How things look: records and definitions as text, pages and tables.
//!
//! Two floors. `view` says, for each kind of report, what is to be shown; `render` says, for each
//! medium, how it is written, and knows no kind. This room may not know how anything was measured or
//! stored. All text from outside is shown without its control characters.

pub mod figures;
pub mod render;
mod text;
pub mod view;

pub use self::render::{json, progress};
pub use self::text::plain;
pub use self::view::export;
pub use self::view::page as html;
pub use self::view::{
    ab, catalog, compare, doctor, explain as here, history, machine, markdown, ph, predictions,
    run as table, runs, study_ab as study, study_list as studies, study_run as beside, treatments,
};
