//! What a change would add to a billed program: predicted, and measured.

use oscost_model::bill::{
    Amount, Bill, MissingWhatIf, OtherPriceItem, OtherPrices, WhatIf, WhatIfItem,
};
use oscost_model::program::{CPU, REAL};
use oscost_model::unit::Unit;

use crate::report::figures::{
    binary, interval, per_cent, rough, rough_added, times, with_thousands,
};
use crate::report::text::{id_beginning, minute, plain, plural};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};

/// More items at other prices than these are in the record alone.
const MAX_OTHER_ITEMS: usize = 10;
/// More items without an added cost than these are in the record alone.
const MAX_MISSING: usize = 6;
/// A longer check than this is not proposed.
const MAX_CHECK_S: f64 = 86_400.0;

/// The sections of a bill on changes; none if nothing was asked.
pub(super) fn sections(bill: &Bill) -> Vec<Section> {
    let mut sections = Vec::new();
    if !bill.what_if.is_empty() {
        let sentences = bill.what_if.iter().flat_map(|it| sentences(bill, it));
        let list = Block::list(sentences);
        let blocks = [Block::Table(table(&bill.what_if))].into_iter().chain(list);
        sections.push(Section::of("What a change would add", blocks));
    }
    for (number, other) in bill.other_prices.iter().enumerate() {
        let list = Block::list(other_sentences(other));
        let blocks = [Block::Table(other_table(number, other))].into_iter().chain(list);
        sections.push(Section::of(other_title(other), blocks));
    }
    let missing = bill.missing_what_if.iter().map(missing);
    sections.extend(Block::list(missing).map(|list| Section::of("Not answered", [list])));
    sections
}

fn missing(MissingWhatIf { change, reason }: &MissingWhatIf) -> String {
    format!("{}: {}", plain(change), plain(reason))
}

fn table(changes: &[WhatIf]) -> Table {
    let row = |change: &WhatIf| {
        let (predicted, measured) = compared(change);
        let number = |amount: Option<&Amount>, of_time: &str| match amount {
            Some(amount) => {
                Cell::number(format!("{}{of_time}", with_interval(amount)), Some(amount.ns))
            }
            None => Cell::number(String::new(), None),
        };
        let of_time = match change.judged_by.as_str() {
            REAL => " of real time",
            CPU => " of CPU time",
            _ => "",
        };
        let judged = change.judged.as_deref().or(change.not_measured.as_deref());
        TableRow::of(vec![
            Cell::text(name(change)),
            number(Some(predicted), ""),
            number(measured, of_time),
            Cell::text(plain(judged.unwrap_or("not measured"))),
        ])
    };
    Table {
        id: "what-if".to_owned(),
        columns: vec![
            Column::text("what if"),
            Column::number("predicted", "predicted_ns"),
            Column::number("measured", "measured_ns"),
            Column::prose("judged"),
        ],
        rows: changes.iter().map(row).collect(),
        notes: vec![
            "added to the system time, and as much to the real time of calls that follow each \
             other; where a monitor is another process, to the real time. The CPU time of \
             both modes is judged where it is known better than the system time"
                .to_owned(),
        ],
        ..Table::default()
    }
}

/// The predicted and the measured increase of the time that is judged.
pub(super) fn compared(change: &WhatIf) -> (&Amount, Option<&Amount>) {
    let measured = change.measured.as_ref();
    match change.judged_by.as_str() {
        REAL => (&change.predicted_real_ns, measured.and_then(|it| it.real_ns.as_ref())),
        CPU => (&change.predicted_system_ns, measured.and_then(|it| it.cpu_ns.as_ref())),
        _ => (&change.predicted_system_ns, measured.map(|it| &it.system_ns)),
    }
}

/// A prediction in words, and what it rests on.
fn sentences(bill: &Bill, change: &WhatIf) -> Vec<String> {
    let (predicted, increase) = compared(change);
    let (time, place) = match change.judged_by.as_str() {
        REAL => (1e9 * bill.trials.real.median, ""),
        _ => (bill.trials.system_time.ns, " in the kernel"),
    };
    let share = match time > 0.0 {
        true => format!(" ({}{})", plus(predicted.ns), per_cent(100.0 * predicted.ns / time)),
        false => String::new(),
    };
    let largest = change.items.first().and_then(|item| Some((item, item.predicted_ns()?)));
    let largest = largest.filter(|_| predicted.ns > 0.0).map_or(String::new(), |(item, ns)| {
        let part = per_cent(100.0 * ns / predicted.ns);
        format!(", {part} of it for {} x {}", with_thousands(item.times), plain(&item.name))
    });
    let name = name(change);
    let (amount, direction) = match predicted.ns < 0.0 {
        true => (with_interval(&predicted.times(-1.0)), "less"),
        false => (with_interval(predicted), "more"),
    };
    let may_be_nothing = predicted.ci95.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high);
    let doubt = if may_be_nothing { ", which may be nothing" } else { "" };
    let mut lines = vec![format!(
        "under {name} it would spend {amount} {direction}{place}{share}{doubt}{largest}"
    )];
    lines.extend(range_sentence(change));
    if change.unpriced_calls > 0.0 {
        lines.push(format!(
            "{name}: {} calls are estimated by the mean of the others: {}",
            with_thousands(change.unpriced_calls),
            rough(change.estimated_ns.ns, Unit::NsPerOp)
        ));
    }
    lines.extend(free_faults(change));
    let unknown = |item: &&WhatIfItem| item.amount.is_none();
    lines.extend(change.items.iter().filter(unknown).take(MAX_MISSING).map(|item| {
        let why = item.missing.as_deref().unwrap_or("it has none");
        format!(
            "{name}: no added cost of {} x {} ({})",
            with_thousands(item.times),
            plain(&item.name),
            plain(why)
        )
    }));
    if let Some(measured) = &change.measured {
        // Of an increase that may be nothing a ratio says nothing.
        let is_known = increase.and_then(|it| it.ci95).is_some_and(|[low, _]| low > 0.0);
        let ratio = change.ratio.filter(|_| is_known).map_or(String::new(), |ratio| {
            format!("; the prediction is {} times that", times(ratio))
        });
        let of = |time: &str, amount: &Option<Amount>| {
            let figure = amount.as_ref().map(added_with_interval);
            figure.map_or(String::new(), |figure| format!(", {figure} of {time} time"))
        };
        let cpu = of("CPU", &measured.cpu_ns);
        let real = of("real", &measured.real_ns);
        lines.push(format!(
            "{name}: measured in {}: {} of system time (by the {}){cpu}{real}{ratio}",
            plural(measured.pairs.into(), "pair"),
            added_with_interval(&measured.system_ns),
            plain(&measured.system_figure)
        ));
        lines.extend(longer_check(change).map(|it| format!("{name}: {it}")));
    }
    lines.extend(change.doubt.as_deref().map(|doubt| format!("{name}: {}", plain(doubt))));
    if let Some(run) = change.runs.first() {
        let (id, at) = (id_beginning(&run.id), minute(&run.started));
        lines.push(format!("{name}: added costs of run {id} ({at})"));
    }
    lines
}

/// How long a check would take that judges a prediction which this one did not; `None` where no check of a
/// day would.
fn longer_check(change: &WhatIf) -> Option<String> {
    let minutes = (change.check_to_judge_s? / 60.0).ceil();
    let seconds = 60.0 * minutes;
    (1.0..=MAX_CHECK_S).contains(&seconds).then(|| {
        format!(
            "a check of about {} would judge the prediction: `--check-seconds {seconds:.0}`",
            plural(minutes as u64, "minute")
        )
    })
}

/// That a change of calls adds nothing to page faults; `None` where it may, and without any.
fn free_faults(change: &WhatIf) -> Option<String> {
    let is_free = |item: &&WhatIfItem| {
        let is_nothing = item.amount.as_ref().is_some_and(|it| it.ns == 0.0);
        is_nothing && item.missing.is_some() && item.name.ends_with("page fault")
    };
    let faults: f64 = change.items.iter().filter(is_free).map(|item| item.times).sum();
    (faults > 0.0).then(|| {
        let faults = with_thousands(faults.round());
        format!("{}: {faults} page faults make no call: it adds nothing to them", name(change))
    })
}

/// Between which sums a prediction lies; `None` without one after a walk.
fn range_sentence(change: &WhatIf) -> Option<String> {
    let (warm, cool) = (change.warm_ns.as_ref()?, change.cool_ns.as_ref()?);
    let [warm, cool] = [warm, cool].map(|sum| rough(sum.ns, Unit::NsPerOp));
    Some(format!(
        "{}: {warm} by calls in a loop, {cool} where each comes after a walk through {}B of memory, \
         about what the program may touch between two calls",
        name(change),
        binary(change.walk_bytes?)
    ))
}

fn other_table(number: usize, other: &OtherPrices) -> Table {
    let row = |item: &OtherPriceItem| {
        let amount = |amount: Option<&Amount>| {
            let text = amount.map_or(String::new(), |it| rough(it.ns, Unit::NsPerOp));
            Cell::number(text, amount.map(|it| it.ns))
        };
        TableRow::of(vec![
            Cell::text(plain(&item.name)),
            Cell::text(with_thousands(item.times)),
            amount(item.here.as_ref()),
            amount(item.there.as_ref()),
            Cell::number(item.ratio.map(times).unwrap_or_default(), item.ratio),
        ])
    };
    let items = other.items.iter().filter(|it| it.here.is_some() || it.there.is_some());
    Table {
        id: format!("other-prices-{number}"),
        columns: vec![
            Column::text("item"),
            Column::number("count", "count"),
            Column::number("amount", "amount_ns"),
            Column::number("amount there", "amount_there_ns"),
            Column::number("there / here", "ratio"),
        ],
        rows: items.take(MAX_OTHER_ITEMS).map(row).collect(),
        ..Table::default()
    }
}

fn other_title(other: &OtherPrices) -> String {
    match &other.host {
        Some(host) => format!("At the prices of {}", plain(host)),
        None => "At the prices of another run".to_owned(),
    }
}

fn other_sentences(other: &OtherPrices) -> Vec<String> {
    let id = id_beginning(&other.run.id);
    let known = |text: &Option<String>| plain(text.as_deref().unwrap_or("unknown"));
    let [here, there] = [&other.here, &other.there].map(|sum| rough(sum.ns, Unit::NsPerOp));
    let ratio = other.ratio.map_or(String::new(), |ratio| format!(", {} times", times(ratio)));
    let mut lines = vec![format!(
        "by the prices of run {id} ({}; processor {}, kernel {}) it is charged {there} for what is \
         {here} here{ratio}",
        minute(&other.run.started),
        known(&other.cpu),
        known(&other.kernel)
    )];
    if other.unpriced > 0.0 {
        lines.push(format!(
            "{} calls and faults have no price in one of both: they are in neither sum",
            with_thousands(other.unpriced)
        ));
    }
    lines.extend(other.stale.iter().map(|why| format!("its prices may be stale: {}", plain(why))));
    lines
}

/// The treatments of a change.
pub(super) fn name(change: &WhatIf) -> String {
    plain(&change.treatments.join("+"))
}

fn plus(value: f64) -> &'static str {
    if value > 0.0 { "+" } else { "" }
}

/// An amount with its interval, if that is known.
pub(super) fn with_interval(amount: &Amount) -> String {
    format!("{}{}", rough(amount.ns, Unit::NsPerOp), interval_after(amount))
}

/// The same of an increase, with its sign.
fn added_with_interval(amount: &Amount) -> String {
    format!("{}{}", rough_added(amount.ns, Unit::NsPerOp), interval_after(amount))
}

/// The interval of an amount, after a space; empty if it is not known.
fn interval_after(amount: &Amount) -> String {
    let ends = amount.ci95.map(|ends| format!(" {}", interval(amount.ns, ends, Unit::NsPerOp)));
    ends.unwrap_or_default()
}
