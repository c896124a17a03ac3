//! A run or a comparison as a page of Markdown, for a pull request or a README.
//!
//! Texts come from outside, and the page is shown by a site where words mean more than they say: no
//! text becomes a tag, a link, a heading or another column, and nobody is called by a `@name`.

use std::fmt::Write as _;

use crate::report::text::plain;
use crate::report::view::run::{Cells, Headings};

/// A space of no width: it parts what together would mean more.
const NO_WIDTH: &str = "&#8203;";

/// A list under its title; nothing where there is nothing in it.
pub(in crate::report) fn list(title: &str, items: impl Iterator<Item = String>, out: &mut String) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}:\n");
    for item in items {
        // What begins like an item is no list within the list.
        let number = item.trim_start_matches(|c: char| c.is_ascii_digit());
        let guard = if number.starts_with(['-', '+', '.', ')']) { NO_WIDTH } else { "" };
        let _ = writeln!(out, "- {guard}{item}");
    }
}

/// A table: names to the left, figures to the right. A column in which nothing stands is left out.
pub(in crate::report) fn lined_up(headings: Headings, lines: &[(String, Cells)]) -> String {
    let shown: Vec<usize> = (0..headings.len())
        .filter(|&at| lines.iter().any(|(_, cells)| !cells[at].is_empty()))
        .collect();
    let row = |name: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells = cells.map(|cell| format!(" {cell} |")).collect::<String>();
        format!("| {name} |{cells}\n")
    };
    let rule = |at: &usize| match headings[*at] {
        "class" | "verdict" => "---".to_owned(),
        _ => "---:".to_owned(),
    };
    let mut out = row("case", &mut shown.iter().map(|&at| headings[at].to_owned()));
    out.push_str(&row("---", &mut shown.iter().map(rule)));
    for (name, cells) in lines {
        out.push_str(&row(name, &mut shown.iter().map(|&at| cell(&cells[at]))));
    }
    out
}

pub(in crate::report) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name in a span of code; one in which a sign stands that could end that is shown as text.
pub(in crate::report) fn code(text: &str) -> String {
    let tame = |c: char| c.is_ascii_alphanumeric() || " /:=,.+-_%@~".contains(c);
    let text = plain(text);
    // Spaces at both ends are taken away, and of nothing there is no span.
    let is_tame = text.chars().all(tame) && !text.is_empty() && text == text.trim();
    if is_tame { format!("`{text}`") } else { cell(&text) }
}

/// A text in a cell of a table or in a line: nothing of it steers Markdown or HTML, and no name,
/// number or address in it becomes a link. Addresses are looked for in the page's source, so there a
/// sign of theirs is written by its number; names and issues in what is shown, so there a space of no
/// width parts them from their sign.
pub(in crate::report) fn cell(text: &str) -> String {
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
    fn a_worker_of_markdown_has_nothing_that_steers_it() {
        assert_eq!(cell("a|b <i>*x*</i>\n`y`"), "a\\|b &lt;i&gt;\\*x\\*&lt;/i&gt; \\`y\\`");
        assert_eq!(cell("[x](y) ~~z~~ $a$"), "\\[x\\](y) \\~\\~z\\~\\~ \\$a\\$");
    }

    #[test]
    fn an_underscore_within_a_word_is_a_letter() {
        assert_eq!(cell("BELOW_FLOOR _x_ a__b"), "BELOW_FLOOR \\_x\\_ a\\_\\_b");
    }

    #[test]
    fn nobody_is_called_and_nothing_is_linked_by_a_text_from_outside() {
        assert_eq!(cell("@all"), "@&#8203;all");
        assert_eq!(cell("fixes #1, GH-2"), "fixes #&#8203;1, GH-&#8203;2");
        assert_eq!(cell("https://a.b WWW.a.b"), "https:&#47;/a.b WWW&#46;a.b");
        assert_eq!(cell("me@a.b"), "me@&#8203;a.b");
    }

    #[test]
    fn an_item_of_a_list_is_no_list() {
        let mut out = String::new();
        list("Notes", ["1. one", "- two", "3 rows"].map(str::to_owned).into_iter(), &mut out);
        assert_eq!(out, "\nNotes:\n\n- &#8203;1. one\n- &#8203;- two\n- 3 rows\n");
    }

    #[test]
    fn a_case_stands_in_a_span_of_code_unless_it_could_end_it() {
        assert_eq!(
            code("round-trip:size=4096,peer_cpu=same"),
            "`round-trip:size=4096,peer_cpu=same`"
        );
        assert_eq!(code("a`b|c"), "a\\`b\\|c");
        assert_eq!([code(""), code(" x")], ["", " x"]);
    }
}
