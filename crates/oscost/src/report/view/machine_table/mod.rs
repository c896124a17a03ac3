//! Machines side by side: cases down and machines across, or the treatments of one machine; and an
//! answer, which says what stands out and which facts differ.

mod content;
mod document;
mod exact_counts;
mod figures;
mod grid;
mod machines;
mod name_list;
mod references;
mod sentence;
#[cfg(test)]
mod tests;
pub(in crate::report::view) mod texts;
mod treatments;

pub use self::content::TableContent;
pub use self::document::{SCHEMA, json};
pub use self::figures::figures;
pub use self::references::{COMMANDS, NO_REFERENCES, Reference, references};
use crate::report::view::document::{Block, Paragraph, Section, View};
use crate::report::view::sections::section_of_cases;

/// The machines as a screen or a page shows them.
pub fn view(content: &TableContent<'_>) -> View {
    let has_figures = content.has_figures();
    let (section_title, table) = match treatments::grid(content) {
        Some(table) => ("Cases by treatment", table),
        None => ("Cases by machine", grid::grid(content)),
    };
    let lead = vec![Paragraph::from(grid::conditions(content, table.rows.len()))];
    let mut sections = Vec::new();
    if has_figures {
        sections.push(Section {
            id: "cases".to_owned(),
            title_is_for_navigation: true,
            ..Section::of(section_title, [Block::Table(table)])
        });
    }
    let further = Block::list(sentence::further(content));
    sections.extend(further.map(|list| Section::of("What else stands out", [list])));
    // Without any figure the answer has the reason.
    let missing = if has_figures { grid::missing(content) } else { Vec::new() };
    let missing = missing.iter().map(|it| (it.reason.clone(), it.case));
    sections.extend(section_of_cases("missing", "Not on every machine", missing));
    sections.push(Section::of("The machines", machines::blocks(content)));
    let title = "Machines side by side by oscost".to_owned();
    let answer = Some(sentence::answer(content));
    View { title, lead, answer, sections, ..View::default() }
}
