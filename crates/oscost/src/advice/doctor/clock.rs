//! Clocks: what a run times by, what the kernel times by, and who steers it.

use oscost_model::clock::ClockKind;
use oscost_model::watch::SystemActivity;

use super::{Observations, RuleResult, Weight};
use crate::advice::CLOCKSOURCE;

/// The steered clock differs from the raw one by more than the error of two pairs of reads a second
/// apart, which is some 0.03 ppm.
const STEERED_FROM_PPM: f64 = 0.1;

/// Whether the processor's counter can be used.
pub(super) fn counter(seen: &Observations<'_>) -> RuleResult {
    let verdict = |kind| seen.clocks.iter().find(|verdict| verdict.kind == kind);
    let Some(tsc) = verdict(ClockKind::Tsc) else {
        return RuleResult::unknown("the processor's counter");
    };
    let Some(why) = &tsc.unusable_reason else { return RuleResult::fine("counter") };
    let next = seen.clocks.iter().find(|verdict| verdict.unusable_reason.is_none());
    let next = next.map_or("none", |verdict| verdict.kind.text());
    let what = format!("the processor's counter cannot be used: {why}");
    let (weight, does) = match next {
        "vdso" => (
            Weight::Note,
            "windows are timed by the vDSO's clock: some 20 ns a read, and the same step",
        ),
        _ => (
            Weight::Invalidates,
            "windows are timed by system calls: batches must be longer, and are hit more often; \
             figures of single shots carry the noise of two calls",
        ),
    };
    let judged = RuleResult::found(weight, what, does);
    match seen.facts.is_guest() {
        true => judged.mend("nothing here: the host decides what a guest's counter is"),
        false => judged.mend("boot with `tsc=reliable` if you know that it is"),
    }
}

/// What the kernel itself times by, which is what a program reads.
pub(super) fn clocksource(seen: &Observations<'_>) -> RuleResult {
    let scheduling = &seen.facts.scheduling;
    let Some(source) = scheduling.clocksource.as_deref() else {
        return RuleResult::unknown("clocksource (sysfs does not tell)");
    };
    let best = ["tsc", "arch_sys_counter"];
    if best.contains(&source) {
        return RuleResult::fine("clocksource");
    }
    let enters = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen"].contains(&source);
    let judged = match enters {
        true => RuleResult::found(
            Weight::Biases,
            format!("{} (it is `{source}`)", CLOCKSOURCE.0),
            format!("{}: a system call, over 100 ns, instead of some 20 ns", CLOCKSOURCE.1),
        ),
        false => RuleResult::found(
            Weight::Note,
            format!("the kernel's clocksource is `{source}`, not the counter itself"),
            "clock reads take some ns more than on a machine with `tsc`; programs need not enter \
             the kernel for them",
        ),
    };
    let available = scheduling.clocksources_available.as_deref().unwrap_or_default();
    match available.iter().find(|name| best.contains(&name.as_str())) {
        Some(best) => judged.with_command(format!(
            "echo {best} | sudo tee \
             /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None if seen.facts.is_guest() => judged.mend("nothing here: the host offers no better one"),
        None => judged.mend("boot with `tsc=reliable` if you know that it is"),
    }
}

/// Whether somebody steers the clock now.
pub(super) fn time_daemon(seen: &Observations<'_>) -> RuleResult {
    const SERVICES: &[(&str, &str)] = &[
        ("chronyd", "chronyd"),
        ("ntpd", "ntpd"),
        ("openntpd", "openntpd"),
        ("phc2sys", "phc2sys"),
        ("ptp4l", "ptp4l"),
        ("systemd-timesyn", "systemd-timesyncd"),
    ];
    let Some(watch) = seen.system_activity() else {
        return RuleResult::unknown("whether the clock is steered");
    };
    let runs = |(name, _): &&(&str, &str)| watch.daemons.iter().any(|it| it == name);
    let services: Vec<&str> = SERVICES.iter().filter(runs).map(|(_, service)| *service).collect();
    let Some(steering) = steering(watch) else {
        return RuleResult::unknown("whether the clock is steered");
    };
    if steering.is_empty() {
        return RuleResult::fine("time daemon");
    }
    let who = services.first().map_or("somebody steers".to_owned(), |it| format!("{it} steers"));
    let judged = RuleResult::found(
        Weight::Note,
        format!("{who} the clock now: {steering}"),
        "nothing to oscost's figures: they are timed by clocks that nobody steers; a program that \
         takes CLOCK_MONOTONIC is off by that, by 500 ppm (0.05 %) at most",
    );
    match services.is_empty() {
        true => {
            judged.mend("nothing runs here that does: it is the last word of a daemon that ended")
        }
        false => judged
            .with_command(seen.stop(&services))
            .mend("only if you time by other clocks as well"),
    }
}

/// How the clock is steered; empty if it is not, `None` if that is not known.
fn steering(watch: &SystemActivity) -> Option<String> {
    let discipline = watch.discipline?;
    let mut parts = Vec::new();
    if let Some(ppm) = watch.monotonic_rate_offset_ppm.filter(|ppm| ppm.abs() > STEERED_FROM_PPM) {
        parts.push(format!("CLOCK_MONOTONIC runs {ppm:+.2} ppm against the raw one"));
    }
    let loops = discipline.pll || discipline.fll;
    if loops && discipline.offset_ns != 0 {
        parts.push(format!("{} us are still to be made good", discipline.offset_ns / 1_000));
    }
    if let Some(left) = discipline.adjtime_us.filter(|&left| left != 0) {
        parts.push(format!("{left} us of an adjtime are left"));
    }
    Some(parts.join(", "))
}
