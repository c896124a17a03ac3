//! The engine: turns [`Work`](crate::bench::Work) into samples.
//!
//! Clocks and their calibration, the pilot, warm-up, batches, disturbance counters, counted events,
//! fork twins, gap probes. The engine knows no benchmark by name, and nothing that prints or stores.
//!
//! Everything is generic over [`clock::Clock`] and [`covariates::Covariates`], so that the same
//! code runs on a real machine and on the simulator (`sim`, a feature for tests), where the true
//! costs are known.

pub mod calibrate;
pub mod clock;
pub mod clock_check;
pub mod collect;
pub mod count;
pub mod covariates;
pub mod events;
pub mod instructions;
pub mod pilot;
pub mod probe;
#[cfg(feature = "sim")]
pub mod simulator;
pub mod tick;
pub mod twins;
