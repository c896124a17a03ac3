//! The time that a hypervisor takes from this machine.

use std::fs;
use std::time::Instant;

use oscost_model::bill::StolenTime;

/// The unit of times in /proc/stat: USER_HZ is 100 on every processor that oscost knows.
const TICK_NS: f64 = 1e7;
/// `user nice system idle iowait irq softirq steal`.
const STEAL_COLUMN: usize = 7;

/// What was taken from all CPUs since it began.
#[derive(Clone, Copy, Debug)]
pub struct StolenTimeWatch {
    began: Instant,
    ticks: u64,
}

impl StolenTimeWatch {
    /// Begins; `None` where the kernel tells nothing.
    pub fn begin() -> Option<Self> {
        Some(Self { began: Instant::now(), ticks: stolen_ticks()? })
    }

    /// What was taken by now; `None` if the kernel's sum has become smaller, as where a CPU has left.
    pub fn so_far(&self) -> Option<StolenTime> {
        let ticks = stolen_ticks()?.checked_sub(self.ticks)?;
        Some(StolenTime { ns: TICK_NS * ticks as f64, seconds: self.began.elapsed().as_secs_f64() })
    }
}

fn stolen_ticks() -> Option<u64> {
    ticks_of_all(&fs::read_to_string("/proc/stat").ok()?)
}

/// The stolen time of all CPUs since boot, in the text of /proc/stat.
fn ticks_of_all(stat: &str) -> Option<u64> {
    let columns = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    columns.split_ascii_whitespace().nth(STEAL_COLUMN)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stolen_time_is_that_of_all_cpus() {
        let stat = "cpu  1 2 3 4 5 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 30 9 10\nintr 5\n";
        assert_eq!(ticks_of_all(stat), Some(80));
        for other in ["", "cpu0 1 2 3 4 5 6 7 8\n", "cpu  1 2 3\n", "cpu  1 2 3 4 5 6 7 x\n"] {
            assert_eq!(ticks_of_all(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_taken_is_told_with_the_time_that_it_was_watched() {
        let Some(watch) = StolenTimeWatch::begin() else {
            return println!("skipped: /proc/stat has no stolen time");
        };
        let Some(found) = watch.so_far() else {
            return println!("skipped: the sum became smaller");
        };
        assert!(found.ns >= 0.0 && found.seconds >= 0.0, "{found:?}");
        let more = StolenTimeWatch { ticks: u64::MAX, ..watch };
        assert_eq!(more.so_far(), None);
    }
}
