//! A bill: what the system charges a program, item by item, beside its measured system time.

use oscost_model::bill::{Amount, Bill, BillItem, MeasuredPrices};
use oscost_model::unit::Unit;

use crate::report::figures::{Style, per_cent, per_op, rough};
use crate::report::text::{minute, plain, plural};
use crate::report::view::bill_counting::{counting, kernel_times, watch};
use crate::report::view::document::{
    Block, Cell, Column, Item, Paragraph, Section, Table, TableRow, View,
};
use crate::report::view::what_if;

mod range;

/// More words of a command than these are in the record alone.
const MAX_COMMAND_CHARS: usize = 60;
/// More items without a price than these are in the record alone.
const MAX_UNPRICED: usize = 12;
/// More cases than these are too many for a command line to copy.
const MAX_NAMED_CASES: usize = 8;
/// Items below this share of the measured system time are one row, in per cent.
const SMALL_SHARE_PCT: f64 = 0.05;

/// The bill: a sentence, the items and the reconciliation, and what it does not have.
pub fn view(bill: &Bill) -> View {
    let lead = [headline(bill), conditions(bill)];
    let mut sections = vec![Section::of("", [Block::Table(table(bill))])];
    let lines = unpriced(bill).into_iter().chain(doubtful(bill)).chain(lacking(bill));
    if let Some(list) = Block::list(lines) {
        let is_doubtful = bill.items.iter().any(|item| item.doubt.is_some());
        let title = match is_doubtful {
            true => "Without a price, or with one of another size",
            false => "Without a price",
        };
        sections.push(Section::of(title, [list]));
    }
    if let Some(times) = kernel_times(bill) {
        sections.push(Section::of("Time in the kernel", [Block::Table(times)]));
    }
    sections.extend(what_if::sections(bill));
    if let Some(list) = Block::list(notes(bill)) {
        sections.push(Section::of("How it was made", [list]));
    }
    View { lead: lead.map(Paragraph::from).into(), sections, ..View::default() }
}

/// The bill as a document of its own: a page for a browser, or Markdown.
pub fn page(bill: &Bill) -> View {
    let name = bill.program.first().map_or("", String::as_str);
    let title = match &bill.label {
        Some(label) => plain(label),
        None => format!("The bill of {}", plain(name.rsplit('/').next().unwrap_or(name))),
    };
    view(bill).as_page(title, "Items")
}

/// The bill as JSON, with a line end.
pub fn json(bill: &Bill) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(bill).map(|text| text + "\n")
}

/// What was charged, in words.
fn headline(bill: &Bill) -> String {
    let name = bill.program.first().map_or("", String::as_str);
    let name = plain(name.rsplit('/').next().unwrap_or(name));
    let system_ns = bill.trials.system_time.ns;
    if system_ns <= 0.0 {
        return format!("{name} spent no measurable time in the kernel");
    }
    let spent = format!("{name} spent {} in the kernel", time(system_ns));
    let (Some(charged), Some(difference)) = (&bill.charged, &bill.difference) else {
        return format!("{spent}; for what is not known: its calls were not counted");
    };
    let largest = bill.items.iter().find(|item| item.amount.is_some());
    let largest = largest.and_then(|item| Some((item, item.amount.as_ref()?)));
    let largest = largest.map_or(String::new(), |(item, amount)| {
        format!("{} for {} x {}", time(amount.ns), count(item.times), plain(&item.name))
    });
    if let Some(verdict) = range::verdict(bill) {
        let largest = if largest.is_empty() { largest } else { format!("; {largest}") };
        return format!("{spent}; {verdict}{largest}");
    }
    let share = 100.0 * difference.ns / system_ns;
    match (share >= 0.0, largest.is_empty()) {
        (true, true) => format!("{spent}; {} is unexplained", per_cent(share)),
        (true, false) => {
            format!("{spent}, of which {largest}; {} is unexplained", per_cent(share))
        }
        // An amount may then exceed the measured time.
        (false, _) => format!(
            "{spent}; the prices charge {} more than that: {} in all, {largest}",
            per_cent(-share),
            time(charged.ns)
        ),
    }
}

/// The command, the machine and its trials.
fn conditions(bill: &Bill) -> String {
    let command = plain(&bill.program.join(" "));
    let shown: String = command.chars().take(MAX_COMMAND_CHARS).collect();
    let more = if shown.len() < command.len() { "..." } else { "" };
    let model = bill.machine.cpu.model_name.as_deref().unwrap_or("unknown processor");
    let release = bill.machine.os.release.as_deref();
    let release = release.map_or(String::new(), |release| format!(", Linux {}", plain(release)));
    let trials = &bill.trials;
    let times = [("real", &trials.real), ("user", &trials.user), ("system", &trials.system)];
    let times = times.map(|(name, estimate)| {
        let ends = estimate.ci95.map_or(String::new(), |[low, high]| {
            let style = Style::of(estimate.median, Unit::Seconds);
            format!(" [{} .. {}]", style.number(low), style.number(high))
        });
        format!("{name} {}{ends}", rough(estimate.median, Unit::Seconds))
    });
    let measured = match &bill.watched {
        Some(watched) => watch(watched),
        None => plural(trials.real.repetitions.into(), "trial"),
    };
    let model = plain(model);
    format!("`{shown}{more}` on {model}{release}; {measured}: {}", times.join(", "))
}

fn table(bill: &Bill) -> Table {
    let is_small = |item: &&BillItem| item.share_pct.is_some_and(|pct| pct.abs() < SMALL_SHARE_PCT);
    let priced = bill.items.iter().filter(|item| item.amount.is_some());
    let (small, shown): (Vec<&BillItem>, Vec<&BillItem>) = priced.partition(is_small);
    let mut rows: Vec<TableRow> = shown.into_iter().map(item_row).collect();
    rows.extend(small_row(bill, &small));
    let system = &bill.trials.system_time;
    let of_system = |amount: &Amount| {
        if system.ns > 0.0 { per_cent(100.0 * amount.ns / system.ns) } else { String::new() }
    };
    let mut total = |name: &str, amount: Option<&Amount>| {
        let Some(amount) = amount else { return };
        rows.push(row(name, [String::new(), String::new()], amount, None, of_system(amount), ""));
    };
    total("charged in all", bill.charged.as_ref());
    total("charged with cool caches", bill.charged_cool.as_ref());
    let measured = format!("measured system time ({})", plain(&bill.trials.system_figure));
    total(&measured, Some(system));
    total("the difference", bill.difference.as_ref());
    total("the difference with cool caches", bill.difference_cool.as_ref());
    Table {
        id: "items".to_owned(),
        columns: vec![
            Column::text("item"),
            Column::number("count", "count"),
            Column::number("each", "unit_ns").in_lines_of(70),
            Column::number("amount", "amount_ns"),
            Column::number("cool amount", "cool_amount_ns").in_lines_of(100),
            Column::number("95 % interval", "amount_ci95").in_lines_of(90),
            Column::number("share", "share_pct"),
            Column::excerpt("price"),
        ],
        rows,
        notes: vec!["share: of the measured system time".to_owned()],
        ..Table::default()
    }
}

fn item_row(item: &BillItem) -> TableRow {
    let each = item.unit.as_ref().map(|unit| time(unit.ns)).unwrap_or_default();
    let share = item.share_pct.map(per_cent).unwrap_or_default();
    let amount = item.amount.clone().unwrap_or(Amount::exact(0.0));
    let cool = item.cool_amount.as_ref();
    row(&plain(&item.name), [count(item.times), each], &amount, cool, share, &price(item))
}

/// The items that are too small to be rows.
fn small_row(bill: &Bill, items: &[&BillItem]) -> Option<TableRow> {
    let amounts = items.iter().filter_map(|item| item.amount.clone());
    let sum = amounts.reduce(|sum, amount| sum.plus(&amount))?;
    let times: f64 = items.iter().map(|item| item.times).sum();
    let share = per_cent(100.0 * sum.ns / bill.trials.system_time.ns);
    let name = plural(items.len() as u64, "smaller item");
    let cool = items.iter().filter_map(|item| item.cool_amount.clone().or(item.amount.clone()));
    let cool = cool.reduce(|sum, amount| sum.plus(&amount)).filter(|_| bill.charged_cool.is_some());
    Some(row(&name, [count(times), String::new()], &sum, cool.as_ref(), share, ""))
}

fn row(
    name: &str,
    [times, each]: [String; 2],
    amount: &Amount,
    cool: Option<&Amount>,
    share: String,
    price: &str,
) -> TableRow {
    let style = Style::of(amount.ns, Unit::NsPerOp);
    let interval = amount.ci95.map_or(String::new(), |[low, high]| {
        format!("[{} .. {}]", style.number(low), style.number(high))
    });
    TableRow::of(vec![
        Cell::text(name),
        Cell::text(times),
        Cell::text(each),
        Cell::number(time(amount.ns), Some(amount.ns)),
        Cell::number(cool.map_or(String::new(), |it| time(it.ns)), cool.map(|it| it.ns)),
        Cell::text(interval),
        Cell::text(share),
        Cell::text(price),
    ])
}

/// Which rows priced an item, and with which part.
fn price(item: &BillItem) -> String {
    let rows = match &item.rows[..] {
        [] => String::new(),
        [row] => plain(row),
        [first, .., last] => format!("{} .. {}", plain(first), plain(last)),
    };
    match item.part < 1.0 && !rows.is_empty() {
        true => format!("{:.2} x {rows}", item.part),
        false => rows,
    }
}

/// Items without a price.
fn unpriced(bill: &Bill) -> Vec<String> {
    let items: Vec<&BillItem> = bill.items.iter().filter(|item| item.amount.is_none()).collect();
    let line = |item: &&BillItem| {
        let why = item.missing.as_deref().unwrap_or("it has none");
        format!("no price: {} x {} ({})", count(item.times), plain(&item.name), plain(why))
    };
    let mut lines: Vec<String> = items.iter().take(MAX_UNPRICED).map(line).collect();
    if items.len() > MAX_UNPRICED {
        let others = &items[MAX_UNPRICED..];
        let times: f64 = others.iter().map(|item| item.times).sum();
        lines.push(format!("no price: {} x {} others", count(times), others.len()));
    }
    lines
}

/// Items whose price is that of another size.
fn doubtful(bill: &Bill) -> Vec<String> {
    let line = |item: &BillItem| {
        let doubt = plain(item.doubt.as_deref()?);
        Some(format!("one price: {} x {} ({doubt})", count(item.times), plain(&item.name)))
    };
    bill.items.iter().filter_map(line).take(MAX_UNPRICED).collect()
}

/// The command that measures the prices that are lacking.
fn lacking(bill: &Bill) -> Option<String> {
    let missing = &bill.prices.missing;
    let named: Vec<&str> = missing.iter().take(MAX_NAMED_CASES).map(String::as_str).collect();
    let treat = match &bill.treatments[..] {
        [] => String::new(),
        listed => format!("--treat '{}' ", plain(&listed.join("+"))),
    };
    (!named.is_empty())
        .then(|| format!("`oscost run {treat}{}` measures what is missing", named.join(" ")))
}

/// How it was counted and priced, and what is doubtful about it.
fn notes(bill: &Bill) -> Vec<Item> {
    let prices = &bill.prices;
    let first = prices.runs.first().map(|run| {
        let others = prices.runs.len() - 1;
        let others = match others {
            0 => String::new(),
            others => format!(", and of {}", plural(others as u64, "other run")),
        };
        let id: String = run.id.chars().take(8).collect();
        format!("prices of run {} ({}){others}", plain(&id), minute(&run.started))
    });
    let measured = prices.measured.iter().flat_map(measurement);
    let stale = prices.stale.iter().map(|why| format!("stale prices: {}", plain(why)));
    let counting = match (&bill.counted, &bill.not_counted) {
        (Some(counted), _) => counting(counted),
        (None, why) => {
            let why = why.as_deref().unwrap_or("unknown reason");
            vec![format!(
                "missing: calls, forks, execs and signals were not counted: {}; the times and page \
                 faults of untouched trials are all there is",
                plain(why)
            )]
        }
    };
    let trials = &bill.trials;
    let switches = trials.voluntary_switches.zip(trials.involuntary_switches);
    let switches = switches.map_or(
        "missing: the context switches of a thread are lost when it ends".to_owned(),
        |(voluntary, forced)| {
            format!(
                "{} voluntary and {} forced switches: in the prices of calls that wait, not \
                 charged again",
                per_op(voluntary),
                per_op(forced)
            )
        },
    );
    let faults = "the kind of page faults is not known: minor ones are charged as first touches of \
                  anonymous pages";
    let faults = (trials.minor_faults > 0.0).then(|| faults.to_owned());
    let ticks = (trials.system_figure == "mean").then(|| {
        "clock ticks divide the CPU time of such short runs: the system time is the mean".to_owned()
    });
    let treated = (!bill.treatments.is_empty()).then(|| {
        let counted = bill.counted_without.as_deref();
        let counted = counted.map_or(String::new(), |why| {
            format!("; its calls were counted without them: {}", plain(why))
        });
        format!("the program ran under {}{counted}", plain(&bill.treatments.join("+")))
    });
    let first = treated.into_iter().chain(first);
    let all = first.chain(measured).chain(stale).chain(counting).chain([switches]);
    all.chain(faults).chain(ticks).chain(range::notes(bill)).map(Item::from).collect()
}

/// Which prices were measured for the bill.
fn measurement(measured: &MeasuredPrices) -> Vec<String> {
    let prices = plural(measured.cases.len() as u64, "price");
    let mut lines = vec![format!("measuring {prices} took {:.1} s", measured.seconds)];
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

fn time(ns: f64) -> String {
    rough(ns, Unit::NsPerOp)
}

fn count(times: f64) -> String {
    per_op(times)
}
