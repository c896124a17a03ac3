//! The processor, and clocks.

use super::*;

#[test]
fn smt_is_noise() {
    let smt = |on| World::quiet().but(|world| world.facts.scheduling.smt_active = on);
    assert_eq!(smt(Some(true)).weight("smt"), Some(Weight::Noise));
    assert!(smt(Some(false)).passes("smt"));
    assert!(smt(None).is_unknown("smt"));
}

#[test]
fn any_governor_but_performance_is_noise() {
    let governor = |name: Option<&str>| {
        World::quiet().but(|world| world.facts.scheduling.governor = name.map(str::to_owned))
    };
    assert!(governor(Some("performance")).passes("governor"));
    assert!(governor(Some("schedutil")).found("governor").condition.contains("`schedutil`"));
    assert!(governor(None).is_unknown("governor"));
}

#[test]
fn turbo_is_a_note_with_the_current_frequency() {
    let boost = |on| World::quiet().but(|world| world.facts.scheduling.boost = on);
    let found = boost(Some(true)).found("turbo");
    assert_eq!(found.weight, Weight::Note);
    assert!(found.condition.contains("4.00 GHz now, an estimate"), "{}", found.condition);
    assert!(found.command.unwrap().starts_with("echo 0 | sudo tee"));
    let intel = boost(Some(true)).but(|world| world.facts.cpu.vendor = Some("GenuineIntel".into()));
    assert!(intel.found("turbo").command.unwrap().ends_with("no_turbo"));
    assert!(boost(Some(false)).passes("turbo"));
    assert!(boost(None).is_unknown("turbo"));
}

#[test]
fn cores_that_differ_by_more_than_two_per_cent_are_noise() {
    let other = |rate| World::quiet().but(|world| world.probe[0].core_cycles_per_ns = rate);
    assert!(other(Some(4.079)).passes("core-rates"));
    let found = other(Some(4.081)).found("core-rates");
    assert_eq!(found.command.as_deref(), Some("oscost run --cpu 1"));
    assert_eq!(
        other(None).result("core-rates"),
        RuleResult::NotApplicable,
        "one rate has no other"
    );
}

#[test]
fn a_single_cpu_is_a_limitation() {
    let allowed = |cpus: &[u32], online| {
        World::quiet().but(|world| {
            world.facts.cpu.allowed_cpus = Some(cpus.to_vec());
            world.facts.cpu.logical_online = Some(online);
        })
    };
    assert!(allowed(&[0, 1], 2).passes("one-cpu"));
    assert!(allowed(&[0], 2).found("one-cpu").command.is_some());
    let alone = allowed(&[0], 1).found("one-cpu");
    assert_eq!((alone.weight, alone.command), (Weight::Limitation, None));
    assert!(World::unknown().is_unknown("one-cpu"));
}

#[test]
fn isolation_is_fine_only_on_the_cpu_that_a_run_would_use() {
    let isolated = |cpus: Option<Vec<u32>>| {
        World::quiet().but(|world| world.facts.scheduling.isolated_cpus = cpus)
    };
    assert!(isolated(Some(vec![1, 2])).passes("isolation"));
    let elsewhere = isolated(Some(vec![3])).found("isolation");
    assert_eq!(elsewhere.command.as_deref(), Some("oscost run --cpu 3"));
    let none = isolated(Some(vec![])).found("isolation");
    assert!(none.fix.unwrap().contains("isolcpus=1"));
    let of_cpu_0 = isolated(Some(vec![])).but(|world| {
        world.cpu = Some(0);
        world.facts.cpu.allowed_cpus = Some(vec![0, 1]);
    });
    let fix = of_cpu_0.found("isolation").fix.unwrap();
    assert_eq!(fix, "boot with `isolcpus=1`, then `oscost run --cpu 1`", "CPU 0 keeps house");
    let single = isolated(Some(vec![])).but(|world| world.facts.cpu.logical_online = Some(1));
    assert_eq!(
        single.result("isolation"),
        RuleResult::NotApplicable,
        "nothing else could run anywhere"
    );
    assert!(isolated(None).is_unknown("isolation"));
}

#[test]
fn the_tick_rate_is_that_of_the_observed_timer_interrupts() {
    let full = |cpus: Option<Vec<u32>>| {
        World::quiet().but(|world| world.facts.scheduling.nohz_full_cpus = cpus)
    };
    assert!(full(Some(vec![1])).passes("tick"));
    let found = full(Some(vec![0])).found("tick");
    assert!(found.condition.starts_with("the timer interrupted CPU 1 3 times a second (HZ=250)"));
    assert!(found.fix.unwrap().contains("boot with `nohz_full=1"));
    let without = full(None).but(|world| world.facts.os.options = Some(vec![]));
    assert!(without.found("tick").fix.unwrap().contains("built without CONFIG_NO_HZ_FULL"));
    let unwatched = full(None).but(|world| world.watch = Err("killed".into()));
    assert!(unwatched.found("tick").condition.starts_with("the kernel's tick interrupts CPU 1"));
}

#[test]
fn a_hypervisor_is_a_note() {
    let kind = |kind: Option<&str>| {
        World::quiet().but(|world| world.facts.virtualization = kind.map(str::to_owned))
    };
    assert!(kind(Some("none")).passes("virtual-machine"));
    assert_eq!(
        kind(Some("kvm")).found("virtual-machine").condition,
        "this is a virtual machine (kvm)"
    );
    assert!(kind(None).is_unknown("virtual-machine"));
}

#[test]
fn an_unusable_counter_weighs_as_much_as_its_replacement() {
    let without = |vdso: Option<&str>| {
        World::quiet().but(|world| {
            world.clocks[0].unusable_reason = Some("it is trapped".into());
            world.clocks[1].unusable_reason = vdso.map(str::to_owned);
        })
    };
    assert!(World::quiet().passes("counter"));
    let found = without(None).found("counter");
    assert_eq!(found.weight, Weight::Note);
    assert!(found.condition.ends_with("it is trapped"));
    assert_eq!(without(Some("there is none")).weight("counter"), Some(Weight::Invalidates));
    assert!(World::unknown().is_unknown("counter"));
}

#[test]
fn a_clocksource_that_enters_the_kernel_biases_and_others_are_a_note() {
    let source = |source: &str, available: &[&str]| {
        World::quiet().but(|world| {
            world.facts.scheduling.clocksource = Some(source.to_owned());
            let names = available.iter().map(|&name| name.to_owned()).collect();
            world.facts.scheduling.clocksources_available = Some(names);
        })
    };
    assert!(source("tsc", &[]).passes("clocksource"));
    assert!(source("arch_sys_counter", &[]).passes("clocksource"));
    let hpet = source("hpet", &["tsc", "hpet"]).found("clocksource");
    assert_eq!(hpet.weight, Weight::Biases);
    assert!(hpet.command.unwrap().starts_with("echo tsc | sudo tee /sys/devices/system/clock"));
    let kvm = source("kvm-clock", &["kvm-clock"]);
    assert_eq!(kvm.weight("clocksource"), Some(Weight::Note));
    assert!(kvm.found("clocksource").fix.unwrap().contains("tsc=reliable"));
    let guest = kvm.but(|world| world.facts.virtualization = Some("kvm".into()));
    assert!(guest.found("clocksource").fix.unwrap().contains("the hypervisor"));
    assert!(World::unknown().is_unknown("clocksource"));
}

#[test]
fn a_steered_clock_is_reported_with_its_figures() {
    let off =
        |ppm: f64| World::quiet().but(|world| world.watch().monotonic_rate_offset_ppm = Some(ppm));
    assert!(off(0.1).passes("time-daemon"));
    assert!(off(-0.1).passes("time-daemon"));
    let found = off(-12.345).found("time-daemon");
    assert!(found.condition.contains("CLOCK_MONOTONIC runs -12.35 ppm"), "{}", found.condition);
    assert!(found.fix.unwrap().contains("a daemon that has ended"));
    let daemon = off(20.0).but(|world| world.watch().daemons = vec!["systemd-timesyn".into()]);
    let found = daemon.found("time-daemon");
    assert_eq!(found.command.as_deref(), Some("sudo systemctl stop systemd-timesyncd"));
    assert!(found.condition.starts_with("systemd-timesyncd is steering the clock"));
    // It runs, and does not steer the clock at present.
    let idle = World::quiet().but(|world| world.watch().daemons = vec!["chronyd".into()]);
    assert!(idle.passes("time-daemon"));
}

#[test]
fn a_pending_correction_counts_as_steering() {
    let with = |change: fn(&mut ClockDiscipline)| {
        World::quiet().but(|world| change(world.watch().discipline.as_mut().unwrap()))
    };
    let phase = with(|it| (it.pll, it.offset_ns) = (true, 7_000));
    assert!(
        phase.found("time-daemon").condition.contains("an offset of 7 us is still being corrected")
    );
    assert!(with(|it| it.offset_ns = 7_000).passes("time-daemon"), "no loop works on it");
    let left = with(|it| it.adjtime_us = Some(-40));
    assert!(left.found("time-daemon").condition.contains("-40 us of an adjtime(3) remain"));
    assert!(with(|it| it.adjtime_us = Some(0)).passes("time-daemon"));
    let unknown = World::quiet().but(|world| world.watch().discipline = None);
    assert!(unknown.is_unknown("time-daemon"));
}
