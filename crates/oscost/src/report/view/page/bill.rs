//! A bill on a page: its items as bars, how they add up to the measured system time, what a change
//! would add, and every figure in a table.

mod added_time;
mod amounts;
mod item_chart;
mod item_table;
mod kernel_times;
mod waterfall;

use oscost_model::bill::Bill;

use crate::report::text::{minute, plain};
use crate::report::view::bill::{
    alternatives, beyond_lines, doubts, instructions, lead, other_reasons, remarks, title,
};
use crate::report::view::document::{Block, Section, View};
use crate::report::view::sections::Remarks;
use crate::report::view::{answer, what_if};

/// The page of a bill.
pub fn bill(bill: &Bill) -> View {
    let beyond = Block::list(beyond_lines(bill)).into_iter().collect();
    let Remarks { shown, method, .. } = remarks(bill);
    let method = Block::details("How it was counted and priced", shown.into_iter().chain(method));
    let sections = [
        item_chart::chart(bill)
            .map(|chart| section("charged", "What it was charged for", vec![Block::chart(chart)])),
        waterfall::chart(bill)
            .map(|chart| section("reconciliation", "How it adds up", vec![Block::chart(chart)])),
    ];
    let others = [
        alternatives(bill).map(|help| Section { id: "alternatives".to_owned(), ..help }),
        instructions(bill).map(|it| Section { id: "instructions-of-kernel".to_owned(), ..it }),
        other_reasons(bill).map(|reasons| Section { id: "reasons".to_owned(), ..reasons }),
        doubts(bill).map(|doubts| Section { id: "doubts".to_owned(), ..doubts }),
        Some(section("beyond", "Beyond the bill", beyond)),
        Some(section("items", "All items", vec![Block::Table(item_table::table(bill))])),
        method.map(|method| section("method", "How it was made", vec![method])),
    ];
    let sections = sections.into_iter().flatten().chain(changes(bill));
    View {
        title: title(bill),
        lead: lead(bill).chain([date_line(bill).into()]).collect(),
        answer: Some(answer::bill::answer(bill)),
        sections: sections.chain(others.into_iter().flatten()).collect(),
        ..View::default()
    }
}

/// What changes would add: as on a terminal, with a chart of those that are predicted.
fn changes(bill: &Bill) -> Vec<Section> {
    let mut sections = what_if::sections(bill);
    for (at, section) in sections.iter_mut().enumerate() {
        section.id = format!("change-{}", at + 1);
    }
    // If there are predictions, the first section has their table.
    if let (Some(first), Some(chart)) = (sections.first_mut(), added_time::chart(&bill.what_if)) {
        first.blocks.insert(0, Block::chart(chart));
    }
    sections
}

fn section(id: &str, title: &str, blocks: Vec<Block>) -> Section {
    Section { id: id.to_owned(), ..Section::of(title, blocks) }
}

/// When it was measured, and by what.
fn date_line(bill: &Bill) -> String {
    let (started, version) = (minute(&bill.started), plain(&bill.tool.version));
    format!("Measured on {started} UTC by oscost {version}.")
}

#[cfg(test)]
mod tests;
