//! The ssh host: one session of the system's `ssh` carries everything.
//!
//! Configuration, keys, ports and jump hosts are left to ssh. On the other machine a fixed shell
//! script looks for the worker by its content hash, copies it from standard input if it is missing,
//! and starts the supervisor. Nothing listens, and only the worker in its cache directory remains.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use oscost_model::hash;
use oscost_model::protocol::{Event, Hello, Order};

use super::session::{End, PipeSession, printable};
use super::{HostError, Interrupt, Session, WorkerBinary};

/// The time limit of a login where ssh cannot prompt ...
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);
/// ... and where the user may type a password.
const INTERACTIVE_LOGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// The time limit for copying the worker: 2 MB at 100 kbit/s.
const COPY_TIMEOUT: Duration = Duration::from_secs(180);
/// The maximum number of lines that a login may print before the script's reply.
const MAX_BANNER_LINES: usize = 1_000;
/// The maximum length of ssh's output that is shown, its end.
const MAX_ERROR_CHARS: usize = 300;
/// The exit status of ssh's own failures; any other is that of the remote command.
const SSH_FAILED: i32 = 255;

/// The remote script. It is passed in single quotes through any login shell, so it contains no
/// single quote, backslash, exclamation mark or newline.
///
/// A directory is used if it belongs to the user and programs can be executed in it: `test -O .`
/// checks the current directory itself, which cannot be replaced meanwhile. The temporary file is
/// created with `set -C`, so that nothing is written through a link placed by another user. The
/// shell stays until the supervisor has ended: if that was killed, the shell removes its temporary
/// files.
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
    "mkdir \"$d\" && { w=$d; TMPDIR=$d; export TMPDIR; }; ",
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

/// A supervisor on another machine, reached through an ssh session.
pub struct SshSession<'a> {
    pipes: PipeSession<'a>,
    hello: Hello,
}

/// A reply of the remote script.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScriptReply {
    word: String,
    system: String,
    processor: String,
}

impl<'a> SshSession<'a> {
    /// Logs in to `host` (`[user@]HOST`), copies the worker if needed, and starts the supervisor.
    pub fn open(
        host: &str,
        program: &WorkerBinary,
        interrupt: &'a Interrupt,
    ) -> Result<Self, HostError> {
        let file = std::fs::read(&program.path).map_err(|error| HostError::CannotStart {
            program: program.path.display().to_string(),
            why: error.to_string(),
        })?;
        let by_hand = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let key = uuid::Uuid::now_v7().simple().to_string();
        let mut command = ssh(host, by_hand);
        command.arg(remote_command(&key, &hash::content(&file), file.len()));
        let talk = PipeSession::start(&mut command, interrupt);
        let talk = talk.map_err(|error| ssh_not_started(host, &command, &error))?;
        let mut opening = Opening { host, key, pipes: talk };
        let patience = if by_hand { INTERACTIVE_LOGIN_TIMEOUT } else { LOGIN_TIMEOUT };
        let mut answer = opening.read_reply(patience)?;
        while answer.word == "copy" {
            check_machine(host, &answer, &file)?;
            opening.copy_worker(&file)?;
            answer = opening.read_reply(COPY_TIMEOUT)?;
        }
        if answer.word != "run" {
            return Err(opening.no_usable_folder());
        }
        check_machine(host, &answer, &file)?;
        let hello = opening.pipes.hello(program)?;
        Ok(Self { pipes: opening.pipes, hello })
    }
}

impl Session for SshSession<'_> {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.pipes.send(order)
    }

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.pipes.next_event(patience)
    }
}

/// The ssh program: the system's, or another one with the same arguments.
fn ssh_program() -> OsString {
    std::env::var_os("OSCOST_SSH").filter(|named| !named.is_empty()).unwrap_or("ssh".into())
}

/// The ssh command: without forwarding, so that nothing listens, and without a terminal.
fn ssh(host: &str, by_hand: bool) -> Command {
    let mut command = Command::new(ssh_program());
    command.args(["-T", "-a", "-x", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"]);
    if !by_hand {
        // Without a user ssh must not prompt, and the tool handles Ctrl-C. With a user it must stay
        // in the foreground to be able to prompt.
        command.args(["-o", "BatchMode=yes"]).process_group(0);
    }
    command.args(["--", host]).stderr(Stdio::piped());
    command
}

/// The command for the login shell: it contains only generated numbers.
fn remote_command(key: &str, hash: &str, bytes: usize) -> String {
    format!("exec sh -c 'k={key} h={hash} n={bytes}; {SCRIPT}'")
}

/// A session before its hello.
struct Opening<'a, 'b> {
    host: &'b str,
    key: String,
    pipes: PipeSession<'a>,
}

impl Opening<'_, '_> {
    /// The next reply of the remote script. Other output of the login is skipped.
    fn read_reply(&mut self, patience: Duration) -> Result<ScriptReply, HostError> {
        for _ in 0..MAX_BANNER_LINES {
            match self.pipes.read_line(patience) {
                Ok(Some(line)) => {
                    if let Some(answer) = ScriptReply::read(&line, &self.key) {
                        return Ok(answer);
                    }
                }
                Ok(None) => return Err(self.login_failure()),
                Err(HostError::TimedOut(patience)) => {
                    let why = format!("no answer within {patience:?}");
                    return Err(unreachable(self.host, &why, &login_hint(self.host)));
                }
                Err(other) => return Err(other),
            }
        }
        let why = "its login prints too much".to_owned();
        Err(unreachable(self.host, &why, "its login must not print without a terminal"))
    }

    /// Copies the worker.
    fn copy_worker(&mut self, file: &[u8]) -> Result<(), HostError> {
        self.pipes.write(file, COPY_TIMEOUT).map_err(|error| match error {
            HostError::SupervisorEnded(why) => {
                unreachable(self.host, &format!("copying the worker failed: {why}"), "try again")
            }
            HostError::TimedOut(patience) => {
                let why = format!("copying the worker took longer than {patience:?}");
                unreachable(self.host, &why, &login_hint(self.host))
            }
            other => other,
        })
    }

    /// Why ssh or the remote shell ended without a reply.
    fn login_failure(&mut self) -> HostError {
        if self.pipes.is_interrupted() {
            return HostError::Interrupted;
        }
        let End { status, stderr: words } = self.pipes.wait_for_end();
        let (why, hint) = diagnose(self.host, status, &words);
        unreachable(self.host, &why, &hint)
    }

    /// No remote directory is usable for the worker.
    fn no_usable_folder(&mut self) -> HostError {
        let End { stderr: words, .. } = self.pipes.wait_for_end();
        let why = format!("the worker cannot be stored there: {}", tail(&words));
        let hint = "it needs 4 MiB in ~/.cache, TMPDIR, /tmp or /var/tmp, where programs may run";
        unreachable(self.host, &why, hint)
    }
}

impl ScriptReply {
    /// Parses a line: the session's key, then a word, the system and its processor.
    fn read(line: &[u8], key: &str) -> Option<ScriptReply> {
        let text = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let [mark, word, system, processor] = words[..] else { return None };
        let ours = mark.strip_prefix("oscost-").is_some_and(|rest| rest == key);
        let [word, system, processor] = [word, system, processor].map(printable);
        ours.then_some(ScriptReply { word, system, processor })
    }
}

/// Checks that the worker runs on such a machine.
fn check_machine(host: &str, answer: &ScriptReply, file: &[u8]) -> Result<(), HostError> {
    let (system, processor) = (&answer.system, &answer.processor);
    if system != "Linux" {
        let why = format!("it runs {system}, but oscost measures Linux");
        return Err(unreachable(host, &why, "name a machine that runs Linux"));
    }
    // A file that is not an ELF program fails on the other side.
    let Some(ours) = processor_of(file).filter(|ours| ours != processor) else { return Ok(()) };
    let why = format!("its processor is {processor}, but this oscost-worker is for {ours}");
    let hint = "run oscost on that machine, and copy the record (`oscost runs export`)";
    Err(unreachable(host, &why, hint))
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

fn unreachable(host: &str, why: &str, hint: &str) -> HostError {
    let host = format!("ssh:{host}");
    HostError::Unreachable { host, why: why.to_owned(), hint: hint.to_owned() }
}

fn ssh_not_started(host: &str, command: &Command, error: &std::io::Error) -> HostError {
    let why = format!("`{}` cannot be started: {error}", command.get_program().display());
    unreachable(host, &why, "install the OpenSSH client; OSCOST_SSH names one at another path")
}

fn login_hint(host: &str) -> String {
    format!("`ssh {host} true` must work; hosts, ports and keys are configured in ssh_config(5)")
}

/// The end of a text, short enough for an error.
fn tail(words: &str) -> String {
    let all = words.chars().count();
    if all <= MAX_ERROR_CHARS {
        return words.to_owned();
    }
    let end: String = words.chars().skip(all - MAX_ERROR_CHARS).collect();
    format!("...{end}")
}

/// Why a login failed and what to do, from ssh's exit status and output.
fn diagnose(host: &str, status: Option<ExitStatus>, words: &str) -> (String, String) {
    let said = tail(words);
    let has = |text: &str| words.contains(text);
    let code = status.and_then(|status| status.code());
    if code != Some(SSH_FAILED) {
        let how = status.map_or("no status".to_owned(), |status| status.to_string());
        let why = format!("no reply from the remote shell ({how}): {said}");
        let hint = "its login shell must be able to run sh, uname, id, mkdir, head, cat, chmod \
                    and mv";
        return (why, hint.to_owned());
    }
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        let hint = "find out why it changed; then remove the old key with `ssh-keygen -R`";
        let why = "its host key has changed: another machine, or a man-in-the-middle attack";
        return (why.to_owned(), hint.to_owned());
    }
    let known: [(&str, &str, String); 4] = [
        (
            "Host key verification failed",
            "its host key is not known to ssh",
            format!("run `ssh {host} true` in a terminal to accept the key"),
        ),
        ("Could not resolve hostname", "no such host", login_hint(host)),
        (
            "Permission denied",
            "the login was refused",
            format!(
                "`ssh -o BatchMode=yes {host} true` must work: `ssh-copy-id` installs a key, \
                 `ssh-add` unlocks it; in a terminal, ssh prompts for a password"
            ),
        ),
        ("", "ssh failed", login_hint(host)),
    ];
    let found = known.into_iter().find(|(mark, ..)| has(mark));
    let (_, what, hint) = found.unwrap_or(("", "ssh failed", login_hint(host)));
    (format!("{what}: {said}"), hint)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn the_script_survives_any_login_shell() {
        for bad in ['\'', '\\', '!', '\n'] {
            assert!(!SCRIPT.contains(bad), "{bad:?} is in the script");
        }
        let command = remote_command("0a", "0b", 3);
        assert!(command.starts_with("exec sh -c 'k=0a h=0b n=3; umask"), "{command}");
        let read = Command::new("sh").args(["-n", "-c", &format!("n=1; {SCRIPT}")]).status();
        assert!(read.unwrap().success());
    }

    #[test]
    fn only_lines_with_the_key_of_the_session_are_replies() {
        let answer = ScriptReply::read(b"oscost-0a run Linux x86_64\n", "0a").unwrap();
        assert_eq!((answer.word.as_str(), answer.processor.as_str()), ("run", "x86_64"));
        for noise in ["oscost-0b run Linux x86_64", "Welcome!", "oscost-0a run", "", "\u{1b}[2J"] {
            assert_eq!(ScriptReply::read(noise.as_bytes(), "0a"), None, "{noise}");
        }
    }

    #[test]
    fn another_processor_or_system_is_refused() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let own = processor_of(&file).unwrap();
        let there = |system: &str, processor: &str| {
            let word = "run".to_owned();
            let answer = ScriptReply { word, system: system.into(), processor: processor.into() };
            check_machine("db1", &answer, &file).map_err(|error| error.to_string())
        };
        assert_eq!(there("Linux", own), Ok(()));
        let other = there("Linux", "riscv64").unwrap_err();
        assert!(other.contains("`ssh:db1`: its processor is riscv64"), "{other}");
        assert!(there("FreeBSD", own).unwrap_err().contains("measures Linux"));
        assert_eq!(processor_of(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn a_failed_login_says_why_and_what_to_do() {
        let failed = Some(ExitStatus::from_raw(SSH_FAILED << 8));
        for (words, why, hint) in [
            ("@@@ REMOTE HOST IDENTIFICATION HAS CHANGED! @@@", "has changed", "ssh-keygen -R"),
            ("Host key verification failed.", "not known to ssh", "accept the key"),
            ("ssh: Could not resolve hostname nix: x", "no such host", "`ssh db1 true`"),
            ("db1: Permission denied (publickey).", "refused", "ssh-copy-id"),
            ("ssh: connect to host db1 port 22: Connection refused", "port 22", "ssh_config"),
        ] {
            let (told, next) = diagnose("db1", failed, words);
            assert!(told.contains(why) && next.contains(hint), "{words}: {told}; {next}");
        }
        let (told, next) = diagnose("db1", Some(ExitStatus::from_raw(127 << 8)), "sh: not found");
        assert!(
            told.contains("no reply from the remote shell") && next.contains("uname"),
            "{told}"
        );
        let long = diagnose("db1", failed, &"x".repeat(10_000)).0;
        assert!(long.chars().count() < 2 * MAX_ERROR_CHARS, "{long}");
    }
}
