//! Whether commands that compute have waited for a CPU.

use oscost_model::program::{TreeUsage, Trial};
use oscost_stats::order;

/// A program that is on a CPU for at least this part of its time is judged by its CPU time, to which
/// a competitor for the CPU adds nothing.
const BUSY_SHARE: f64 = 0.8;
/// The same if it was preempted more often than it waited, or never waited for anything but a CPU.
const PREEMPTED_SHARE: f64 = 0.05;
/// The last switch of a process, at its exit, is a voluntary one (do_task_dead() in
/// kernel/sched/core.c). wait4(2) most often returns after it.
const SWITCHES_OF_EXIT: u64 = 1;

/// Wall time over CPU time above which a program that computes has waited for a CPU ...
const MAX_STRETCH: f64 = 1.5;
/// ... for at least this time: a time slice is longer, and creating a process and reaping it, of which
/// the process is charged a part only, takes less.
const MIN_WAIT_NS: f64 = 1e6;
/// The part of the trials that stands for those without a wait.
const UNDISTURBED: f64 = 0.1;

/// Whether a program computes: it was on a CPU, or waited for one because others had it.
pub(in crate::estimate) fn is_busy(trial: &Trial) -> bool {
    let usage = trial.usage;
    let share = usage.cpu_ns() as f64 / trial.real_ns.max(1) as f64;
    let was_preempted = usage.involuntary_switches > 4 * usage.voluntary_switches.max(1);
    let waited_for_no_other = was_preempted || never_slept(trial);
    share >= BUSY_SHARE || share >= PREEMPTED_SHARE && waited_for_no_other
}

/// Whether a command that computes, by its warm-up or because it never slept, has
/// waited for a CPU: in most trials, or in so many that their median is far from the lowest decile.
pub(in crate::estimate) fn waited_for_cpu(warm_up: Option<&Trial>, trials: &[&Trial]) -> bool {
    let is_most = |holds: fn(&Trial) -> bool| {
        2 * trials.iter().filter(|trial| holds(trial)).count() > trials.len()
    };
    let computes = warm_up.is_some_and(is_busy) || is_most(never_slept);
    computes && (is_most(has_waited) || has_two_speeds(trials))
}

/// Whether nothing but a CPU was waited for: a sleep is a voluntary switch. One thread has that of its
/// exit, each further one another. A kernel that counts no switches says nothing.
fn never_slept(trial: &Trial) -> bool {
    let TreeUsage { voluntary_switches, involuntary_switches, .. } = trial.usage;
    voluntary_switches <= SWITCHES_OF_EXIT && voluntary_switches + involuntary_switches > 0
}

fn has_waited(trial: &Trial) -> bool {
    let (real_ns, cpu_ns) = (trial.real_ns as f64, trial.usage.cpu_ns() as f64);
    real_ns > MAX_STRETCH * cpu_ns && real_ns - cpu_ns > MIN_WAIT_NS
}

/// Whether the median of wall time over CPU time is far above the lowest decile. By the ratio, since
/// trials may have different work; and it may be below one, on several CPUs.
fn has_two_speeds(trials: &[&Trial]) -> bool {
    let decile_and_median = |of: fn(&Trial) -> f64| {
        let values = order::sorted(&trials.iter().map(|trial| of(trial)).collect::<Vec<f64>>());
        Some([order::quantile(&values, UNDISTURBED)?, order::median(&values)?])
    };
    let of_real = decile_and_median(|trial| trial.real_ns as f64);
    let of_stretch =
        decile_and_median(|trial| trial.real_ns as f64 / trial.usage.cpu_ns().max(1) as f64);
    let (Some([real_low, real]), Some([low, median])) = (of_real, of_stretch) else { return false };
    median > MAX_STRETCH * low && real - real_low > MIN_WAIT_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(real_us: u64, cpu_us: u64, switches: [u64; 2]) -> Trial {
        let [voluntary_switches, involuntary_switches] = switches;
        let user_ns = 1_000 * cpu_us;
        let usage =
            TreeUsage { user_ns, voluntary_switches, involuntary_switches, ..Default::default() };
        Trial { real_ns: 1_000 * real_us, usage, ..Trial::default() }
    }

    fn is_flagged(warm_up: &Trial, trials: &[Trial]) -> bool {
        waited_for_cpu(Some(warm_up), &trials.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_command_whose_exit_waits_for_a_time_slice_in_most_trials_is_flagged() {
        let (free, waiting) = (trial(520, 440, [0, 0]), trial(3_760, 440, [0, 1]));
        let of = |waits: usize| -> Vec<Trial> {
            (0..9).map(|at| if at < waits { waiting.clone() } else { free.clone() }).collect()
        };
        assert!(is_flagged(&free, &of(9)), "the warm-up was not disturbed");
        assert!(is_flagged(&waiting, &of(9)), "it was, but the command never slept");
        assert!(is_flagged(&free, &of(5)));
        // It stood in the queue of a CPU from its start to its first time slice: no switch tells that.
        let queued = trial(3_650, 1_030, [1, 0]);
        assert!(is_busy(&queued) && is_flagged(&queued, &vec![queued.clone(); 9]));
        let uncounted = trial(3_650, 1_030, [0, 0]);
        assert!(!is_busy(&uncounted) && !is_flagged(&uncounted, &vec![uncounted.clone(); 9]));
        let asleep = trial(3_650, 1_030, [2, 0]);
        assert!(!is_busy(&asleep) && !is_flagged(&asleep, &vec![asleep.clone(); 9]));
        assert!(!is_flagged(&free, &of(4)), "the median is that of a free CPU");
        assert!(!is_flagged(&free, &[]));
    }

    #[test]
    fn a_command_that_sleeps_or_is_too_short_for_a_wait_is_not_flagged() {
        let sleeps = trial(10_000, 500, [3, 1]);
        assert!(!is_flagged(&sleeps, &vec![sleeps.clone(); 9]));
        // Most of it is the creation of a process, of which it is charged a part.
        let tiny = trial(250, 90, [0, 0]);
        assert!(!is_flagged(&trial(100, 90, [0, 0]), &vec![tiny; 9]));
        assert!(!waited_for_cpu(None, &[&sleeps; 9]));
    }

    #[test]
    fn a_command_on_several_cpus_is_judged_by_its_own_undisturbed_trials() {
        let (free, waiting) = (trial(10_000, 40_000, [5, 0]), trial(19_000, 40_000, [5, 90]));
        let mixed = |waits: usize| -> Vec<Trial> {
            (0..20).map(|at| if at < waits { waiting.clone() } else { free.clone() }).collect()
        };
        assert!(is_flagged(&free, &mixed(15)));
        assert!(!is_flagged(&free, &mixed(5)));
        // Another input has more work, not more waits.
        let work = |at: u64| trial(10_000 * at, 9_900 * at, [0, 0]);
        assert!(!is_flagged(&free, &(1..20).map(work).collect::<Vec<_>>()));
    }
}
