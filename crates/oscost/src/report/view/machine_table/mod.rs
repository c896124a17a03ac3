//! Machines side by side: one sentence on what stands out and on the facts that differ, then cases
//! down and machines across.

mod content;
mod document;
mod figures;
mod grid;
mod machines;
mod references;
mod sentence;
#[cfg(test)]
mod tests;
pub(in crate::report::view) mod texts;

pub use self::content::TableContent;
pub use self::document::{SCHEMA, json};
pub use self::figures::figures;
pub use self::references::{NO_REFERENCES, Reference, references};
use crate::report::view::document::{Block, Paragraph, Section, View};
use crate::report::view::sections::section_of_cases;

/// The machines as a screen or a page shows them.
pub fn view(content: &TableContent<'_>) -> View {
    let lead = [sentence::headline(content), grid::conditions(content)];
    let mut sections = Vec::new();
    if !content.table.lines.is_empty() {
        sections.push(Section {
            id: "cases".to_owned(),
            title_is_for_navigation: true,
            ..Section::of("Cases by machine", [Block::Table(grid::grid(content))])
        });
    }
    let further = Block::list(sentence::further(content));
    sections.extend(further.map(|list| Section::of("What else stands out", [list])));
    let missing = grid::missing(content);
    let missing = missing.iter().map(|it| (it.reason.clone(), it.case));
    sections.extend(section_of_cases("missing", "Not on every machine", missing));
    sections.push(Section::of("The machines", machines::blocks(content)));
    let title = "Machines side by side by oscost".to_owned();
    View { title, lead: lead.map(Paragraph::from).into(), sections, ..View::default() }
}
