//! The words of a page that oscost explains: each is a link to its text at the end of the page, which
//! is the text of `oscost explain`.

use std::collections::{BTreeMap, BTreeSet};

use super::case_name::case_name;
use super::prose::{lead, own_prose, prose, without_markup};
use crate::advice::words::{Kind, of_kind};
use crate::report::view::document::chart::Chart;
use crate::report::view::document::{Block, Cell, Column, Fact, Section, Table, TableRow, View};
use crate::report::view::words;

/// The explained words, by themselves.
#[derive(Default)]
pub(in crate::report::render) struct Words(BTreeMap<String, ExplainedWord>);

/// A word with its text.
pub(in crate::report::render) struct ExplainedWord {
    pub(in crate::report::render) anchor: String,
    pub(in crate::report::render) meanings: Vec<Meaning>,
}

/// What a word means.
pub(in crate::report::render) struct Meaning {
    pub(in crate::report::render) title: String,
    pub(in crate::report::render) facts: Vec<Fact>,
}

/// A part of a text, and the anchor of its explanation if it is a word that is explained.
pub(in crate::report::render) struct Part<'a> {
    pub(in crate::report::render) text: &'a str,
    pub(in crate::report::render) anchor: Option<&'a str>,
}

/// A row of a table, its cells in parts.
pub(in crate::report::render) struct RowInParts<'a> {
    pub(in crate::report::render) row: &'a TableRow,
    pub(in crate::report::render) cells: Vec<CellInParts<'a>>,
}

/// A cell in parts.
pub(in crate::report::render) struct CellInParts<'a> {
    pub(in crate::report::render) cell: &'a Cell,
    pub(in crate::report::render) parts: Vec<Part<'a>>,
}

impl Words {
    /// The words of a report and of its charts.
    pub(super) fn of<'a>(view: &View, charts: impl Iterator<Item = &'a Chart>) -> Self {
        let mut printed = BTreeSet::new();
        for block in view.sections.iter().flat_map(|section| &section.blocks) {
            match block {
                Block::Table(table) => {
                    printed.extend(table.columns.iter().map(heading));
                    for row in &table.rows {
                        let cells = table.columns.iter().zip(&row.cells);
                        let cells = cells.filter(|(column, _)| column.has_words);
                        printed.extend(cells.flat_map(|(_, cell)| words_of(cell)));
                    }
                }
                Block::Facts(facts) => printed.extend(facts.iter().filter_map(word_of_run)),
                _ => {}
            }
        }
        let series = charts.flat_map(|chart| &chart.series);
        printed.extend(series.map(|series| beginning(&series.name).to_owned()));
        let mut anchors = BTreeSet::new();
        let explained = printed.into_iter().filter_map(|word| {
            let meanings: Vec<Meaning> = words::exact(&word).into_iter().map(meaning).collect();
            if meanings.is_empty() {
                return None;
            }
            let anchor = free_anchor(&word, &mut anchors);
            Some((word, ExplainedWord { anchor, meanings }))
        });
        Self(explained.collect())
    }

    /// All of them, in order.
    pub(in crate::report::render) fn all(&self) -> impl Iterator<Item = &ExplainedWord> {
        self.0.values()
    }

    /// Whether there are none.
    pub(in crate::report::render) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The anchor of a word, if it is explained.
    pub(in crate::report::render) fn anchor(&self, word: &str) -> Option<&str> {
        self.0.get(word).map(|it| it.anchor.as_str())
    }

    /// The anchor of a heading.
    pub(in crate::report::render) fn of_column(&self, column: &Column) -> Option<&str> {
        self.anchor(&heading(column))
    }

    /// The anchor of a fact's value.
    pub(in crate::report::render) fn of_fact(&self, fact: &Fact) -> Option<&str> {
        self.anchor(&word_of_run(fact)?)
    }

    /// Whether the name of a row begins with its benchmark, so that the page need not repeat it.
    pub(in crate::report::render) fn is_first_of(&self, row: &TableRow) -> bool {
        let name = row.cells.first().map_or("", |cell| cell.text.as_str());
        !row.benchmark.is_empty() && name.split(':').next() == Some(row.benchmark.as_str())
    }

    /// The rows of a table, each cell in parts. A word that many rows of a column have is a link in the
    /// first of them; flags are links in all rows.
    pub(in crate::report::render) fn rows<'a>(
        &'a self,
        table: &'a Table,
    ) -> impl Iterator<Item = RowInParts<'a>> {
        let mut linked: BTreeSet<(usize, &str)> = BTreeSet::new();
        table.rows.iter().map(move |row| {
            let cells = row.cells.iter().enumerate().map(|(at, cell)| {
                let mut parts = self.parts(table.columns.get(at), cell);
                if let [Part { text, anchor }] = &mut parts[..]
                    && !is_flag(text)
                    && anchor.is_some_and(|it| !linked.insert((at, it)))
                {
                    *anchor = None;
                }
                CellInParts { cell, parts }
            });
            RowInParts { row, cells: cells.collect() }
        })
    }

    /// A sentence as markup, with its commands as code.
    pub(in crate::report::render) fn prose(&self, text: &str) -> String {
        prose(text)
    }

    /// A sentence on what was measured as markup.
    pub(in crate::report::render) fn lead(&self, text: &str) -> String {
        lead(text)
    }

    /// A text of oscost's own as markup.
    pub(in crate::report::render) fn own_prose(&self, text: &str) -> String {
        own_prose(text)
    }

    /// The name of a row as markup.
    pub(in crate::report::render) fn row_name(&self, row: &TableRow, text: &str) -> String {
        match self.is_first_of(row) {
            true => case_name(text),
            false => without_markup(text),
        }
    }

    /// Whether a value needs no quotes in markup: a number. All other text has them.
    pub(in crate::report::render) fn is_bare(&self, value: &str) -> bool {
        value.parse::<f64>().is_ok()
    }

    /// The value of a cell, by which tables are sorted and copied; `None` if its text says it.
    pub(in crate::report::render) fn sort_key<'a>(
        &self,
        value: &'a str,
        text: &str,
    ) -> Option<&'a str> {
        let is_shown = value == text || value.is_empty() && matches!(text, "" | "-");
        (!is_shown).then_some(value)
    }

    fn parts<'a>(&'a self, column: Option<&Column>, cell: &'a Cell) -> Vec<Part<'a>> {
        let text = cell.text.as_str();
        if !column.is_some_and(|column| column.has_words) {
            return vec![Part { text, anchor: None }];
        }
        let value = cell.value.as_deref();
        if let Some(anchor) = self.anchor(text).or_else(|| self.anchor(value?)) {
            return vec![Part { text, anchor: Some(anchor) }];
        }
        // A verdict, and then what decides it.
        let (word, rest) = text.split_at(text.find(':').unwrap_or(0));
        if let Some(anchor) = self.anchor(word) {
            let word = Part { text: word, anchor: Some(anchor) };
            return vec![word, Part { text: rest, anchor: None }];
        }
        let parts = text.split_inclusive(' ').map(|text| {
            let word = text.trim_end_matches(' ');
            Part { text, anchor: self.anchor(word).filter(|_| is_flag(word)) }
        });
        parts.collect()
    }
}

/// The word that explains a column: its heading in one line, or of one that is a name what is named.
fn heading(column: &Column) -> String {
    match column.word {
        "" => column.title.replace('\n', " "),
        word => word.to_owned(),
    }
}

/// What may be a word in a cell: the whole of it, its beginning, its value, or the flags in it.
fn words_of(cell: &Cell) -> Vec<String> {
    let flags = cell.text.split(' ').filter(|word| is_flag(word));
    let beginning = cell.text.split(':').next();
    let whole = [Some(cell.text.as_str()), beginning, cell.value.as_deref()];
    whole.into_iter().flatten().chain(flags).map(str::to_owned).collect()
}

/// Whether a word is written as flags are. A shorter or smaller one may be part of a sentence.
fn is_flag(word: &str) -> bool {
    word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// The class or the profile of a run, as the record spells it.
fn word_of_run(fact: &Fact) -> Option<String> {
    let word = fact.value.replace(' ', "-");
    let is_known = |kind| of_kind(kind, &word).is_some();
    (is_known(Kind::NoiseClass) || is_known(Kind::Profile)).then_some(word)
}

/// The name of a series without what follows it: `light, less than`.
fn beginning(name: &str) -> &str {
    name.split_once(", ").map_or(name, |(word, _)| word)
}

fn meaning(section: Section) -> Meaning {
    let facts = section.blocks.into_iter().filter_map(|block| match block {
        Block::Facts(facts) => Some(facts),
        _ => None,
    });
    Meaning { title: section.title, facts: facts.flatten().collect() }
}

/// An anchor that no other word has.
fn free_anchor(word: &str, taken: &mut BTreeSet<String>) -> String {
    let letters = word.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let mut anchor = format!("w-{}", letters.collect::<String>());
    while !taken.insert(anchor.clone()) {
        anchor.push('-');
    }
    anchor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(cells: &[&str]) -> (View, Vec<Column>) {
        let columns = vec![Column::text("case"), Column::words("flags"), Column::choice("verdict")];
        let row = TableRow::of(cells.iter().map(|text| Cell::text(*text)).collect());
        let table = Table { columns: columns.clone(), rows: vec![row], ..Table::default() };
        (View::of(vec![Section::of("table", [Block::Table(table)])]), columns)
    }

    #[test]
    fn headings_flags_and_whole_cells_are_words_and_parts_of_sentences_are_not() {
        let (view, columns) =
            page(&["light", "needs s and p: SKEWED NOT_CONVERGED", "does not hold"]);
        let words = Words::of(&view, std::iter::empty());
        for word in ["case", "flags", "verdict", "SKEWED", "NOT_CONVERGED", "does not hold"] {
            assert!(words.anchor(word).is_some(), "{word}");
        }
        for other in ["light", "s", "p", "needs"] {
            assert_eq!(words.anchor(other), None, "{other}");
        }
        let cell = Cell::text("needs s and p: SKEWED NOT_CONVERGED");
        let parts = words.parts(columns.get(1), &cell);
        assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), cell.text);
        let links: Vec<&str> = parts.iter().filter_map(|part| part.anchor).collect();
        assert_eq!(links, ["w-SKEWED", "w-NOT-CONVERGED"]);
        let decided = Cell::text("does not hold: too slow");
        let parts = words.parts(columns.get(2), &decided);
        assert_eq!(parts[0].anchor, Some("w-does-not-hold"));
        assert_eq!((parts[1].text, parts[1].anchor), (": too slow", None));
        let verdict = Cell { value: Some("does not hold".to_owned()), ..Cell::text("NO") };
        assert_eq!(words.parts(columns.get(2), &verdict)[0].anchor, Some("w-does-not-hold"));
    }

    #[test]
    fn a_word_of_many_rows_is_a_link_in_the_first_and_flags_in_all() {
        let (mut view, _) = page(&["a/x", "SKEWED", "faster"]);
        let Block::Table(table) = &mut view.sections[0].blocks[0] else { panic!("no table") };
        for texts in [["a/y", "SKEWED", "faster"], ["a/z", "SKEWED DRIFT", "slower"]] {
            table.rows.push(TableRow::of(texts.map(Cell::text).to_vec()));
        }
        let words = Words::of(&view, std::iter::empty());
        let Block::Table(table) = &view.sections[0].blocks[0] else { panic!("no table") };
        let links = |column: usize| -> Vec<usize> {
            let count = |row: RowInParts<'_>| {
                row.cells[column].parts.iter().filter(|part| part.anchor.is_some()).count()
            };
            words.rows(table).map(count).collect()
        };
        assert_eq!(links(1), [1, 1, 2]);
        assert_eq!(links(2), [1, 0, 1]);
        assert!(words.is_bare("-1.5e+9") && !words.is_bare("") && !words.is_bare("a b"));
        assert!(!words.is_bare("1/"), "the end of a tag would be read into it");
    }

    #[test]
    fn anchors_differ_where_words_differ_in_signs_alone() {
        let mut taken = BTreeSet::new();
        let anchors = ["then/here", "then here", "insn:u"].map(|it| free_anchor(it, &mut taken));
        assert_eq!(anchors, ["w-then-here", "w-then-here-", "w-insn-u"]);
    }
}
