//! The kernel: version, configuration and command line; the shell, with its dynamic loader; and the
//! firmware.

use std::path::Path;

use oscost_model::facts::Os;

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};
use crate::facts::system::{cmdline, config};
use crate::kernel::process::elf::read_interpreter;

/// Maximum length of the command line; the kernel accepts 2048 characters on most architectures.
const MAX_CMDLINE_CHARS: usize = 4096;

/// The shell that system(3) runs.
const SHELL: &str = "bin/sh";

/// Maximum length of a path.
const MAX_PATH_CHARS: usize = 256;

/// The type of a build-id note (`NT_GNU_BUILD_ID` of elf.h).
const NT_GNU_BUILD_ID: u32 = 3;

/// The size of a record of utmp(5) on 64-bit Linux, and the type of the run level record.
const UTMP_BYTES: usize = 384;
const RUN_LVL: i16 = 1;

/// Plausible tick rates: kernels are built with 24 to 1200 (mostly 100, 250, 300, 1000).
const PLAUSIBLE_HZ: std::ops::RangeInclusive<u64> = 10..=10_000;

/// Facts about the kernel and the distribution.
pub(in crate::facts) fn gather(roots: &Roots) -> Os {
    let sysctl = |name| reader::value(&roots.at("proc/sys/kernel").join(name));
    let release = sysctl("osrelease");
    let hz = roots.tick_ns.and_then(hz_of_tick);
    let lsm = reader::value(&roots.at("sys/kernel/security/lsm"));
    let lsm = lsm.map(|names| names.split(',').map(str::to_string).collect());
    let config = config::text(roots, release.as_deref());
    let config = config.as_deref();
    Os {
        version: sysctl("version"),
        build_id: reader::binary(&roots.at("sys/kernel/notes")).and_then(|notes| build_id(&notes)),
        arch: sysctl("arch").or_else(|| roots.built_for.map(str::to_string)),
        cmdline: raw_cmdline(roots)
            .and_then(|line| parse::printable(&cmdline::redact(&line), MAX_CMDLINE_CHARS)),
        hz: hz.or_else(|| config::hz(config?)),
        lsm: lsm.or_else(|| roots.lsm.clone()),
        distribution: distribution(roots),
        options: config.map(config::options),
        init: init(roots),
        run_level: run_level(roots),
        lockdown: reader::selected(&roots.at("sys/kernel/security/lockdown")),
        shell: shell(roots),
        loader: read_interpreter(&roots.at(SHELL))
            .and_then(|path| parse::printable(&path, MAX_PATH_CHARS)),
        firmware: firmware(roots),
        release,
    }
}

/// The version of the firmware, with its date: vendors build one version several times.
fn firmware(roots: &Roots) -> Option<String> {
    let value = |name| reader::value(&roots.at("sys/class/dmi/id").join(name));
    let version = value("bios_version")?;
    Some(value("bios_date").map_or_else(|| version.clone(), |date| format!("{version} ({date})")))
}

/// The file that the shell's name resolves to.
fn shell(roots: &Roots) -> Option<String> {
    let file = roots.at(SHELL).canonicalize().ok()?;
    let root = roots.at("").canonicalize().ok()?;
    let inside = file.strip_prefix(root).ok()?;
    let inside = Path::new("/").join(inside);
    parse::printable(&inside.to_string_lossy(), MAX_PATH_CHARS)
}

/// The complete command line: for parsing only, never recorded.
pub(in crate::facts) fn raw_cmdline(roots: &Roots) -> Option<String> {
    reader::lines(&roots.at("proc/cmdline"))
}

/// The tick rate. A tick of 3333333 ns is 300 Hz: the kernel rounds the tick, so this rounds the
/// rate.
fn hz_of_tick(tick_ns: u64) -> Option<u32> {
    let hz = (1_000_000_000 + tick_ns / 2).checked_div(tick_ns)?;
    u32::try_from(hz).ok().filter(|_| PLAUSIBLE_HZ.contains(&hz))
}

fn distribution(roots: &Roots) -> Option<String> {
    let paths = ["etc/os-release", "usr/lib/os-release"];
    let text = paths.iter().find_map(|path| reader::lines(&roots.at(path)))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    parse::printable(name.trim().trim_matches(['"', '\'']), 128)
}

/// Checks the directory that sd_booted(3) checks: systemd may be installed without being PID 1.
fn is_systemd(roots: &Roots) -> bool {
    roots.at("run/systemd/system").is_dir()
}

fn init(roots: &Roots) -> Option<String> {
    let name = || reader::value(&roots.at("proc/1/comm"));
    if is_systemd(roots) { Some("systemd".to_string()) } else { name() }
}

/// The default target of systemd, which is a link; otherwise the run level in utmp.
fn run_level(roots: &Roots) -> Option<String> {
    let paths = ["etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
    let target = |path: &&str| reader::link_name(&roots.at(path).join("default.target"));
    if is_systemd(roots)
        && let Some(target) = paths.iter().find_map(target)
    {
        return Some(target);
    }
    reader::binary(&roots.at("run/utmp")).and_then(|utmp| level_in(&utmp))
}

/// The level in the last record of type `RUN_LVL`, whose process number is the level's letter plus
/// 256 times that of the previous one. Other records, which name users, are not read.
fn level_in(utmp: &[u8]) -> Option<String> {
    utmp.chunks_exact(UTMP_BYTES).rev().find_map(|record| {
        let kind = i16::from_ne_bytes(*record.first_chunk()?);
        let letter = record.get(4).copied().map(char::from)?;
        (kind == RUN_LVL && letter.is_ascii_alphanumeric()).then(|| letter.to_string())
    })
}

/// The build id among ELF notes: three words (length of the name, length of the content, type),
/// then both, each padded to four bytes. There are other notes, such as those for Xen.
fn build_id(mut notes: &[u8]) -> Option<String> {
    loop {
        let (header, rest) = notes.split_first_chunk::<12>()?;
        let (words, _) = header.as_chunks::<4>();
        let [name_len, len, kind] = [0, 1, 2].map(|i| u32::from_ne_bytes(words[i]));
        let (name, rest) = padded(rest, name_len)?;
        let (content, rest) = padded(rest, len)?;
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" && !content.is_empty() {
            // A SHA-1 hash of 20 bytes is the longest in use; 64 is a safe limit.
            let bytes = content.iter().take(64);
            return Some(bytes.map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest;
    }
}

fn padded(bytes: &[u8], len: u32) -> Option<(&[u8], &[u8])> {
    let len = usize::try_from(len).ok()?;
    let content = bytes.get(..len)?;
    Some((content, bytes.get(len.next_multiple_of(4)..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::note;

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let notes = [note(6, b"Linux\0", &[1, 2, 3]), note(3, b"GNU\0", &[0xab, 0x01])].concat();
        assert_eq!(build_id(&notes).as_deref(), Some("ab01"));
    }

    #[test]
    fn notes_truncated_at_any_byte_have_no_build_id() {
        let notes = note(3, b"GNU\0", &[7; 20]);
        for len in 0..notes.len() {
            assert_eq!(build_id(&notes[..len]), None, "{len} bytes");
        }
        assert_eq!(build_id(&[0xff; 64]), None);
    }

    #[test]
    fn the_run_level_is_found_among_other_records() {
        let record = |kind: i16, pid: i32| {
            let mut record = [b'x'; UTMP_BYTES];
            record[..2].copy_from_slice(&kind.to_ne_bytes());
            record[4..8].copy_from_slice(&pid.to_ne_bytes());
            record
        };
        let utmp = [record(2, 0), record(RUN_LVL, 0x4e00 + 0x35), record(7, 0x41)].concat();
        assert_eq!(level_in(&utmp).as_deref(), Some("5"));
        assert_eq!(level_in(&record(RUN_LVL, 0x1b)), None, "not a letter");
        assert_eq!(level_in(&utmp[..400]), None, "truncated");
        assert_eq!(level_in(&[]), None);
    }

    #[test]
    fn the_shell_is_the_file_that_its_name_resolves_to() {
        let facts = gather(&Roots::machine());
        let Some(shell) = facts.shell else {
            return; // A machine without a shell.
        };
        assert!(shell.starts_with('/') && std::path::Path::new(&shell).is_file(), "{shell}");
        assert!(facts.loader.is_none_or(|loader| loader.starts_with('/')));
    }

    #[test]
    fn the_tick_rate_follows_from_the_tick() {
        assert_eq!(hz_of_tick(4_000_000), Some(250));
        assert_eq!(hz_of_tick(3_333_333), Some(300));
        // A clock that is not coarse has a resolution of 1 ns; 0 is invalid.
        assert_eq!(hz_of_tick(1), None);
        assert_eq!(hz_of_tick(0), None);
    }
}
