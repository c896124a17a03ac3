//! Clocks: the clock of a run, the clock of the kernel, and time daemons.

use oscost_model::clock::ClockKind;
use oscost_model::watch::SystemActivity;

use super::finding::{RuleResult, Weight};
use super::observations::Observations;
use crate::advice::CLOCKSOURCE;

/// Above this difference between the steered and the raw clock, the clock is being steered: the
/// error of two pairs of reads one second apart is about 0.03 ppm.
const STEERED_FROM_PPM: f64 = 0.1;

/// Whether the time stamp counter is usable.
pub(super) fn counter(observations: &Observations<'_>) -> RuleResult {
    let verdict = |kind| observations.clocks.iter().find(|verdict| verdict.kind == kind);
    let Some(tsc) = verdict(ClockKind::Tsc) else {
        return RuleResult::unknown("the processor's counter");
    };
    let Some(why) = &tsc.unusable_reason else { return RuleResult::pass("counter") };
    let next = observations.clocks.iter().find(|verdict| verdict.unusable_reason.is_none());
    let next = next.map_or("none", |verdict| verdict.kind.text());
    let what = format!("the processor's counter is not usable: {why}");
    let (weight, effect) = match next {
        "vdso" => (
            Weight::Note,
            "windows are timed with the vDSO clock: about 20 ns per read, same resolution",
        ),
        _ => (
            Weight::Invalidates,
            "windows are timed with system calls: batches must be longer and are interrupted more \
             often; single-shot figures carry the noise of two calls",
        ),
    };
    let result = RuleResult::finding(weight, what, effect);
    match observations.facts.is_guest() {
        true => result.with_fix("none from inside: the hypervisor provides a guest's counter"),
        false => result.with_fix("boot with `tsc=reliable` if you know that the TSC is reliable"),
    }
}

/// The kernel's clocksource, which programs read.
pub(super) fn clocksource(observations: &Observations<'_>) -> RuleResult {
    let scheduling = &observations.facts.scheduling;
    let Some(source) = scheduling.clocksource.as_deref() else {
        return RuleResult::unknown("clocksource (not in sysfs)");
    };
    let best = ["tsc", "arch_sys_counter"];
    if best.contains(&source) {
        return RuleResult::pass("clocksource");
    }
    let enters = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "xen"].contains(&source);
    let result = match enters {
        true => RuleResult::finding(
            Weight::Biases,
            format!("{} (it is `{source}`)", CLOCKSOURCE.0),
            format!("{}: a system call of over 100 ns instead of about 20 ns", CLOCKSOURCE.1),
        ),
        false => RuleResult::finding(
            Weight::Note,
            format!("the kernel's clocksource is `{source}`, not the counter itself"),
            "clock reads take a few ns more than with `tsc`; programs still read it without a \
             system call",
        ),
    };
    let available = scheduling.clocksources_available.as_deref().unwrap_or_default();
    match available.iter().find(|name| best.contains(&name.as_str())) {
        Some(best) => result.with_command(format!(
            "echo {best} | sudo tee \
             /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None if observations.facts.is_guest() => {
            result.with_fix("none from inside: the hypervisor offers no better clocksource")
        }
        None => result.with_fix("boot with `tsc=reliable` if you know that the TSC is reliable"),
    }
}

/// Whether a time daemon is steering the clock.
pub(super) fn time_daemon(observations: &Observations<'_>) -> RuleResult {
    const SERVICES: &[(&str, &str)] = &[
        ("chronyd", "chronyd"),
        ("ntpd", "ntpd"),
        ("openntpd", "openntpd"),
        ("phc2sys", "phc2sys"),
        ("ptp4l", "ptp4l"),
        ("systemd-timesyn", "systemd-timesyncd"),
    ];
    let Some(watch) = observations.system_activity() else {
        return RuleResult::unknown("whether the clock is steered");
    };
    let runs = |(name, _): &&(&str, &str)| watch.daemons.iter().any(|it| it == name);
    let services: Vec<&str> = SERVICES.iter().filter(runs).map(|(_, service)| *service).collect();
    let Some(steering) = steering(watch) else {
        return RuleResult::unknown("whether the clock is steered");
    };
    if steering.is_empty() {
        return RuleResult::pass("time daemon");
    }
    let source = services.first().copied().unwrap_or("a process");
    let result = RuleResult::finding(
        Weight::Note,
        format!("{source} is steering the clock: {steering}"),
        "none on oscost's figures, which use unsteered clocks; a program that reads \
         CLOCK_MONOTONIC is off by this much, at most 500 ppm (0.05 %)",
    );
    match services.is_empty() {
        true => {
            result.with_fix("no time daemon is running: a daemon that has ended left this setting")
        }
        false => result
            .with_command(observations.stop(&services))
            .with_fix("only needed if you also measure with other clocks"),
    }
}

/// How the clock is steered; empty if it is not, `None` if unknown.
fn steering(watch: &SystemActivity) -> Option<String> {
    let discipline = watch.discipline?;
    let mut parts = Vec::new();
    if let Some(ppm) = watch.monotonic_rate_offset_ppm.filter(|ppm| ppm.abs() > STEERED_FROM_PPM) {
        parts.push(format!("CLOCK_MONOTONIC runs {ppm:+.2} ppm against the raw one"));
    }
    let loops = discipline.pll || discipline.fll;
    if loops && discipline.offset_ns != 0 {
        parts.push(format!(
            "an offset of {} us is still being corrected",
            discipline.offset_ns / 1_000
        ));
    }
    if let Some(left) = discipline.adjtime_us.filter(|&left| left != 0) {
        parts.push(format!("{left} us of an adjtime(3) remain"));
    }
    Some(parts.join(", "))
}
