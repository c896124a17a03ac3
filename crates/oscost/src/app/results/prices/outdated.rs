//! Runs whose prices may not be those of the machine as it is now, and what a bill says of them.

use oscost_model::bill::BillItem;
use oscost_model::record::Record;

/// More items of a run than these are not named.
const MAX_NAMED_ITEMS: usize = 3;

/// A run whose prices may not be those of the machine as it is now.
pub(super) struct OutdatedRun {
    pub(super) record: Record,
    pub(super) reasons: Vec<String>,
}

/// An item with a price of which outdated runs alone have a part.
pub(super) struct OutdatedItem<'a> {
    pub(super) item: &'a BillItem,
    /// The rows of that part.
    pub(super) rows: Vec<&'a String>,
}

/// The items of a bill that have a price.
pub(super) struct PricedItems<'a> {
    /// Those that outdated runs alone have priced, or have what is subtracted or added, the largest amount
    /// first.
    pub(super) outdated: Vec<OutdatedItem<'a>>,
    /// How many there are in all.
    pub(super) all: usize,
}

/// A reason for which prices are stale.
struct StaleItems<'a> {
    reason: &'a str,
    /// Their items, and when the runs of their prices began.
    names: Vec<&'a str>,
    started: Vec<&'a str>,
}

/// Why prices of these runs, the first choice first, are stale: each reason once, with the items that the
/// runs of it have priced, unless these are all. Runs that have priced none are left out.
pub(super) fn stale(
    runs: &[OutdatedRun],
    items: &PricedItems<'_>,
    has_price: impl Fn(&Record, &str) -> bool,
) -> Vec<String> {
    let run_of = |item: &OutdatedItem<'_>| {
        runs.iter().position(|it| item.rows.iter().any(|row| has_price(&it.record, row)))
    };
    let mut told: Vec<StaleItems<'_>> = Vec::new();
    for (at, OutdatedRun { record, reasons }) in runs.iter().enumerate() {
        let of_run = items.outdated.iter().filter(|outdated| run_of(outdated) == Some(at));
        let names: Vec<&str> = of_run.map(|outdated| outdated.item.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        for reason in reasons {
            let known = told.iter_mut().find(|it| it.reason == reason);
            match known {
                Some(known) => {
                    known.names.extend(&names);
                    known.started.push(&record.started);
                }
                None => {
                    let started = vec![record.started.as_str()];
                    told.push(StaleItems { reason, names: names.clone(), started });
                }
            }
        }
    }
    told.iter().map(|stale| stale.text(items.all)).collect()
}

impl StaleItems<'_> {
    /// The reason, with the items and the runs of their prices unless these are all items.
    fn text(&self, all: usize) -> String {
        let Self { reason, names, started } = self;
        let (Some(newest), true) = (started.first(), names.len() < all) else {
            return (*reason).to_owned();
        };
        let more = if names.len() > MAX_NAMED_ITEMS { ", ..." } else { "" };
        let named = names[..names.len().min(MAX_NAMED_ITEMS)].join(", ");
        let others = match started.len() - 1 {
            0 => String::new(),
            1 => " and another run".to_owned(),
            others => format!(" and {others} other runs"),
        };
        let run = minute_of(newest);
        format!("{reason} ({} of {all} items: {named}{more}; run of {run}{others})", names.len())
    }
}

/// The minute of a time, RFC 3339.
pub(crate) fn minute_of(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}
