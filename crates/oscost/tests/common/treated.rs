//! A command under treatments that a test ends.

use std::io::Read;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{PATIENCE, Sandbox, end_of};

/// A sleeping process under treatments of the whole system and of its own; `None` if they cannot be
/// applied.
#[expect(clippy::print_stderr, reason = "a skipped test prints why")]
pub(crate) fn sleeper(sandbox: &Sandbox, treatments: &str) -> Option<Child> {
    let arguments = ["treat", treatments, "--", "sh", "-c", "echo up; exec sleep 1000"];
    let plain = sandbox.command(&arguments);
    // A signal that the parent of the tests ignores (nohup(1), a background shell) would stay
    // ignored.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(plain.get_program());
    command.args(plain.get_args()).env_clear().stdin(Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let command = command.stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let output = child.stdout.as_mut().unwrap();
    let mut fds = [PollFd::new(output.as_fd(), PollFlags::POLLIN)];
    let ready = poll(&mut fds, PollTimeout::try_from(PATIENCE).unwrap()).unwrap();
    assert_eq!(ready, 1, "a command under {treatments} has neither begun nor failed");
    let is_up = output.read_exact(&mut [0; 3]).is_ok();
    if !is_up {
        eprintln!("cannot run here: {treatments}");
        end_of(&mut child);
    }
    is_up.then_some(child)
}

/// Sends a signal to a process, by the name of kill(1).
pub(crate) fn kill(signal: &str, pid: u32) {
    assert!(pid > 1);
    let sent = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}
