//! The memory with the arguments and the environment of another task's program, as /proc tells it.

use std::fs;

/// The fields of `stat` (proc_pid_stat(5)) where the arguments begin and where the environment ends.
const ARG_START: usize = 48;
const ENV_END: usize = 51;

/// The bytes of the arguments and the environment that the program of a task was given; `None` if they
/// cannot be found out.
pub fn bytes_of(task: u32) -> Option<u64> {
    bytes_in(&fs::read_to_string(format!("/proc/{task}/stat")).ok()?)
}

/// The same by the text of `stat`. The kernel writes 0 for addresses to who may not trace the task.
fn bytes_in(stat: &str) -> Option<u64> {
    // The second field, the name, may contain spaces and parentheses.
    let (_, behind) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let address = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let begin = address(ARG_START).filter(|&address| address > 0)?;
    address(ENV_END)?.checked_sub(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `stat` of a process with these addresses.
    fn stat(begin: u64, end: u64) -> String {
        let fields = (3..ARG_START).map(|number| number.to_string()).collect::<Vec<_>>();
        format!("7 (a) b) {} {begin} 0 0 {end} 0", fields.join(" "))
    }

    #[test]
    fn the_bytes_lie_between_two_addresses() {
        assert_eq!(bytes_in(&stat(140_000, 143_000)), Some(3_000));
        assert_eq!(bytes_in(&stat(140_000, 140_000)), Some(0));
        assert_eq!(bytes_in(&stat(0, 0)), None);
        assert_eq!(bytes_in(&stat(140_000, 1)), None);
        assert_eq!([bytes_in(""), bytes_in("7 (a) S 1 2")], [None, None]);
    }

    #[test]
    fn those_of_this_process_contain_its_arguments() {
        let arguments: usize = std::env::args_os().map(|it| it.len() + 1).sum();
        let found = bytes_of(std::process::id());
        assert!(found.is_some_and(|bytes| bytes >= arguments as u64), "{found:?}");
        assert_eq!(bytes_of(u32::MAX), None);
    }
}
