//! What takes CPU time from the measured process.

use oscost_model::facts::{Bound, CgroupVersion};
use oscost_model::watch::{ProcessActivity, ProcessKind};

use super::*;

fn process(name: &str, kind: ProcessKind, pid: u32, cpu_ns: u64) -> ProcessActivity {
    ProcessActivity { name: name.into(), kind, pids: vec![pid], count: 1, cpu_ns }
}

#[test]
fn lost_time_is_weighed_by_noise_class() {
    let lost = |lost_ns: u64| World::quiet().but(|world| world.probe[1].lost_ns = lost_ns);
    assert!(lost(SPIN_NS / 100 - 1).passes("lost-time"));
    assert_eq!(lost(SPIN_NS / 100).weight("lost-time"), Some(Weight::Noise));
    assert_eq!(lost(SPIN_NS / 10).weight("lost-time"), Some(Weight::Noise));
    assert_eq!(lost(SPIN_NS / 10 + 1).weight("lost-time"), Some(Weight::Invalidates));
    assert!(
        lost(SPIN_NS / 4).found("lost-time").condition.starts_with("25 % of the time on CPU 1")
    );
    assert!(World::unknown().is_unknown("lost-time"));
}

#[test]
fn the_fix_for_lost_time_names_its_cause() {
    let lost = |delay_ns: u64, steal_ticks: u64| {
        let world = World::quiet().but(|world| {
            world.probe[1].lost_ns = SPIN_NS / 5;
            world.probe[1].run_delay_ns = Some(delay_ns);
            world.watch().cpus[1].steal_ticks = Some(steal_ticks);
        });
        world.found("lost-time").fix.unwrap()
    };
    assert!(lost(0, 101).contains("the hypervisor"));
    assert!(lost(SPIN_NS / 10 + 1, 100).contains("processes"));
    assert!(lost(SPIN_NS / 10, 100).contains("interrupts"));
}

#[test]
fn steal_is_noise_above_one_per_cent_and_invalidates_above_ten() {
    let stolen =
        |ticks| World::quiet().but(|world| world.watch().cpus[1].steal_ticks = Some(ticks));
    assert_eq!(stolen(10).result("steal"), RuleResult::NotApplicable, "no hypervisor, no steal");
    let guest = stolen(10).but(|world| world.facts.virtualization = Some("kvm".into()));
    assert!(guest.passes("steal"));
    assert_eq!(stolen(11).weight("steal"), Some(Weight::Noise));
    assert_eq!(stolen(100).weight("steal"), Some(Weight::Noise));
    assert_eq!(stolen(101).weight("steal"), Some(Weight::Invalidates));
    assert_eq!(stolen(11).found("steal").command, None);
    let hidden = World::quiet().but(|world| world.watch().cpus[1].steal_ticks = None);
    assert!(hidden.is_unknown("steal"));
}

#[test]
fn unaccounted_time_is_found_above_two_per_cent() {
    let lost = |lost_ns: u64, delay_ns: Option<u64>, steal_ticks: u64| {
        World::quiet().but(|world| {
            world.probe[1].lost_ns = lost_ns;
            world.probe[1].run_delay_ns = delay_ns;
            world.watch().cpus[1].steal_ticks = Some(steal_ticks);
        })
    };
    assert!(lost(SPIN_NS / 50, Some(0), 0).passes("hidden-time"));
    assert_eq!(lost(SPIN_NS / 50 + 1, Some(0), 0).weight("hidden-time"), Some(Weight::Noise));
    // What the scheduler or the hypervisor accounts for is not hidden.
    assert!(lost(SPIN_NS / 2, Some(SPIN_NS / 2), 0).passes("hidden-time"));
    assert!(lost(SPIN_NS / 10, Some(0), 90).passes("hidden-time"));
    assert_eq!(lost(SPIN_NS / 2, None, 0).result("hidden-time"), RuleResult::NotApplicable);
}

#[test]
fn a_quota_below_one_cpu_or_an_exhausted_one_invalidates() {
    let quota = |quota, throttled| {
        World::quiet().but(|world| {
            world.facts.scheduling.cgroup_quota_milli_cpus = quota;
            world.watch().throttled_periods = Some(throttled);
        })
    };
    assert_eq!(quota(Some(Bound::Max(999)), 0).weight("quota"), Some(Weight::Invalidates));
    assert_eq!(quota(Some(Bound::Max(1_000)), 0).weight("quota"), Some(Weight::Note));
    assert_eq!(quota(Some(Bound::Max(1_000)), 1).weight("quota"), Some(Weight::Invalidates));
    assert!(quota(Some(Bound::UNLIMITED), 0).passes("quota"));
    assert!(quota(None, 0).is_unknown("quota"));
    assert_eq!(quota(None, 1).weight("quota"), Some(Weight::Invalidates));
}

#[test]
fn a_quota_is_removed_in_the_file_of_its_cgroup_version() {
    let command = |version| {
        let world = World::quiet().but(|world| {
            world.facts.scheduling.cgroup_version = Some(version);
            world.facts.scheduling.cgroup_quota_milli_cpus = Some(Bound::Max(500));
        });
        world.found("quota").command.unwrap()
    };
    assert!(command(CgroupVersion::V1).contains("cpu.cfs_quota_us"));
    assert!(command(CgroupVersion::V2).contains("cpu.max"));
}

#[test]
fn processes_above_two_per_cent_of_a_cpu_are_named() {
    let took = |cpu_ns: u64| {
        World::quiet().but(|world| {
            world.watch().processes = vec![process("hog", ProcessKind::Program, 77, cpu_ns)];
        })
    };
    assert!(took(SPIN_NS / 50).passes("processes"));
    let found = took(SPIN_NS / 50 + 1).found("processes");
    assert!(found.condition.ends_with("`hog` (pid 77) 2.0 %"), "{}", found.condition);
    assert_eq!(found.command.as_deref(), Some("ps -o pid,user,pcpu,etime,args -p 77"));
    assert!(World::unknown().is_unknown("processes"));
}

#[test]
fn kernel_threads_and_exited_children_have_no_stop_command() {
    let took = |kind| {
        let world = World::quiet().but(|world| {
            world.watch().processes = vec![process("x", kind, 5, SPIN_NS / 2)];
        });
        world.found("processes")
    };
    let kernel = took(ProcessKind::Kernel);
    assert_eq!(kernel.command, None);
    assert!(kernel.condition.contains("kernel thread `x` 50 %"), "{}", kernel.condition);
    // Stopping their parent might stop the user's own shell.
    let children = took(ProcessKind::Children);
    assert_eq!(children.command.as_deref(), Some("ps -o pid,pcpu,args --ppid 5"));
    assert!(
        children.condition.contains("exited children of `x` (pid 5)"),
        "{}",
        children.condition
    );
}

#[test]
fn unattributed_cpu_time_is_reported_above_ten_per_cent() {
    let unnamed =
        |ns: i64| World::quiet().but(|world| world.watch().unattributed_cpu_ns = Some(ns));
    assert!(unnamed(100_000_000).passes("processes"));
    assert!(unnamed(-500_000_000).passes("processes"));
    let found = unnamed(100_000_001).found("processes");
    assert!(found.condition.ends_with("short-lived processes 10 %"), "{}", found.condition);
    let hidden = World::quiet().but(|world| {
        world.watch().processes_unread = Some("hidepid".into());
    });
    assert!(hidden.is_unknown("processes"));
    let hidden = hidden.but(|world| world.watch().unattributed_cpu_ns = Some(200_000_000));
    assert!(hidden.found("processes").condition.contains("hidden from this user"));
}

#[test]
fn pressure_is_flagged_above_ten_per_cent() {
    let cpu = |pct| World::quiet().but(|world| world.watch().pressure.cpu_pct = Some(pct));
    assert!(cpu(10.0).passes("pressure"));
    assert_eq!(cpu(10.1).weight("pressure"), Some(Weight::Noise));
    let all = cpu(97.0).but(|world| {
        world.watch().pressure.memory_pct = Some(11.0);
        world.watch().pressure.io_pct = Some(12.0);
    });
    let what = all.found("pressure").condition;
    assert!(what.ends_with("cpu 97 %, memory 11 % and io 12 %"), "{what}");
    let none = World::quiet().but(|world| world.watch().pressure = Pressure::default());
    assert!(none.is_unknown("pressure"));
}

#[test]
fn interruptions_are_noise_when_one_batch_in_ten_is_interrupted() {
    let rate = |rate: u64| World::quiet().but(|world| world.probe[1].gaps_over_5us = rate);
    assert!(rate(2_000).passes("interruptions"));
    let found = rate(2_001).found("interruptions");
    assert!(found.effect.contains("9.5 % of batches of 50 us are interrupted"), "{}", found.effect);
}

#[test]
fn device_interrupts_on_the_measuring_cpu_are_named_and_moved() {
    let with = |times: u64, effective: Option<Vec<u32>>| {
        World::quiet().but(|world| {
            world.watch().interrupts.push(device("36", [0, times], Some(vec![0, 1]), effective));
        })
    };
    assert!(World::quiet().passes("device-interrupts"));
    assert!(with(0, Some(vec![0])).passes("device-interrupts"), "it may come, and does not");
    assert_eq!(with(25, Some(vec![1])).weight("device-interrupts"), Some(Weight::Note));
    let found = with(26, Some(vec![1])).found("device-interrupts");
    assert_eq!(found.weight, Weight::Noise);
    assert!(found.condition.contains("1 of 2 device interrupts go to CPU 1: 36 (device-36) 26"));
    let moves = "for i in 36; do echo 0 | sudo tee /proc/irq/$i/smp_affinity_list; done";
    assert_eq!(found.command.as_deref(), Some(moves));
    // If the kernel does not report its CPUs, the interrupt may occur here.
    assert_eq!(with(1, None).weight("device-interrupts"), Some(Weight::Note));
    let balanced = with(26, Some(vec![1])).but(|world| {
        world.watch().daemons = vec!["irqbalance".into()];
    });
    let command = balanced.found("device-interrupts").command.unwrap();
    assert!(command.starts_with("sudo systemctl stop irqbalance; for i in"), "{command}");
    let alone = with(26, Some(vec![1])).but(|world| world.watch().cpus.retain(|it| it.cpu == 1));
    let alone = alone.but(|world| {
        world.watch().interrupts.iter_mut().for_each(|it| it.counts.truncate(1));
    });
    assert_eq!(alone.found("device-interrupts").command, None);
    let hidden = World::quiet().but(|world| world.watch().interrupts.clear());
    assert!(hidden.is_unknown("device-interrupts"));
}

#[test]
fn swap_is_found_when_it_is_used() {
    let free = |total, free| {
        World::quiet().but(|world| {
            world.facts.memory.swap_total_kib = Some(total);
            world.facts.memory.swap_free_kib = free;
        })
    };
    assert!(free(0, Some(0)).passes("swap"));
    assert!(free(4_096, Some(4_096)).passes("swap"));
    assert!(free(4_096, Some(4_095)).found("swap").condition.starts_with("1 MiB"));
    assert!(free(4_096, None).is_unknown("swap"));
}

#[test]
fn job_schedulers_are_named_and_stopped_as_the_system_stops_services() {
    let with = |daemons: &[&str], init: &str| {
        World::quiet().but(|world| {
            world.watch().daemons = daemons.iter().map(|&name| name.to_owned()).collect();
            world.facts.os.init = Some(init.to_owned());
        })
    };
    assert!(with(&["irqbalance", "chronyd"], "systemd").passes("work-daemons"));
    let condor = with(&["condor_master", "condor_startd", "cron"], "systemd");
    let found = condor.found("work-daemons");
    assert!(found.condition.starts_with("`condor_master`, `condor_startd` and `cron` may start"));
    assert_eq!(found.command.as_deref(), Some("sudo systemctl stop condor cron"));
    let other = with(&["cron", "atd"], "init").found("work-daemons").command;
    assert_eq!(other.as_deref(), Some("sudo service atd stop; sudo service cron stop"));
}
