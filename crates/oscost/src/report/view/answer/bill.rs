//! What a bill found: what the kernel charged a program, how much of it is explained, and how far to
//! trust that.

mod higher_time;
mod price_runs;
mod prices;
mod range;
mod reason;
mod tick_division;
mod uncertainty;
mod unpriced;

use std::cmp::Reverse;

use oscost_model::bill::{Amount, Bill, BillItem, PriceSources};
use oscost_model::raw_call::CALL;
use oscost_model::unit::Unit;

pub(in crate::report::view) use self::higher_time::clause as higher_time_clause;
use self::range::ChargedRange;
use self::reason::Reason;
use self::uncertainty::{MAX_HALF_WIDTH_PCT, may_be_nothing, no_interval, verdict};
use self::unpriced::{MAX_UNPRICED_PCT, MIN_SHARE_PCT};
use super::quote::interval_text;
use super::trust;
use crate::advice::trust::{Grade, Trust};
use crate::report::figures::{occurrences, per_cent, rough};
use crate::report::text::{plain, plural};
use crate::report::view::document::Answer;

/// Of more items than these the others are in the table alone.
const MAX_NAMED: usize = 3;
/// A program that takes so much longer or shorter while it is counted is told of, in per cent.
const MAX_ADDED_PCT: f64 = 10.0;
/// A bill that leaves more than this unexplained, in either direction, explains nothing, in per cent.
const MAX_UNEXPLAINED_PCT: f64 = 50.0;
/// A sum half of whose interval is more than this of itself may as well be nothing, in per cent.
const MAX_POOR_HALF_WIDTH_PCT: f64 = 100.0;
/// A range one end of which is more than so many times the other would hold almost any time.
const MAX_RANGE_RATIO: f64 = 2.2;

/// The answer of a bill.
pub(in crate::report::view) fn answer(bill: &Bill) -> Answer {
    Answer { findings: vec![headline(bill)], trust: Some(grade(&trust_of(bill))), next: next(bill) }
}

/// The commands that measure what matters most, and then all that is lacking.
fn next(bill: &Bill) -> Vec<String> {
    let should_be_renewed = !bill.prices.stale.is_empty() || price_runs::has_poor(bill);
    let renewal = should_be_renewed.then(|| "Next: `oscost run` measures prices anew.".to_owned());
    let first = unpriced::next(bill).or(renewal);
    first.into_iter().chain(unpriced::next_of_all(bill)).collect()
}

/// The grade with the weightiest of its reasons.
fn grade(found: &Trust) -> String {
    match &found.reasons[..] {
        [] | [_] => trust::sentence(found),
        [weightiest, others @ ..] => {
            let (grade, others) = (found.grade.text(), plural(others.len() as u64, "other reason"));
            format!("Trust: {grade}: {weightiest} ({others} below).")
        }
    }
}

/// The reasons of its grade but for the weightiest one.
pub(in crate::report::view) fn other_reasons(bill: &Bill) -> Vec<String> {
    trust_of(bill).reasons.into_iter().skip(1).collect()
}

/// What was charged, in words.
fn headline(bill: &Bill) -> String {
    let name = program_name(bill);
    let system_ns = bill.trials.system_time.ns;
    let higher = higher_time_clause(&bill.trials);
    if system_ns <= 0.0 {
        return format!("{name} spent no measurable time in the kernel{higher}.");
    }
    let spent = format!("{name} spent {} in the kernel", time(system_ns));
    let (Some(charged), Some(difference)) = (&bill.charged, &bill.difference) else {
        return format!("{spent}; for what is not known: its calls were not counted{higher}.");
    };
    let largest = largest(bill);
    let open = unpriced::clause(bill);
    // A range says that itself, in its verdict.
    let range = ChargedRange::of(bill).map(ChargedRange::sentence);
    let higher = if range.is_some() { String::new() } else { higher };
    let sum = range.or_else(|| undecided(charged, difference, system_ns));
    let share_pct = 100.0 * difference.ns / system_ns;
    if share_pct >= 0.0 {
        let of_it = if largest.is_empty() { largest } else { format!("; {largest}") };
        let rest = sum.unwrap_or_else(|| {
            format!("{} is unexplained{}", per_cent(share_pct), certainty(difference))
        });
        return format!("{spent}{of_it}; {rest}{higher}{open}.");
    }
    // An amount may then exceed the measured time, and is no part of it.
    let charges = sum.unwrap_or_else(|| {
        let more = per_cent(-share_pct);
        let certainty = certainty(difference);
        format!("the prices charge {more} more than that, {} in all{certainty}", time(charged.ns))
    });
    let ticks = tick_division::clause(bill);
    format!("{spent}; {charges}{ticks}{higher}; {largest}{open}.")
}

/// What is charged, where the interval of the difference contains zero, so that nothing can be said
/// to be unexplained; `None` of other differences.
fn undecided(charged: &Amount, difference: &Amount, system_ns: f64) -> Option<String> {
    let verdict = verdict(difference, system_ns)?;
    let ends = charged.ci95.map_or("no interval".to_owned(), |it| interval_text(it, Unit::NsPerOp));
    Some(format!("{} ({ends}) charged: {verdict}", time(charged.ns)))
}

/// What is said of a difference without an interval; nothing of others.
fn certainty(difference: &Amount) -> &'static str {
    match difference.ci95 {
        Some(_) => "",
        None => ", and how sure that is is not known",
    }
}

/// The name of a bill's program, without its folders.
pub(in crate::report::view) fn program_name(bill: &Bill) -> String {
    let name = bill.program.first().map_or("", String::as_str);
    plain(name.rsplit('/').next().unwrap_or(name))
}

/// The items that matter most: `61 ms of it for 68,725 x close file, 20 ms for ...`. Those without a price
/// have the time that the counter saw.
fn largest(bill: &Bill) -> String {
    let priced = bill.items.iter().filter_map(|item| Some((item, item.amount.as_ref()?.ns)));
    let open = unpriced::large(bill).into_iter();
    let open = open.filter_map(|item| Some((item, unpriced::took_ns(item)?)));
    let mut named: Vec<(&BillItem, f64)> = priced.chain(open).collect();
    named.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let matters = |at: usize, item: &BillItem| {
        let is_large = item.share_pct.is_some_and(|pct| pct >= MIN_SHARE_PCT);
        at == 0 || is_large || item.amount.is_none()
    };
    let is_part = bill.difference.as_ref().is_some_and(|it| it.ns >= 0.0);
    let phrase = |(at, (item, ns)): (usize, (&BillItem, f64))| {
        let of_it = if at == 0 && is_part { " of it" } else { "" };
        let (times, name) = (occurrences(item.times), plain(&item.name));
        let by = if item.amount.is_none() { " (without a price)" } else { "" };
        matters(at, item).then(|| format!("{}{of_it} for {times} x {name}{by}", time(ns)))
    };
    let phrases = named.into_iter().take(MAX_NAMED).enumerate().filter_map(phrase);
    phrases.collect::<Vec<_>>().join(", ")
}

/// How far a bill can be believed: the worst of its reasons, which come first.
pub(in crate::report::view) fn trust_of(bill: &Bill) -> Trust {
    let mut reasons = reasons(bill);
    reasons.sort_by_key(|reason| Reverse(reason.grade));
    let grade = reasons.first().map_or(Grade::Good, |reason| reason.grade);
    Trust { grade, reasons: reasons.into_iter().map(|reason| reason.text).collect() }
}

/// Each as what is so, and what follows: first whether the counts are those of the untouched
/// program, then what the prices leave open, then how well the figures are known.
fn reasons(bill: &Bill) -> Vec<Reason> {
    let mut found: Vec<Reason> = bill.cautions.iter().map(|it| Reason::fair(plain(it))).collect();
    found.extend(of_counting(bill));
    found.extend(of_difference(bill));
    found.extend(unpriced::reason(bill));
    let unpriced_pct = unpriced_pct(&bill.items);
    if bill.counted.is_some() && unpriced_pct > MAX_UNPRICED_PCT {
        let share = per_cent(unpriced_pct);
        let text = format!("{share} of what was counted has no price: it is in no amount");
        found.push(Reason::fair(text));
    }
    found.extend(bill.trials.doubt.iter().map(|why| Reason::fair(plain(why))));
    found.extend(of_system_time(&bill.trials.system_time));
    if !bill.prices.stale.is_empty() {
        let stale: Vec<String> = bill.prices.stale.iter().map(|why| plain(why)).collect();
        let stale = stale.join("; ");
        found.push(Reason::fair(format!("its prices are stale, and others may hold now: {stale}")));
    }
    found.extend(price_runs::reasons(bill));
    found.extend(prices::reason(bill));
    found.extend(bill.charged.as_ref().and_then(|charged| of_charged(bill, charged)));
    if are_of_inlined_loops(&bill.prices) {
        let text = "its largest prices are of inlined loops: programs call through functions, which \
                    may take longer";
        found.push(Reason::fair(text.to_owned()));
    }
    found
}

/// Whether large prices are those of inlined loops although their calls may have a loop through a
/// function: that was not measured, or in vain.
fn are_of_inlined_loops(prices: &PriceSources) -> bool {
    let mut unpaired = prices.unpaired.iter();
    !prices.inlined.is_empty() || unpaired.any(|it| it.treatment == CALL && !it.skipped)
}

/// What is doubtful about the sum: that it is far from the system time, or a range of almost any.
fn of_difference(bill: &Bill) -> Vec<Reason> {
    let is_far = |ns: f64| 100.0 * ns.abs() / bill.trials.system_time.ns > MAX_UNEXPLAINED_PCT;
    let Some(range) = ChargedRange::of(bill) else {
        let far = bill.difference.as_ref().filter(|it| is_far(it.ns));
        let reason = far.map(|it| {
            let what = "the difference is more than half of the system time";
            Reason::poor(format!("{what}: {}", explanation(may_be_nothing(it))))
        });
        return reason.into_iter().collect();
    };
    let far = (is_far(range.outside_ns()) && !range.is_left_open()).then(|| {
        let what = "its system time is outside the range by more than half of itself";
        Reason::poor(format!("{what}: {}", explanation(range.is_uncertain())))
    });
    let wide = range.is_wider_than(MAX_RANGE_RATIO).then(|| {
        Reason::fair(format!(
            "one end of its range is more than {MAX_RANGE_RATIO} times the other: it holds almost any \
             time"
        ))
    });
    far.into_iter().chain(wide).collect()
}

/// What a large difference says of the prices.
fn explanation(may_be_nothing: bool) -> &'static str {
    match may_be_nothing {
        true => "its interval leaves open whether the prices explain it",
        false => "the prices do not explain it",
    }
}

/// What is doubtful about the counts.
fn of_counting(bill: &Bill) -> Vec<Reason> {
    let Some(counted) = &bill.counted else {
        return vec![Reason::poor("its calls were not counted: nothing is charged".to_owned())];
    };
    let calls = &counted.calls;
    let added = match counted.added_pct {
        Some(more) if more > MAX_ADDED_PCT => Some(format!(
            "counting added {} to its real time: calls that depend on time (timeouts, polls) may \
             differ",
            per_cent(more)
        )),
        // Counting makes nothing faster.
        Some(less) if less < -MAX_ADDED_PCT => {
            let less = per_cent(-less);
            Some(format!("its real time was {less} shorter while it was counted: it varies"))
        }
        _ => None,
    };
    let varying = (counted.varying_forms > 0).then(|| {
        let forms = plural(counted.varying_forms.into(), "form");
        format!("the counted runs differ in {forms} of calls: their medians are charged")
    });
    let said = |count: u64, noun: &str, what: &str| {
        (count > 0).then(|| format!("{} {what}", plural(count, noun)))
    };
    let killed = said(calls.killed, "task", "outlived it: what followed is not charged");
    let unread = "could not be read: the forms of these calls are incomplete";
    let unread = said(calls.unread, "argument", unread);
    let lost = "had no room in the counter, or met a busy one: the counts are too low";
    let lost = said(counted.lost_events, "event", lost);
    [added, varying, killed, unread, lost].into_iter().flatten().map(Reason::fair).collect()
}

fn of_system_time(system: &Amount) -> Option<Reason> {
    // An interval has no width in per cent of nothing.
    if system.ns <= 0.0 {
        return None;
    }
    let half_pct = |[low, high]: [f64; 2]| 50.0 * (high - low) / system.ns;
    let Some(half_pct) = system.ci95.map(half_pct) else {
        let text = "its system time has no interval: nor has the difference";
        return Some(Reason::fair(text.to_owned()));
    };
    (half_pct > MAX_HALF_WIDTH_PCT).then(|| {
        let half = per_cent(half_pct);
        let text = format!("its system time is known to +-{half} only: so is what is unexplained");
        Reason::fair(text)
    })
}

/// What is doubtful about the sum of the prices: that it may as well be another one.
fn of_charged(bill: &Bill, charged: &Amount) -> Option<Reason> {
    if charged.ns <= 0.0 {
        return None;
    }
    let Some([low, high]) = charged.ci95 else {
        return Some(Reason::fair(no_interval(bill)));
    };
    let half_pct = 50.0 * (high - low) / charged.ns;
    (half_pct > MAX_HALF_WIDTH_PCT).then(|| {
        let half = per_cent(half_pct);
        let text =
            format!("the sum of the charges is known to +-{half} only: so is what is unexplained");
        match half_pct > MAX_POOR_HALF_WIDTH_PCT {
            true => Reason::poor(text),
            false => Reason::fair(text),
        }
    })
}

/// The calls, faults and whatever else was counted that have no price, in per cent of all.
fn unpriced_pct(items: &[BillItem]) -> f64 {
    let all = unpriced::times(items.iter());
    let unpriced = unpriced::times(items.iter().filter(|item| item.amount.is_none()));
    if all > 0.0 { 100.0 * unpriced / all } else { 0.0 }
}

fn time(ns: f64) -> String {
    rough(ns, Unit::NsPerOp)
}

#[cfg(test)]
mod tests;
