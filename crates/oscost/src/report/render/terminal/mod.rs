//! A report as text of a number of columns.

mod bars;
mod forest;
mod heat_map;
mod layout;
mod paint;
mod plot;
mod records;
mod screen;
mod table;
#[cfg(test)]
mod tests;
mod timeline;

use self::layout::{INDENT, fold_lines};
pub use self::layout::{ScreenFormat, WIDTH};
use self::paint::{Paint, with_classes, with_flag, with_grade, with_verdict};
pub use self::screen::{DetailsOf, Screen, WholeTable, fitted};
pub use self::table::table;
use crate::report::text::fold;
use crate::report::view::document::{
    AnswerPlace, Block, Details, Fact, Item, Layout, Paragraph, Section, View,
};

/// The width of the names of facts, the narrowest that fits.
const NAMES: [usize; 2] = [8, 20];

/// What a sentence about the noise of a machine begins with.
const VERDICT: &str = "verdict: ";

/// The whole report for a screen of the usual width without colours.
pub fn report(view: &View) -> String {
    report_on(view, ScreenFormat::PLAIN)
}

/// The whole report for a screen; the answer comes last, where a reader of a terminal looks, or
/// first. The other lines are facts and no prose: they are as wide as the tables.
pub fn report_on(view: &View, screen: ScreenFormat) -> String {
    let lead = |Paragraph { text, hanging }: &Paragraph| {
        with_classes(&fold_lines(text, 0, *hanging, screen.columns), screen.colour)
    };
    let lead: String = view.lead.iter().map(lead).collect();
    let facts = |parts: &[Section]| match lead.is_empty() {
        true => sections(parts, screen),
        false => format!("{lead}{}", below(parts, screen)),
    };
    let answer = view.answer.clone().unwrap_or_default();
    let found = paragraphs(answer.findings.iter().chain(&answer.trust), screen);
    let next = paragraphs(answer.next.iter(), screen);
    let parts = match view.answer_place {
        AnswerPlace::Last => vec![facts(&view.sections), found + &next],
        AnswerPlace::First { next_before } => {
            let (results, details) = view.sections.split_at(next_before.min(view.sections.len()));
            vec![found, facts(results), next, sections(details, screen)]
        }
    };
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<String>>().join("\n")
}

/// Texts of an answer, a paragraph each.
fn paragraphs<'a>(texts: impl Iterator<Item = &'a String>, screen: ScreenFormat) -> String {
    let lines =
        |text: &String| with_grade(&fold_lines(text, 0, INDENT, screen.prose()), screen.colour);
    texts.map(lines).collect()
}

/// Sections without anything above them.
pub fn sections(sections: &[Section], screen: ScreenFormat) -> String {
    below(sections, screen).trim_start_matches('\n').to_owned()
}

/// Sections, each after an empty line.
fn below(sections: &[Section], screen: ScreenFormat) -> String {
    let names = name_width(sections.iter().flat_map(|section| &section.blocks));
    sections.iter().map(|it| section(it, names, screen)).collect()
}

/// A section, after an empty line; empty if all its blocks are.
fn section(section: &Section, names: usize, screen: ScreenFormat) -> String {
    let mut out = String::new();
    let mut under_heading = false;
    if !section.title_is_for_navigation && !section.title.is_empty() {
        out += &title(&section.title, screen);
        under_heading = true;
    }
    for block in &section.blocks {
        if let Block::Heading(text) = block {
            out += &title(text, screen);
            under_heading = true;
            continue;
        }
        if matches!(block, Block::Forest(_)) && draws_ratios(section, screen) {
            continue;
        }
        let text = self::block(block, if under_heading { INDENT } else { 0 }, names, screen);
        if !text.is_empty() {
            out += if under_heading { "" } else { "\n" };
            out += &text;
            under_heading = false;
        }
    }
    out
}

/// A title, after an empty line.
fn title(text: &str, screen: ScreenFormat) -> String {
    let lines = fold_lines(text, 0, INDENT, screen.prose());
    format!("\n{}", Paint::Title.lines(&lines, screen.colour))
}

/// Whether the ratios of a section are drawn beside its table: a plot of them would repeat it.
fn draws_ratios(section: &Section, screen: ScreenFormat) -> bool {
    let is_drawn = |block: &Block| match block {
        Block::Table(it) => table::draws_ratios(it, screen),
        _ => false,
    };
    section.blocks.iter().any(is_drawn)
}

/// The width of the names of facts: the same in all blocks, so that values begin in one column.
fn name_width<'a>(blocks: impl Iterator<Item = &'a Block>) -> usize {
    let names = blocks.flat_map(|block| match block {
        Block::Facts(facts) => &facts[..],
        _ => &[],
    });
    let longest = names.map(|fact| fact.name.chars().count()).max().unwrap_or(0);
    NAMES.into_iter().find(|width| longest < *width).unwrap_or(longest + 1)
}

fn block(block: &Block, indent: usize, names: usize, screen: ScreenFormat) -> String {
    let columns = screen.prose();
    match block {
        // A paragraph under its title is indented as a whole.
        Block::Text(text) => {
            let lines = fold_lines(text, indent, if indent > 0 { 0 } else { INDENT }, columns);
            match text.starts_with(VERDICT) {
                true => with_classes(&lines, screen.colour),
                false => lines,
            }
        }
        Block::Heading(text) => format!("{text}\n"),
        Block::List(items) => {
            let lines = |it: &Item| fold_lines(&item(it), indent, INDENT, columns);
            let line = |it: &Item| match it.style {
                "" => with_flag(&lines(it), screen.colour),
                style => with_verdict(&lines(it), style, screen.colour),
            };
            items.iter().map(line).collect()
        }
        Block::Details(it) => details(it, indent, screen),
        Block::Facts(facts) => self::facts(facts, names, screen),
        Block::Preformatted(text) => format!("{}\n", text.trim_matches('\n')),
        Block::Table(it) if it.layout == Layout::Records => records::records(it, indent, screen),
        Block::Table(it) => table(it, screen),
        Block::LogPlot(plot) => plot::plot(plot, screen).unwrap_or_default(),
        Block::Timeline(it) => timeline::timeline(it, screen).unwrap_or_default(),
        Block::Forest(plot) => forest::forest(plot, screen),
        Block::HeatMap(map) => heat_map::heat_map(map, screen),
        // What it shows is in the tables, too.
        Block::Chart(_) => String::new(),
    }
}

/// Details under their title.
fn details(details: &Details, indent: usize, screen: ScreenFormat) -> String {
    let columns = screen.prose();
    let lines = |it: &Item| fold_lines(&item(it), indent + INDENT, INDENT, columns);
    let items = details.items.iter().map(|it| with_flag(&lines(it), screen.colour));
    fold_lines(&details.title, indent, INDENT, columns) + &items.collect::<String>()
}

/// An item, with the first of its cases: the record names them all.
fn item(item: &Item) -> String {
    match item.cases_in_short() {
        cases if cases.is_empty() => item.text.clone(),
        cases => format!("{cases}: {}", item.text),
    }
}

/// Names and values.
fn facts(facts: &[Fact], names: usize, screen: ScreenFormat) -> String {
    let indent = " ".repeat(INDENT + names);
    let before = INDENT + names + 2;
    let line = |Fact { name, value, is_command }: &Fact| {
        let value = match is_command {
            true => commands(value, screen.columns.saturating_sub(before + 2), &indent),
            false => fold(value, screen.prose().saturating_sub(before), &indent),
        };
        format!("{:INDENT$}{name:<names$}{value}\n", "")
    };
    facts.iter().map(line).collect()
}

/// A command over several lines, which a shell takes as one. No word of it is broken.
fn commands(command: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in command.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!(" \\\n{indent}"))
}
