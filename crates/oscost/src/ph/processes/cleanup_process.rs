//! The cleanup process: it continues stopped processes if the monitor process is killed.
//!
//! The BPF programs enter a process into a map before they stop it. The cleanup process has that
//! map open too. When its input ends, for whatever reason the monitor process ended, it continues
//! all processes in the map, and ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::files::own_program::own_program;
use crate::ph::monitor::{stopped_map_by_id, stopped_pids};
use crate::ph::processes::stopped_processes::continue_process;

/// When the monitor process is killed, its programs disappear with its descriptors, a moment after
/// the end of the input is known here: the map is swept repeatedly until then.
const SWEEP_INTERVAL: Duration = Duration::from_millis(10);
const SWEEPS: u32 = 100;
/// Sent by the cleanup process when it has opened the map.
const READY: &str = "watching\n";
/// Sent by the monitor process when nothing is left to do.
const DONE: &str = "done\n";

/// A running cleanup process.
#[derive(Debug)]
pub struct CleanupProcess(Child);

impl CleanupProcess {
    /// Starts this program as the cleanup process.
    pub fn start() -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot start the cleanup process: {error}");
        let program = own_program().map_err(failed)?;
        let child = Command::new(program)
            .args(["ph", "cleanup"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C in a terminal must end the monitor process only.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Self(child))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Sends it the id of the map, and waits until it has opened the map.
    pub fn watch(&mut self, map_id: u32) -> Result<(), String> {
        let failed =
            |error: io::Error| format!("cannot communicate with the cleanup process: {error}");
        let input = self.0.stdin.as_mut().ok_or("the cleanup process has no input")?;
        writeln!(input, "{map_id}").map_err(failed)?;
        let output = self.0.stdout.take().ok_or("the cleanup process has no output")?;
        let mut reply = String::new();
        BufReader::new(output.take(4_096)).read_line(&mut reply).map_err(failed)?;
        if reply == READY {
            return Ok(());
        }
        let why = reply.trim_end();
        let why = if why.is_empty() { "it has ended" } else { why };
        Err(format!(
            "the cleanup process failed, so no process may be delayed: {why}; it needs root \
             (CAP_SYS_ADMIN)"
        ))
    }

    /// Checks that it is running: without it, no process may be stopped.
    pub fn check(&mut self) -> Result<(), String> {
        match self.0.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => {
                Err(format!("the cleanup process ended ({status}): no process may be delayed"))
            }
            Err(error) => Err(format!("cannot check the cleanup process: {error}")),
        }
    }

    /// Ends it.
    pub fn end(mut self) {
        // If this fails, it sweeps an empty map.
        let _ = self.0.stdin.as_mut().map(|input| input.write_all(DONE.as_bytes()));
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Runs the cleanup process: reads the id of the map, and waits for the end of the input.
pub fn run_cleanup(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    // Signals must not end it before its input ends.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut line = String::new();
    input.take(64).read_line(&mut line)?;
    let map_id =
        line.trim_end().parse().map_err(|_| "the monitor process sent no map id".to_owned());
    let stopped = match map_id.and_then(stopped_map_by_id) {
        Ok(stopped) => stopped,
        Err(why) => return writeln!(output, "{why}"),
    };
    output.write_all(READY.as_bytes())?;
    output.flush()?;
    let mut last = String::new();
    input.take(64).read_line(&mut last)?;
    if last == DONE {
        return Ok(()); // The monitor process has continued all of them.
    }
    // No entry is removed: a program that is still attached may stop a process again.
    for _ in 0..SWEEPS {
        for process in stopped_pids(&stopped) {
            let _ = continue_process(process);
        }
        sleep(SWEEP_INTERVAL);
    }
    Ok(())
}
