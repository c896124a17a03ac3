//! What changed, in a sentence.

use oscost_model::record::Cause;

use super::term::{Term, Terms};

/// What a sentence is made of.
pub(super) struct SentenceParts<'a> {
    pub(super) terms: &'a Terms,
    pub(super) cause: Cause,
    /// Whether the kernel's instructions are known.
    pub(super) sees_kernel: bool,
}

/// The sentence: the work, then what else explains the change.
pub(super) fn sentence(of: SentenceParts<'_>) -> String {
    let SentenceParts { terms, cause, sees_kernel } = of;
    let work = work(terms, sees_kernel);
    let rest = match cause {
        Cause::Work | Cause::None => None,
        Cause::Core => terms.cpi.map(|cpi| {
            let what = match cpi.value > 0.0 {
                true => "the core was shared or its caches were colder",
                false => "the core was less shared or its caches were warmer",
            };
            format!("cycles per instruction {}: {what}", ratio(&cpi))
        }),
        Cause::Clock => terms.period.map(|period| {
            let what = match period.value > 0.0 {
                true => "the core ran slower, or a hypervisor took time",
                false => "the core ran faster, or a hypervisor took less time",
            };
            format!("clock period {}: {what}", ratio(&period))
        }),
        Cause::Waiting => terms.waiting.map(|waiting| {
            let what = if waiting.value > 0.0 { "more" } else { "less" };
            format!("{} {what} waiting per op", nanoseconds(waiting.value.abs()))
        }),
        Cause::Unknown => Some(unknown(terms)),
    };
    [Some(work), rest].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The work: unchanged, or how many instructions were added and where.
fn work(terms: &Terms, sees_kernel: bool) -> String {
    let Some(work) = terms.work else { return "work unknown".to_owned() };
    let name = if sees_kernel { "work" } else { "work in user mode" };
    let Some(interval) = work.interval else {
        return format!("{name} {:.3} (too few counted workers for an interval)", work.value.exp());
    };
    if !work.is_certain() {
        let bound = interval.lo.abs().max(interval.hi.abs());
        return format!("{name} {:.3} (to {})", work.value.exp(), per_cent(bound.exp_m1()));
    }
    let added = |term: Option<Term>, place: &str| {
        let value = term?.value;
        (value.abs() >= 0.05).then(|| format!("{value:+.1} in {place}"))
    };
    let places = [added(terms.kernel, "the kernel"), added(terms.user, "user mode")];
    let places: Vec<String> = places.into_iter().flatten().collect();
    let places = match places.is_empty() {
        true => String::new(),
        false => format!(" (instructions: {})", places.join(", ")),
    };
    format!("{name} {}{places}", ratio(&work))
}

fn unknown(terms: &Terms) -> String {
    match terms.time {
        Some(time) => {
            format!("cause unknown: the time of the counted ops changed by {}", ratio(&time))
        }
        None => "cause unknown: the counted ops have no time".to_owned(),
    }
}

/// A ratio with its interval.
fn ratio(term: &Term) -> String {
    let number = |log: f64| {
        // A change of a tenth of a per cent is visible in three digits.
        let decimals = if term.value.abs() < 0.05 { 4 } else { 2 };
        format!("{:.decimals$}", log.exp())
    };
    match term.interval {
        Some(it) => format!("{} [{} .. {}]", number(term.value), number(it.lo), number(it.hi)),
        None => number(term.value),
    }
}

fn per_cent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// A time with three digits.
fn nanoseconds(ns: f64) -> String {
    match ns {
        1e6.. => format!("{:.2} ms", ns / 1e6),
        1e3.. => format!("{:.2} us", ns / 1e3),
        _ => format!("{ns:.1} ns"),
    }
}
