//! How long the calls of a form took in the kernel, in a sentence.

use oscost_model::program_calls::{FormTime, TimeBucket};
use oscost_model::unit::Unit;

use crate::report::figures::{rough, with_thousands};

/// The bounds of half and of nearly all of its calls, and how many were off the CPU; `None` without a
/// histogram, or if half of them are beyond it.
pub(super) fn remark(time: &FormTime) -> Option<String> {
    let on_cpu = &time.on_cpu_histogram;
    let half = duration(bound(on_cpu, 0.5)?);
    let most = bound(on_cpu, 0.99).map(duration);
    let most = most.map_or(String::new(), |most| format!(", 99 % less than {most}"));
    let off_cpu = match calls(&time.off_cpu_histogram) {
        0 => String::new(),
        blocked => format!("; {} left it meanwhile", with_thousands(blocked as f64)),
    };
    Some(format!("half of its calls were on the CPU for less than {half}{most}{off_cpu}"))
}

fn duration(ns: u64) -> String {
    rough(ns as f64, Unit::NsPerOp)
}

/// Records from outside may have any numbers.
fn calls(buckets: &[TimeBucket]) -> u64 {
    buckets.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.calls))
}

/// The end of the bucket below which such a share of the calls lies, in nanoseconds; `None` if that
/// is the last one.
fn bound(buckets: &[TimeBucket], share: f64) -> Option<u64> {
    let wanted = share * calls(buckets) as f64;
    let mut so_far = 0_u64;
    let found = buckets.iter().find(|bucket| {
        so_far = so_far.saturating_add(bucket.calls);
        so_far as f64 >= wanted
    });
    found?.below_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(below_ns: u64, calls: u64) -> TimeBucket {
        TimeBucket { below_ns: Some(below_ns), calls }
    }

    fn timed(on_cpu: Vec<TimeBucket>, off_cpu: Vec<TimeBucket>) -> FormTime {
        FormTime { on_cpu_histogram: on_cpu, off_cpu_histogram: off_cpu, ..FormTime::default() }
    }

    #[test]
    fn a_remark_has_the_bounds_of_half_and_of_nearly_all_calls() {
        let on_cpu = vec![bucket(128, 49), bucket(256, 49), bucket(1_024, 1), bucket(4_096, 1)];
        let bounds = [0.49, 0.5, 0.99].map(|share| bound(&on_cpu, share));
        assert_eq!(bounds, [128, 256, 1_024].map(Some));
        let text = remark(&timed(on_cpu.clone(), vec![bucket(2_048, 1_200)])).unwrap();
        assert!(text.starts_with("half of its calls were on the CPU for less than "), "{text}");
        assert!(text.contains(", 99 % less than ") && text.ends_with("; 1,200 left it meanwhile"));
        assert!(!remark(&timed(on_cpu, Vec::new())).unwrap().contains("left it"));
    }

    #[test]
    fn without_a_bound_there_is_no_remark() {
        assert_eq!(remark(&FormTime::default()), None);
        let open = TimeBucket { below_ns: None, calls: 3 };
        assert_eq!(remark(&timed(vec![bucket(64, 1), open], Vec::new())), None);
        let most = remark(&timed(vec![bucket(64, 3), open], Vec::new())).unwrap();
        assert!(!most.contains("99 %"), "{most}");
    }
}
