//! Two bills side by side: what the new one spends more, item by item, by count and by price.

mod one_sided;

use oscost_model::bill::Amount;
use oscost_model::bill_comparison::{AmountChange, BillComparison, ComparedBill, ItemChange};
use oscost_model::unit::Unit;

use self::one_sided::{OneSided, of_item, one_sided};
use crate::report::figures::{Style, at_least, rough, rough_added, with_thousands};
use crate::report::text::{minute, plain, plural, shell_command};
use crate::report::view::bill_counting::watch;
use crate::report::view::document::{
    Answer, AnswerPlace, Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};

/// More words of a command than these are in the record alone.
const MAX_COMMAND_CHARS: usize = 60;
/// More items than these are in the record alone.
const MAX_ITEMS: usize = 30;
/// More items whose change is not known than these are in the record alone.
const MAX_UNKNOWN: usize = 12;
/// More parts of a change than these are no sentence.
const MAX_PARTS: usize = 3;
/// An item whose change is below this share of the larger system time is one of the small ones.
const SMALL_SHARE: f64 = 0.000_5;

/// The comparison: a sentence, the items and the totals, and what is not known.
pub fn view(compared: &BillComparison) -> View {
    let lead = [side("base", &compared.base), side("new", &compared.new)];
    let findings = vec![format!("{}.", headline(compared))];
    let mut sections = vec![Section::of("", [Block::Table(table(compared))])];
    if let Some(list) = Block::list(unknown(compared)) {
        sections.push(Section::of("Without a change", [list]));
    }
    if let Some(list) = Block::list(notes(compared)) {
        sections.push(Section::of("How to read it", [list]));
    }
    let view = View {
        lead: lead.map(Paragraph::from).into(),
        answer: Some(Answer { findings, ..Answer::default() }),
        answer_place: AnswerPlace::First { next_before: sections.len() },
        sections,
        ..View::default()
    };
    view.as_page("Two bills side by side", "Items")
}

/// The comparison as JSON, with a line end.
pub fn json(compared: &BillComparison) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(compared).map(|text| text + "\n")
}

/// What has changed, in words, and whether it may be nothing.
fn headline(compared: &BillComparison) -> String {
    let change = &compared.system.change;
    let direction = if change.ns < 0.0 { "less" } else { "more" };
    let each = if compared.is_per_second() { " each second" } else { "" };
    let spent = match change.ns {
        0.0 => format!("new spends as long in the kernel{each} as base"),
        ns => format!("new spends {} {direction} in the kernel{each} than base", time(ns.abs())),
    };
    let certainty = match (compared.system.may_be_nothing(), change.ci95) {
        (Some(true), Some(ends)) => format!(", which may be nothing (95 %: {})", interval(ends)),
        (Some(false), Some(ends)) => format!(" (95 %: {})", interval(ends)),
        _ => ", and how sure that is is not known".to_owned(),
    };
    let parts = parts(&compared.items);
    if parts.is_empty() {
        return format!("{spent}{certainty}");
    }
    format!("{spent}{certainty}; by the prices: {}", parts.join(", "))
}

/// Both ends of an interval in one unit, which is not that of its figure: that may be 0.
fn interval([low, high]: [f64; 2]) -> String {
    let style = Style::of(low.abs().max(high.abs()), Unit::NsPerOp);
    let [low, high] = [low, high].map(|end| style.rough_number(end));
    format!("{low} .. {high} {}", style.unit())
}

/// A part of the change of one item.
struct Part {
    ns: f64,
    text: String,
}

/// The largest parts of the change in words: what one bill alone prices first, as it is no change.
fn parts(items: &[ItemChange]) -> Vec<String> {
    let mut all: Vec<Part> = items.iter().flat_map(parts_of).collect();
    all.sort_by(|one, other| other.ns.abs().total_cmp(&one.ns.abs()));
    let least_ns = all.get(MAX_PARTS - 1).map_or(0.0, |part| part.ns.abs());
    let open = one_sided(items).into_iter().filter(|it| it.change.ns.abs() >= least_ns);
    let open = open.map(|OneSided { item, change, priced_in }| {
        let name = plain(&item.name);
        format!("{} of {name}, which has a price in {priced_in} alone", signed(change.ns))
    });
    let known = all.into_iter().map(|part| part.text);
    open.chain(known).take(MAX_PARTS).collect()
}

/// The change of an item by its count, and by its price, as far as each is not 0.
fn parts_of(item: &ItemChange) -> Vec<Part> {
    let name = plain(&item.name);
    let ns = |amount: &Option<Amount>| amount.as_ref().map_or(0.0, |it| it.ns);
    let (by_count, by_price) = (ns(&item.by_count), ns(&item.by_price));
    let more = item.new_times - item.base_times;
    let mut found = Vec::new();
    if by_count != 0.0 {
        let direction = if more < 0.0 { "fewer" } else { "more" };
        let count = with_thousands(more.abs());
        let text = format!("{} for {count} {direction} x {name}", signed(by_count));
        found.push(Part { ns: by_count, text });
    }
    if let (true, Some(ratio)) = (by_price != 0.0, item.price_ratio) {
        let ratio = at_least(ratio, 2);
        let text = format!("{} because one {name} costs {ratio} times as much", signed(by_price));
        found.push(Part { ns: by_price, text });
    }
    found
}

/// A bill in one line.
fn side(name: &str, bill: &ComparedBill) -> String {
    let command = plain(&shell_command(&bill.program));
    let shown: String = command.chars().take(MAX_COMMAND_CHARS).collect();
    let more = if shown.len() < command.len() { "..." } else { "" };
    let label = bill.label.as_deref().map_or(String::new(), |it| format!(" ({})", plain(it)));
    let id = crate::report::text::id_beginning(&bill.id);
    let measured = match &bill.watched {
        Some(watched) => watch(watched),
        None => plural(bill.trials.into(), "trial"),
    };
    format!("{name}: `{shown}{more}`{label}, bill {id} of {}, {measured}", minute(&bill.started))
}

fn table(compared: &BillComparison) -> Table {
    let system = &compared.system;
    let small_ns = SMALL_SHARE * system.base.ns.max(system.new.ns);
    let is_shown = |item: &&ItemChange| {
        item.change.as_ref().is_some_and(|change| change.ns.abs() >= small_ns && change.ns != 0.0)
    };
    let shown: Vec<&ItemChange> = compared.items.iter().filter(is_shown).take(MAX_ITEMS).collect();
    let open = one_sided(&compared.items);
    let mut rows: Vec<TableRow> = open.iter().take(MAX_UNKNOWN).map(one_sided_row).collect();
    rows.extend(other_one_sided_row(open.get(MAX_UNKNOWN..).unwrap_or_default()));
    rows.extend(shown.iter().map(|item| item_row(item)));
    let known = compared.items.iter().filter(|item| item.change.is_some());
    rows.extend(small_row(&known.skip(shown.len()).collect::<Vec<_>>()));
    let totals = [
        ("charged in all", compared.charged.as_ref()),
        ("measured system time", Some(system)),
        ("the difference", compared.difference.as_ref()),
    ];
    let totals = totals.into_iter().filter_map(|(name, total)| Some((name, total?)));
    rows.extend(totals.map(|(name, total)| total_row(name, total)));
    Table {
        id: "items".to_owned(),
        columns: vec![
            Column::text("item"),
            Column::text("counts").in_lines_of(70),
            Column::number("base", "base_ns").in_lines_of(90),
            Column::number("new", "new_ns").in_lines_of(90),
            Column::number("change", "change_ns"),
            Column::text("95 % interval").in_lines_of(100),
            Column::number("by count", "by_count_ns"),
            Column::number("by price", "by_price_ns"),
        ],
        rows,
        notes: vec![
            "change: new minus base; by count: of more or fewer, at the base's price; by price: of \
             another price, for each in new"
                .to_owned(),
        ],
        ..Table::default()
    }
}

fn item_row(item: &ItemChange) -> TableRow {
    let counts =
        format!("{} -> {}", with_thousands(item.base_times), with_thousands(item.new_times));
    TableRow::of(vec![
        Cell::text(plain(&item.name)),
        Cell::text(counts),
        amount_cell(item.base_amount.as_ref()),
        amount_cell(item.new_amount.as_ref()),
        change_cell(item.change.as_ref()),
        Cell::text(item.change.as_ref().map(ends).unwrap_or_default()),
        change_cell(item.by_count.as_ref()),
        change_cell(item.by_price.as_ref()),
    ])
}

/// An item that one bill alone prices: without it the lines would not add up.
fn one_sided_row(found: &OneSided<'_>) -> TableRow {
    let OneSided { item, change, priced_in } = found;
    let counts =
        format!("{} -> {}", with_thousands(item.base_times), with_thousands(item.new_times));
    TableRow::of(vec![
        Cell::text(format!("{} (price in {priced_in} alone)", plain(&item.name))),
        Cell::text(counts),
        amount_cell(item.base_amount.as_ref()),
        amount_cell(item.new_amount.as_ref()),
        change_cell(Some(change)),
        Cell::text(ends(change)),
        Cell::text(""),
        Cell::text(""),
    ])
}

/// More of them than are rows.
fn other_one_sided_row(others: &[OneSided<'_>]) -> Option<TableRow> {
    let changes = others.iter().map(|it| it.change.clone());
    let change = changes.reduce(|sum, change| sum.plus(&change))?;
    let items = plural(others.len() as u64, "other item");
    Some(TableRow::of(vec![
        Cell::text(format!("{items} (price in one alone)")),
        Cell::text(""),
        Cell::text(""),
        Cell::text(""),
        change_cell(Some(&change)),
        Cell::text(ends(&change)),
        Cell::text(""),
        Cell::text(""),
    ]))
}

/// The items whose changes are too small to be rows, or too many.
fn small_row(items: &[&ItemChange]) -> Option<TableRow> {
    let sum = |read: fn(&ItemChange) -> &Option<Amount>| {
        let amounts = items.iter().filter_map(|item| read(item).clone());
        amounts.reduce(|sum, amount| sum.plus(&amount))
    };
    let change = sum(|item| &item.change)?;
    Some(TableRow::of(vec![
        Cell::text(plural(items.len() as u64, "smaller change")),
        Cell::text(""),
        amount_cell(sum(|item| &item.base_amount).as_ref()),
        amount_cell(sum(|item| &item.new_amount).as_ref()),
        change_cell(Some(&change)),
        Cell::text(ends(&change)),
        change_cell(sum(|item| &item.by_count).as_ref()),
        change_cell(sum(|item| &item.by_price).as_ref()),
    ]))
}

fn total_row(name: &str, total: &AmountChange) -> TableRow {
    TableRow::of(vec![
        Cell::text(name),
        Cell::text(""),
        amount_cell(Some(&total.base)),
        amount_cell(Some(&total.new)),
        change_cell(Some(&total.change)),
        Cell::text(ends(&total.change)),
        Cell::text(""),
        Cell::text(""),
    ])
}

fn amount_cell(amount: Option<&Amount>) -> Cell {
    let ns = amount.map(|amount| amount.ns);
    Cell::number(ns.map(time).unwrap_or_default(), ns)
}

fn change_cell(amount: Option<&Amount>) -> Cell {
    let ns = amount.map(|amount| amount.ns);
    let text = match ns {
        Some(0.0) => "0".to_owned(),
        Some(ns) => signed(ns),
        None => String::new(),
    };
    Cell::number(text, ns)
}

/// The interval of a change.
fn ends(change: &Amount) -> String {
    change.ci95.map(|ends| format!("[{}]", interval(ends))).unwrap_or_default()
}

/// Items of which the change is not known.
fn unknown(compared: &BillComparison) -> Vec<String> {
    let is_unknown = |item: &&ItemChange| item.change.is_none() && of_item(item).is_none();
    let without: Vec<&ItemChange> = compared.items.iter().filter(is_unknown).collect();
    let line = |item: &&ItemChange| {
        let sides = match (&item.base_amount, &item.new_amount) {
            (Some(_), None) => "no price in new",
            (None, Some(_)) => "no price in base",
            _ => "no price",
        };
        let (before, now) = (with_thousands(item.base_times), with_thousands(item.new_times));
        format!("{sides}: {} ({before} -> {now})", plain(&item.name))
    };
    let mut lines: Vec<String> = without.iter().take(MAX_UNKNOWN).map(line).collect();
    if without.len() > MAX_UNKNOWN {
        let others = (without.len() - MAX_UNKNOWN) as u64;
        lines.push(format!("no price: {}", plural(others, "other item")));
    }
    lines
}

/// What the comparison rests on, and what it cannot tell.
fn notes(compared: &BillComparison) -> Vec<String> {
    let BillComparison { base, new, system, .. } = compared;
    let per_second = compared.is_per_second().then(|| {
        "times and counts are those of one second of each process: what it was asked to do in it \
         is not known"
            .to_owned()
    });
    let differing = compared.differing.iter();
    let differing = differing.map(|it| format!("from base to new: {}", plain(it)));
    let programs = (base.program != new.program).then(|| {
        "the commands differ: what one does and the other does not is a change".to_owned()
    });
    let treatments = (base.treatments != new.treatments).then(|| {
        let under = |bill: &ComparedBill| match &bill.treatments[..] {
            [] => "without treatments".to_owned(),
            listed => format!("under {}", plain(&listed.join("+"))),
        };
        format!("base ran {}, new {}", under(base), under(new))
    });
    let prices = match (&base.price_run, &new.price_run) {
        (Some(one), Some(other)) if one == other => {
            "both have prices of one run: what changed by price is a matter of sizes, whose errors \
             are shared"
                .to_owned()
        }
        _ if compared.items.iter().all(|it| it.by_price.as_ref().is_none_or(|of| of.ns == 0.0)) => {
            "the newest runs of their prices are two, and no price of an item differs".to_owned()
        }
        _ => "their prices are of two runs: what changed by price is also what happened to the \
             machine in between"
            .to_owned(),
    };
    let counters = match (&base.counter, &new.counter) {
        (Some(one), Some(other)) if one != other && compared.is_per_second() => Some(format!(
            "the system time of each contains what its counter added (base: {}, new: {}), a tracer \
             much more: the change of the system time is not that of the process",
            plain(one),
            plain(other)
        )),
        (Some(one), Some(other)) if one != other => Some(format!(
            "calls of base were counted by {}, those of new by {}: counts of waits that a signal \
             interrupts may differ by that alone",
            plain(one),
            plain(other)
        )),
        _ => None,
    };
    let lost = [("base", base), ("new", new)].into_iter().filter(|(_, bill)| bill.lost_events > 0);
    let lost = lost.map(|(name, bill)| {
        let events = plural(bill.lost_events, "event");
        format!(
            "missing: {events} had no room in the counter, or met a busy one: the counts of {name} \
             are too low"
        )
    });
    let figures = (base.system_figure != new.system_figure).then(|| {
        format!(
            "the system time of base is the {} of its trials, that of new the {}",
            plain(&base.system_figure),
            plain(&new.system_figure)
        )
    });
    let nothing = (system.may_be_nothing() == Some(true)).then(|| {
        "the interval of the change of the system time has 0 in it: these trials do not show that \
         anything has changed"
            .to_owned()
    });
    let alone =
        "two bills made one after the other also differ by what happened to the machine in \
                 between, which no interval here has: make each again, in turns"
            .to_owned();
    let not_compared = compared.not_compared.as_deref().map(plain);
    let all = not_compared
        .into_iter()
        .chain(per_second)
        .chain(differing)
        .chain(programs)
        .chain(treatments);
    let all = all.chain([prices]).chain(counters).chain(lost);
    all.chain(figures).chain(nothing).chain([alone]).collect()
}

fn signed(ns: f64) -> String {
    rough_added(ns, Unit::NsPerOp)
}

fn time(ns: f64) -> String {
    rough(ns, Unit::NsPerOp)
}

#[cfg(test)]
mod tests;
