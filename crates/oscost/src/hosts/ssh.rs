//! The ssh host: one session of the system's `ssh` carries everything.
//!
//! Configuration, keys, ports and jump hosts are left to ssh. Nothing listens.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use oscost_model::protocol::{Event, Hello, Order};

use super::session::ChildEnd;
use super::shell_login::{LoginFailure, Transport, tail};
use super::shell_session::{ShellCommand, ShellSession};
use super::worker_copy::WorkerCopy;
use super::{HostError, Interrupt, Session, WorkerBinary};

/// The time limit of a login where ssh cannot prompt ...
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);
/// ... and where the user may type a password.
const INTERACTIVE_LOGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// The time in which ssh ends when it is asked to.
const END_LIMIT: Duration = Duration::from_secs(2);
/// The exit status of ssh's own failures; any other is that of the remote command.
const SSH_FAILED: i32 = 255;

/// A supervisor on another machine, reached through an ssh session.
pub struct SshSession<'a>(ShellSession<'a>);

impl<'a> SshSession<'a> {
    /// Logs in to `host` (`[user@]HOST`), copies the worker if needed, and starts the supervisor.
    pub fn open(
        host: &str,
        program: &WorkerBinary,
        interrupt: &'a Interrupt,
    ) -> Result<Self, HostError> {
        let copy = WorkerCopy::read(program)?;
        let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let mut command = ssh(host, interactive);
        command.arg(remote_command(&copy));
        let shell = ShellCommand { command, copy, end_limit: END_LIMIT };
        let not_started =
            |command: &Command, error: &std::io::Error| ssh_not_started(host, command, error);
        let mut transport = SshLogin { host, interactive };
        ShellSession::open(shell, &mut transport, program, interrupt, not_started).map(Self)
    }
}

impl Session for SshSession<'_> {
    fn hello(&self) -> &Hello {
        self.0.hello()
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        self.0.send(order)
    }

    fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        self.0.next(timeout)
    }
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

/// The command for the login shell.
fn remote_command(copy: &WorkerCopy) -> String {
    format!("exec sh -c '{}'", copy.script())
}

/// A login to a machine by ssh.
struct SshLogin<'b> {
    host: &'b str,
    interactive: bool,
}

impl Transport for SshLogin<'_> {
    fn program(&self) -> &'static str {
        "ssh"
    }

    fn host(&self) -> String {
        format!("ssh:{}", self.host)
    }

    fn login_timeout(&self) -> Duration {
        if self.interactive { INTERACTIVE_LOGIN_TIMEOUT } else { LOGIN_TIMEOUT }
    }

    fn hint(&self) -> String {
        login_hint(self.host)
    }

    fn is_queued(&mut self, _: &str) -> Result<bool, LoginFailure> {
        Ok(false)
    }

    fn diagnose(&self, end: &ChildEnd) -> LoginFailure {
        diagnose(self.host, end)
    }
}

fn ssh_not_started(host: &str, command: &Command, error: &std::io::Error) -> HostError {
    HostError::Unreachable {
        host: format!("ssh:{host}"),
        why: format!("`{}` cannot be started: {error}", command.get_program().display()),
        hint: "install the OpenSSH client; OSCOST_SSH names one at another path".to_owned(),
    }
}

fn login_hint(host: &str) -> String {
    format!("`ssh {host} true` must work; hosts, ports and keys are configured in ssh_config(5)")
}

/// Diagnoses a failed login from ssh's exit status and output.
fn diagnose(host: &str, end: &ChildEnd) -> LoginFailure {
    let output = tail(&end.stderr);
    let has = |text: &str| end.stderr.contains(text);
    if end.status.and_then(|status| status.code()) != Some(SSH_FAILED) {
        let status = end.status.map_or("no status".to_owned(), |status| status.to_string());
        let why = because(&format!("no reply from the remote shell ({status})"), &output);
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
    LoginFailure { why: because(why, &output), hint }
}

/// A failure and what ssh said of it, which may be nothing.
fn because(why: &str, output: &str) -> String {
    match output.trim() {
        "" => why.to_owned(),
        output => format!("{why}: {output}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn the_login_shell_gets_the_script_in_single_quotes() {
        let command = remote_command(&WorkerCopy::of("0a", b"abc"));
        assert!(command.starts_with("exec sh -c 'k=0a h="), "{command}");
        assert!(command.ends_with('\'') && command.matches('\'').count() == 2, "{command}");
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
        assert_eq!(diagnose(SSH_FAILED, "\n").why, "ssh failed");
        let long = diagnose(SSH_FAILED, &"x".repeat(10_000)).why;
        assert!(long.chars().count() < 1_000, "{long}");
    }
}
