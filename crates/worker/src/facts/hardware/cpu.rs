//! The processor and its caches.

use std::collections::BTreeSet;

use oscost_model::facts::{Cache, Cpu};

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// The flags that are recorded: those about the quality of the counter, the hypervisor, features
/// used by mode switches, context switches and copies, and the size of the registers that a context
/// switch may have to save.
const FLAGS: &str = concat!(
    // x86: the counter.
    "constant_tsc nonstop_tsc tsc_known_freq tsc_reliable rdtscp rdpid arat ",
    // x86: the hypervisor.
    "hypervisor ",
    // x86: entry, exit and address space.
    "fred fsgsbase pcid invpcid pti smep smap la57 ibrs ibrs_enhanced ibpb stibp ssbd ",
    "user_shstk ibt ",
    // x86: copies, waits and state.
    "erms fsrm waitpkg xsaves avx2 avx512f amx_tile ",
    // aarch64.
    "atomics evtstrm ecv sve sve2 sme paca bti mte mops ssbs ",
);

/// Instruction set extensions for computation, which a library's copy or hash may use.
const EXTENSIONS: &str = concat!(
    // x86.
    "sse4_2 popcnt aes pclmulqdq avx f16c fma bmi2 avx2 sha_ni vaes gfni avx512f ",
    "avx512bw avx512vl avx512_vnni avx512_bf16 avx512_fp16 avx_vnni amx_tile ",
    // aarch64.
    "asimd pmull sha2 crc32 atomics asimddp sve sve2 i8mm bf16 sme ",
);

/// The levels of the x86-64 psABI above the first, and the flags that each adds, in the kernel's
/// spelling: `pni` is SSE3, `abm` is LZCNT, `xsave` implies OSXSAVE.
const LEVELS: [(&str, &str); 3] = [
    ("x86-64-v2", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"),
    ("x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"),
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
];

/// The processor, from cpuinfo, the topology and the process's status.
pub(in crate::facts) fn gather(roots: &Roots, status: &str) -> Cpu {
    let cpuinfo = reader::lines(&roots.at("proc/cpuinfo")).unwrap_or_default();
    // Each CPU has a block, which ends with an empty line.
    let block = cpuinfo.split("\n\n").next().unwrap_or_default();
    let text = |key| parse::printable(parse::field(block, key)?, 256);
    let number = |key| parse::number(parse::field(block, key)?);
    // aarch64 has other keys; variant and revision are four bits each, as in MIDR_EL1.
    let revision = || Some(number("CPU variant")? * 16 + number("CPU revision")?);
    let flags = parse::field(block, "flags").or_else(|| parse::field(block, "Features"));
    let online = reader::list(&roots.at("sys/devices/system/cpu/online"));
    let groups = |names| groups(roots, online.as_deref()?, names);
    Cpu {
        model_name: text("model name"),
        vendor: text("vendor_id").or_else(|| text("CPU implementer")),
        family: number("cpu family").or_else(|| number("CPU architecture")),
        model: number("model").or_else(|| number("CPU part")),
        stepping: number("stepping").or_else(revision),
        microcode: text("microcode"),
        flags: flags.map(|flags| among(FLAGS, flags)),
        instruction_set: flags.and_then(level),
        extensions: flags.map(|flags| among(EXTENSIONS, flags)),
        rated_khz: rated_khz(roots, online.as_deref()),
        bus_mhz: None, // From the firmware.
        cores: groups(["core_cpus_list", "thread_siblings_list"]),
        sockets: groups(["package_cpus_list", "core_siblings_list"]),
        logical_online: online.as_ref().and_then(|cpus| u32::try_from(cpus.len()).ok()),
        allowed_cpus: parse::field(status, "Cpus_allowed_list").and_then(parse::list),
    }
}

/// The elements of `wanted` that are in `flags`.
fn among(wanted: &str, flags: &str) -> Vec<String> {
    let present = wanted.split_ascii_whitespace().filter(|flag| has(flags, flag));
    present.map(str::to_owned).collect()
}

/// Whether the flags contain this one.
fn has(flags: &str, flag: &str) -> bool {
    flags.split_ascii_whitespace().any(|it| it == flag)
}

/// The highest level whose flags, and those of all lower levels, are present; `None` unless it is
/// an x86 in 64-bit mode (`lm`).
fn level(flags: &str) -> Option<String> {
    let mut highest = "x86-64";
    for (name, adds) in LEVELS {
        if !adds.split_ascii_whitespace().all(|flag| has(flags, flag)) {
            break;
        }
        highest = name;
    }
    has(flags, "lm").then(|| highest.to_owned())
}

fn rated_khz(roots: &Roots, online: Option<&[u32]>) -> Option<u64> {
    let first = online?.first()?;
    let file = format!("sys/devices/system/cpu/cpu{first}/cpufreq/cpuinfo_max_freq");
    reader::number(&roots.at(&file))
}

/// The number of cores or packages of the online CPUs. `names` are the file that lists the CPUs of
/// a group and its name before Linux 5.3.
///
/// One list names a whole group, so only one CPU of each is read: 2 sockets of 64 cores with 2
/// threads take 130 reads, not 512.
fn groups(roots: &Roots, online: &[u32], names: [&str; 2]) -> Option<u32> {
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for cpu in online {
        if seen.contains(cpu) {
            continue;
        }
        let folder = roots.at(&format!("sys/devices/system/cpu/cpu{cpu}/topology"));
        seen.extend(names.iter().find_map(|name| reader::list(&folder.join(name)))?);
        count += 1;
    }
    (count > 0).then_some(count)
}

/// The caches of the first CPU that is online, nearest first.
pub(in crate::facts) fn caches(roots: &Roots) -> Vec<Cache> {
    let online = reader::list(&roots.at("sys/devices/system/cpu/online")).unwrap_or_default();
    let first = online.first().copied().unwrap_or_default();
    let folder = roots.at(&format!("sys/devices/system/cpu/cpu{first}/cache"));
    let indices = reader::names(&folder).into_iter().filter(|name| name.starts_with("index"));
    let caches = indices.map(|index| {
        let file = |name: &str| folder.join(&index).join(name);
        let size = reader::value(&file("size"));
        Cache {
            level: reader::number(&file("level")),
            kind: reader::value(&file("type")),
            size_kib: size.and_then(|size| size.strip_suffix('K')?.parse().ok()),
            ways: reader::number(&file("ways_of_associativity")),
            line_bytes: reader::number(&file("coherency_line_size")),
            shared_cpus: reader::list(&file("shared_cpu_list")),
        }
    });
    let mut caches: Vec<Cache> = caches.collect();
    caches.sort_by_key(|cache| cache.level.unwrap_or(u32::MAX));
    caches
}
