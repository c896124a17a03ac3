//! A report as text of 80 columns.

mod forest;
mod layout;
mod plot;
mod records;
mod table;
mod timeline;

pub use self::layout::WIDTH;
use self::layout::{INDENT, folded};
pub use self::table::table;
use crate::report::text::fold;
use crate::report::view::document::{Block, Item, Layout, Paragraph, Section, View};

/// Where values begin after the names of facts.
const VALUES_AT: usize = 22;

/// The whole report.
pub fn report(view: &View) -> String {
    let lead = view.lead.iter().map(|Paragraph { text, hanging }| folded(text, 0, *hanging));
    let sections = view.sections.iter().map(section);
    let text: String = lead.chain(sections).collect();
    // Where there is no lead, nothing is above the first section.
    text.trim_start_matches('\n').to_owned()
}

/// A section, after an empty line; nothing where it has nothing to show.
pub fn section(section: &Section) -> String {
    let mut out = String::new();
    let mut under_heading = false;
    if !section.title_is_for_navigation && !section.title.is_empty() {
        out += &format!("\n{}", folded(&section.title, 0, INDENT));
        under_heading = true;
    }
    for block in &section.blocks {
        if let Block::Heading(text) = block {
            out += &format!("\n{}", folded(text, 0, INDENT));
            under_heading = true;
            continue;
        }
        let text = self::block(block, if under_heading { INDENT } else { 0 });
        if !text.is_empty() {
            out += if under_heading { "" } else { "\n" };
            out += &text;
            under_heading = false;
        }
    }
    out
}

fn block(block: &Block, indent: usize) -> String {
    match block {
        Block::Text(text) => folded(text, indent, INDENT),
        Block::Heading(text) => format!("{text}\n"),
        Block::List(items) => items.iter().map(|it| folded(&item(it), indent, INDENT)).collect(),
        Block::Facts(facts) => facts.iter().map(|(name, value)| fact(name, value)).collect(),
        Block::Preformatted(text) => format!("{}\n", text.trim_matches('\n')),
        Block::Table(it) if it.layout == Layout::Records => records::records(it, indent),
        Block::Table(it) => table(it),
        Block::LogPlot(plot) => plot::plot(plot).unwrap_or_default(),
        Block::Timeline(it) => timeline::timeline(it).unwrap_or_default(),
        Block::Forest(plot) => forest::forest(plot),
        // What it shows is in the tables, too.
        Block::Chart(_) => String::new(),
    }
}

/// An item, with the first of its cases: the record names them all.
fn item(item: &Item) -> String {
    match item.cases_in_short() {
        cases if cases.is_empty() => item.text.clone(),
        cases => format!("{cases}: {}", item.text),
    }
}

fn fact(name: &str, value: &str) -> String {
    let value = fold(value, WIDTH - INDENT - VALUES_AT, &" ".repeat(VALUES_AT));
    let names = VALUES_AT - INDENT;
    format!("{:INDENT$}{name:<names$}{value}\n", "")
}
