//! A report as Markdown, for a pull request or a README.
//!
//! Texts are untrusted, and the site that renders the page interprets some of their characters: no text
//! becomes a tag, a link, a heading or another column, and no `@name` becomes a mention.

use crate::report::text::plain;
use crate::report::view::document::chart::Chart;
use crate::report::view::document::{
    Answer, Block, Cell, Details, Fact, Item, Section, Table, TableRow, View,
};

/// A zero-width space: it breaks up sequences that a site would interpret.
const NO_WIDTH: &str = "&#8203;";

/// The whole report.
pub fn report(view: &View) -> String {
    let title = format!("**{}**", cell(&view.title));
    let lead: Vec<String> = view.lead.iter().map(|it| cell(&one_line(&it.text))).collect();
    let answer = answer(view);
    let head = match &lead[..] {
        [one] if answer.is_empty() => format!("{title}: {one}\n"),
        [one] => format!("{title}\n{answer}\n{one}\n"),
        several => format!("{title}\n{answer}\n{}", list(several.iter().cloned())),
    };
    view.sections.iter().fold(head, |out, section| out + &self::section(section))
}

/// The whole report as a page of its own, with headings.
pub fn page(view: &View) -> String {
    page_with_pictures(view, &|_| String::new())
}

/// The same, with what `picture` makes of each chart.
pub fn page_with_pictures(view: &View, picture: &dyn Fn(&Chart) -> String) -> String {
    let lead: String = view.lead.iter().map(|it| format!("\n{}\n", prose(&it.text))).collect();
    let sections = sections_with_pictures(&view.sections, picture);
    format!("# {}\n{}{lead}{sections}", cell(&view.title), answer(view))
}

/// The answer as a list; empty without one.
fn answer(view: &View) -> String {
    let texts: Vec<String> = view.answer.iter().flat_map(Answer::paragraphs).map(prose).collect();
    if texts.is_empty() { String::new() } else { format!("\n{}", list(texts.into_iter())) }
}

/// Sections of a page.
pub fn sections_with_pictures(sections: &[Section], picture: &dyn Fn(&Chart) -> String) -> String {
    let block = |it: &Block| match it {
        Block::Chart(chart) => picture(chart),
        other => block(other),
    };
    let section = |section: &Section| {
        let blocks: String = section.blocks.iter().map(block).collect();
        match section.title.as_str() {
            "" => blocks,
            title => format!("\n## {}\n{blocks}", cell(title)),
        }
    };
    sections.iter().map(section).collect()
}

fn section(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block).collect();
    match section.title.as_str() {
        title if title.is_empty() || blocks.is_empty() => blocks,
        title => format!("\n{}:\n{blocks}", cell(title)),
    }
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("\n{}\n", prose(text)),
        Block::Heading(text) => format!("\n**{}**\n", cell(&one_line(text))),
        Block::List(items) => format!("\n{}", list(items.iter().map(item))),
        // The empty line lets what is inside be Markdown.
        Block::Details(Details { title, items }) => format!(
            "\n<details><summary>{}</summary>\n\n{}\n</details>\n",
            cell(title),
            list(items.iter().map(item))
        ),
        Block::Facts(facts) => {
            let fact = |Fact { name, value, is_command }: &Fact| {
                let value = if *is_command { code(value) } else { cell(value) };
                match name.is_empty() {
                    true => value,
                    false => format!("{}: {value}", cell(name)),
                }
            };
            format!("\n{}", list(facts.iter().map(fact)))
        }
        // No character in an indented block can end it.
        Block::Preformatted(text) => {
            let lines =
                text.trim_matches('\n').lines().map(|line| format!("    {}\n", plain(line)));
            format!("\n{}", lines.collect::<String>())
        }
        Block::Table(it) => table(it),
        // The tables have the same figures.
        Block::Forest(_)
        | Block::LogPlot(_)
        | Block::Chart(_)
        | Block::HeatMap(_)
        | Block::Timeline(_) => String::new(),
    }
}

/// An item, with the first of its cases.
fn item(item: &Item) -> String {
    match &item.cases[..] {
        [] => prose(&item.text),
        [case] => format!("{}: {}", code(case), cell(&item.text)),
        _ => format!("{}: {}", cell(&item.cases_in_short()), cell(&item.text)),
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let line = |item: String| {
        // A text that begins like an item must not start a nested list.
        let number = item.trim_start_matches(|c: char| c.is_ascii_digit());
        let guard = if number.starts_with(['-', '+', '.', ')']) { NO_WIDTH } else { "" };
        format!("- {guard}{item}\n")
    };
    items.map(line).collect()
}

/// A table; of cases, one for each family.
fn table(table: &Table) -> String {
    let mut out = String::new();
    if !table.caption.is_empty() {
        out += &format!("\n{}\n", cell(&one_line(&table.caption)));
    }
    let family = |row: &TableRow| {
        row.cells.first().and_then(|it| it.case.as_ref()).map(|case| case.family().to_owned())
    };
    for rows in table.rows.chunk_by(|one, other| family(one) == family(other)) {
        if let Some(family) = family(&rows[0]) {
            out += &format!("\n{}\n", code(&family));
        }
        out += &format!("\n{}", grid(table, rows));
    }
    let meanings = table.columns.iter().filter_map(|column| column.meaning.as_ref());
    let of_rows = table.rows.iter().flat_map(|row| {
        let name = row.cells.first().map_or("", |cell| &cell.text);
        row.notes.iter().map(move |note| format!("{name}: {note}"))
    });
    let notes = of_rows.chain(meanings.chain(&table.notes).cloned());
    let notes: Vec<String> = notes.map(|note| cell(&note)).collect();
    if !notes.is_empty() {
        out += &format!("\n{}", list(notes.into_iter()));
    }
    out
}

/// Rows under their headings, names aligned left and figures right. Empty columns are left out.
fn grid(table: &Table, rows: &[TableRow]) -> String {
    let text = |row: &TableRow, at: usize| row.cells.get(at).map_or("", |it| &it.text).to_owned();
    let columns = table.columns.iter().enumerate();
    let shown: Vec<_> = columns
        .filter(|(at, _)| *at == 0 || rows.iter().any(|row| !text(row, *at).is_empty()))
        .collect();
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
        format!("|{cells}\n")
    };
    let mut out = line(&mut shown.iter().map(|(_, column)| cell(&column.title)));
    let rule = |is_number: bool| if is_number { "---:" } else { "---" }.to_owned();
    out += &line(&mut shown.iter().map(|(_, column)| rule(column.is_number())));
    for row in rows {
        out += &line(
            &mut shown
                .iter()
                .map(|(at, _)| row.cells.get(*at).map_or_else(String::new, shown_cell)),
        );
    }
    out
}

/// A cell; a case without its family, which is above the table.
fn shown_cell(shown: &Cell) -> String {
    match shown.case {
        Some(_) => code(shown.text.split_once('/').map_or(&shown.text, |(_, name)| name)),
        None if shown.parts.is_empty() => cell(&shown.text),
        // Each part is shortened on its own: together they may exceed the maximum length.
        None => shown.parts.iter().map(|part| cell(part)).collect::<Vec<_>>().join("; "),
    }
}

/// A text in one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text of any length in one line: each word of it is shortened on its own.
fn prose(text: &str) -> String {
    text.split_whitespace().map(cell).collect::<Vec<_>>().join(" ")
}

/// A name as a code span; as text if it has a character that could end the span.
fn code(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || " /:=,.+-_%@~".contains(c);
    let text = plain(text);
    // Markdown strips spaces at both ends, and has no empty code span.
    let fits_span = text.chars().all(is_safe) && !text.is_empty() && text == text.trim();
    if fits_span { format!("`{text}`") } else { cell(&text) }
}

/// A text in a cell of a table or in a line: nothing in it acts as Markdown or HTML, and no name,
/// number or address in it becomes a link. Sites search for addresses in the source, so one of their
/// characters is written as an entity; they search for names and issues in the rendered text, so a
/// zero-width space separates these from `@` and `#`.
pub fn cell(text: &str) -> String {
    let text = plain(text);
    let mut out = String::new();
    let mut before = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // Within a word a `_` is a letter.
        let in_word = before.ends_with(char::is_alphanumeric)
            && letters.peek().is_some_and(|next| next.is_alphanumeric());
        match letter {
            '_' if in_word => out.push(letter),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '$' => out.extend(['\\', letter]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '/' if before.ends_with(':') => out.push_str("&#47;"),
            '.' if before.ends_with("www") => out.push_str("&#46;"),
            _ => out.push(letter),
        }
        before.push(letter.to_ascii_lowercase());
        if matches!(letter, '@' | '#') || before.ends_with("gh-") {
            out.push_str(NO_WIDTH);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_cell_acts_as_markdown() {
        assert_eq!(cell("a|b <i>*x*</i>\n`y`"), "a\\|b &lt;i&gt;\\*x\\*&lt;/i&gt; \\`y\\`");
        assert_eq!(cell("[x](y) ~~z~~ $a$"), "\\[x\\](y) \\~\\~z\\~\\~ \\$a\\$");
    }

    #[test]
    fn an_underscore_within_a_word_is_a_letter() {
        assert_eq!(cell("BELOW_FLOOR _x_ a__b"), "BELOW_FLOOR \\_x\\_ a\\_\\_b");
    }

    #[test]
    fn an_untrusted_text_makes_no_link_and_no_mention() {
        assert_eq!(cell("@all"), "@&#8203;all");
        assert_eq!(cell("fixes #1, GH-2"), "fixes #&#8203;1, GH-&#8203;2");
        assert_eq!(cell("https://a.b WWW.a.b"), "https:&#47;/a.b WWW&#46;a.b");
        assert_eq!(cell("me@a.b"), "me@&#8203;a.b");
    }

    #[test]
    fn an_item_of_a_list_is_not_a_list() {
        let out = list(["1. one", "- two", "3 rows"].map(str::to_owned).into_iter());
        assert_eq!(out, "- &#8203;1. one\n- &#8203;- two\n- 3 rows\n");
    }

    #[test]
    fn a_case_is_a_code_span_unless_it_could_end_the_span() {
        assert_eq!(
            code("round-trip:size=4096,peer_cpu=same"),
            "`round-trip:size=4096,peer_cpu=same`"
        );
        assert_eq!(code("a`b|c"), "a\\`b\\|c");
        assert_eq!([code(""), code(" x")], ["", " x"]);
    }
}
