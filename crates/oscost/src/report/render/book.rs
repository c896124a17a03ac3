//! A book as files: Markdown pages, their SVG pictures as files of the same folder, and all of it as one HTML file that
//! makes no requests.

use askama::Template;

use crate::report::render::html::{STYLE, Words};
use crate::report::render::markdown;
use crate::report::render::svg::svg;
use crate::report::view::document::book::{Book, BookPage, BookPart};
use crate::report::view::document::chart::Chart;
use crate::report::view::document::{Block, Section, View};

/// A file of a book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookFile {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The width of a line of Markdown at most, where it can be broken.
const LINE: usize = 100;

/// The files of a book, in order: the first page, the others, the pictures, and the whole.
pub fn files(book: &Book) -> anyhow::Result<Vec<BookFile>> {
    let mut files = vec![BookFile { name: "README.md".to_owned(), text: front(book) }];
    for page in book.pages() {
        let text = format!("{GENERATED}{}", in_lines(&markdown_of(&page.view)));
        files.push(BookFile { name: format!("{}.md", page.name), text });
    }
    for chart in book.pages().flat_map(|page| charts(&page.view)) {
        files.push(BookFile { name: picture_name(chart), text: svg(chart) });
    }
    files.push(BookFile { name: "book.html".to_owned(), text: html(book)? });
    Ok(files)
}

const GENERATED: &str = "<!-- made by make studies: do not edit -->\n\n";

fn charts(view: &View) -> impl Iterator<Item = &Chart> {
    let blocks = view.sections.iter().flat_map(|section| &section.blocks);
    blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart.as_ref()),
        _ => None,
    })
}

fn picture_name(chart: &Chart) -> String {
    format!("{}.svg", chart.id)
}

/// A page with its pictures, which are files of the same folder.
fn markdown_of(view: &View) -> String {
    markdown::page_with_pictures(view, &|chart| {
        format!("\n![{}]({})\n", markdown::cell(&chart.caption), picture_name(chart))
    })
}

/// The first page, with the contents.
fn front(book: &Book) -> String {
    let part = |BookPart { title, pages }: &BookPart| {
        let line = |page: &BookPage| {
            let link = format!("[{}]({}.md)", markdown::cell(&page.view.title), page.name);
            match page.summary.as_str() {
                "" => format!("- {link}\n"),
                summary => {
                    let link = format!("[{}]({}.md)", markdown::cell(&page.name), page.name);
                    format!("- {link}: {}\n", markdown::cell(summary))
                }
            }
        };
        let lines: String = pages.iter().map(line).collect();
        format!("\n## {}\n\n{lines}", markdown::cell(title))
    };
    let contents: String = book.parts.iter().map(part).collect();
    let appendix = markdown::sections_with_pictures(&book.appendix, &|_| String::new());
    let whole = "\n[The whole as one page](book.html), which makes no requests.\n";
    let text = format!("{}{contents}{whole}{appendix}", markdown_of(&book.front));
    format!("{GENERATED}{}", in_lines(&text))
}

/// The text with long lines broken, except those of tables, headings and blocks of code.
fn in_lines(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let is_fixed = line.starts_with(['|', '#', '!', '<']) || line.starts_with("    ");
        match is_fixed || line.len() <= LINE {
            true => out += line,
            false => out += &broken(line),
        }
        out.push('\n');
    }
    out
}

/// A long line in several; those of an item are indented.
fn broken(line: &str) -> String {
    let indent = if line.starts_with("- ") { "  " } else { "" };
    let mut out = String::new();
    let mut width = 0;
    for word in line.split(' ') {
        // A line that begins with such a word would be an item, a heading or a quotation.
        let digits = word.trim_start_matches(|it: char| it.is_ascii_digit());
        let is_mark = word.starts_with(['-', '+', '*', '#', '>', '|', '=', '~', '`'])
            || digits.starts_with(['.', ')']);
        if width > 0 && width + 1 + word.len() > LINE && !is_mark {
            out += &format!("\n{indent}{word}");
            width = indent.len() + word.len();
        } else {
            let space = if width > 0 { " " } else { "" };
            out += &format!("{space}{word}");
            width += space.len() + word.len();
        }
    }
    out
}

#[derive(Template)]
#[template(path = "book.html")]
struct Page<'a> {
    book: &'a Book,
    /// None: a book explains its words in its own text.
    words: Words,
    style: &'a str,
    version: &'a str,
}

impl Page<'_> {
    fn picture(&self, chart: &Chart) -> String {
        svg(chart)
    }

    fn appendix(&self) -> &[Section] {
        &self.book.appendix
    }
}

/// The whole as one HTML file: equal books give equal bytes.
fn html(book: &Book) -> anyhow::Result<String> {
    Ok(Page { book, words: Words::default(), style: STYLE, version: env!("CARGO_PKG_VERSION") }
        .render()?)
}

#[cfg(test)]
mod tests;
