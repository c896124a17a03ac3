//! The engine room: it turns Work into samples.
//!
//! What this room is for: clocks and their calibration, the pilot, warm-up, batches, the signals of
//! disturbance, fork twins, gap probes. What it may not know: any benchmark by name, and anything
//! that prints or stores.
//!
//! Everything is generic over [`clock::Clock`] and [`disturb::Covariates`], so that the same code
//! runs on a real machine and on the simulator (`sim`, a feature for tests), where the truth is
//! known.

pub mod calibrate;
pub mod clock;
pub mod collect;
pub mod count;
pub mod disturb;
pub mod exact;
pub mod pilot;
pub mod probe;
#[cfg(feature = "sim")]
pub mod sim;
pub mod twins;
pub mod usable;
