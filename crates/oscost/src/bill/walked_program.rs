//! How long the walk through memory is that leaves the caches as a program does.

use oscost_model::cool::SPREAD_WALK_BYTES;
use oscost_model::program_calls::ProgramCalls;

use super::fault_items::FEW_PAGES;

/// The walk is as long as what a process of the program touches, but not shorter than a second-level
/// cache of 256 KiB ...
const MIN_WALK_BYTES: f64 = 262_144.0;
/// ... and not longer than this: few processes use more of their memory between two calls.
const MAX_WALK_BYTES: f64 = 1_048_576.0;
/// Where at least this share of the processes begins on another CPU, the walk is the longest, however little
/// each touches.
const MOVED_SHARE: f64 = 0.1;
/// A program that has so much user time between two calls or faults has the spread walk, which takes about as
/// long.
const LONG_COMPUTATION_NS: f64 = 50_000.0;
/// So has it only if each of its processes touches more than this, on average: more than a second-level
/// cache has.
const MUCH_MEMORY_BYTES: f64 = FEW_PAGES * 4_096.0;

/// What decides how long the walk is that is like a program.
pub struct WalkedProgram<'a> {
    /// What it did.
    pub calls: &'a ProgramCalls,
    /// Its minor faults.
    pub minor_faults: f64,
    /// The size of a page of its machine.
    pub page_bytes: u64,
    /// Its user time in nanoseconds.
    pub user_ns: f64,
}

impl WalkedProgram<'_> {
    /// The bytes of the walk: a power of two.
    ///
    /// Each page that a process touches first is a fault. (The largest resident set would be the
    /// supervisor's where the program's is smaller: it is counted from before execve(2).) What a child finds
    /// that begins on another CPU is in the caches of its parent's alone, and its own caches hold what ran there
    /// before: a walk through little memory would leave all of it in the second-level cache.
    pub fn walk_bytes(&self) -> u64 {
        let Self { calls, minor_faults, page_bytes, user_ns } = *self;
        let processes = 1.0 + calls.forks as f64;
        let touched = minor_faults * page_bytes as f64 / processes;
        let entries = calls.calls() as f64 + minor_faults;
        if touched > MUCH_MEMORY_BYTES && user_ns >= LONG_COMPUTATION_NS * entries {
            return SPREAD_WALK_BYTES;
        }
        let moved = calls.events.and_then(|events| events.forks_to_other_cpu).unwrap_or(0);
        let walked = match moved as f64 >= MOVED_SHARE * processes {
            true => MAX_WALK_BYTES,
            false => touched,
        };
        1 << walked.clamp(MIN_WALK_BYTES, MAX_WALK_BYTES).log2().round() as u32
    }
}
