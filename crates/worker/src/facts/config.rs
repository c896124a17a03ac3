//! The kernel's build configuration.

use super::roots::Roots;
use super::{inflate, reader};

/// Longest configuration that is read: a distribution's has some 300 KiB, packed 70.
const MAX_BYTES: usize = 1 << 20;
const MAX_PACKED_BYTES: usize = 512 << 10;

/// The options that are kept: those that make system calls, faults or interrupts dearer, and those
/// that say what the kernel can do about its tick, its tracers and its account of time.
const OPTIONS: &str = concat!(
    // Checks for developers of kernels.
    "DEBUG_ATOMIC_SLEEP DEBUG_KMEMLEAK DEBUG_LIST DEBUG_LOCK_ALLOC DEBUG_MUTEXES ",
    "DEBUG_OBJECTS DEBUG_PAGEALLOC_ENABLE_DEFAULT DEBUG_PREEMPT DEBUG_RT_MUTEXES ",
    "DEBUG_RWSEMS DEBUG_SPINLOCK DEBUG_VM GCOV_KERNEL KASAN KCOV KCSAN KMSAN LOCKDEP ",
    "LOCK_STAT PROVE_LOCKING SLUB_DEBUG_ON UBSAN ",
    // Hardening.
    "GCC_PLUGIN_STACKLEAK HARDENED_USERCOPY INIT_ON_ALLOC_DEFAULT_ON ",
    "INIT_ON_FREE_DEFAULT_ON KFENCE KSTACK_ERASE PAGE_POISONING ",
    "RANDOMIZE_KSTACK_OFFSET_DEFAULT ",
    // The tick, and the account of time.
    "CPU_ISOLATION HZ_PERIODIC IRQ_TIME_ACCOUNTING NO_HZ_FULL PARAVIRT_TIME_ACCOUNTING ",
    "RT_GROUP_SCHED SCHEDSTATS VIRT_CPU_ACCOUNTING_GEN ",
    // What may be attached.
    "AUDITSYSCALL FUNCTION_TRACER KPROBES ",
);

/// The running kernel's own copy where it carries one, else the distribution's beside its image.
/// `release` is as `uname -r` says it; without one only the kernel's own copy can be found.
pub(super) fn text(roots: &Roots, release: Option<&str>) -> Option<String> {
    let packed = reader::whole_binary(&roots.at("proc/config.gz"), MAX_PACKED_BYTES);
    if let Some(plain) = packed.and_then(|packed| inflate::gunzip(&packed, MAX_BYTES)) {
        return Some(String::from_utf8_lossy(&plain).into_owned());
    }
    // The release becomes part of a path.
    let release = release.filter(|release| !release.contains('/'))?;
    let places = [format!("boot/config-{release}"), format!("lib/modules/{release}/config")];
    places.iter().find_map(|place| reader::whole(&roots.at(place), MAX_BYTES))
}

/// Those of the options that are built in.
pub(super) fn options(config: &str) -> Vec<String> {
    let built_in = |line: &str| {
        let name = line.strip_prefix("CONFIG_")?.strip_suffix("=y")?;
        OPTIONS.split_ascii_whitespace().any(|it| it == name).then(|| name.to_owned())
    };
    let mut options: Vec<String> = config.lines().filter_map(built_in).collect();
    options.sort();
    options
}

/// Ticks in a second.
pub(super) fn hz(config: &str) -> Option<u32> {
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_are_built_in_and_bear_on_a_cost_are_kept() {
        let config = "# CONFIG_KASAN is not set\nCONFIG_PROVE_LOCKING=y\nCONFIG_KFENCE=m\n\
                      CONFIG_DEBUG_INFO=y\nCONFIG_HZ_100=y\nCONFIG_HZ=100\nCONFIG_AUDITSYSCALL=y\n";
        assert_eq!(options(config), ["AUDITSYSCALL", "PROVE_LOCKING"]);
        assert_eq!(hz(config), Some(100));
        assert_eq!(options(""), Vec::<String>::new());
    }
}
