//! A run or a comparison as a page of Markdown, for a pull request or a README.
//!
//! Texts come from outside, and the page is shown by a site where words mean more than they say: no
//! text becomes a tag, a link, a heading or another column, and nobody is called by a `@name`.

use std::fmt::Write as _;

use oscost_model::record::{Comparison, Record, Row, RowOutcome};

use super::compare::Shown;
use super::table::{Cells, Headings, behind, family, first_of, gathered, headline, is_asked, said};
use super::{ab, compare, counted, plain, table, trials};

/// A space of no width: it parts what together would mean more.
const NO_WIDTH: &str = "&#8203;";

/// A run: what the text of it says, in tables of Markdown.
pub fn run(record: &Record) -> String {
    let mut out = opening(record);
    match record.comparisons.is_empty() {
        true => figures(record, &mut out),
        false => side_by_side(record, &mut out),
    }
    let _ = writeln!(out, "\n{}", origin(record));
    out
}

/// Runs that were compared.
pub fn comparison(shown: &Shown<'_>) -> String {
    let mut out = String::new();
    for (name, runs) in [("base", shown.base), ("new", shown.new)] {
        let text = compare::side("", runs);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "- **{name}**: {}", cell(&one_line(&text)));
    }
    if let Some(record) = shown.new.first() {
        let _ = write!(out, "\n{}", opening(record));
    }
    let results = &shown.compared.results;
    let row = |at: u32| results.get(at as usize);
    let rows = shown.compared.comparisons.iter();
    let rows: Vec<(&Comparison, Row, &Row)> =
        rows.filter_map(|it| Some((it, row(it.base)?.clone(), row(it.new)?))).collect();
    compared(&rows, &mut out);
    let left = shown.compared.not_compared.iter();
    let left = gathered(left.map(|it| (it.why.clone(), it.case.as_str())));
    let left = left.iter().map(|(why, cases)| about(cases, why));
    list("Not compared", left, &mut out);
    let differ = shown.compared.differences.iter().map(|text| format!("differ: {text}"));
    list("Notes", differ.chain(compare::said(shown)).map(|line| cell(&line)), &mut out);
    out
}

/// The machine and how quiet it was.
fn opening(record: &Record) -> String {
    let label = record.label.as_ref().map(|label| format!(" ({})", cell(label)));
    let machine = cell(&one_line(&headline(record)));
    format!("**oscost**{}: {machine}\n", label.unwrap_or_default())
}

/// Which run it is, so that whoever has it can look at all of it.
fn origin(record: &Record) -> String {
    let started = record.started.get(..19).unwrap_or(&record.started).replace('T', " ");
    format!(
        "Run {}, {} UTC, oscost {}.",
        code(&record.id),
        cell(&started),
        cell(&record.tool.version)
    )
}

/// The figures of a run: a table for each family, what is missing in them, and what marks mean.
fn figures(record: &Record, out: &mut String) {
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    let measured: Vec<&Row> =
        asked.iter().copied().filter(|row| row.outcome == RowOutcome::Measured).collect();
    let kind = |row: &&Row| (family(row).to_owned(), counted::is_it(row));
    for rows in measured.chunk_by(|one, other| kind(one) == kind(other)) {
        let (headings, cells): (Headings, fn(&Row) -> Cells) = match rows[0] {
            row if trials::is_program(row) => (trials::HEADINGS, trials::cells),
            row if counted::is_it(row) => (counted::HEADINGS, counted::cells),
            _ => (table::HEADINGS, table::cells),
        };
        let lines: Vec<(String, Cells)> =
            rows.iter().map(|row| (code(short(row)), cells(row))).collect();
        let _ = writeln!(out, "\n{}\n", code(family(rows[0])));
        out.push_str(&lined_up(headings, &lines));
    }
    not_measured(&asked, out);
    list("Notes", said(record, &asked).iter().map(|line| cell(line)), out);
    if let Some(text) = behind(record, &asked) {
        let _ = writeln!(out, "\n{}", cell(&text));
    }
}

/// What was compared within a run: tables for each pair of places, and what to think of them.
fn side_by_side(record: &Record, out: &mut String) {
    for (base, new) in ab::targets(record) {
        let (asked, reference_cases) = ab::between(record, base, new);
        let _ = writeln!(out, "\n{}", cell(&one_line(&ab::title((base, new), &asked))));
        let row = |it: &Comparison| trials::of_metric(&record.results[it.base as usize], it);
        let new = |it: &Comparison| &record.results[it.new as usize];
        let rows: Vec<(&Comparison, Row, &Row)> =
            asked.iter().map(|it| (*it, row(it), new(it))).collect();
        compared(&rows, out);
        if let Some(line) = ab::beside(record, &reference_cases) {
            let _ = writeln!(out, "\n{}", cell(&line));
        }
    }
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    not_measured(&asked, out);
    let left = ab::left_out(record, &asked);
    list("Not compared", left.iter().map(|(why, cases)| about(cases, why)), out);
    list("Notes", ab::said(record).iter().map(|line| cell(line)), out);
}

/// A table for each family of what was compared.
fn compared(rows: &[(&Comparison, Row, &Row)], out: &mut String) {
    if rows.is_empty() {
        let _ = writeln!(out, "\nNo row could be compared.");
    }
    let kind = |row: &Row| (family(row).to_owned(), counted::is_it(row));
    for rows in rows.chunk_by(|(_, one, _), (_, other, _)| kind(one) == kind(other)) {
        let is_counted = counted::is_it(&rows[0].1);
        let cells = |it: &Comparison, base: &Row, new: &Row| match is_counted {
            true => counted::compared(it, base, new),
            false => compare::cells(it, base),
        };
        let lines: Vec<(String, Cells)> =
            rows.iter().map(|(it, row, new)| (code(short(row)), cells(it, row, new))).collect();
        let _ = writeln!(out, "\n{}\n", code(family(&rows[0].1)));
        let headings = if is_counted { counted::COMPARED } else { compare::HEADINGS };
        out.push_str(&lined_up(headings, &lines));
    }
}

fn not_measured(asked: &[&Row], out: &mut String) {
    let left = asked.iter().filter(|row| row.outcome != RowOutcome::Measured);
    let reasons = left.map(|row| {
        let reason = row.reason.as_deref().unwrap_or("no reason given");
        (format!("{}: {reason}", row.outcome.text()), row.case.as_str())
    });
    let gathered = gathered(reasons);
    list("Not measured", gathered.iter().map(|(why, cases)| about(cases, why)), out);
}

/// A reason, and the cases that it is of.
fn about(cases: &[&str], why: &str) -> String {
    match cases {
        [case] => format!("{}: {}", code(case), cell(why)),
        cases => format!("{}: {}", cell(&first_of(cases)), cell(why)),
    }
}

/// A list under its title; nothing where there is nothing in it.
fn list(title: &str, items: impl Iterator<Item = String>, out: &mut String) {
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
fn lined_up(headings: Headings, lines: &[(String, Cells)]) -> String {
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

/// A case without its family, which stands above it.
fn short(row: &Row) -> &str {
    row.case.split_once('/').map_or(row.case.as_str(), |(_, name)| name)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name in a span of code; one in which a sign stands that could end that is shown as text.
fn code(text: &str) -> String {
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
pub(super) fn cell(text: &str) -> String {
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
