//! What each flag means.

/// What a row's flag means, for the notes below a table.
pub fn of_row(flag: &str) -> &'static str {
    match flag {
        "ADDED" => "measured to place a break of a curve: see `curves`",
        "REFERENCE" => "measured in every round although not asked for",
        "PRIMITIVE" => "measured although not asked for: what was asked for cannot cost less",
        "CALLS_UNEXPECTED" => "it does not make the system calls that its definition names",
        "CALLS_UNCOUNTED" => "its system calls could not be counted here",
        "CLASS_BORDERLINE" => {
            "light or heavy: its interval contains three times the null system call"
        }
        "CLASS_UNEXPECTED" => {
            "it enters the kernel against its definition, or does not and costs as much as a system \
             call: something traps, emulates or falls back"
        }
        "COARSE_CLOCK" => "no batch length suits the clock, the rate of interruptions and the op",
        "FEW_REPETITIONS" => "below six repetitions there is no interval",
        "NOT_EXACT" => "not all repetitions counted the same number: the figure is their range",
        "NOT_CONVERGED" => "what the run leaves open is wider than was asked for",
        "BELOW_DETECTION" => "its interval contains zero: the upper end is a bound of the figure",
        "SKEWED" => "most repetitions are not near the median: skewed, or bimodal",
        "REJECT_MATTERS" => "the disturbed batches would change the figure",
        "NOT_A_LINE" => {
            "twice the ops do not take twice the time: one figure does not describe them"
        }
        "REJECTION_BLIND" => "switches could not be counted here: no batch was rejected for them",
        "WORKER_LOST" => "a worker crashed or hung once and was replaced",
        "DRIFT" => "not settled: the end of a worker differs from its beginning by over 1 %",
        "PROCESSES_DIFFER" => "processes differ, and the interval covers it",
        "HALF_ASSUMED" => {
            "half of it as the time one way is an assumption: clocks of two machines are not \
             compared"
        }
        "HOST_WARM" => {
            "cold in the guest, perhaps warm in the host: this kernel had none of the file in \
             memory, the host may have had all of it"
        }
        "NETWORK_FILES" => "its file is on another machine: the figure is not that of a disk",
        "OVERLAY_FILES" => {
            "its file is on an overlay of other file systems: the figure is not that of one of them"
        }
        "UNKNOWN_FILES" => {
            "the device of its file system is unknown: the figure may not be that of a disk"
        }
        "TWO_LEVELS" => {
            "repetitions lie around two values, and the interval spans both: a shorter run may show one \
             of them alone"
        }
        "TICK_SPLIT" => {
            "the clock tick divides CPU time into user and system time: their sum is exact, the two of \
             a short trial are not"
        }
        "LONG_SHOTS" => "single shots of over 1 ms are often disturbed on a shared machine",
        "UNRELIABLE" => "too much time was lost for an absolute figure of single shots",
        "BELOW_FLOOR" => {
            "less than the least that its parts can cost: an error of oscost, please report it"
        }
        _ => "unknown to this version",
    }
}

/// What a comparison's flag means.
pub fn of_comparison(flag: &str) -> &'static str {
    match flag {
        "BLOCKS" => "neighbouring pairs are correlated: they were merged two by two",
        "CALLS_DIFFER" => "an op makes different system calls on the two sides",
        "EFFECT_DRIFTS" => "the effect differs between the first and the second half of the pairs",
        "FEW_PAIRS" => "below six pairs there is no interval and no verdict",
        "MODES_DIFFER" => {
            "the two sides were timed in two modes, which the cost of the op selects: they agree within \
             1 %"
        }
        "NEVER_SEEN" => "an op makes no system call: the treatment does not affect it",
        "UNRELIABLE" => "too much time was lost, or the clock drifted: no verdict",
        "NOT_EXACT" => {
            "not all repetitions of a side counted the same number: the ranges of both sides are \
             compared"
        }
        "VOID" => "the control shows an effect where nothing differs: no verdict is given",
        "OUTPUT_DIFFERS" => "the commands wrote different output: they may not do the same",
        "SECONDARY" => {
            "the verdict rests on another metric: of commands CPU time if both computed in their warm-up, \
             otherwise wall time; of a row that follows the core's rate whichever of time and core \
             cycles varies less between runs"
        }
        "REJECTION_DIFFERS" => {
            "more batches were disturbed on one side: what was left out may be the effect"
        }
        "SPECULATION_DIFFERS" => "only one side may speculate: that is part of the difference",
        "SHORT_SPAN" => "all pairs lie within a minute: how the effect drifts is unknown",
        "WORK_VARIES" => {
            "the instructions of a side vary by over 0.2 % between its workers: the op does not \
             repeat"
        }
        _ => "unknown to this version",
    }
}

/// What a flag of the whole run means.
pub fn of_run(flag: &str) -> &'static str {
    match flag {
        "REFERENCE_DRIFT" => {
            "a reference case moved from the first to the last third of the run by more than it varies \
             between runs: something was attached, or the machine changed"
        }
        "CLOCK_DRIFTED" => "the clock's rate changed during the run: do not trust any figure of it",
        "THROTTLED" => "the control group's CPU quota stopped workers while they were timing",
        "UNPINNED" => "workers could not be pinned to a CPU: figures of several CPUs are mixed",
        "TRACED" => "something that slows every system call was attached",
        _ => "unknown to this version",
    }
}
