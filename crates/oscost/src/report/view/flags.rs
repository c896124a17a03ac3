//! What each flag means.

/// What a row's flag means, for the notes below a table.
pub fn of_row(flag: &str) -> &'static str {
    match flag {
        "ADDED" => "measured to place a break of a curve: see `curves`",
        "REFERENCE" => "measured in every round although not asked for",
        "PRIMITIVE" => "measured although not asked for: what was asked for cannot cost less",
        "CALLS_UNEXPECTED" => "it does not make the system calls that its definition names",
        "CALLS_UNCOUNTED" => "its system calls could not be counted here",
        "CLASS_BORDERLINE" => "light or heavy: three bare doors lie within its uncertainty",
        "CLASS_UNEXPECTED" => {
            "it enters the kernel against its definition, or stays out of it and costs as much as \
             entering it: something traps, emulates or falls back"
        }
        "COARSE_CLOCK" => "no batch length suits the clock, the interruptions here and the op",
        "FEW_REPETITIONS" => "below six repetitions there is no interval",
        "NOT_EXACT" => {
            "not every repetition brought the same number: where they differ, their range stands \
             here"
        }
        "NOT_CONVERGED" => "its interval is wider than was asked for",
        "BELOW_DETECTION" => {
            "smaller than twice its own uncertainty: it cannot be told from nothing"
        }
        "SKEWED" => "most repetitions are not near the median: skewed, or bimodal",
        "REJECT_MATTERS" => "the disturbed batches would change the figure",
        "NOT_A_LINE" => "twice the ops do not take twice the time: one figure is not enough",
        "REJECTION_BLIND" => "switches could not be counted here: nothing was rejected for them",
        "WORKER_LOST" => "a worker crashed or hung once; it was measured again",
        "DRIFT" => "it had not settled: the end of a cell differs from its beginning by over 1 %",
        "PROCESSES_DIFFER" => "processes differ, and the interval covers it",
        "HALF_ASSUMED" => {
            "half of it as the time one way is an assumption: clocks of two machines are not \
             compared"
        }
        "HOST_WARM" => {
            "guest-cold, host-warm: this kernel had nothing of the file, and the machine below may \
             have had all of it in memory"
        }
        "NETWORK_FILES" => "its file is on another machine: not a figure of a disk",
        "OVERLAY_FILES" => {
            "its file lies on an overlay of other file systems: no figure of any one of them"
        }
        "UNKNOWN_FILES" => "what is behind its file system is unknown: not a figure of a disk",
        "LONG_SHOTS" => "single shots of over 1 ms are often disturbed on a shared machine",
        "UNRELIABLE" => "too much time was lost for an absolute figure of single shots",
        "BELOW_FLOOR" => "cheaper than what it contains: oscost's own mistake, please report it",
        _ => "unknown to this version",
    }
}

/// What a comparison's flag means.
pub fn of_comparison(flag: &str) -> &'static str {
    match flag {
        "BLOCKS" => "neighbouring pairs are correlated: they were merged two by two",
        "CALLS_DIFFER" => "an op makes other system calls in the one than in the other",
        "EFFECT_DRIFTS" => "the effect differs between the first and the second half of the pairs",
        "FEW_PAIRS" => "below six pairs there is no interval and no verdict",
        "NEVER_SEEN" => "an op makes no system call: the treatment never sees it",
        "UNRELIABLE" => "too much time was lost, or the clock drifted: no verdict",
        "NOT_EXACT" => {
            "not every repetition of one side brought the same number: the ranges of both are \
             compared"
        }
        "VOID" => "the control shows an effect of nothing: no verdict can be believed",
        "REJECTION_DIFFERS" => {
            "more batches were disturbed on one side: what was left out may be the effect"
        }
        "SPECULATION_DIFFERS" => {
            "the kernel lets the one side speculate and not the other: that is part of the price"
        }
        "SHORT_SPAN" => "all pairs lie within a minute: how the effect drifts is unknown",
        _ => "unknown to this version",
    }
}

/// What a flag of the whole run means.
pub fn of_run(flag: &str) -> &'static str {
    match flag {
        "REFERENCE_DRIFT" => {
            "the reference cases differ by over 3 % between the beginning and the end of the run: something \
             was attached, or the machine changed under it"
        }
        "CLOCK_DRIFTED" => "the clock's rate changed during the run: do not trust any figure of it",
        "THROTTLED" => "the control group's CPU quota stopped cells while they were timing",
        "UNPINNED" => "cells could not be pinned to a CPU: figures of several CPUs are mixed",
        "TRACED" => "something that slows every system call was attached",
        _ => "unknown to this version",
    }
}
