//! A process beside the holder, for the one thing that no end of the holder may leave behind:
//! processes that are stopped.
//!
//! The programs note whom they stop in a map before they do. The guard holds that map too; when its
//! input ends, by whatever end of the holder, it continues all that are on the list, and ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::monitor::{stopped_map_by_id, stopped_pids};
use super::stopped_processes::continue_process;

/// When a holder was killed, its programs go with its descriptors, a moment after its end is known
/// here: so long the list is looked at again and again.
const SWEEP_INTERVAL: Duration = Duration::from_millis(10);
const SWEEPS: u32 = 100;
/// What a guard says when it has the list.
const READY: &str = "watching\n";
/// What its holder says when there is nothing left to do.
const DONE: &str = "done\n";

/// A guard, as its holder has it.
#[derive(Debug)]
pub struct CleanupProcess(Child);

impl CleanupProcess {
    /// Starts this program once more as a guard.
    pub fn start() -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot start a guard: {error}");
        let program = std::env::current_exe().map_err(failed)?;
        let child = Command::new(program)
            .args(["ph", "cleanup"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What a terminal's keys end is the holder, and not who cleans up after it.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Self(child))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Gives it the list's number, and waits until it has the list.
    pub fn watch(&mut self, list: u32) -> Result<(), String> {
        let failed = |error: io::Error| format!("cannot talk to the guard: {error}");
        let input = self.0.stdin.as_mut().ok_or("the guard has no input")?;
        writeln!(input, "{list}").map_err(failed)?;
        let output = self.0.stdout.take().ok_or("the guard has no output")?;
        let mut said = String::new();
        BufReader::new(output.take(4_096)).read_line(&mut said).map_err(failed)?;
        if said == READY {
            return Ok(());
        }
        let why = said.trim_end();
        let why = if why.is_empty() { "it has ended" } else { why };
        Err(format!("without a guard nobody is stopped: {why}; it takes root (CAP_SYS_ADMIN)"))
    }

    /// Whether it still watches: without one nobody may be stopped.
    pub fn check(&mut self) -> Result<(), String> {
        match self.0.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("the guard has ended ({status}): nobody is stopped")),
            Err(error) => Err(format!("cannot look after the guard: {error}")),
        }
    }

    /// Ends it.
    pub fn end(mut self) {
        // A guard that does not hear it looks at a list that is empty.
        let _ = self.0.stdin.as_mut().map(|input| input.write_all(DONE.as_bytes()));
    }
}

impl Drop for CleanupProcess {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Is a guard: reads the number of the list, and waits for the end of the input.
pub fn run_cleanup(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    // It ends with its input, and not before.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let mut line = String::new();
    input.take(64).read_line(&mut line)?;
    let list = line.trim_end().parse().map_err(|_| "the holder named no list".to_owned());
    let list = match list.and_then(stopped_map_by_id) {
        Ok(list) => list,
        Err(why) => return writeln!(output, "{why}"),
    };
    output.write_all(READY.as_bytes())?;
    output.flush()?;
    let mut last = String::new();
    input.take(64).read_line(&mut last)?;
    if last == DONE {
        return Ok(()); // The holder has continued all of them.
    }
    // Nobody is taken off the list: a program that still runs may stop a process once more.
    for _ in 0..SWEEPS {
        for process in stopped_pids(&list) {
            let _ = continue_process(process);
        }
        sleep(SWEEP_INTERVAL);
    }
    Ok(())
}
