//! What was measured for the prices of calls through a function and with cool caches, and what was not.

use oscost_model::bill::{Bill, MeasuredPairs, UnpairedCase};
use oscost_model::cool::COOL;
use oscost_model::unit::Unit;

use crate::report::figures::rough;
use crate::report::text::{plain, plural};

/// More cases than these are counted.
const MAX_NAMED_CASES: usize = 3;

/// What was measured for this bill.
pub(super) fn measurements(bill: &Bill) -> Vec<String> {
    let has_any = |measured: &&MeasuredPairs| !measured.cases.is_empty();
    bill.prices.pairs.iter().filter(has_any).map(measurement).collect()
}

/// What of that is missing, and the cases that were tried in vain within a day.
pub(super) fn doubts(bill: &Bill) -> Vec<String> {
    let mut lines: Vec<String> = bill.prices.pairs.iter().flat_map(missing).collect();
    // Cases of one reason are told together.
    let mut told: Vec<(&str, &str)> = Vec::new();
    for UnpairedCase { treatment, reason, .. } in &bill.prices.unpaired {
        let both = (treatment.as_str(), reason.as_str());
        if !told.contains(&both) {
            told.push(both);
            lines.push(in_vain(&bill.prices.unpaired, treatment, reason));
        }
    }
    lines
}

fn measurement(measured: &MeasuredPairs) -> String {
    let what = added_by(&measured.treatment);
    let prices = plural(measured.cases.len() as u64, "price");
    format!(
        "measuring what {what} adds to {prices} took {}",
        rough(measured.seconds, Unit::Seconds)
    )
}

fn missing(measured: &MeasuredPairs) -> Vec<String> {
    let what = added_by(&measured.treatment);
    let mut lines = Vec::new();
    if measured.cases.is_empty() {
        let took = rough(measured.seconds, Unit::Seconds);
        lines.push(format!("what {what} adds could not be measured of any price, in {took}"));
    }
    if measured.interrupted {
        lines.push(format!("missing: what {what} adds, where measuring it was interrupted"));
    }
    if let Some(why) = &measured.failure {
        lines.push(format!("missing: what {what} adds: measuring it failed: {}", plain(why)));
    }
    lines
}

/// The cases that were tried in vain for this reason.
fn in_vain(unpaired: &[UnpairedCase], treatment: &str, reason: &str) -> String {
    let of_both = unpaired.iter().filter(|it| it.treatment == treatment && it.reason == reason);
    let cases: Vec<String> = of_both.map(|it| plain(&it.case)).collect();
    let named = cases.iter().take(MAX_NAMED_CASES).cloned().collect::<Vec<_>>().join(", ");
    let others = match cases.len().saturating_sub(MAX_NAMED_CASES) {
        0 => String::new(),
        others => format!(" and {}", plural(others as u64, "other case")),
    };
    let what = added_by(treatment);
    format!("what {what} adds is not known of {named}{others}: {}", plain(reason))
}

/// What a treatment is, in words.
fn added_by(treatment: &str) -> &'static str {
    match treatment.starts_with(COOL) {
        true => "a walk through memory",
        false => "a function around each call",
    }
}
