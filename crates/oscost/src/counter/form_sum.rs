//! What the programs add up of the calls of one form: see bpf/sum.bpf.h.

use oscost_model::program_calls::TimeBucket;

use super::layout::{FORM_BYTES, plus_each, read_u64s};

/// The buckets of a histogram of times (`BUCKETS`).
pub const BUCKETS: usize = 24;
/// The bytes of a `struct sum`.
pub const SUM_BYTES: usize = OFF_CPU_AT + BUCKETS * 8;
/// A bucket ends at this time in nanoseconds, and each later one at twice that of the one before it.
const FIRST_BUCKET_NS: u64 = 64;
/// `owner` of a `struct slot` that has a form (`READY`).
const READY: u64 = 2;

/// `struct sum`: the calls of one form on one CPU, or on all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormSum {
    /// Calls that never return.
    pub untimed: u64,
    /// The bytes that they moved.
    pub moved: u64,
    /// Nanoseconds on a CPU.
    pub on_cpu_ns: u64,
    /// Nanoseconds off it.
    pub off_cpu_ns: u64,
    /// Calls before which their CPU had been busy for long since the last one of their number and kind
    /// (`RARE_NS`), and first ones.
    pub rare: u64,
    /// All calls that returned, by their time on a CPU.
    pub on_cpu: [u64; BUCKETS],
    /// Those that were off it, by that time.
    pub off_cpu: [u64; BUCKETS],
}

/// Where the histograms of a `struct sum` begin.
const ON_CPU_AT: usize = 5 * 8;
const OFF_CPU_AT: usize = ON_CPU_AT + BUCKETS * 8;

impl FormSum {
    /// That of one CPU.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let [untimed, moved, on_cpu_ns, off_cpu_ns, rare] = read_u64s(bytes);
        let histogram_at = |at: usize| read_u64s(bytes.get(at..).unwrap_or_default());
        let (on_cpu, off_cpu) = (histogram_at(ON_CPU_AT), histogram_at(OFF_CPU_AT));
        Self { untimed, moved, on_cpu_ns, off_cpu_ns, rare, on_cpu, off_cpu }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            untimed: self.untimed.saturating_add(other.untimed),
            moved: self.moved.saturating_add(other.moved),
            on_cpu_ns: self.on_cpu_ns.saturating_add(other.on_cpu_ns),
            off_cpu_ns: self.off_cpu_ns.saturating_add(other.off_cpu_ns),
            rare: self.rare.saturating_add(other.rare),
            on_cpu: plus_each(self.on_cpu, other.on_cpu),
            off_cpu: plus_each(self.off_cpu, other.off_cpu),
        }
    }

    /// The calls that returned.
    pub fn timed(&self) -> u64 {
        self.on_cpu.iter().fold(0, |sum, &calls| sum.saturating_add(calls))
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.timed().saturating_add(self.untimed)
    }

    /// The calls that returned, by their time on a CPU.
    pub fn on_cpu_histogram(&self) -> Vec<TimeBucket> {
        buckets(self.on_cpu)
    }

    /// Those that were off it, by that time.
    pub fn off_cpu_histogram(&self) -> Vec<TimeBucket> {
        buckets(self.off_cpu)
    }
}

/// The buckets of a histogram that are not empty.
fn buckets(calls: [u64; BUCKETS]) -> Vec<TimeBucket> {
    let of_bucket = |(bucket, calls)| TimeBucket { below_ns: bucket_end_ns(bucket), calls };
    calls.into_iter().enumerate().map(of_bucket).filter(|it| it.calls > 0).collect()
}

/// Where a bucket ends, in nanoseconds; `None` of the last one.
pub fn bucket_end_ns(bucket: usize) -> Option<u64> {
    (bucket + 1 < BUCKETS).then_some(FIRST_BUCKET_NS << bucket)
}

/// A `struct slot` that has a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot<'a> {
    /// The form, as a key.
    pub key: &'a [u8],
    /// The `struct sum`.
    pub sum: &'a [u8],
}

impl<'a> Slot<'a> {
    /// `None` if it has no form.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (owner, rest) = bytes.split_first_chunk::<8>()?;
        let (key, sum) = rest.split_at_checked(FORM_BYTES)?;
        (u64::from_ne_bytes(*owner) == READY).then_some(Self { key, sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_a_form_once_it_is_ready() {
        let slot = |owner: u64| {
            let (key, sum) = (vec![7; FORM_BYTES], vec![9; SUM_BYTES]);
            [owner.to_ne_bytes().to_vec(), key, sum].concat()
        };
        assert_eq!([slot(0), slot(1)].map(|bytes| Slot::parse(&bytes).is_some()), [false; 2]);
        let bytes = slot(READY);
        let Slot { key, sum } = Slot::parse(&bytes).unwrap();
        assert_eq!((key, sum), (&[7; FORM_BYTES][..], &[9; SUM_BYTES][..]));
        assert_eq!(Slot::parse(&bytes[..20]), None);
    }

    #[test]
    fn buckets_double_and_the_last_one_has_no_end() {
        let ends = [0, 1, BUCKETS - 2, BUCKETS - 1].map(bucket_end_ns);
        assert_eq!(ends, [Some(64), Some(128), Some(64 << 22), None]);
    }

    #[test]
    fn a_sum_is_read_with_its_histograms() {
        let numbers = (1..).take(SUM_BYTES / 8).flat_map(u64::to_ne_bytes);
        let sum = FormSum::from_bytes(&numbers.collect::<Vec<_>>());
        assert_eq!((sum.untimed, sum.moved, sum.on_cpu_ns, sum.off_cpu_ns), (1, 2, 3, 4));
        assert_eq!((sum.rare, sum.plus(sum).rare), (5, 10));
        assert_eq!((sum.on_cpu[0], sum.off_cpu[0], sum.off_cpu[BUCKETS - 1]), (6, 30, 53));
        assert_eq!(sum.calls(), (6..30).sum::<u64>() + 1);
        let last = sum.plus(sum).off_cpu_histogram().pop();
        assert_eq!(last, Some(TimeBucket { below_ns: None, calls: 106 }));
        assert!(FormSum::default().on_cpu_histogram().is_empty());
    }
}
