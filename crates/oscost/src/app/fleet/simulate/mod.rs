//! `oscost fleet simulate`: the folder of a made-up fleet with planted faults, whose records are
//! valid, and say that they are simulated.

mod machine;
mod record;
mod write;

pub use write::{SimulateRequest, SimulatedFolder, simulate};
