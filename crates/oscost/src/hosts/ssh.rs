//! The ssh host: one session of the system's `ssh` carries everything.
//!
//! Configuration, keys, ports and jump hosts are left to ssh. On the other machine a fixed shell
//! script looks for the worker by its content hash, copies it from standard input if it is missing,
//! and starts the supervisor. Nothing listens, and only the worker in its cache directory remains.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[cfg(feature = "fault-injection")]
use oscost_model::fault_injection::ANSWER_LIMIT_MS;
use oscost_model::hash;
use oscost_model::protocol::{Event, Hello, Order};

use super::session::{ChildEnd, PipeSession, printable};
use super::{HostError, Interrupt, Session, WorkerBinary};

/// The time limit of a login where ssh cannot prompt ...
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);
/// ... and where the user may type a password.
const INTERACTIVE_LOGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// The time limit for copying the worker: 2 MB at 100 kbit/s.
const COPY_TIMEOUT: Duration = Duration::from_secs(180);
/// The script asks for the worker once for each folder that it tries.
const MAX_COPIES: usize = 4;
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

/// A supervisor on another machine, reached through an ssh session.
pub struct SshSession<'a> {
    pipes: PipeSession<'a>,
    hello: Hello,
    state: SessionState,
}

/// Whether the end of a session is worth waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    /// No order was sent: there is nothing to undo.
    Idle,
    /// Its supervisor answers, and undoes what it has begun.
    Working,
    /// The last answer did not come in time, or was none. Its supervisor ends with its input,
    /// whether it is waited for or not.
    Lost,
}

impl SessionState {
    /// The state after an exchange.
    fn after<T>(exchange: &Result<T, HostError>) -> Self {
        match exchange {
            Err(HostError::TimedOut(_) | HostError::InvalidMessage(_)) => SessionState::Lost,
            _ => SessionState::Working,
        }
    }
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
        let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let key = uuid::Uuid::now_v7().simple().to_string();
        let mut command = ssh(host, interactive);
        command.arg(remote_command(&key, &hash::content(&file), file.len()));
        let pipes = PipeSession::start(&mut command, interrupt);
        let pipes = pipes.map_err(|error| ssh_not_started(host, &command, &error))?;
        let mut opening = Opening { host, key, pipes };
        let timeout = if interactive { INTERACTIVE_LOGIN_TIMEOUT } else { LOGIN_TIMEOUT };
        match opening.start_supervisor(&file, program, timeout) {
            Ok(hello) => Ok(Self { pipes: opening.pipes, hello, state: SessionState::Idle }),
            Err(error) => {
                // Nothing was measured there, so that nothing has to be undone: a peer that hangs is
                // not waited for. What was started there ends with its input.
                opening.pipes.terminate();
                Err(error)
            }
        }
    }
}

impl Session for SshSession<'_> {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        let sent = self.pipes.send(order);
        self.state = SessionState::after(&sent);
        sent
    }

    fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        let event = self.pipes.next_event(answer_limit(timeout));
        self.state = SessionState::after(&event);
        event
    }
}

impl Drop for SshSession<'_> {
    fn drop(&mut self) {
        if self.state == SessionState::Working {
            self.pipes.wait_for_shutdown();
        }
        self.pipes.terminate();
    }
}

/// The time limit of an answer.
#[cfg(not(feature = "fault-injection"))]
const fn answer_limit(timeout: Duration) -> Duration {
    timeout
}

/// The time limit of an answer: less in a test of a session that hangs.
#[cfg(feature = "fault-injection")]
fn answer_limit(timeout: Duration) -> Duration {
    let limit_ms = std::env::var(ANSWER_LIMIT_MS).ok().and_then(|text| text.parse().ok());
    limit_ms.map_or(timeout, |limit_ms| timeout.min(Duration::from_millis(limit_ms)))
}

/// The ssh program: the system's, or another one with the same arguments.
fn ssh_program() -> OsString {
    std::env::var_os("OSCOST_SSH").filter(|program| !program.is_empty()).unwrap_or("ssh".into())
}

/// The ssh command: without forwarding, so that nothing listens, and without a terminal.
fn ssh(host: &str, interactive: bool) -> Command {
    let mut command = Command::new(ssh_program());
    command.args(["-T", "-a", "-x", "-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"]);
    if !interactive {
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
    /// Logs in, copies the worker if it is not there, and starts the supervisor.
    fn start_supervisor(
        &mut self,
        file: &[u8],
        program: &WorkerBinary,
        timeout: Duration,
    ) -> Result<Hello, HostError> {
        let mut reply = self.read_reply(timeout)?;
        for _ in 0..MAX_COPIES {
            if reply.word != "copy" {
                break;
            }
            check_machine(self.host, &reply, file)?;
            self.copy_worker(file)?;
            reply = self.read_reply(COPY_TIMEOUT)?;
        }
        if reply.word != "run" {
            return Err(self.no_usable_folder());
        }
        check_machine(self.host, &reply, file)?;
        self.pipes.hello(program)
    }

    /// The next reply of the remote script, within `timeout` in all. Other output of the login is
    /// skipped.
    fn read_reply(&mut self, timeout: Duration) -> Result<ScriptReply, HostError> {
        let deadline = Instant::now() + timeout;
        for _ in 0..MAX_BANNER_LINES {
            match self.pipes.read_line(deadline.saturating_duration_since(Instant::now())) {
                Ok(Some(line)) => {
                    if let Some(reply) = ScriptReply::parse(&line, &self.key) {
                        return Ok(reply);
                    }
                }
                Ok(None) => return Err(self.login_failure()),
                Err(HostError::TimedOut(_)) => {
                    let why = format!("no reply within {timeout:?}");
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
            HostError::SupervisorEnded(why) => unreachable(
                self.host,
                &format!("copying the worker failed: ssh {why}"),
                "try again",
            ),
            HostError::TimedOut(timeout) => {
                let why = format!("copying the worker took longer than {timeout:?}");
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
        let end = self.pipes.wait_for_end();
        let LoginFailure { why, hint } = diagnose(self.host, &end);
        unreachable(self.host, &why, &hint)
    }

    /// No remote directory is usable for the worker.
    fn no_usable_folder(&mut self) -> HostError {
        let end = self.pipes.wait_for_end();
        let why = format!("the worker cannot be stored there: {}", tail(&end.stderr));
        let hint = "it needs 4 MiB in ~/.cache, TMPDIR, /tmp or /var/tmp, where programs may run";
        unreachable(self.host, &why, hint)
    }
}

impl ScriptReply {
    /// Parses a line: the session's key, then a word, the system and its processor.
    fn parse(line: &[u8], key: &str) -> Option<ScriptReply> {
        let text = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let [prefix, word, system, processor] = words[..] else { return None };
        let has_key = prefix.strip_prefix("oscost-").is_some_and(|rest| rest == key);
        let [word, system, processor] = [word, system, processor].map(printable);
        has_key.then_some(ScriptReply { word, system, processor })
    }
}

/// Checks that the worker runs on such a machine.
fn check_machine(host: &str, reply: &ScriptReply, file: &[u8]) -> Result<(), HostError> {
    let (system, processor) = (&reply.system, &reply.processor);
    if system != "Linux" {
        let why = format!("it runs {system}, but oscost measures Linux");
        return Err(unreachable(host, &why, "name a machine that runs Linux"));
    }
    // A file that is not an ELF program fails on the remote machine.
    let Some(built_for) = processor_of(file).filter(|it| it != processor) else { return Ok(()) };
    let why = format!("its processor is {processor}, but this oscost-worker is for {built_for}");
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
fn tail(text: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_ERROR_CHARS {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - MAX_ERROR_CHARS).collect();
    format!("...{end}")
}

/// Why a login failed, and what to do.
struct LoginFailure {
    why: String,
    hint: String,
}

/// Diagnoses a failed login from ssh's exit status and output.
fn diagnose(host: &str, end: &ChildEnd) -> LoginFailure {
    let output = tail(&end.stderr);
    let has = |text: &str| end.stderr.contains(text);
    if end.status.and_then(|status| status.code()) != Some(SSH_FAILED) {
        let status = end.status.map_or("no status".to_owned(), |status| status.to_string());
        let why = format!("no reply from the remote shell ({status}): {output}");
        let hint = "its login shell must be able to run sh, uname, id, mkdir, head, cat, chmod \
                    and mv";
        return LoginFailure { why, hint: hint.to_owned() };
    }
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        let why = "its host key has changed: another machine, or a man-in-the-middle attack";
        let hint = "find out why it changed; then remove the old key with `ssh-keygen -R`";
        return LoginFailure { why: why.to_owned(), hint: hint.to_owned() };
    }
    let (why, hint) = if has("Host key verification failed") {
        let hint = format!("run `ssh {host} true` in a terminal to accept the key");
        ("its host key is not known to ssh", hint)
    } else if has("Could not resolve hostname") {
        ("no such host", login_hint(host))
    } else if has("Permission denied") {
        let hint = format!(
            "`ssh -o BatchMode=yes {host} true` must work: `ssh-copy-id` installs a key, \
             `ssh-add` unlocks it; in a terminal, ssh prompts for a password"
        );
        ("the login was refused", hint)
    } else {
        ("ssh failed", login_hint(host))
    };
    LoginFailure { why: format!("{why}: {output}"), hint }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::ExitStatus;

    use oscost_model::definition::Catalog;

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
        let reply = ScriptReply::parse(b"oscost-0a run Linux x86_64\n", "0a").unwrap();
        assert_eq!((reply.word.as_str(), reply.processor.as_str()), ("run", "x86_64"));
        for noise in ["oscost-0b run Linux x86_64", "Welcome!", "oscost-0a run", "", "\u{1b}[2J"] {
            assert_eq!(ScriptReply::parse(noise.as_bytes(), "0a"), None, "{noise}");
        }
    }

    /// A session with a script in place of ssh, which goes on at the end of its input. It leaves a
    /// mark if it is asked to end, and not if it is killed after the time of an orderly shutdown.
    fn session_of<'a>(script: &str, mark: &Path, interrupt: &'a Interrupt) -> SshSession<'a> {
        let script =
            format!("trap ': > \"$0\"; exit' TERM; {script}\nwhile :; do sleep 0.01; done");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(mark);
        let pipes = PipeSession::start(command.stderr(Stdio::piped()), interrupt).unwrap();
        SshSession { pipes, hello: Hello::default(), state: SessionState::Idle }
    }

    #[test]
    fn a_session_that_is_lost_is_not_waited_for() {
        let interrupt = Interrupt::listen().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (mark, short) = (folder.path().join("asked"), Duration::from_millis(50));
        for (script, timeout, state) in [
            // Without an answer, with one that is none, and never asked anything.
            (":", Some(short), SessionState::Lost),
            ("echo hello", Some(Duration::from_secs(60)), SessionState::Lost),
            ("yes &", Some(Duration::from_secs(60)), SessionState::Lost),
            (":", None, SessionState::Idle),
        ] {
            let mut session = session_of(script, &mark, &interrupt);
            if let Some(timeout) = timeout {
                session.next(timeout).unwrap_err();
            }
            assert_eq!(session.state, state, "{script}");
            drop(session);
            std::fs::remove_file(&mark).unwrap();
        }
    }

    #[test]
    fn a_session_that_answered_is_waited_for() {
        let answered = Ok(Event::BatchesDone { id: 1 });
        assert_eq!(SessionState::after(&answered), SessionState::Working);
        // The user's Ctrl-C does not end the supervisor: it still undoes what it has begun.
        assert_eq!(SessionState::after::<()>(&Err(HostError::Interrupted)), SessionState::Working);
    }

    #[test]
    fn a_login_has_one_limit_for_all_its_lines_and_copies() {
        let interrupt = Interrupt::listen().unwrap();
        let catalog = Catalog { families: vec![], benchmarks: vec![], timers: vec![] };
        let (path, catalog_hash) = ("oscost-worker".into(), String::new());
        let program = WorkerBinary { path, catalog, catalog_hash };
        let opened = |script: &str, timeout| {
            let mut command = Command::new("sh");
            let pipes = PipeSession::start(command.args(["-c", script]), &interrupt).unwrap();
            let mut opening = Opening { host: "db1", key: "0a".to_owned(), pipes };
            let error = opening.start_supervisor(b"x", &program, timeout).unwrap_err();
            opening.pipes.terminate();
            error.to_string()
        };
        // Each line comes within the limit, all of them do not.
        let drips = "while :; do echo hello; sleep 0.1; done";
        let error = opened(drips, Duration::from_millis(300));
        assert!(error.contains("no reply within 300ms"), "{error}");
        let copies = "while :; do echo oscost-0a copy Linux x; head -c 1 > /dev/null; done";
        let error = opened(copies, Duration::from_secs(60));
        assert!(error.contains("cannot be stored there"), "{error}");
    }

    #[test]
    fn another_processor_or_system_is_refused() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let own = processor_of(&file).unwrap();
        let check = |system: &str, processor: &str| {
            let word = "run".to_owned();
            let reply = ScriptReply { word, system: system.into(), processor: processor.into() };
            check_machine("db1", &reply, &file).map_err(|error| error.to_string())
        };
        assert_eq!(check("Linux", own), Ok(()));
        let other = check("Linux", "riscv64").unwrap_err();
        assert!(other.contains("`ssh:db1`: its processor is riscv64"), "{other}");
        assert!(check("FreeBSD", own).unwrap_err().contains("measures Linux"));
        assert_eq!(processor_of(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn a_failed_login_says_why_and_what_to_do() {
        let diagnose = |code: i32, stderr: &str| {
            let status = Some(ExitStatus::from_raw(code << 8));
            super::diagnose("db1", &ChildEnd { status, stderr: stderr.to_owned() })
        };
        for (words, why, hint) in [
            ("@@@ REMOTE HOST IDENTIFICATION HAS CHANGED! @@@", "has changed", "ssh-keygen -R"),
            ("Host key verification failed.", "not known to ssh", "accept the key"),
            ("ssh: Could not resolve hostname nix: x", "no such host", "`ssh db1 true`"),
            ("db1: Permission denied (publickey).", "refused", "ssh-copy-id"),
            ("ssh: connect to host db1 port 22: Connection refused", "port 22", "ssh_config"),
        ] {
            let failure = diagnose(SSH_FAILED, words);
            assert!(failure.why.contains(why), "{words}: {}", failure.why);
            assert!(failure.hint.contains(hint), "{words}: {}", failure.hint);
        }
        let failure = diagnose(127, "sh: not found");
        assert!(failure.why.contains("no reply from the remote shell"), "{}", failure.why);
        assert!(failure.hint.contains("uname"), "{}", failure.hint);
        let long = diagnose(SSH_FAILED, &"x".repeat(10_000)).why;
        assert!(long.chars().count() < 2 * MAX_ERROR_CHARS, "{long}");
    }
}
