//! Rows of what can be touched: processor, caches, memory, disks, network cards.

use oscost_model::clock::ClockKind;
use oscost_model::facts::{Cache, Disk, Facts, MemoryModule, NetworkCard};

use crate::report::view::machine::Shown;
use crate::report::view::machine::{
    Description, Rows, bytes, firmware, kib, mib, no_cpufreq, or, plural, ranges, why, words,
};

pub(super) fn processor(machine: &Description<'_>) -> Rows {
    let (facts, cpu) = (machine.facts, &machine.facts.cpu);
    let cpuinfo = |what: &str| why(facts, "/proc/cpuinfo", &format!("/proc/cpuinfo has no {what}"));
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
    let count = |count: Option<u32>, of: &str| count.map(|it| plural(it.into(), of));
    let cpus = [
        count(cpu.logical_online, "CPU"),
        count(cpu.cores, "core"),
        count(cpu.sockets, "package"),
        cpu.allowed_cpus.as_ref().map(|cpus| format!("may use {}", ranges(cpus))),
    ];
    let cpus: Vec<String> = cpus.into_iter().flatten().collect();
    let set = match (&cpu.instruction_set, &facts.os.arch) {
        (Some(level), Some(arch)) => Some(format!("{arch}, 64 bit, level {level}")),
        (None, Some(arch)) => Some(arch.clone()),
        (level, None) => level.clone(),
    };
    let rates = machine.rates;
    let unmeasured = || match (&rates.unasked, &rates.probe) {
        (Some(why), _) => why.clone(),
        (None, None) => "no CPU could be probed".to_owned(),
        (None, Some(_)) => "the probe tells no rate".to_owned(),
    };
    let core = rates.probe.as_ref().and_then(|it| Some((it.cpu, it.core_cycles_per_ns?)));
    let cycle = core.map(|(cpu, rate)| {
        format!(
            "{:.3} ns ({rate:.2} GHz): an estimate, by a chain of multiplications of 3 cycles each \
             on CPU {cpu}",
            1.0 / rate
        )
    });
    let counter = rates.calibration.map(|clock| match clock.kind {
        ClockKind::Tsc => {
            format!("{:.4} GHz against CLOCK_MONOTONIC_RAW", clock.ticks_per_ns)
        }
        other => format!("not used; the clock is `{}`, a tick is 1 ns", other.text()),
    });
    let rated = cpu.rated_khz.map(|khz| format!("{:.3} GHz", khz as f64 / 1e6));
    vec![
        ("model", or(cpu.model_name.clone(), || cpuinfo("model name"))),
        ("revision", or(revision(), || cpuinfo("family or model"))),
        ("CPUs", or((!cpus.is_empty()).then(|| cpus.join(", ")), || "sysfs does not tell".into())),
        ("instruction set", or(set, || cpuinfo("flags"))),
        ("extensions", or(words(cpu.extensions.as_deref()), || cpuinfo("flags"))),
        ("flags of interest", or(words(cpu.flags.as_deref()), || cpuinfo("flags"))),
        ("cycle time", or(cycle, unmeasured)),
        ("counter (TSC)", or(counter, unmeasured)),
        ("rated clock", or(rated, || no_cpufreq(facts))),
        (
            "bus clock (FSB)",
            or(cpu.bus_mhz.map(|mhz| format!("{mhz} MHz")), || {
                firmware(facts, "the firmware does not tell")
            }),
        ),
    ]
}

pub(super) fn caches(facts: &Facts) -> Rows {
    let describe = |cache: &Cache| {
        let parts = [
            cache.size_kib.map(kib),
            cache.ways.map(|ways| match ways {
                0 => "fully associative".to_owned(),
                ways => format!("{ways} ways"),
            }),
            cache.line_bytes.map(|bytes| format!("{bytes} byte lines")),
            cache.shared_cpus.as_ref().map(|cpus| match cpus.len() {
                1 => format!("of CPU {} alone", ranges(cpus)),
                _ => format!("shared by CPUs {}", ranges(cpus)),
            }),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let row = |level: u32, kind: &str| {
        let found = facts.caches.iter().find(|cache| {
            cache.level == Some(level) && (level > 1 || cache.kind.as_deref() == Some(kind))
        });
        or(found.map(describe), || match facts.caches.is_empty() {
            false => "sysfs describes others, and not this one".to_owned(),
            true => why(facts, "/sys/devices/system/cpu/cpu0/cache", "sysfs describes none"),
        })
    };
    vec![
        ("L1 data", row(1, "Data")),
        ("L1 instruction", row(1, "Instruction")),
        ("L2", row(2, "")),
        ("L3", row(3, "")),
    ]
}

pub(super) fn memory(facts: &Facts) -> Rows {
    let memory = &facts.memory;
    let meminfo = || why(facts, "/proc/meminfo", "/proc/meminfo does not tell");
    let modules = memory.modules.as_deref();
    let of_modules = |of: &dyn Fn(&MemoryModule) -> Option<String>| {
        let mut all: Vec<String> = modules?.iter().filter_map(of).collect();
        all.dedup();
        (!all.is_empty()).then(|| all.join("; "))
    };
    let empty = "the firmware's table describes no module";
    let untold = || firmware(facts, empty);
    let sorts = of_modules(&|it| {
        let size = it.size_mib.map_or("unknown size".to_owned(), mib);
        let kind = it.kind.clone().map(|kind| format!(" {kind}")).unwrap_or_default();
        Some(format!("{} x {size}{kind}", it.count))
    });
    let sorts = sorts.map(|sorts| match memory.slots {
        Some(slots) => format!("{sorts}, in {}", plural(slots.into(), "slot")),
        None => sorts,
    });
    let names = || firmware(facts, "the names of the slots tell no channel");
    let swap = memory.swap_total_kib.map(|total| match (total, memory.swap_free_kib) {
        (0, _) => "none".to_owned(),
        (total, Some(free)) => format!("{}, {} in use", kib(total), kib(total - free.min(total))),
        (total, None) => kib(total),
    });
    let huge = memory.transparent_huge_pages.as_ref().map(|mode| {
        let defrag = memory.transparent_huge_page_defrag.as_deref();
        defrag.map_or(mode.clone(), |defrag| format!("{mode}, defrag {defrag}"))
    });
    let no_huge =
        || why(facts, "/sys/kernel/mm/transparent_hugepage/enabled", "sysfs does not tell");
    let reporting = memory.free_page_reporting.map(|on| match on {
        true => "yes: the balloon device reports them".to_owned(),
        false => "no".to_owned(),
    });
    vec![
        ("capacity", or(memory.total_kib.map(kib), meminfo)),
        ("modules", or(sorts, untold)),
        ("channels", or(memory.channels.map(|it| it.to_string()), names)),
        ("frequency", or(of_modules(&|it| it.speed_mts.map(|it| format!("{it} MT/s"))), untold)),
        ("width", or(of_modules(&|it| it.data_bits.map(|it| format!("{it} bit"))), untold)),
        (
            "NUMA nodes",
            or(memory.numa_nodes.map(|it| it.to_string()), || {
                why(facts, "/sys/devices/system/node/online", "sysfs does not tell")
            }),
        ),
        (
            "page size",
            or(memory.page_bytes.map(|bytes| format!("{bytes} bytes")), || {
                "the auxiliary vector does not tell".to_owned()
            }),
        ),
        ("huge page", or(memory.huge_page_kib.map(kib), meminfo)),
        ("THP", or(huge, no_huge)),
        ("swap", or(swap, meminfo)),
        ("free pages go back", or(reporting, || "no balloon device here".to_owned())),
    ]
}

pub(super) fn disk_rows(facts: &Facts, disk: &Disk) -> Rows {
    let interface = disk.interface.as_deref();
    let is_virtual =
        facts.is_guest() || matches!(interface, Some("virtio" | "virtio-scsi" | "xen" | "virtual"));
    let no_model = || match interface {
        Some("virtio") => "virtio disks have none".to_owned(),
        _ => "its driver tells none".to_owned(),
    };
    let rotation = match (disk.rpm, disk.rotational) {
        (Some(rpm), _) => Some(format!("{rpm} a minute")),
        (None, Some(false)) => Some("none".to_owned()),
        (None, Some(true)) if is_virtual => {
            Some("it says that it rotates, as virtual disks do; no rate".to_owned())
        }
        (None, Some(true)) => Some("it rotates; at what rate it does not tell".to_owned()),
        (None, None) => None,
    };
    // Half a turn, on average.
    let latency = match (disk.rpm, disk.rotational) {
        (Some(rpm), _) => Some(format!("{:.1} ms (half a turn)", 30_000.0 / f64::from(rpm))),
        (None, Some(false)) => Some("none: it does not rotate".to_owned()),
        _ => None,
    };
    let sheet = || match is_virtual {
        true => "a virtual disk: the host's to know".to_owned(),
        false => "no file of the kernel tells it: see the maker's data sheet".to_owned(),
    };
    let cache = disk.write_cache.as_ref().map(|mode| format!("{mode}; its size no file tells"));
    let inside = || match disk.rotational {
        Some(false) => Shown::Value("none: it does not rotate".to_owned()),
        _ => Shown::Hidden(sheet()),
    };
    let link = || match is_virtual {
        true => "a virtual disk has no link".to_owned(),
        false => "its link tells no rate".to_owned(),
    };
    vec![
        ("model", or(disk.model.clone(), no_model)),
        ("capacity", or(disk.size_bytes.map(bytes), || "its size cannot be read".to_owned())),
        ("interface", or(disk.interface.clone(), || "its path names no bus".to_owned())),
        ("transfer rate", or(disk.link.clone(), link)),
        ("cache", or(cache, || "queue/write_cache does not tell".to_owned())),
        ("rotation", or(rotation, || "queue/rotational does not tell".to_owned())),
        ("rotational latency", or(latency, sheet)),
        ("heads and discs", inside()),
        ("seek times", inside()),
        (
            "I/O scheduler",
            or(disk.scheduler.clone(), || "queue/scheduler does not tell".to_owned()),
        ),
    ]
}

pub(super) fn card_rows(facts: &Facts, card: &NetworkCard) -> Rows {
    let is_software = card.kind != "physical" && card.kind != "wireless";
    let none = || match is_software {
        true => "a device of software has none".to_owned(),
        false => "sysfs does not tell".to_owned(),
    };
    let no_speed = || match () {
        () if is_software => "a device of software has none".to_owned(),
        () if facts.is_guest() => "the driver tells none: a virtual link".to_owned(),
        () => "the driver tells none: the link may be down".to_owned(),
    };
    vec![
        ("model", or(card.device.as_ref().map(|ids| format!("device {ids}")), none)),
        ("driver", or(card.driver.clone(), none)),
        ("transfer rate", or(card.speed_mbps.map(|it| format!("{it} Mbit/s")), no_speed)),
        (
            "largest packet",
            or(card.mtu_bytes.map(|it| format!("{it} bytes")), || "sysfs does not tell".to_owned()),
        ),
    ]
}
