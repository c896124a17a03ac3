//! The rate of the clock over a whole run.

use oscost_model::clock::{Calibration, ClockKind, SyncedCalibration};

/// If a clock's rate changes by more than this within a run, the machine was migrated, or the clock
/// is unreliable.
const MAX_RATE_CHANGE_PPM: f64 = 10.0;

/// The rate of a clock over a whole run.
pub(super) struct ClockRate {
    /// The clock, with that rate.
    pub(super) clock: Calibration,
    /// The bound on the error of the rate; `None` if unknown.
    pub(super) error_ppm: Option<f64>,
    /// Whether its calibrations contradict each other.
    pub(super) has_drifted: bool,
}

/// The rate of a clock, from its calibrations; `None` if there are none.
///
/// The long baseline from the first calibration to the last gives the rate; the short ones at both
/// ends must agree with it. A jump of the counter in between (a live migration, a suspend) affects
/// only the long baseline: the first short rate is then used. A clock that counts instructions has
/// no rate: a tick is an instruction.
pub(super) fn clock_rate(calibrations: &[SyncedCalibration]) -> Option<ClockRate> {
    let first = calibrations.first()?;
    let of_first =
        |has_drifted| ClockRate { clock: first.calibration, error_ppm: None, has_drifted };
    if counts_instructions(&first.calibration) {
        return Some(of_first(false));
    }
    let Some(last) = calibrations.get(1..).and_then(<[_]>::last) else {
        return Some(of_first(false));
    };
    let Some(long_rate) = first.sync.ticks_per_ns(&last.sync) else {
        return Some(of_first(true));
    };
    let error_ppm = 1e6 * first.sync.rate_error(&last.sync);
    let deviation_ppm = |short_rate: f64| 1e6 * (short_rate / long_rate - 1.0).abs();
    let allowed = MAX_RATE_CHANGE_PPM + error_ppm;
    if [first, last].iter().any(|it| deviation_ppm(it.calibration.ticks_per_ns) > allowed) {
        return Some(of_first(true));
    }
    let clock = Calibration { ticks_per_ns: long_rate, ..first.calibration };
    Some(ClockRate { clock, error_ppm: Some(error_ppm), has_drifted: false })
}

/// Whether the clock counts instructions instead of time.
pub(super) fn counts_instructions(clock: &Calibration) -> bool {
    clock.kind == ClockKind::Instructions
}

#[cfg(test)]
mod tests {
    use oscost_model::clock::ClockSync;

    use super::*;

    fn calibration(ticks_per_ns: f64) -> Calibration {
        Calibration {
            kind: ClockKind::Tsc,
            ticks_per_ns,
            quantum_ticks: 26.0,
            inside_ticks: 50.0,
            pair_ticks: 90.0,
        }
    }

    fn synced(calibration: Calibration, raw_ns: u64, ticks: u64) -> SyncedCalibration {
        SyncedCalibration { calibration, sync: ClockSync { ticks, raw_ns, width_ticks: 100 } }
    }

    #[test]
    fn a_steady_clock_has_the_rate_of_the_long_baseline() {
        let calibrations = [
            synced(calibration(2.500_001), 0, 0),
            synced(calibration(2.499_999), 2_000_000_000, 5_000_000_000),
        ];
        let ClockRate { clock, error_ppm, has_drifted } = clock_rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, has_drifted), (2.5, false));
        assert!(error_ppm.unwrap() < 0.1);
    }

    #[test]
    fn a_count_of_instructions_has_no_rate() {
        let counted = Calibration { kind: ClockKind::Instructions, ..calibration(1.0) };
        let calibrations = [synced(counted, 0, 0), synced(counted, 2_000_000_000, 3_000_000_007)];
        let ClockRate { clock, error_ppm, has_drifted } = clock_rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, error_ppm, has_drifted), (1.0, None, false));
    }

    #[test]
    fn a_counter_that_jumped_is_flagged_and_its_long_baseline_is_not_used() {
        let jumped = 5_000_000_000 + 2_500_000_000;
        let calibrations =
            [synced(calibration(2.5), 0, 0), synced(calibration(2.5), 2_000_000_000, jumped)];
        let ClockRate { clock, error_ppm, has_drifted } = clock_rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, error_ppm, has_drifted), (2.5, None, true));
    }
}
