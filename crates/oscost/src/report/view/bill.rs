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
mod pair_prices;
mod price_rows;
mod shared_ops;
mod sum_notes;
mod switches;
mod time_source;
mod trial_times;
mod without_price;

use oscost_model::bill::{Bill, BillItem, BilledTrials, MeasuredPrices};
use oscost_model::unit::Unit;

pub(in crate::report::view) use self::alternatives::section as alternatives;
pub(in crate::report::view) use self::beyond::lines as beyond_lines;
pub(in crate::report::view) use self::families::{Family, families, is_small};
pub(in crate::report::view) use self::instructions::section as instructions;
use self::items::table;
pub(in crate::report::view) use self::items::{item_notes, share_text};
pub(in crate::report::view) use self::price_rows::price;
pub(in crate::report::view) use self::sum_notes::notes as sum_notes;
pub(in crate::report::view) use self::without_price::section as doubts;
use crate::advice::trust::Trust;
use crate::report::figures::{occurrences, rough, with_thousands};
use crate::report::text::{minute, plain, plural, shell_command};
use crate::report::view::bill_counting::{counting, watch};
use crate::report::view::document::{Block, Item, Paragraph, Section, View};
use crate::report::view::{answer, what_if};

/// More words of a command than these are in the record alone.
const MAX_COMMAND_CHARS: usize = 60;

/// The bill: the items and the reconciliation, their prices, what it does not have, what a change would add, what
/// would help, and what it says.
pub fn view(bill: &Bill) -> View {
    let mut sections = vec![Section::of("", [Block::Table(table(bill))])];
    sections.extend(price_rows::section(bill));
    sections.extend(doubts(bill));
    sections.extend(instructions(bill));
    sections.extend(what_if::sections(bill));
    sections.extend(alternatives(bill));
    let beyond = Block::list(beyond_lines(bill));
    sections.extend(beyond.map(|list| Section::of("Beyond the bill", [list])));
    sections.extend(Block::list(notes(bill)).map(|list| Section::of("How it was made", [list])));
    View {
        title: title(bill),
        lead: lead(bill).collect(),
        answer: Some(answer::bill::answer(bill)),
        sections,
        ..View::default()
    }
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

/// How it was counted and priced, and what is doubtful about it.
pub(in crate::report::view) fn notes(bill: &Bill) -> Vec<Item> {
    let prices = &bill.prices;
    let first = prices.runs.first().map(|run| {
        let others = prices.runs.len() - 1;
        let others = match others {
            0 => String::new(),
            others => format!(", and of {}", plural(others as u64, "other run")),
        };
        let (id, at) = (crate::report::text::id_beginning(&run.id), minute(&run.started));
        format!("prices of run {id} ({at}){others}")
    });
    let measured = prices.measured.iter().flat_map(measurement);
    let stale = prices.stale.iter().map(|why| format!("stale prices: {}", plain(why)));
    let counting = match (&bill.counted, &bill.not_counted) {
        (Some(counted), _) => counting(counted, bill.watched.is_some()),
        (None, why) => {
            let why = why.as_deref().unwrap_or("unknown reason");
            vec![format!(
                "missing: calls, forks, execs and signals were not counted: {}; the times and page \
                 faults of untouched trials are all there is",
                plain(why)
            )]
        }
    };
    let ticks = ticks_note(&bill.trials);
    let treated = (!bill.treatments.is_empty()).then(|| {
        let counted = bill.counted_without.as_deref();
        let counted = counted.map_or(String::new(), |why| {
            format!("; its calls were counted without them: {}", plain(why))
        });
        format!("the program ran under {}{counted}", plain(&bill.treatments.join("+")))
    });
    let first = treated.into_iter().chain(first);
    let all = first.chain(measured).chain(stale).chain(counting).chain(switches::notes(bill));
    let all = all.chain(time_source::note(bill)).chain(time_source::left_out(bill));
    let all = all
        .chain(fault_note(bill))
        .chain(below_zero::notes(bill))
        .chain(share_note(bill))
        .chain(reuse_note(bill))
        .chain(ticks)
        .chain(cool_prices::notes(bill));
    let all = all.chain(function_prices::notes(bill)).chain(pair_prices::notes(bill));
    let all = all.chain(instructions::note(bill)).chain(answer::bill::further_doubts(bill));
    all.map(Item::from).collect()
}

/// How the clock ticks of short runs or of short processes made the system time.
fn ticks_note(trials: &BilledTrials) -> Option<String> {
    match trials.clock_ticks {
        Some(ticks) => Some(format!(
            "system time: exact CPU time, divided by the clock ticks of the program's control groups \
             ({} ticks)",
            with_thousands(ticks.round())
        )),
        None => (trials.system_figure == "mean").then(|| {
            "few clock ticks find a run of the program in the kernel: the system time is the mean"
                .to_owned()
        }),
    }
}

/// Of which page faults the kind is not known.
fn fault_note(bill: &Bill) -> Option<String> {
    let events = bill.counted.as_ref().and_then(|counted| counted.calls.events);
    if events.is_none_or(|events| events.faults.of_known_kind() == 0) {
        let note = "the kind of page faults is not known: minor ones are charged as first touches \
                    of anonymous pages";
        return (bill.trials.minor_faults > 0.0).then(|| note.to_owned());
    }
    let mut unknown = bill.items.iter().filter(|item| item.times > 0.0);
    let unknown = unknown.find(|item| item.name == "minor page fault")?;
    Some(format!(
        "the kind of {} page faults is not known: they are charged as first touches of anonymous \
         pages",
        occurrences(unknown.times)
    ))
}

/// Why page faults are charged in no whole number beside counts that are whole.
fn share_note(bill: &Bill) -> Option<String> {
    // The median of the trials need not be whole either; a kind is counted.
    let is_of_kind = |item: &&BillItem| {
        let name = item.name.as_str();
        name.ends_with(" page fault") && !["minor page fault", "major page fault"].contains(&name)
    };
    let mut kinds = bill.items.iter().filter(is_of_kind);
    kinds.any(|item| item.times.fract() != 0.0).then(|| {
        "page faults that prices of forks and execs contain are taken off each kind in the same \
         share: the rest is no whole number"
            .to_owned()
    })
}

/// What is among the faults that reuse a page, and is not told apart.
fn reuse_note(bill: &Bill) -> Option<String> {
    let reused = bill.items.iter().find(|item| item.name == "reuse page fault")?;
    Some(format!(
        "{} reuse page faults: first writes to pages of a shared mapping that were read before are \
         among them, at the same price, as the kernel tells no difference",
        occurrences(reused.times)
    ))
}

/// Which prices were measured for the bill.
fn measurement(measured: &MeasuredPrices) -> Vec<String> {
    let prices = plural(measured.cases.len() as u64, "price");
    let took = rough(measured.seconds, Unit::Seconds);
    let mut lines = vec![format!("measuring {prices} took {took}")];
    if measured.interrupted {
        lines.push("missing: prices whose measurement was interrupted".to_owned());
    }
    if measured.block_missing {
        lines.push("missing: the last third of the trials, which was to follow it".to_owned());
    }
    if let Some(why) = &measured.failure {
        lines.push(format!("missing: prices whose measurement failed: {}", plain(why)));
    }
    lines
}

#[cfg(test)]
mod tests;
