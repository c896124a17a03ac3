//! The end of everything that a program leaves running.

use std::fs;
use std::time::{Duration, Instant};

use super::external_program::quoted_command;
use crate::kernel::process::{self, WaitTarget};
use crate::supervisor::protocol::io::time_until;

/// Kills every child of this process, and the orphans that are reparented to it; returns the names
/// of those that were still running.
pub(super) fn kill_children() -> Vec<String> {
    kill_children_except(&[])
}

/// The same, except for these children.
pub(super) fn kill_children_except(kept: &[u32]) -> Vec<String> {
    // A program that forks faster than it can be killed is left to the supervisor.
    const PATIENCE: Duration = Duration::from_secs(2);
    let deadline = Instant::now() + PATIENCE;
    let (mut names, mut killed) = (Vec::new(), Vec::new());
    loop {
        let mut children = process::children();
        children.retain(|pid| !kept.contains(pid));
        if children.is_empty() || time_until(deadline).is_zero() {
            return names;
        }
        // All are killed before any is waited for: one may wait for another, and a set-uid program
        // cannot be killed.
        for pid in children {
            if let Ok(None) = process::wait(WaitTarget::Child(pid), false)
                && !killed.contains(&pid)
            {
                let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
                process::kill(pid);
                names.push(String::from_utf8_lossy(name.trim_ascii_end()).into_owned());
                killed.push(pid);
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Those names in a message; `None` if there are none.
pub(super) fn describe_leftovers(names: &[String]) -> Option<String> {
    const NAMED: usize = 5;
    let shown: Vec<String> =
        names.iter().take(NAMED).map(|name| quoted_command(std::slice::from_ref(name))).collect();
    let count = match names {
        [] => return None,
        [_] => "a process".to_owned(),
        _ => format!("{} processes", names.len()),
    };
    let more = if names.len() > NAMED { ", ..." } else { "" };
    Some(format!("left {count} running: {}{more}", shown.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftover_processes_are_named_up_to_five() {
        let names = |count: usize| vec!["a\nb".to_owned(); count];
        assert_eq!(describe_leftovers(&[]), None);
        assert_eq!(describe_leftovers(&names(1)).unwrap(), r"left a process running: `a\nb`");
        let many = describe_leftovers(&names(7)).unwrap();
        assert!(many.starts_with("left 7 processes running: ") && many.ends_with("`, ..."));
        assert_eq!(many.matches('`').count(), 10);
        assert_eq!(quoted_command(&["x".repeat(99)]).len(), 82);
    }
}
