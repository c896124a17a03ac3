//! Which files cannot be read on this machine, and why: the reason behind an unknown fact.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::facts::source::parse;
use crate::facts::source::roots::Roots;

/// The files and directories that facts are read from.
const SOURCES: &str = concat!(
    "/etc/os-release /proc/1/comm /proc/cmdline /proc/config.gz /proc/cpuinfo ",
    "/proc/interrupts /proc/meminfo /proc/pressure/cpu /proc/self/cgroup ",
    "/proc/self/limits /proc/self/personality /proc/self/stat /proc/self/status /proc/stat ",
    "/proc/sys/kernel/osrelease /proc/sys/kernel/perf_event_paranoid ",
    "/proc/sys/kernel/randomize_va_space /proc/sys/kernel/yama/ptrace_scope /run/utmp ",
    "/sys/block /sys/class/dmi/id/bios_version /sys/class/net ",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource ",
    "/sys/devices/system/cpu/cpu0/cache ",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor ",
    "/sys/devices/system/cpu/cpufreq/boost ",
    "/sys/devices/system/cpu/cpuidle/current_driver /sys/devices/system/cpu/isolated ",
    "/sys/devices/system/cpu/nohz_full /sys/devices/system/cpu/smt/active ",
    "/sys/devices/system/cpu/vulnerabilities /sys/devices/system/node/online ",
    "/sys/firmware/dmi/tables/DMI /sys/fs/cgroup /sys/kernel/debug/sched/preempt ",
    "/sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/security/lockdown ",
    "/sys/kernel/security/lsm /sys/kernel/tracing/current_tracer ",
);

/// The sources that cannot be read, each with the reason.
pub(in crate::facts) fn gather(roots: &Roots) -> BTreeMap<String, String> {
    let mut unread = Vec::new();
    for source in SOURCES.split_ascii_whitespace() {
        if let Some(reason) = read_error(&roots.at(source.trim_start_matches('/'))) {
            unread.push((source.to_owned(), reason));
        }
    }
    parse::map(unread)
}

fn read_error(path: &Path) -> Option<String> {
    // A file may open and still fail to be read; of a directory only the open is tried.
    let read = File::open(path).and_then(|mut file| match path.is_dir() {
        true => Ok(0),
        false => file.read(&mut [0]),
    });
    Some(match read.err()?.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "does not exist".to_owned(),
        ErrorKind::PermissionDenied => "needs root".to_owned(),
        other => format!("cannot be read ({other})"),
    })
}
