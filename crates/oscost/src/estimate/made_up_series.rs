//! Made-up series of runs, for tests.

use oscost_model::unit::{Better, Unit};

use super::history::{Point, Series};

/// A series of these runs, without changes.
pub(super) fn series_of(points: Vec<Point>) -> Series {
    Series {
        case: String::new(),
        target: String::new(),
        peer: false,
        peer_host: None,
        unit: Unit::NsPerOp,
        better: Better::Lower,
        rev: 1,
        machine_class: String::new(),
        kernel_class: String::new(),
        points,
        older_runs: 0,
        p: None,
        q: None,
        rejected_by_correction: false,
        secondary: false,
        autocorrelation: None,
        between_run_sd: None,
        changes: Vec::new(),
        recent_shift: None,
        updates: Vec::new(),
        left_out: Vec::new(),
        other_targets: Vec::new(),
    }
}
