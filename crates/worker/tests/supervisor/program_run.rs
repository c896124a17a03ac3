//! Programs as subjects: the result of a run, its failures, and that it leaves no processes or files.

mod calls;
mod leftovers;
mod results;
mod surroundings;
