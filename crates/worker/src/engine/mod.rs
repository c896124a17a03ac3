//! The engine room: it turns Work into samples.
//!
//! What this room is for: clocks and their calibration, the pilot, warm-up, batches, the signals of
//! disturbance, fork twins, gap probes. What it may not know: any benchmark by name, and anything
//! that prints or stores.
//!
//! Everything is generic over [`clock::Clock`] and [`covariates::Covariates`], so that the same code
//! runs on a real machine and on the simulator (`sim`, a feature for tests), where the truth is
//! known.

pub mod calibrate;
pub mod clock;
pub mod clock_check;
pub mod collect;
pub mod count;
pub mod covariates;
pub mod instructions;
pub mod pilot;
pub mod probe;
#[cfg(feature = "sim")]
pub mod simulator;
pub mod tick;
pub mod twins;
