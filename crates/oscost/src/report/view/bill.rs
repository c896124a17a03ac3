//! A bill: what the system charges a program, item by item, beside its measured system time.

mod alternatives;
mod below_zero;
mod beyond;
mod cool_prices;
mod families;
mod form_names;
mod function_prices;
mod instructions;
mod items;
#[cfg(test)]
pub(in crate::report) mod made_up;
mod notes;
mod pair_prices;
mod price_rows;
mod shared_ops;
mod sum_notes;
mod switches;
mod time_source;
mod trial_times;
mod without_price;

use oscost_model::bill::Bill;

pub(in crate::report::view) use self::alternatives::section as alternatives;
pub(in crate::report::view) use self::beyond::lines as beyond_lines;
pub(in crate::report::view) use self::families::{Family, families, is_small};
pub(in crate::report::view) use self::instructions::section as instructions;
use self::items::table;
pub(in crate::report::view) use self::items::{item_notes, share_text};
pub(in crate::report::view) use self::notes::remarks;
pub(in crate::report::view) use self::price_rows::price;
pub(in crate::report::view) use self::sum_notes::notes as sum_notes;
pub(in crate::report::view) use self::without_price::section as doubts;
use crate::advice::trust::Trust;
use crate::report::figures::with_thousands;
use crate::report::text::{plain, plural, shell_command};
use crate::report::view::bill_counting::watch;
use crate::report::view::document::{AnswerPlace, Block, Paragraph, Section, View};
use crate::report::view::sections::Remarks;
use crate::report::view::{answer, what_if};

/// More words of a command than these are in the record alone.
const MAX_COMMAND_CHARS: usize = 60;

/// The bill: what it says, the items and the reconciliations, what a change would add, and what would help; then
/// what to do next, and what qualifies it.
pub fn view(bill: &Bill) -> View {
    let mut sections = vec![Section::of("", [Block::Table(table(bill))])];
    sections.extend(instructions(bill));
    sections.extend(what_if::sections(bill));
    sections.extend(alternatives(bill));
    let next_before = sections.len();
    sections.extend(other_reasons(bill));
    sections.extend(doubts(bill));
    let beyond = Block::list(beyond_lines(bill));
    sections.extend(beyond.map(|list| Section::of("Beyond the bill", [list])));
    sections.push(method(bill));
    View {
        title: title(bill),
        lead: lead(bill).collect(),
        answer: Some(answer::bill::answer(bill)),
        answer_place: AnswerPlace::First { next_before },
        sections,
        ..View::default()
    }
}

/// Why it is trusted no further, but for the weightiest reason, which the answer has; `None` of no others.
pub(in crate::report::view) fn other_reasons(bill: &Bill) -> Option<Section> {
    let list = Block::list(answer::bill::other_reasons(bill));
    list.map(|list| Section::of("Other reasons of its grade", [list]))
}

/// How it was made: what qualifies its figures, then in detail.
fn method(bill: &Bill) -> Section {
    let Remarks { shown, method, .. } = remarks(bill);
    let blocks = [
        Block::list(shown),
        Block::details("Prices", price_rows::lines(bill)),
        Block::details("How it was counted and priced", method),
    ];
    Section::of("How it was made", blocks.into_iter().flatten())
}

/// What the bill is called: its label, or by its program.
pub(in crate::report::view) fn title(bill: &Bill) -> String {
    match &bill.label {
        Some(label) => plain(label),
        None => format!("The bill of {}", answer::bill::program_name(bill)),
    }
}

/// How far a bill can be believed, and why no further.
pub fn trust(bill: &Bill) -> Trust {
    answer::bill::trust_of(bill)
}

/// The bill as JSON, with a line end.
pub fn json(bill: &Bill) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(bill).map(|text| text + "\n")
}

/// What was measured, and what it executes.
pub(in crate::report::view) fn lead(bill: &Bill) -> impl Iterator<Item = Paragraph> {
    [conditions(bill)].into_iter().chain(other_programs(bill)).map(Paragraph::from)
}

/// How many programs a command executes; `None` of one, and of a running process.
fn other_programs(bill: &Bill) -> Option<String> {
    let execs = bill.counted.as_ref().filter(|_| bill.watched.is_none())?.calls.execs;
    (execs > 1).then(|| {
        format!(
            "it executes {} programs, as scripts and shims do: this bill is of all",
            with_thousands(execs as f64)
        )
    })
}

/// The command, the machine and its trials.
fn conditions(bill: &Bill) -> String {
    let command = plain(&shell_command(&bill.program));
    let shown: String = command.chars().take(MAX_COMMAND_CHARS).collect();
    let more = if shown.len() < command.len() { "..." } else { "" };
    let model = bill.machine.cpu.model_name.as_deref().unwrap_or("unknown processor");
    let release = bill.machine.os.release.as_deref();
    let release = release.map_or(String::new(), |release| format!(", Linux {}", plain(release)));
    let measured = match &bill.watched {
        Some(watched) => watch(watched),
        None => plural(bill.trials.real.repetitions.into(), "trial"),
    };
    let model = plain(model);
    let at = bill.host.as_deref().map_or(String::new(), |host| format!(" at {}", plain(host)));
    let times = trial_times::text(&bill.trials);
    let has_interval = bill.trials.system_time.ci95.is_some();
    let level = if has_interval { ", 95 % intervals in brackets" } else { "" };
    let higher = answer::bill::higher_time_clause(&bill.trials);
    format!("`{shown}{more}` on {model}{release}{at}; {measured}{level}: {times}{higher}")
}

#[cfg(test)]
mod tests;
