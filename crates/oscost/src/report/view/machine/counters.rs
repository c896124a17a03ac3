//! The processor's counters as facts: which events can be counted, and what was tried.

use oscost_model::counters::{CounterEvent, CounterProbe};
use oscost_model::facts::Facts;

use super::facts::{fact, plural};
use crate::report::text::without_error_number;
use crate::report::view::document::Fact;

/// The facts of the counters.
pub(super) fn counters(facts: &Facts) -> Vec<Fact> {
    let counters = &facts.counters;
    let is_counted = |it: &&CounterProbe| counters.can_count(it.event);
    let names = |software: bool| {
        let of_kind = counters.events.iter().filter(|it| it.event.is_software() == software);
        let names: Vec<&str> = of_kind.filter(is_counted).map(|it| it.event.perf_name()).collect();
        names.join(", ")
    };
    let unavailable = counters.distrusted.as_ref().or(counters.unavailable.as_ref());
    let is_tried = !counters.events.is_empty();
    let no_pmu = || match unavailable {
        Some(why) => without_error_number(why),
        None if is_tried => "no event opens".to_owned(),
        None => "this worker did not try to count".to_owned(),
    };
    // The reason once: the rows below follow from it.
    let of_pmu = || match unavailable {
        Some(_) => "see `PMU events`".to_owned(),
        None => no_pmu(),
    };
    let some = |text: String| (!text.is_empty()).then_some(text);
    // Events that open one by one, of which too few can be counted at once, are not used.
    let usable = if unavailable.is_none() { names(false) } else { String::new() };
    let mut found = vec![
        fact("PMU", some(counters.pmus.join(", ")), of_pmu),
        fact("PMU events", some(usable), no_pmu),
        fact("software events", some(names(true)), no_pmu),
    ];
    let refused = counters.events.iter().filter_map(|it| {
        let why = it.refused.as_ref()?;
        Some(Fact::new(
            it.event.perf_name(),
            format!("cannot be counted: {}", without_error_number(why)),
        ))
    });
    // If all are refused for one reason, `events` has it.
    if unavailable.is_none() {
        found.extend(refused);
    }
    let kernel = match counters.can_count(CounterEvent::InstructionsKernel) {
        true => Some("counted".to_owned()),
        false => None,
    };
    let no_kernel = || {
        let of_kernel =
            counters.events.iter().find(|it| it.event == CounterEvent::InstructionsKernel);
        let refused = of_kernel.and_then(|it| it.refused.as_deref());
        refused.map_or_else(no_pmu, without_error_number)
    };
    let no_width = || match (unavailable, counters.rdpmc) {
        (None, Some(false)) => "it is read with rdpmc, which is not allowed".to_owned(),
        _ => of_pmu(),
    };
    found.extend([
        fact("kernel mode", kernel, no_kernel),
        fact("counter width", counters.width_bits.map(|it| format!("{it} bits")), no_width),
        fact("counted at once", counters.simultaneous.map(|it| plural(it.into(), "event")), of_pmu),
        fact(
            "rdpmc",
            counters.rdpmc.map(|it| if it { "allowed" } else { "not allowed" }.to_owned()),
            of_pmu,
        ),
    ]);
    let costs = counters.read_ns.iter().map(|it| format!("{} {:.0} ns", it.by.text(), it.ns));
    let costs = some(costs.collect::<Vec<_>>().join(", "));
    let used = counters.read_by.map(|by| format!("; used: {}", by.text())).unwrap_or_default();
    found.push(fact("read of three", costs.map(|costs| costs + &used), of_pmu));
    found
}

#[cfg(test)]
mod tests {
    use oscost_model::counters::CounterFacts;

    use super::*;

    #[test]
    fn a_width_that_is_not_read_is_no_lack_of_events() {
        let width = |rdpmc: Option<bool>, opens: bool| {
            let refused = (!opens).then(|| "ENOENT".to_owned());
            let probe = CounterProbe { event: CounterEvent::Cycles, refused };
            let counters = CounterFacts { rdpmc, events: vec![probe], ..CounterFacts::default() };
            let facts = Facts { counters, ..Facts::default() };
            let found = super::counters(&facts);
            found.into_iter().find(|it| it.name == "counter width").unwrap().value
        };
        let not_read = "not visible: it is read with rdpmc, which is not allowed";
        assert_eq!(width(Some(false), true), not_read);
        assert_eq!(width(None, false), "not visible: no event opens");
    }
}
