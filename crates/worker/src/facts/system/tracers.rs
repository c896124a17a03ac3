//! Tracers that slow down system calls.
//!
//! One enabled event on system calls moves every task of the machine to the slow entry path. A BPF
//! program or a perf session attached to such an event shows in no file: timing the reference cases
//! finds it, not this module.

use std::path::{Path, PathBuf};

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// Maximum number of tracing instances that are read; each has its own events and tracer.
const MAX_INSTANCES: usize = 16;

/// What slows down system calls.
pub(in crate::facts) struct Tracers {
    /// The active tracers.
    pub(in crate::facts) active: Vec<String>,
    /// The sources that could not be read.
    pub(in crate::facts) unread: Vec<String>,
}

/// Reads the active tracers.
pub(in crate::facts) fn gather(roots: &Roots, status: &str) -> Tracers {
    let (mut active, mut unread) = (Vec::new(), Vec::new());
    match tracefs(roots) {
        Some(folder) => {
            read_instance(&folder, "", &mut active);
            for name in reader::names(&folder.join("instances")).iter().take(MAX_INSTANCES) {
                let shown = parse::printable(name, 64).unwrap_or_default();
                let suffix = format!(" (instance {shown})");
                read_instance(&folder.join("instances").join(name), &suffix, &mut active);
            }
        }
        None => unread.push("tracefs".to_string()),
    }
    if reader::switch(&roots.at("proc/sys/kernel/stack_tracer_enabled")) == Some(true) {
        active.push("stack tracer".to_string());
    }
    match own_status(status) {
        Some(own) => active.extend(own),
        None => unread.push("/proc/self/status".to_string()),
    }
    Tracers { active, unread }
}

/// Readable by root only on most machines; mounted inside debugfs before Linux 4.1.
fn tracefs(roots: &Roots) -> Option<PathBuf> {
    let folders = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
    let readable = |folder: &PathBuf| reader::value(&folder.join("current_tracer")).is_some();
    folders.iter().map(|folder| roots.at(folder)).find(readable)
}

/// `enable` of a group of events is 0, 1, or X when only some of them are on.
fn read_instance(folder: &Path, suffix: &str, tracers: &mut Vec<String>) {
    let tracer = reader::value(&folder.join("current_tracer"));
    if let Some(tracer) = tracer.filter(|tracer| tracer != "nop") {
        tracers.push(format!("tracer {tracer}{suffix}"));
    }
    let on = |group: &str| {
        let state = reader::value(&folder.join("events").join(group).join("enable"));
        state.is_some_and(|state| state != "0")
    };
    if on("raw_syscalls") || on("syscalls") {
        tracers.push(format!("trace events on system calls{suffix}"));
    } else if on("") {
        tracers.push(format!("trace events{suffix}"));
    }
}

fn own_status(status: &str) -> Option<Vec<String>> {
    let number = |key| parse::number(parse::field(status, key)?);
    let tracer = number("TracerPid")?;
    let mut tracers = Vec::new();
    if tracer != 0 {
        tracers.push("ptrace on this process".to_string());
    }
    // Mode 2 is a filter program that runs at each system call.
    if number("Seccomp") == Some(2) {
        tracers.push("seccomp filter on this process".to_string());
    }
    Some(tracers)
}
