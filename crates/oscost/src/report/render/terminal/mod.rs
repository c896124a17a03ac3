//! A report as text of 80 columns.

mod forest;
mod plot;
mod table;

pub use self::table::table;
use crate::report::text::fold;
use crate::report::view::document::{Block, Item, Paragraph, Section, View};

/// What a terminal takes.
pub const WIDTH: usize = 80;
/// How far a list under a heading is indented, and every line but the first of a text.
const INDENT: usize = 2;
/// Where values begin after the names of facts.
const VALUES_AT: usize = 22;

/// The whole report.
pub fn report(view: &View) -> String {
    let mut out = String::new();
    for Paragraph { text, hanging } in &view.lead {
        out += &folded(text, 0, *hanging);
    }
    view.sections.iter().fold(out, |out, section| out + &self::section(section))
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
        Block::Table(it) => table(it),
        Block::LogPlot(plot) => plot::plot(plot).unwrap_or_default(),
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

/// A text in lines of which the first is indented by `indent`, and the others by `hanging` more.
fn folded(text: &str, indent: usize, hanging: usize) -> String {
    let more = " ".repeat(indent + hanging);
    format!("{:indent$}{}\n", "", fold(text, WIDTH - indent - hanging, &more))
}
