//! Why the system time of a program may be too low: few clock ticks divide the CPU time of its processes.

use crate::estimate::time_in_three_digits;
use crate::run::ProgramRuns;

/// By how much, at most by all of its user time, with the clock ticks that a process has, and why nothing
/// else divides its CPU time.
pub(super) fn text(user_s: f64, runs: &ProgramRuns, tick_ns: f64, why: &str) -> String {
    let (ticks, up_to) = (clock_ticks(runs, tick_ns), time_in_three_digits(1e9 * user_s));
    format!(
        "{ticks}, and all the time of a process that no tick finds in the kernel is accounted as user \
         time: its system time may be too low, by up to {up_to} ({why})"
    )
}

/// How many clock ticks the processes of a program with trials have, in words: what they take on a CPU
/// over the time between two ticks. Without counts it is not known how many processes there are.
fn clock_ticks(runs: &ProgramRuns, tick_ns: f64) -> String {
    let cpu_ns: f64 = runs.trials.iter().map(|it| it.usage.cpu_ns() as f64).sum();
    let ticks = cpu_ns / runs.trials.len() as f64 / tick_ns;
    let number = |ticks: f64| match ticks < 0.1 {
        true => "less than 0.1".to_owned(),
        false => format!("{ticks:.1}"),
    };
    let counted = runs.counted.as_ref().ok().and_then(|counted| counted.last());
    match counted.map(|calls| calls.forks) {
        None => format!("a run of it has {} clock ticks on average", number(ticks)),
        Some(0) => format!("its process has {} clock ticks on average", number(ticks)),
        Some(forks) => {
            let processes = forks as f64 + 1.0;
            let of_each = number(ticks / processes);
            format!("its {processes} processes have {of_each} clock ticks each on average")
        }
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::program::{TreeUsage, Trial};
    use oscost_model::program_calls::ProgramCalls;

    use super::*;

    /// What is said of trials of 20 ms in each mode, which are ten clock ticks.
    fn said(counted: Result<Vec<ProgramCalls>, String>) -> String {
        let [user_ns, system_ns] = [20_000_000; 2];
        let usage = TreeUsage { user_ns, system_ns, ..TreeUsage::default() };
        let runs = ProgramRuns {
            trials: vec![Trial { usage, ..Trial::default() }; 3],
            counted,
            counted_without: None,
            events: Ok(Vec::new()),
            groups: None,
            interrupted: false,
        };
        text(0.02, &runs, 4e6, "none is mounted")
    }

    #[test]
    fn it_names_the_clock_ticks_that_a_process_has() {
        let of_forks = |forks| said(Ok(vec![ProgramCalls { forks, ..ProgramCalls::default() }]));
        assert_eq!(
            of_forks(3),
            "its 4 processes have 2.5 clock ticks each on average, and all the time of a process that \
             no tick finds in the kernel is accounted as user time: its system time may be too low, \
             by up to 20.0 ms (none is mounted)"
        );
        assert!(of_forks(199).starts_with("its 200 processes have less than 0.1 clock ticks each"));
        assert!(of_forks(0).starts_with("its process has 10.0 clock ticks on average, and"));
        let uncounted = said(Err("no counter".to_owned()));
        assert!(uncounted.starts_with("a run of it has 10.0 clock ticks on average, and all"));
    }
}
