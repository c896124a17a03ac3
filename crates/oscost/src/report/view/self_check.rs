//! What of a machine's conditions limits oscost itself: the answer, then a row for each condition.

use serde::Serialize;

use crate::advice::self_check::{Judgement, State};
use crate::report::text::plain_paragraph;
use crate::report::view::document::{
    Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};

/// The answer, and the conditions, worst first.
pub fn view(judgements: &[Judgement]) -> View {
    let table = Table {
        columns: vec![Column::text("condition"), Column::choice("state"), Column::prose("found")],
        rows: judgements.iter().map(row).collect(),
        ..Table::default()
    };
    let lead = vec![Paragraph::from(plain_paragraph(&answer(judgements)))];
    View { lead, sections: vec![Section::of("", [Block::Table(table)])], ..View::default() }
}

/// Whether anything can be measured, and what is not there.
fn answer(judgements: &[Judgement]) -> String {
    let of = |state: State| -> Vec<&str> {
        let judged = judgements.iter().filter(|judgement| judgement.state == state);
        judged.map(|judgement| judgement.subject).collect()
    };
    let unknown = match of(State::Unknown).len() {
        0 => String::new(),
        1 => "; 1 condition cannot be examined".to_owned(),
        count => format!("; {count} conditions cannot be examined"),
    };
    let (blocks, limits) = (of(State::Blocks), of(State::Limits));
    match (&blocks[..], &limits[..]) {
        ([], []) => format!("Everything that oscost needs is here{unknown}."),
        ([], [one]) => format!(
            "Everything that oscost needs is here, but one condition limits what it can measure or \
             check: {one}{unknown}."
        ),
        ([], limits) => format!(
            "Everything that oscost needs is here, but {} conditions limit what it can measure or \
             check: {}{unknown}.",
            limits.len(),
            limits.join(", ")
        ),
        (blocks, _) => format!("Nothing can be measured here: {}{unknown}.", blocks.join(", ")),
    }
}

fn row(judgement: &Judgement) -> TableRow {
    let Judgement { subject, state, found, cost, remedy } = judgement;
    let note = |name: &str, text: &Option<String>| {
        text.as_ref().map(|text| plain_paragraph(&format!("{name}: {text}")))
    };
    let notes = [note("costs", cost), note("remedy", remedy)];
    let cells =
        vec![Cell::text(*subject), Cell::text(word(*state)), Cell::text(plain_paragraph(found))];
    TableRow { notes: notes.into_iter().flatten().collect(), ..TableRow::of(cells) }
}

fn word(state: State) -> &'static str {
    match state {
        State::Blocks => "blocks",
        State::Limits => "limits",
        State::Unknown => "unknown",
        State::Fine => "fine",
    }
}

/// The conditions as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    can_measure: bool,
    conditions: &'a [Judgement],
}

/// Whether nothing keeps oscost from measuring.
pub fn can_measure(judgements: &[Judgement]) -> bool {
    judgements.iter().all(|judgement| judgement.state != State::Blocks)
}

/// The conditions as JSON, with a line end.
pub fn json(judgements: &[Judgement]) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: "oscost.self-check/1",
        can_measure: can_measure(judgements),
        conditions: judgements,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(subject: &'static str, state: State) -> Judgement {
        let (cost, remedy) = (Some("rows".to_owned()), Some("repair\u{1b}[31m it".to_owned()));
        Judgement { subject, state, found: "so".to_owned(), cost, remedy }
    }

    #[test]
    fn the_answer_says_whether_anything_can_be_measured_and_what_is_limited() {
        let fine = judged("store", State::Fine);
        let limited = judged("ptrace", State::Limits);
        let unknown = judged("seccomp", State::Unknown);
        let blocked = judged("worker", State::Blocks);
        let answer = |of: &[&Judgement]| {
            answer(&of.iter().map(|&judgement| judgement.clone()).collect::<Vec<_>>())
        };
        assert_eq!(answer(&[&fine]), "Everything that oscost needs is here.");
        let one = answer(&[&limited, &fine, &unknown]);
        assert!(one.ends_with("check: ptrace; 1 condition cannot be examined."), "{one}");
        let two = answer(&[&limited, &judged("clock", State::Limits)]);
        assert!(two.contains("2 conditions limit") && two.contains("ptrace, clock."), "{two}");
        assert_eq!(answer(&[&blocked, &limited]), "Nothing can be measured here: worker.");
        assert!(!can_measure(&[blocked]) && can_measure(&[limited, unknown, fine]));
    }

    #[test]
    fn a_row_has_what_is_so_what_it_costs_and_what_to_do_without_control_characters() {
        let row = row(&judged("ptrace", State::Limits));
        let texts: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["ptrace", "limits", "so"]);
        assert_eq!(row.notes, ["costs: rows", "remedy: repair[31m it"]);
    }
}
