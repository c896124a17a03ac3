//! `oscost ph`: learns the call sequences of executables, and watches for anomalies.

mod monitor;
mod profiles;
mod serve;
mod status;

pub use monitor::{MonitoringEnd, Request, train, watch};
pub use profiles::{LoadSummary, ProfileText, Profiles, delete_gone, list, load, save, show};
#[cfg(feature = "ebpf")]
pub use serve::clean_up;
pub use serve::{MonitorOutcome, ServeRequest, serve};
pub use status::{Availability, Requirement, Status, status};

pub use super::results::profile_files::Unreadable;
pub use crate::ph::call_names::CallNames;
pub use crate::ph::constants::{ALL as CONSTANTS, Constant, Constants, SECONDS};
pub use crate::ph::processes::monitor_process::Anomaly;
pub use crate::ph::profiles::profile::{Pairs, Profile, positions};
