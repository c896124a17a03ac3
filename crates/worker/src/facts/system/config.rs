//! The kernel's build configuration.

use crate::facts::source::roots::Roots;
use crate::facts::source::{gzip, reader};

/// Maximum size of a configuration: that of a distribution has some 300 KiB, compressed 70.
const MAX_BYTES: usize = 1 << 20;
const MAX_COMPRESSED_BYTES: usize = 512 << 10;

/// The options that are recorded: those that make system calls, faults or interrupts more
/// expensive, and those about the tick, tracers and CPU time accounting.
const OPTIONS: &str = concat!(
    // Kernel debugging.
    "DEBUG_ATOMIC_SLEEP DEBUG_KMEMLEAK DEBUG_LIST DEBUG_LOCK_ALLOC DEBUG_MUTEXES ",
    "DEBUG_OBJECTS DEBUG_PAGEALLOC_ENABLE_DEFAULT DEBUG_PREEMPT DEBUG_RT_MUTEXES ",
    "DEBUG_RWSEMS DEBUG_SPINLOCK DEBUG_VM GCOV_KERNEL KASAN KCOV KCSAN KMSAN LOCKDEP ",
    "LOCK_STAT PROVE_LOCKING SLUB_DEBUG_ON UBSAN ",
    // Hardening.
    "GCC_PLUGIN_STACKLEAK HARDENED_USERCOPY INIT_ON_ALLOC_DEFAULT_ON ",
    "INIT_ON_FREE_DEFAULT_ON KFENCE KSTACK_ERASE PAGE_POISONING ",
    "RANDOMIZE_KSTACK_OFFSET_DEFAULT ",
    // The tick and CPU time accounting.
    "CPU_ISOLATION HZ_PERIODIC IRQ_TIME_ACCOUNTING NO_HZ_FULL PARAVIRT_TIME_ACCOUNTING ",
    "RT_GROUP_SCHED SCHEDSTATS VIRT_CPU_ACCOUNTING_GEN ",
    // Tracing and auditing.
    "AUDITSYSCALL FUNCTION_TRACER KPROBES ",
);

/// The running kernel's own copy if it has one, otherwise the distribution's file next to its
/// image. `release` is that of `uname -r`; without it only the kernel's own copy can be found.
pub(in crate::facts) fn text(roots: &Roots, release: Option<&str>) -> Option<String> {
    let packed = reader::whole_binary(&roots.at("proc/config.gz"), MAX_COMPRESSED_BYTES);
    if let Some(plain) = packed.and_then(|packed| gzip::decompress(&packed, MAX_BYTES)) {
        return Some(String::from_utf8_lossy(&plain).into_owned());
    }
    // The release becomes part of a path.
    let release = release.filter(|release| !release.contains('/'))?;
    let paths = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    paths.iter().find_map(|path| reader::whole(&roots.at(path), MAX_BYTES))
}

/// The recorded options that are built in.
pub(in crate::facts) fn options(config: &str) -> Vec<String> {
    let built_in = |line: &str| {
        let name = line.strip_prefix("CONFIG_")?.strip_suffix("=y")?;
        OPTIONS.split_ascii_whitespace().any(|it| it == name).then(|| name.to_owned())
    };
    let mut options: Vec<String> = config.lines().filter_map(built_in).collect();
    options.sort();
    options
}

/// Ticks in a second.
pub(in crate::facts) fn hz(config: &str) -> Option<u32> {
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_built_in_options_that_affect_costs_are_recorded() {
        let config = "# CONFIG_KASAN is not set\nCONFIG_PROVE_LOCKING=y\nCONFIG_KFENCE=m\n\
                      CONFIG_DEBUG_INFO=y\nCONFIG_HZ_100=y\nCONFIG_HZ=100\nCONFIG_AUDITSYSCALL=y\n";
        assert_eq!(options(config), ["AUDITSYSCALL", "PROVE_LOCKING"]);
        assert_eq!(hz(config), Some(100));
        assert_eq!(options(""), Vec::<String>::new());
    }
}
