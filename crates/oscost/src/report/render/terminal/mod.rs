//! A report as text of 80 columns.

mod forest;
mod layout;
mod plot;
mod records;
mod table;
mod timeline;

pub use self::layout::WIDTH;
use self::layout::{INDENT, fold_lines};
pub use self::table::{table, table_in};
use crate::report::text::fold;
use crate::report::view::document::{Block, Fact, Item, Layout, Paragraph, Section, View};

/// The width of the names of facts, the narrowest that fits.
const NAMES: [usize; 2] = [8, 20];

/// The whole report.
pub fn report(view: &View) -> String {
    let lead = view.lead.iter().map(|Paragraph { text, hanging }| fold_lines(text, 0, *hanging));
    match lead.collect::<String>() {
        lead if lead.is_empty() => sections(&view.sections),
        lead => lead + &below(&view.sections),
    }
}

/// Sections without anything above them.
pub fn sections(sections: &[Section]) -> String {
    below(sections).trim_start_matches('\n').to_owned()
}

/// Sections, each after an empty line.
fn below(sections: &[Section]) -> String {
    let names = name_width(sections.iter().flat_map(|section| &section.blocks));
    sections.iter().map(|it| section(it, names)).collect()
}

/// A section, after an empty line; empty if all its blocks are.
fn section(section: &Section, names: usize) -> String {
    let mut out = String::new();
    let mut under_heading = false;
    if !section.title_is_for_navigation && !section.title.is_empty() {
        out += &format!("\n{}", fold_lines(&section.title, 0, INDENT));
        under_heading = true;
    }
    for block in &section.blocks {
        if let Block::Heading(text) = block {
            out += &format!("\n{}", fold_lines(text, 0, INDENT));
            under_heading = true;
            continue;
        }
        let text = self::block(block, if under_heading { INDENT } else { 0 }, names);
        if !text.is_empty() {
            out += if under_heading { "" } else { "\n" };
            out += &text;
            under_heading = false;
        }
    }
    out
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

fn block(block: &Block, indent: usize, names: usize) -> String {
    match block {
        // A paragraph under its title is indented as a whole.
        Block::Text(text) => fold_lines(text, indent, if indent > 0 { 0 } else { INDENT }),
        Block::Heading(text) => format!("{text}\n"),
        Block::List(items) => {
            items.iter().map(|it| fold_lines(&item(it), indent, INDENT)).collect()
        }
        Block::Facts(facts) => self::facts(facts, names),
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

/// Names and values.
fn facts(facts: &[Fact], names: usize) -> String {
    let indent = " ".repeat(INDENT + names);
    let width = WIDTH - INDENT - names - 2;
    let line = |Fact { name, value, is_command }: &Fact| {
        let value = match is_command {
            true => commands(value, width - 2, &indent),
            false => fold(value, width, &indent),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_can_be_copied_line_by_line() {
        let command = "for i in 26 31 36 38 40 42; do echo 0 | sudo tee \
                       /proc/irq/$i/smp_affinity_list; done";
        let text = facts(&[Fact::new("effect", "x"), Fact::command("fix", command)], 8);
        let (_, lines) = text.split_once("fix").unwrap();
        assert!(lines.lines().count() > 1 && text.lines().all(|it| it.len() <= WIDTH), "{text}");
        let joined: Vec<&str> = lines.split(" \\\n").map(str::trim).collect();
        assert_eq!(joined.join(" "), command);
    }
}
