//! Facts of the hardware: processor, caches, memory, disks, network cards.

use oscost_model::clock::ClockKind;
use oscost_model::facts::{Cache, Disk, Facts, MemoryModule, NetworkCard};

use crate::report::text::clock_name;
use crate::report::view::document::Fact;
use crate::report::view::machine::description::Rates;
use crate::report::view::machine::facts::{
    bytes, fact, firmware, kib, mib, missing_reason, no_cpufreq, plural, ranges, words,
};

pub(super) fn processor(facts: &Facts, rates: &Rates) -> Vec<Fact> {
    let cpu = &facts.cpu;
    let cpuinfo = |what: &str| {
        missing_reason(facts, "/proc/cpuinfo", &format!("/proc/cpuinfo has no {what}"))
    };
    let revision = || {
        let number = |name: &str, value: Option<u32>| value.map(|it| format!("{name} {it}"));
        let parts = [
            cpu.vendor.clone(),
            number("family", cpu.family),
            number("model", cpu.model),
            number("stepping", cpu.stepping),
            cpu.microcode.as_ref().map(|it| format!("microcode {it}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    let count = |count: Option<u32>, noun: &str| count.map(|it| plural(it.into(), noun));
    let cpus = [
        count(cpu.logical_online, "CPU"),
        count(cpu.cores, "core"),
        count(cpu.sockets, "package"),
        cpu.allowed_cpus.as_ref().map(|cpus| format!("affinity {}", ranges(cpus))),
    ];
    let cpus: Vec<String> = cpus.into_iter().flatten().collect();
    let set = match (&cpu.instruction_set, &facts.os.arch) {
        (Some(level), Some(arch)) => Some(format!("{arch}, 64 bit, level {level}")),
        (None, Some(arch)) => Some(arch.clone()),
        (level, None) => level.clone(),
    };
    let unmeasured = || match (&rates.not_measured, &rates.probe) {
        (Some(why), _) => why.clone(),
        (None, None) => "no CPU could be probed".to_owned(),
        (None, Some(_)) => "the probe reports no rate".to_owned(),
    };
    let core = rates.probe.as_ref().and_then(|it| Some((it.cpu, it.core_cycles_per_ns?)));
    let cycle = core.map(|(cpu, rate)| {
        format!(
            "{:.3} ns ({rate:.2} GHz): estimated from a chain of multiplications of 3 cycles \
             each on CPU {cpu}",
            1.0 / rate
        )
    });
    let counter = rates.calibration.map(|clock| match clock.kind {
        ClockKind::Tsc => {
            format!("{:.4} GHz against CLOCK_MONOTONIC_RAW", clock.ticks_per_ns)
        }
        other => format!("not used; the clock is `{}`, a tick is 1 ns", other.text()),
    });
    let counter_name = clock_name(ClockKind::Tsc.text(), facts.os.arch.as_deref()).to_uppercase();
    let rated = cpu.rated_khz.map(|khz| format!("{:.3} GHz", khz as f64 / 1e6));
    vec![
        fact("model", cpu.model_name.clone(), || cpuinfo("model name")),
        fact("revision", revision(), || cpuinfo("family or model")),
        fact("CPUs", (!cpus.is_empty()).then(|| cpus.join(", ")), || {
            "not reported by sysfs".into()
        }),
        fact("instruction set", set, || cpuinfo("flags")),
        fact("extensions", words(cpu.extensions.as_deref()), || cpuinfo("flags")),
        fact("flags of interest", words(cpu.flags.as_deref()), || cpuinfo("flags")),
        fact("cycle time", cycle, unmeasured),
        fact(&format!("counter ({counter_name})"), counter, unmeasured),
        fact("rated clock", rated, || no_cpufreq(facts)),
        fact("bus clock (FSB)", cpu.bus_mhz.map(|mhz| format!("{mhz} MHz")), || {
            firmware(facts, "not reported by the firmware")
        }),
    ]
}

pub(super) fn caches(facts: &Facts) -> Vec<Fact> {
    let describe = |cache: &Cache| {
        let parts = [
            cache.size_kib.map(kib),
            cache.ways.map(|ways| match ways {
                0 => "fully associative".to_owned(),
                ways => format!("{ways} ways"),
            }),
            cache.line_bytes.map(|bytes| format!("{bytes} byte lines")),
            cache.shared_cpus.as_ref().map(|cpus| match cpus.len() {
                1 => format!("private to CPU {}", ranges(cpus)),
                _ => format!("shared by CPUs {}", ranges(cpus)),
            }),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let row = |name: &str, level: u32, kind: &str| {
        let found = facts.caches.iter().find(|cache| {
            cache.level == Some(level) && (level > 1 || cache.kind.as_deref() == Some(kind))
        });
        fact(name, found.map(describe), || match facts.caches.is_empty() {
            false => "sysfs describes other caches, but not this one".to_owned(),
            true => {
                missing_reason(facts, "/sys/devices/system/cpu/cpu0/cache", "sysfs describes none")
            }
        })
    };
    vec![
        row("L1 data", 1, "Data"),
        row("L1 instruction", 1, "Instruction"),
        row("L2", 2, ""),
        row("L3", 3, ""),
    ]
}

pub(super) fn memory(facts: &Facts) -> Vec<Fact> {
    let memory = &facts.memory;
    let meminfo = || missing_reason(facts, "/proc/meminfo", "not in /proc/meminfo");
    let modules = memory.modules.as_deref();
    let of_modules = |text: &dyn Fn(&MemoryModule) -> Option<String>| {
        let mut all: Vec<String> = modules?.iter().filter_map(text).collect();
        all.dedup();
        (!all.is_empty()).then(|| all.join("; "))
    };
    let empty = "the firmware's table describes no module";
    let unknown = || firmware(facts, empty);
    let kinds = of_modules(&|it| {
        let size = it.size_mib.map_or("unknown size".to_owned(), mib);
        let kind = it.kind.clone().map(|kind| format!(" {kind}")).unwrap_or_default();
        Some(format!("{} x {size}{kind}", it.count))
    });
    let kinds = kinds.map(|kinds| match memory.slots {
        Some(slots) => format!("{kinds}, in {}", plural(slots.into(), "slot")),
        None => kinds,
    });
    let names = || firmware(facts, "the names of the slots do not contain a channel");
    let swap = memory.swap_total_kib.map(|total| match (total, memory.swap_free_kib) {
        (0, _) => "none".to_owned(),
        (total, Some(free)) => format!("{}, {} in use", kib(total), kib(total - free.min(total))),
        (total, None) => kib(total),
    });
    let huge = memory.transparent_huge_pages.as_ref().map(|mode| {
        let defrag = memory.transparent_huge_page_defrag.as_deref();
        defrag.map_or(mode.clone(), |defrag| format!("{mode}, defrag {defrag}"))
    });
    let no_huge = || {
        missing_reason(
            facts,
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "not reported by sysfs",
        )
    };
    let reporting = memory.free_page_reporting.map(|on| match on {
        true => "yes: the balloon device reports them".to_owned(),
        false => "no".to_owned(),
    });
    vec![
        fact("capacity", memory.total_kib.map(kib), meminfo),
        fact("modules", kinds, unknown),
        fact("channels", memory.channels.map(|it| it.to_string()), names),
        fact("frequency", of_modules(&|it| it.speed_mts.map(|it| format!("{it} MT/s"))), unknown),
        fact("width", of_modules(&|it| it.data_bits.map(|it| format!("{it} bit"))), unknown),
        fact("NUMA nodes", memory.numa_nodes.map(|it| it.to_string()), || {
            missing_reason(facts, "/sys/devices/system/node/online", "not reported by sysfs")
        }),
        fact("page size", memory.page_bytes.map(|bytes| format!("{bytes} bytes")), || {
            "not in the auxiliary vector".to_owned()
        }),
        fact("huge page", memory.huge_page_kib.map(kib), meminfo),
        fact("THP", huge, no_huge),
        fact("swap", swap, meminfo),
        fact("free page reporting", reporting, || "no balloon device".to_owned()),
    ]
}

pub(super) fn disk(facts: &Facts, disk: &Disk) -> Vec<Fact> {
    let interface = disk.interface.as_deref();
    let is_virtual =
        facts.is_guest() || matches!(interface, Some("virtio" | "virtio-scsi" | "xen" | "virtual"));
    let no_model = || match interface {
        Some("virtio") => "virtio disks have none".to_owned(),
        _ => "its driver reports none".to_owned(),
    };
    let rotation = match (disk.rpm, disk.rotational) {
        (Some(rpm), _) => Some(format!("{rpm} per minute")),
        (None, Some(false)) => Some("none".to_owned()),
        (None, Some(true)) if is_virtual => {
            Some("reported as rotating, as virtual disks are; no rate".to_owned())
        }
        (None, Some(true)) => Some("rotating; the rate is not reported".to_owned()),
        (None, None) => None,
    };
    // Half a rotation, on average.
    let latency = match (disk.rpm, disk.rotational) {
        (Some(rpm), _) => Some(format!("{:.1} ms (half a rotation)", 30_000.0 / f64::from(rpm))),
        (None, Some(false)) => Some("none: it does not rotate".to_owned()),
        _ => None,
    };
    let sheet = || match is_virtual {
        true => "a virtual disk: known to the host only".to_owned(),
        false => "the kernel does not report it: see the manufacturer's data sheet".to_owned(),
    };
    let cache = disk.write_cache.as_ref().map(|mode| format!("{mode}; size not reported"));
    let mechanics = |name: &str| {
        let none = (disk.rotational == Some(false)).then(|| "none: it does not rotate".to_owned());
        fact(name, none, sheet)
    };
    let link = || match is_virtual {
        true => "a virtual disk has no link".to_owned(),
        false => "its link reports no rate".to_owned(),
    };
    vec![
        fact("model", disk.model.clone(), no_model),
        fact("capacity", disk.size_bytes.map(bytes), || "its size cannot be read".to_owned()),
        fact("interface", disk.interface.clone(), || "its path contains no bus".to_owned()),
        fact("transfer rate", disk.link.clone(), link),
        fact("cache", cache, || "not in queue/write_cache".to_owned()),
        fact("rotation", rotation, || "not in queue/rotational".to_owned()),
        fact("rotational latency", latency, sheet),
        mechanics("heads and discs"),
        mechanics("seek times"),
        fact("I/O scheduler", disk.scheduler.clone(), || "not in queue/scheduler".to_owned()),
    ]
}

pub(super) fn network_card(facts: &Facts, card: &NetworkCard) -> Vec<Fact> {
    let is_software = card.kind != "physical" && card.kind != "wireless";
    let none = || match is_software {
        true => "a software device has none".to_owned(),
        false => "not reported by sysfs".to_owned(),
    };
    let no_speed = || match () {
        () if is_software => "a software device has none".to_owned(),
        () if facts.is_guest() => "the driver reports none: a virtual link".to_owned(),
        () => "the driver reports none: the link may be down".to_owned(),
    };
    vec![
        fact("model", card.device.as_ref().map(|ids| format!("device {ids}")), none),
        fact("driver", card.driver.clone(), none),
        fact("link speed", card.speed_mbps.map(|it| format!("{it} Mbit/s")), no_speed),
        fact("MTU", card.mtu_bytes.map(|it| format!("{it} bytes")), || {
            "not reported by sysfs".to_owned()
        }),
    ]
}
