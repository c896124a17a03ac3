//! The prices of a bill with cool caches: where they come from.

use oscost_model::bill::{Bill, BillItem};
use oscost_model::cool::{COOL, LAST_LEVEL_WALK_BYTES, WalkKind, treatment_text};
use oscost_model::unit::Unit;

use super::families::is_small;
use super::sum_notes::ESTIMATE;
use crate::report::figures::{binary, rough};
use crate::report::text::{plain, plural};
use crate::report::view::bill_run_command::more_cases;

/// What the selector of a case begins with that has the ends of a pipe on two CPUs.
const PIPE_ACROSS_CPUS: &str = "pipe/cpu-time:";
/// What that of a case contains whose woken CPU was idle for longer.
const AFTER_IDLE: &str = "idle_us=";
/// That of a case whose woken CPU had stopped its tick.
const AFTER_SLEEP: &str = "settle_ms=";
/// That of a case whose pages are in no cache, as nothing is that the kernel needs for them.
const OF_MUCH_MEMORY: &str = "mapping_mib=";
/// More cases than these are too many for a command line to copy.
const MAX_NAMED_CASES: usize = 8;
/// More items than these are counted.
const MAX_NAMED_ITEMS: usize = 3;

/// Where the cool prices come from.
pub(super) fn sources(bill: &Bill) -> Vec<String> {
    if bill.walk_bytes.is_none() || bill.charged_cool.is_none() {
        return Vec::new();
    }
    let sources = priced(bill).filter_map(|it| it.cool_source.as_deref());
    // How many are estimates stands below the sums.
    let measured: Vec<&str> = sources.filter(|source| !source.starts_with(ESTIMATE)).collect();
    let by_walk = measured.iter().filter(|source| source.starts_with(COOL)).count() as u64;
    // The selector of a case has a slash, and no treatment has.
    let at_end = |part: &str| {
        let of_case = measured.iter().filter(|it| it.contains('/') && it.contains(part));
        of_case.count() as u64
    };
    let across_cpus = at_end(PIPE_ACROSS_CPUS);
    let after_idle = at_end(AFTER_IDLE);
    let after_sleep = at_end(AFTER_SLEEP);
    let of_much_memory = at_end(OF_MUCH_MEMORY);
    let on_files = at_end("") - across_cpus - after_idle - after_sleep - of_much_memory;
    let by_walk = format!("cool prices: of {} by a walk before each op", plural(by_walk, "item"));
    let ends = [
        (on_files, "calls on many files take more than on few"),
        (across_cpus, "a pipe between two CPUs takes more than one on one CPU"),
        (after_idle, "a wake-up takes more of a CPU that was idle for 0.3 ms"),
        (after_sleep, "a wake-up takes more of a CPU that has stopped its tick"),
        (of_much_memory, "a first touch takes more after other work, of a page in no cache"),
    ];
    let ends = ends.into_iter().filter(|&(count, _)| count > 0).map(|(count, what)| {
        let include = if count == 1 { "includes" } else { "include" };
        format!("{} {include} what {what}", plural(count, "cool price"))
    });
    [by_walk].into_iter().chain(ends).chain(rare_calls(bill)).collect()
}

/// How many calls have the cool price of rare ones; `None` without any.
fn rare_calls(bill: &Bill) -> Option<String> {
    let with_own = priced(bill).filter(|it| it.rare_cool_source.is_some());
    let calls: f64 = with_own.map(|it| it.rare_times).sum();
    (calls > 0.0).then(|| {
        format!(
            "{} (the first of their kind on a CPU, or the first after it was busy for 0.5 ms): their \
             cool prices are by a walk through {}B",
            plural(calls.round() as u64, "rare call"),
            binary(LAST_LEVEL_WALK_BYTES)
        )
    })
}

/// What is doubtful about them, and what would measure those that are lacking.
pub(super) fn doubts(bill: &Bill) -> Vec<String> {
    let Some(walk_bytes) = bill.walk_bytes else { return Vec::new() };
    let mut lines = Vec::new();
    if bill.charged_cool.is_some() {
        let lacking = priced(bill).filter(|it| it.cool_amount.is_none()).count() as u64;
        lines.extend((lacking > 0).then(|| {
            format!(
                "{} without a cool price: in both ends of the range at the same price",
                plural(lacking, "item")
            )
        }));
        lines.extend(below_warm(bill));
        lines.extend(own_part(bill));
    }
    lines.extend(lacking_rows(bill, &bill.prices.uncooled, walk_bytes));
    lines.extend(lacking_rows(bill, &bill.prices.rare_uncooled, LAST_LEVEL_WALK_BYTES));
    lines
}

/// The items that have a price.
fn priced(bill: &Bill) -> impl Iterator<Item = &BillItem> {
    bill.items.iter().filter(|it| it.amount.is_some())
}

/// The command that measures the rows of these cases after a walk; `None` without any.
fn lacking_rows(bill: &Bill, uncooled: &[String], walk_bytes: u64) -> Option<String> {
    if uncooled.is_empty() {
        return None;
    }
    let cases: Vec<String> =
        uncooled.iter().take(MAX_NAMED_CASES).map(|case| plain(case)).collect();
    let lines = match WalkKind::of(walk_bytes) {
        WalkKind::Spread => ", one line in each KiB",
        WalkKind::Whole | WalkKind::LastLevel => "",
    };
    let prices = match bill.charged_cool.is_some() {
        true if walk_bytes == LAST_LEVEL_WALK_BYTES => {
            "some cool prices of calls that are made rarely are estimates"
        }
        true => "some cool prices are estimates, or of another walk",
        false => "prices are those of warm caches",
    };
    Some(format!(
        "{prices}: `oscost ab --base cool=0 --new {} {}`{} measures them after a walk through {}B of \
         memory{lines}, too",
        treatment_text(walk_bytes),
        cases.join(" "),
        more_cases(uncooled.len() - cases.len()),
        binary(walk_bytes)
    ))
}

/// Items whose cool amount is below the warm one; `None` without any that has a row.
fn below_warm(bill: &Bill) -> Option<String> {
    let text = |item: &BillItem| {
        let (warm, cool) = item.amount.as_ref().zip(item.cool_amount.as_ref())?;
        let is_shown = cool.ns < warm.ns && !is_small(item);
        let [warm, cool] = [warm, cool].map(|amount| rough(amount.ns, Unit::NsPerOp));
        is_shown.then(|| format!("{} ({cool}, warm {warm})", plain(&item.name)))
    };
    let below: Vec<String> = bill.items.iter().filter_map(text).collect();
    let named = below.iter().take(MAX_NAMED_ITEMS).cloned().collect::<Vec<_>>().join(", ");
    let others = match below.len().saturating_sub(MAX_NAMED_ITEMS) {
        0 => String::new(),
        others => format!(" and {}", plural(others as u64, "other item")),
    };
    (!below.is_empty()).then(|| {
        format!(
            "cool below warm: {named}{others}: a walk should make no op faster, so this is an error of \
             the rows with and without it, and is left as it is"
        )
    })
}

/// What of each cool price is the measurement's own; `None` if that is nothing.
fn own_part(bill: &Bill) -> Option<String> {
    let added = bill.walk_added_to_nothing.as_ref().filter(|added| added.ns != 0.0)?;
    let added = rough(added.ns, Unit::NsPerOp);
    Some(format!(
        "{added} of each cool price are the measurement's own: a walk adds as much to an op that does \
         nothing (timer/nothing)"
    ))
}
