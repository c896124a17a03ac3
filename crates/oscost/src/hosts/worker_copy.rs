//! The worker on another machine: a shell script looks for it there, and copies it if it is not.
//!
//! Only the worker in its cache directory remains.

use oscost_model::hash;

use super::session::printable;
use super::{HostError, WorkerBinary};

/// The remote script. ssh passes it in single quotes through any login shell, so it contains no
/// single quote, backslash, exclamation mark or newline.
///
/// A directory is used if it belongs to the user and programs can be executed in it: `test -O .`
/// checks the current directory itself, which cannot be replaced meanwhile. The temporary file is
/// created with `set -C`, so that nothing is written through a link placed by another user. The
/// shell stays until the supervisor has ended: if that was killed, the shell removes its temporary
/// files; if the shell was, the supervisor removes the directory that the shell has made.
const SCRIPT: &str = concat!(
    "umask 077; set -C; o=$(pwd); t=; u=$(id -u); ",
    "say() { echo \"oscost-$k $1 $(uname -s) $(uname -m)\"; }; ",
    "w=; tidy() { [ -n \"$t\" ] && rm -f \"$t\"; t=; [ -n \"$w\" ] && rm -rf \"$w\"; w=; }; ",
    "trap tidy EXIT; trap \"exit 1\" HUP INT TERM; ",
    "fits() { [ \"$(\"$1\" hash)\" = \"$h\" ]; }; ",
    "go() { p=$(pwd -P); touch -c \"$p/worker-$h\"; ",
    "find \"$p\" -type f \"(\" -name \"worker-*\" -mtime +30 -o -name \"new-*\" -mtime +0 \")\" ",
    "-exec rm -f {} \";\"; ",
    "cd \"$o\"; d=\"${TMPDIR:-/tmp}/oscost-$k\"; ",
    "mkdir \"$d\" && { w=$d; TMPDIR=$d; OSCOST_OWN_TMPDIR=$d; export TMPDIR OSCOST_OWN_TMPDIR; }; ",
    "say run; \"$p/worker-$h\" supervise 2>&3 3>&-; exit $?; } 2>/dev/null; ",
    "exec 3>&2; ",
    "set -- \"${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/oscost\" ",
    "\"${TMPDIR:-/tmp}/oscost-$u\" \"/var/tmp/oscost-$u\" \"/dev/shm/oscost-$u\"; ",
    "for d; do cd \"$o\"; ",
    "cd \"$d\" 2>/dev/null && [ -O . ] && [ -f \"worker-$h\" ] && ",
    "fits \"./worker-$h\" 2>/dev/null && go; done; ",
    "for d; do cd \"$o\"; mkdir -p \"$d\" && cd \"$d\" && [ -O . ] && [ -w . ] || continue; ",
    "t=\"$(pwd -P)/new-$k\"; say copy; ",
    "head -c \"$n\" | { { cat > \"$t\"; } && exit 0; cat > /dev/null; exit 1; } && ",
    "chmod 700 \"$t\" && fits \"$t\" && mv -f \"$t\" \"./worker-$h\" && t= && go; ",
    "tidy; cd \"$o\"; rmdir \"$d\" 2>/dev/null; done; say no; exit 1",
);

/// The worker, and the session that copies it.
pub(super) struct WorkerCopy {
    /// A number that only this session has.
    key: String,
    /// The program.
    file: Vec<u8>,
}

/// A reply of the remote script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptReply {
    /// What it does next: `run`, `copy` or `no`.
    pub(super) word: String,
    system: String,
    processor: String,
}

/// Why the worker cannot run on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnfitMachine {
    pub(super) why: String,
    pub(super) hint: &'static str,
}

impl WorkerCopy {
    /// Reads the program.
    pub(super) fn read(program: &WorkerBinary) -> Result<Self, HostError> {
        let file = std::fs::read(&program.path).map_err(|error| HostError::CannotStart {
            program: program.path.display().to_string(),
            why: error.to_string(),
        })?;
        Ok(Self { key: uuid::Uuid::now_v7().simple().to_string(), file })
    }

    /// The program for `sh -c`: what is added to the fixed script is only generated numbers.
    pub(super) fn script(&self) -> String {
        let Self { key, file } = self;
        format!("k={key} h={} n={}; {SCRIPT}", hash::content(file), file.len())
    }

    /// The program.
    pub(super) fn file(&self) -> &[u8] {
        &self.file
    }

    /// Parses a line as a reply of this session's script: its key, then a word, the system and its
    /// processor.
    pub(super) fn reply(&self, line: &[u8]) -> Option<ScriptReply> {
        let text = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let [prefix, word, system, processor] = words[..] else { return None };
        let has_key = prefix.strip_prefix("oscost-").is_some_and(|rest| rest == self.key);
        let [word, system, processor] = [word, system, processor].map(printable);
        has_key.then_some(ScriptReply { word, system, processor })
    }

    /// Checks that the worker runs on the machine that replied.
    pub(super) fn check_machine(&self, reply: &ScriptReply) -> Result<(), UnfitMachine> {
        let (system, processor) = (&reply.system, &reply.processor);
        if system != "Linux" {
            let why = format!("it runs {system}, but oscost measures Linux");
            return Err(UnfitMachine { why, hint: "name a machine that runs Linux" });
        }
        // A file that is not an ELF program fails on the remote machine.
        match processor_of(&self.file).filter(|it| it != processor) {
            None => Ok(()),
            Some(built_for) => Err(UnfitMachine {
                why: format!(
                    "its processor is {processor}, but this oscost-worker is for {built_for}"
                ),
                hint: "run oscost on that machine, and copy the record (`oscost runs export`)",
            }),
        }
    }

    /// A file for a session with a known key.
    #[cfg(test)]
    pub(super) fn of(key: &str, file: &[u8]) -> Self {
        Self { key: key.to_owned(), file: file.to_vec() }
    }
}

/// The processor that a program is built for, as in `uname -m`.
fn processor_of(file: &[u8]) -> Option<&'static str> {
    const MAGIC: &[u8] = b"\x7fELF";
    /// The field `e_machine` of the ELF header (little-endian here).
    const MACHINE: std::ops::Range<usize> = 18..20;
    let number = file.get(MACHINE).filter(|_| file.starts_with(MAGIC))?;
    match u16::from_le_bytes([number[0], number[1]]) {
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_script_survives_any_login_shell() {
        for bad in ['\'', '\\', '!', '\n'] {
            assert!(!SCRIPT.contains(bad), "{bad:?} is in the script");
        }
        let script = WorkerCopy::of("0a", b"abc").script();
        let begins = format!("k=0a h={} n=3; umask", hash::content(b"abc"));
        assert!(script.starts_with(&begins), "{script}");
        let read = Command::new("sh").args(["-n", "-c", &script]).status();
        assert!(read.unwrap().success());
    }

    #[test]
    fn only_lines_with_the_key_of_the_session_are_replies() {
        let copy = WorkerCopy::of("0a", b"");
        let reply = copy.reply(b"oscost-0a run Linux x86_64\n").unwrap();
        assert_eq!((reply.word.as_str(), reply.processor.as_str()), ("run", "x86_64"));
        for noise in ["oscost-0b run Linux x86_64", "Welcome!", "oscost-0a run", "", "\u{1b}[2J"] {
            assert_eq!(copy.reply(noise.as_bytes()), None, "{noise}");
        }
    }

    #[test]
    fn another_processor_or_system_is_refused() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let own = processor_of(&file).unwrap();
        let copy = WorkerCopy::of("0a", &file);
        let check = |system: &str, processor: &str| {
            let word = "run".to_owned();
            let reply = ScriptReply { word, system: system.into(), processor: processor.into() };
            copy.check_machine(&reply).map_err(|unfit| unfit.why)
        };
        assert_eq!(check("Linux", own), Ok(()));
        assert!(check("Linux", "riscv64").unwrap_err().contains("its processor is riscv64"));
        assert!(check("FreeBSD", own).unwrap_err().contains("measures Linux"));
        assert_eq!(processor_of(b"#!/bin/sh\n"), None);
    }
}
