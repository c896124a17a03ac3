//! The rate of the clock over a whole run.

use oscost_model::clock::{Calibration, ClockKind, ClockSync};

/// A clock whose rate changes by more than this within a run was moved to another machine, or lies.
const MAX_RATE_CHANGE_PPM: f64 = 10.0;

/// The clock's rate over the whole run, the bound on its error in parts per million, and whether
/// its calibrations contradict each other.
///
/// The long baseline from the first calibration to the last gives the rate; the short ones at
/// either end must agree with it. A counter that jumped meanwhile (a live migration, a suspend)
/// leaves the short rates alone and spoils the long one: then the first short rate is used. A clock
/// of instructions has no rate: a tick is one, whatever time it pretends to be.
pub(super) fn rate(
    calibrations: &[(Calibration, ClockSync)],
) -> Option<(Calibration, Option<f64>, bool)> {
    let (first, begun) = calibrations.first()?;
    if counts_instructions(first) {
        return Some((*first, None, false));
    }
    let Some((last, ended)) = calibrations.get(1..).and_then(<[_]>::last) else {
        return Some((*first, None, false));
    };
    let Some(long) = begun.ticks_per_ns(ended) else {
        return Some((*first, None, true));
    };
    let error_ppm = 1e6 * begun.rate_error(ended);
    let apart = |short: f64| 1e6 * (short / long - 1.0).abs();
    let allowed = MAX_RATE_CHANGE_PPM + error_ppm;
    if apart(first.ticks_per_ns) > allowed || apart(last.ticks_per_ns) > allowed {
        return Some((*first, None, true));
    }
    Some((Calibration { ticks_per_ns: long, ..*first }, Some(error_ppm), false))
}

/// Whether a tick of the clock is an instruction, and no time.
pub(super) fn counts_instructions(clock: &Calibration) -> bool {
    clock.kind == ClockKind::Instructions
}

#[cfg(test)]
mod tests {
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

    fn sync(raw_ns: u64, ticks: u64) -> ClockSync {
        ClockSync { ticks, raw_ns, width_ticks: 100 }
    }

    #[test]
    fn a_steady_clock_has_the_rate_of_the_long_baseline() {
        let calibrations = [
            (calibration(2.500_001), sync(0, 0)),
            (calibration(2.499_999), sync(2_000_000_000, 5_000_000_000)),
        ];
        let (clock, error_ppm, moved) = rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, moved), (2.5, false));
        assert!(error_ppm.unwrap() < 0.1);
    }

    #[test]
    fn instructions_have_no_rate_whatever_time_passed_meanwhile() {
        let counted = Calibration { kind: ClockKind::Instructions, ..calibration(1.0) };
        let calibrations = [(counted, sync(0, 0)), (counted, sync(2_000_000_000, 3_000_000_007))];
        let (clock, error_ppm, moved) = rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, error_ppm, moved), (1.0, None, false));
    }

    #[test]
    fn a_counter_that_jumped_is_flagged_and_its_long_baseline_is_not_used() {
        let jumped = 5_000_000_000 + 2_500_000_000;
        let calibrations =
            [(calibration(2.5), sync(0, 0)), (calibration(2.5), sync(2_000_000_000, jumped))];
        let (clock, error_ppm, moved) = rate(&calibrations).unwrap();
        assert_eq!((clock.ticks_per_ns, error_ppm, moved), (2.5, None, true));
    }
}
