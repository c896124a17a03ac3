//! The lines of the table `bill-changes`.

use std::borrow::Cow;

use oscost_model::bill::{Alternative, Amount, MissingWhatIf, OtherPrices, PriceRun, WhatIf};
use oscost_model::program::REAL;

use crate::report::view::export::sheet::spaced;

/// A line of the table.
#[derive(Clone, Default)]
pub(super) struct Line<'a> {
    pub(super) kind: &'static str,
    pub(super) change: Cow<'a, str>,
    pub(super) item: Option<&'a str>,
    pub(super) times: Option<f64>,
    pub(super) from: Option<&'a str>,
    pub(super) case: Option<&'a str>,
    pub(super) condition: Option<&'a str>,
    pub(super) unit: Option<&'a Amount>,
    pub(super) added: Option<Amount>,
    pub(super) is_estimate: Option<bool>,
    pub(super) is_whole_item: Option<bool>,
    pub(super) here: Option<&'a Amount>,
    pub(super) there: Option<&'a Amount>,
    pub(super) ratio: Option<f64>,
    pub(super) judged: Option<&'a str>,
    pub(super) judged_by: Option<&'a str>,
    pub(super) runs: Cow<'a, str>,
    pub(super) missing: Option<&'a str>,
    pub(super) doubt: Cow<'a, str>,
}

/// Another way to do what an item does: what it saves is added below zero.
pub(super) fn of_alternative(way: &Alternative) -> Line<'_> {
    Line {
        kind: "alternative",
        change: Cow::Borrowed(&way.change),
        item: Some(&way.item),
        times: Some(way.times),
        from: Some(&way.from),
        case: Some(&way.instead),
        condition: Some(&way.condition),
        added: way.saving.as_ref().map(|saving| saving.times(-1.0)),
        is_whole_item: Some(way.is_whole_item),
        missing: way.missing.as_deref(),
        ..Line::default()
    }
}

/// The parts of a prediction, its sums, and what was measured to check it.
pub(super) fn of_prediction(what_if: &WhatIf) -> Vec<Line<'_>> {
    let change = what_if.treatments.join("+");
    let doubt = what_if.doubt.as_deref().unwrap_or_default();
    let of_change = Line {
        change: Cow::Owned(change),
        runs: Cow::Owned(ids(&what_if.runs)),
        doubt: Cow::Borrowed(doubt),
        ..Line::default()
    };
    let items = what_if.items.iter().map(|item| Line {
        kind: "what-if",
        item: Some(&item.name),
        times: Some(item.times),
        case: item.case.as_deref(),
        unit: item.unit.as_ref(),
        added: item.amount.clone(),
        is_estimate: Some(item.is_estimate),
        missing: item.missing.as_deref(),
        ..of_change.clone()
    });
    let mut lines: Vec<Line<'_>> = items.collect();
    let (judged, judged_by) = (what_if.judged.as_deref(), Some(what_if.judged_by.as_str()));
    let is_real = what_if.judged_by == REAL;
    let predicted = [
        ("predicted-system", !is_real, &what_if.predicted_system_ns),
        ("predicted-real", is_real, &what_if.predicted_real_ns),
    ];
    lines.extend(predicted.map(|(kind, is_judged, amount)| Line {
        kind,
        added: Some(amount.clone()),
        ratio: what_if.ratio.filter(|_| is_judged),
        judged: judged.filter(|_| is_judged),
        judged_by,
        ..of_change.clone()
    }));
    let ends = [("predicted-warm", &what_if.warm_ns), ("predicted-cool", &what_if.cool_ns)];
    lines.extend(ends.into_iter().filter_map(|(kind, sum)| {
        let added = Some(sum.clone()?);
        Some(Line { kind, added, ..of_change.clone() })
    }));
    if let Some(measured) = &what_if.measured {
        let of_check = Line {
            runs: Cow::Borrowed(&measured.run.id),
            doubt: Cow::Borrowed(""),
            ..of_change.clone()
        };
        let system = Line {
            kind: "measured-system",
            added: Some(measured.system_ns.clone()),
            ..of_check.clone()
        };
        lines.push(system);
        let others = [("measured-cpu", &measured.cpu_ns), ("measured-real", &measured.real_ns)];
        lines.extend(others.into_iter().filter_map(|(kind, time)| {
            let added = Some(time.clone()?);
            Some(Line { kind, added, ..of_check.clone() })
        }));
    }
    if let Some(why) = &what_if.not_measured {
        lines.push(Line { kind: "not-measured", missing: Some(why), ..of_change });
    }
    lines
}

/// The items at other prices, and their sum.
pub(super) fn of_other_prices(prices: &OtherPrices) -> Vec<Line<'_>> {
    let change = match &prices.host {
        Some(host) => format!("at={host}"),
        None => format!("prices={}", prices.run.id),
    };
    let of_change = Line {
        change: Cow::Owned(change),
        runs: Cow::Borrowed(&prices.run.id),
        doubt: Cow::Owned(prices.stale.join("; ")),
        ..Line::default()
    };
    let items = prices.items.iter().map(|item| Line {
        kind: "other-price",
        item: Some(&item.name),
        times: Some(item.times),
        here: item.here.as_ref(),
        there: item.there.as_ref(),
        ratio: item.ratio,
        ..of_change.clone()
    });
    let mut lines: Vec<Line<'_>> = items.collect();
    lines.push(Line {
        kind: "other-prices",
        here: Some(&prices.here),
        there: Some(&prices.there),
        ratio: prices.ratio,
        ..of_change
    });
    lines
}

/// A change of which nothing can be said.
pub(super) fn of_missing(missing: &MissingWhatIf) -> Line<'_> {
    Line {
        kind: "no-answer",
        change: Cow::Borrowed(&missing.change),
        missing: Some(&missing.reason),
        ..Line::default()
    }
}

fn ids(runs: &[PriceRun]) -> String {
    spaced(runs.iter().map(|run| run.id.as_str()))
}
