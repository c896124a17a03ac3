//! The processor, and clocks.

use super::*;

#[test]
fn two_threads_on_a_core_are_noise() {
    let smt = |on| World::quiet().but(|world| world.facts.scheduling.smt_active = on);
    assert_eq!(smt(Some(true)).weight("smt"), Some(Weight::Noise));
    assert!(smt(Some(false)).is_fine("smt"));
    assert!(smt(None).is_unseen("smt"));
}

#[test]
fn any_governor_but_performance_is_noise() {
    let governor = |name: Option<&str>| {
        World::quiet().but(|world| world.facts.scheduling.governor = name.map(str::to_owned))
    };
    assert!(governor(Some("performance")).is_fine("governor"));
    assert!(governor(Some("schedutil")).found("governor").what.contains("`schedutil`"));
    assert!(governor(None).is_unseen("governor"));
}

#[test]
fn turbo_is_worth_knowing_with_the_rate_that_the_core_runs_at() {
    let boost = |on| World::quiet().but(|world| world.facts.scheduling.boost = on);
    let found = boost(Some(true)).found("turbo");
    assert_eq!(found.weight, Weight::Note);
    assert!(found.what.contains("4.00 GHz now, an estimate"), "{}", found.what);
    assert!(found.command.unwrap().starts_with("echo 0 | sudo tee"));
    let intel = boost(Some(true)).but(|world| world.facts.cpu.vendor = Some("GenuineIntel".into()));
    assert!(intel.found("turbo").command.unwrap().ends_with("no_turbo"));
    assert!(boost(Some(false)).is_fine("turbo"));
    assert!(boost(None).is_unseen("turbo"));
}

#[test]
fn cores_that_differ_by_more_than_two_per_cent_are_noise() {
    let other = |rate| World::quiet().but(|world| world.probe[0].core_cycles_per_ns = rate);
    assert!(other(Some(4.079)).is_fine("core-rates"));
    let found = other(Some(4.081)).found("core-rates");
    assert_eq!(found.command.as_deref(), Some("oscost run --cpu 1"));
    assert_eq!(
        other(None).judged("core-rates"),
        RuleResult::NotApplicable,
        "one rate has no other"
    );
}

#[test]
fn a_single_cpu_limits() {
    let allowed = |cpus: &[u32], online| {
        World::quiet().but(|world| {
            world.facts.cpu.allowed_cpus = Some(cpus.to_vec());
            world.facts.cpu.logical_online = Some(online);
        })
    };
    assert!(allowed(&[0, 1], 2).is_fine("one-cpu"));
    assert!(allowed(&[0], 2).found("one-cpu").command.is_some());
    let alone = allowed(&[0], 1).found("one-cpu");
    assert_eq!((alone.weight, alone.command), (Weight::Limitation, None));
    assert!(World::unknown().is_unseen("one-cpu"));
}

#[test]
fn isolation_is_fine_only_where_a_run_would_measure() {
    let isolated = |cpus: Option<Vec<u32>>| {
        World::quiet().but(|world| world.facts.scheduling.isolated_cpus = cpus)
    };
    assert!(isolated(Some(vec![1, 2])).is_fine("isolation"));
    let elsewhere = isolated(Some(vec![3])).found("isolation");
    assert_eq!(elsewhere.command.as_deref(), Some("oscost run --cpu 3"));
    let none = isolated(Some(vec![])).found("isolation");
    assert!(none.fix.unwrap().contains("isolcpus=1"));
    let single = isolated(Some(vec![])).but(|world| world.facts.cpu.logical_online = Some(1));
    assert_eq!(
        single.judged("isolation"),
        RuleResult::NotApplicable,
        "nothing else could run anywhere"
    );
    assert!(isolated(None).is_unseen("isolation"));
}

#[test]
fn the_tick_is_told_by_the_timer_interrupts_that_came() {
    let full = |cpus: Option<Vec<u32>>| {
        World::quiet().but(|world| world.facts.scheduling.nohz_full_cpus = cpus)
    };
    assert!(full(Some(vec![1])).is_fine("tick"));
    let found = full(Some(vec![0])).found("tick");
    assert!(found.what.starts_with("the timer interrupted CPU 1 3 times a second (HZ=250)"));
    assert!(found.fix.unwrap().contains("boot with `nohz_full=1"));
    let without = full(None).but(|world| world.facts.os.options = Some(vec![]));
    assert!(without.found("tick").fix.unwrap().contains("built without CONFIG_NO_HZ_FULL"));
    let unwatched = full(None).but(|world| world.watch = Err("killed".into()));
    assert!(unwatched.found("tick").what.starts_with("the kernel's tick interrupts CPU 1"));
}

#[test]
fn a_hypervisor_is_worth_knowing() {
    let kind = |kind: Option<&str>| {
        World::quiet().but(|world| world.facts.virtualization = kind.map(str::to_owned))
    };
    assert!(kind(Some("none")).is_fine("virtual-machine"));
    assert_eq!(kind(Some("kvm")).found("virtual-machine").what, "this is a virtual machine (kvm)");
    assert!(kind(None).is_unseen("virtual-machine"));
}

#[test]
fn a_counter_that_cannot_be_used_is_as_bad_as_what_stands_in_for_it() {
    let without = |vdso: Option<&str>| {
        World::quiet().but(|world| {
            world.clocks[0].unusable_reason = Some("it is trapped".into());
            world.clocks[1].unusable_reason = vdso.map(str::to_owned);
        })
    };
    assert!(World::quiet().is_fine("counter"));
    let found = without(None).found("counter");
    assert_eq!(found.weight, Weight::Note);
    assert!(found.what.ends_with("it is trapped"));
    assert_eq!(without(Some("there is none")).weight("counter"), Some(Weight::Invalidates));
    assert!(World::unknown().is_unseen("counter"));
}

#[test]
fn a_clocksource_that_enters_the_kernel_shifts_and_others_are_worth_knowing() {
    let source = |source: &str, available: &[&str]| {
        World::quiet().but(|world| {
            world.facts.scheduling.clocksource = Some(source.to_owned());
            let names = available.iter().map(|&name| name.to_owned()).collect();
            world.facts.scheduling.clocksources_available = Some(names);
        })
    };
    assert!(source("tsc", &[]).is_fine("clocksource"));
    assert!(source("arch_sys_counter", &[]).is_fine("clocksource"));
    let hpet = source("hpet", &["tsc", "hpet"]).found("clocksource");
    assert_eq!(hpet.weight, Weight::Biases);
    assert!(hpet.command.unwrap().starts_with("echo tsc | sudo tee /sys/devices/system/clock"));
    let kvm = source("kvm-clock", &["kvm-clock"]);
    assert_eq!(kvm.weight("clocksource"), Some(Weight::Note));
    assert!(kvm.found("clocksource").fix.unwrap().contains("tsc=reliable"));
    let guest = kvm.but(|world| world.facts.virtualization = Some("kvm".into()));
    assert!(guest.found("clocksource").fix.unwrap().contains("the host"));
    assert!(World::unknown().is_unseen("clocksource"));
}

#[test]
fn a_clock_that_is_steered_now_is_told_with_its_figures() {
    let off =
        |ppm: f64| World::quiet().but(|world| world.watch().monotonic_rate_offset_ppm = Some(ppm));
    assert!(off(0.1).is_fine("time-daemon"));
    assert!(off(-0.1).is_fine("time-daemon"));
    let found = off(-12.345).found("time-daemon");
    assert!(found.what.contains("CLOCK_MONOTONIC runs -12.35 ppm"), "{}", found.what);
    assert!(found.fix.unwrap().contains("a daemon that ended"));
    let daemon = off(20.0).but(|world| world.watch().daemons = vec!["systemd-timesyn".into()]);
    let found = daemon.found("time-daemon");
    assert_eq!(found.command.as_deref(), Some("sudo systemctl stop systemd-timesyncd"));
    assert!(found.what.starts_with("systemd-timesyncd steers the clock now"));
    // It runs, and does nothing at present.
    let idle = World::quiet().but(|world| world.watch().daemons = vec!["chronyd".into()]);
    assert!(idle.is_fine("time-daemon"));
}

#[test]
fn what_is_still_to_be_corrected_counts_as_steering() {
    let with = |change: fn(&mut ClockDiscipline)| {
        World::quiet().but(|world| change(world.watch().discipline.as_mut().unwrap()))
    };
    let phase = with(|it| (it.pll, it.offset_ns) = (true, 7_000));
    assert!(phase.found("time-daemon").what.contains("7 us are still to be made good"));
    assert!(with(|it| it.offset_ns = 7_000).is_fine("time-daemon"), "no loop works on it");
    let left = with(|it| it.adjtime_us = Some(-40));
    assert!(left.found("time-daemon").what.contains("-40 us of an adjtime are left"));
    assert!(with(|it| it.adjtime_us = Some(0)).is_fine("time-daemon"));
    let unknown = World::quiet().but(|world| world.watch().discipline = None);
    assert!(unknown.is_unseen("time-daemon"));
}
