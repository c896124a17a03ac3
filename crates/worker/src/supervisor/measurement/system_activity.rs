//! The system activity job: it takes two snapshots of the machine and sleeps in between.

use oscost_model::protocol::{Event, Order};
use oscost_model::watch::SystemActivity;

use crate::facts::accounting::activity::{finish, start};
use crate::facts::{Roots, allowed_cpus};
use crate::kernel::probe::audit;
use crate::kernel::time::adjtimex;
use crate::kernel::time::clock::{ClockId, gettime, monotonic_raw_ns};
use crate::kernel::{Errno, process};
use crate::supervisor::protocol::failure::failure;
use crate::supervisor::protocol::wire::Wire;

/// Takes a snapshot, sends `ready`, sleeps until `stop`, takes another. `except` are the tool's own
/// processes; the supervisor (the parent of this process) and its jobs are excluded as well.
pub(crate) fn record_activity(id: u64, except: &[u32], wire: &mut Wire) -> Event {
    let roots = Roots::machine();
    let begun = start(&roots, &allowed_cpus(&roots));
    let first = ClockPair::read();
    let ready = Event::Ready { id, pid: std::process::id(), addr: None };
    if let Err(error) = wire.send(&ready) {
        return failure(id, format!("send `ready`: {error}"));
    }
    match wire.next_order() {
        Ok(Some(Order::Stop { .. })) => {}
        Ok(_) => return failure(id, "a watch accepts no order but `stop`"),
        Err(error) => return failure(id, format!("read an order: {error}")),
    }
    let last = ClockPair::read();
    let own_pids = [except, &[process::parent_argument()]].concat();
    let activity = finish(&roots, &begun, &own_pids);
    let (audit, audit_unread) = match audit::enabled() {
        Ok(enabled) => (Some(enabled), None),
        Err(error) => (None, Some(audit_error(error))),
    };
    let watch = SystemActivity {
        wall_ns: last.raw_ns.saturating_sub(first.raw_ns),
        monotonic_rate_offset_ppm: first.rate_offset_ppm(&last),
        discipline: adjtimex::discipline().ok(),
        audit,
        audit_unread,
        ..activity
    };
    Event::Watched { id, activity: Box::new(watch) }
}

/// Why the state of the audit system is unknown.
fn audit_error(error: Errno) -> String {
    match error {
        Errno::EPERM | Errno::EACCES => "needs root".to_owned(),
        Errno(libc::ECONNREFUSED) => {
            "not available in a container, or the kernel was booted without it".to_owned()
        }
        Errno(libc::EPROTONOSUPPORT | libc::EAFNOSUPPORT) => "this kernel has none".to_owned(),
        other => format!("no answer: {other}"),
    }
}

/// Simultaneous readings of two clocks.
struct ClockPair {
    monotonic_ns: u64,
    raw_ns: u64,
}

impl ClockPair {
    /// The best of several readings: the one whose reads are closest together.
    fn read() -> ClockPair {
        let read = || {
            let before = monotonic_raw_ns();
            let monotonic_ns = gettime(ClockId::MONOTONIC).unwrap_or(0);
            let after = monotonic_raw_ns();
            (after - before, ClockPair { monotonic_ns, raw_ns: before + (after - before) / 2 })
        };
        let tries = (0..49).map(|_| read());
        tries.min_by_key(|(width, _)| *width).unwrap_or_else(read).1
    }

    /// By how much CLOCK_MONOTONIC ran faster than CLOCK_MONOTONIC_RAW from here to `later`.
    fn rate_offset_ppm(&self, later: &ClockPair) -> Option<f64> {
        let raw = later.raw_ns.checked_sub(self.raw_ns).filter(|&ns| ns > 0)?;
        let monotonic = later.monotonic_ns.checked_sub(self.monotonic_ns)?;
        Some(1e6 * (monotonic as f64 - raw as f64) / raw as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_offset_of_two_clocks_is_in_parts_per_million() {
        let at = |monotonic_ns, raw_ns| ClockPair { monotonic_ns, raw_ns };
        let begun = at(5_000_000_000, 1_000_000_000);
        assert_eq!(begun.rate_offset_ppm(&at(6_000_500_000, 2_000_000_000)), Some(500.0));
        assert_eq!(begun.rate_offset_ppm(&at(5_999_500_000, 2_000_000_000)), Some(-500.0));
        assert_eq!(begun.rate_offset_ppm(&begun), None, "no time has passed");
    }

    #[test]
    fn a_refusal_has_a_reason() {
        assert_eq!(audit_error(Errno::EPERM), "needs root");
        assert!(audit_error(Errno(libc::EPROTONOSUPPORT)).contains("none"));
        assert!(audit_error(Errno::EINVAL).starts_with("no answer: "));
    }
}
