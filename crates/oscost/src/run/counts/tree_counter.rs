//! A counter of calls that is not the worker's own: it counts in the kernel what a program does that
//! the worker runs as in any trial.

use oscost_model::program_calls::ProgramCalls;

/// Counts the calls of one program at a time, with all that it starts.
pub trait TreeCounter {
    /// Begins to count the program that the next process with this mark starts; returns the token of
    /// the mark.
    fn begin(&mut self) -> Result<u64, String>;

    /// Ends, and returns what the program did. Nothing stays attached.
    fn end(&mut self) -> Result<ProgramCalls, String>;
}
