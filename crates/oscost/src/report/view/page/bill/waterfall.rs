//! How the amounts of a bill add up to the measured system time.

use oscost_model::bill::{Amount, Bill};
use oscost_model::unit::Unit;

use super::amounts::{AmountScale, colour};
use crate::report::figures::rough;
use crate::report::view::bill::{families, share_text, sum_notes};
use crate::report::view::document::chart::{Chart, Colour, Order, Series, Shape, Vertical};

/// A step: a bar that begins where those before it have ended.
struct Step<'a> {
    name: String,
    start_ns: f64,
    amount: &'a Amount,
    colour: Colour,
    shape: Shape,
}

/// The chart; `None` if nothing was counted.
pub(super) fn chart(bill: &Bill) -> Option<Chart> {
    let (charged, difference) = (bill.charged.as_ref()?, bill.difference.as_ref()?);
    let families = families(bill);
    let mut start_ns = 0.0;
    let mut steps: Vec<Step<'_>> = Vec::new();
    for family in &families {
        steps.push(Step {
            name: family.title(),
            start_ns,
            amount: &family.amount,
            colour: colour(family.name),
            shape: Shape::Bars,
        });
        start_ns += family.amount.ns;
    }
    let step = |name: &str, start_ns: f64, amount, shape| Step {
        name: name.to_owned(),
        start_ns,
        amount,
        colour: Colour::Muted,
        shape,
    };
    let cool = bill.charged_cool.as_ref().zip(bill.difference_cool.as_ref());
    steps.push(step("charged in all", 0.0, charged, Shape::Bars));
    steps.extend(cool.map(|(it, _)| step("charged with cool caches", 0.0, it, Shape::Bars)));
    steps.push(step("the difference", charged.ns, difference, Shape::OpenBars));
    steps.extend(cool.map(|(it, difference)| {
        step("difference with cool caches", it.ns, difference, Shape::OpenBars)
    }));
    steps.push(step("measured system time", 0.0, &bill.trials.system_time, Shape::Bars));
    let range_ns = cool.map(|(it, _)| [charged.ns, it.ns]);
    Some(drawn(bill, &steps, range_ns))
}

/// The steps, over the range of what is charged if it is one.
fn drawn(bill: &Bill, steps: &[Step<'_>], range_ns: Option<[f64; 2]>) -> Chart {
    let ends = steps.iter().flat_map(|step| {
        let own = step.amount.ci95.into_iter().flatten().chain([0.0, step.amount.ns]);
        own.map(move |ns| step.start_ns + ns)
    });
    let scale = AmountScale::over(ends);
    let series = steps.iter().enumerate().map(|(row, step)| {
        let mut point = scale.bar(row, step.start_ns, step.amount);
        point.figure = figure(bill, step.amount);
        // The names of rows say what a legend would.
        Series { name: String::new(), colour: step.colour, shape: step.shape, points: vec![point] }
    });
    let of_range = match range_ns {
        Some(_) => {
            " The shaded range is what is charged from warm to cool caches: it should hold the end \
             of the measured time."
        }
        None => "",
    };
    let known: String =
        sum_notes(bill).iter().map(|note| format!(" {}.", sentence(note))).collect();
    let names: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
    Chart {
        id: "chart-reconciliation".to_owned(),
        caption: format!(
            "From what was charged, family by family, over the difference to the measured system \
             time. The difference is what no price explains; one that leads to the left is what \
             the prices charge too much.{of_range}{known}"
        ),
        x: scale.axis(),
        y: Vertical::Rows(vec![Order::of_rows(
            "as it adds up",
            vec![String::new(); names.len()],
            names,
        )]),
        series: series.collect(),
        marks: Vec::new(),
        band: range_ns.map(|ends| ends.map(|ns| scale.at(ns))),
    }
}

/// A note with a capital letter at its beginning.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// An amount with its share.
fn figure(bill: &Bill, amount: &Amount) -> String {
    let time = rough(amount.ns, Unit::NsPerOp);
    match share_text(bill, amount) {
        share if share.is_empty() => time,
        share => format!("{time}, {share}"),
    }
}
