//! Samples as bytes: about ten each, where JSON takes 130.
//!
//! The first byte is the version. Samples follow to the end of the bytes, each as the difference
//! from the previous one (the first one from zeros): a byte that says which parts follow, and the
//! parts. Neighbours are similar, so most parts are left out, and differences are smaller than the
//! numbers.
//!
//! The format contains no lengths, so none has to be trusted: what unpacking allocates is bounded
//! by the number of bytes. Numbers are little-endian in groups of seven bits, with the eighth bit
//! set in all but the last byte (LEB128); the sign of a difference is its lowest bit.

use oscost_model::worker::{Sample, Windows};
use thiserror::Error;

/// The version of the format, in which each sample is one window.
const ONE_WINDOW: u8 = 1;
/// The version in which the parts of each sample are followed by the number of its windows, 0 for
/// one, and else the ops and the ticks of the smallest. Only the methods of studies need it.
const SEVERAL_WINDOWS: u8 = 2;

/// The bits of the first byte of a sample. It is followed by the ticks, then by the parts whose
/// bits are set, in this order.
mod part {
    /// The difference of `arm`.
    pub(in crate::store) const ARM: u8 = 1;
    /// The difference of `round`.
    pub(in crate::store) const ROUND: u8 = 1 << 1;
    /// The difference of `batch` from the next one, which is the default.
    pub(in crate::store) const BATCH: u8 = 1 << 2;
    /// The difference of `n`.
    pub(in crate::store) const N: u8 = 1 << 3;
    /// The involuntary switches; 0 by default.
    pub(in crate::store) const SWITCHES: u8 = 1 << 4;
    /// The major faults; 0 by default.
    pub(in crate::store) const FAULTS: u8 = 1 << 5;
    /// Whether it migrated; it has no part.
    pub(in crate::store) const MIGRATED: u8 = 1 << 6;
    /// The difference of the CPU time, the first of all parts; unknown by default.
    pub(in crate::store) const CPU_TIME: u8 = 1 << 7;
}

/// Why bytes are not packed samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadSamples {
    /// They were written by a newer oscost, or are not samples.
    #[error("the packed samples have version {0}, and this oscost reads versions 1 and 2")]
    Version(u8),
    /// They end in the middle of a sample.
    #[error("packed samples end in the middle of one")]
    Short,
    /// A number is out of range.
    #[error("packed samples have a number that is out of range")]
    OutOfRange,
}

/// Packs samples, in order.
pub fn pack(samples: &[Sample]) -> Vec<u8> {
    // Enough for most workers, so that the buffer rarely has to grow.
    let mut out = Vec::with_capacity(1 + 12 * samples.len());
    let several = samples.iter().any(|sample| sample.windows.is_some());
    out.push(if several { SEVERAL_WINDOWS } else { ONE_WINDOW });
    let mut last = Sample::default();
    for sample in samples {
        let head = out.len();
        out.push(if sample.migrated { part::MIGRATED } else { 0 });
        push(&mut out, difference(last.ticks as u64, sample.ticks as u64));
        if let Some(cpu_ns) = sample.cpu_ns {
            out[head] |= part::CPU_TIME;
            push(&mut out, difference(last.cpu_ns.unwrap_or(0), cpu_ns));
        }
        let next = last.batch.wrapping_add(1);
        for (bit, number) in [
            (part::ARM, difference(last.arm.into(), sample.arm.into())),
            (part::ROUND, difference(last.round.into(), sample.round.into())),
            (part::BATCH, difference(next.into(), sample.batch.into())),
            (part::N, difference(last.n, sample.n)),
            (part::SWITCHES, sample.involuntary_switches.into()),
            (part::FAULTS, sample.major_faults.into()),
        ] {
            if number != 0 {
                out[head] |= bit;
                push(&mut out, number);
            }
        }
        if several {
            let windows = sample.windows.unwrap_or_default();
            push(&mut out, windows.count);
            if windows.count > 0 {
                push(&mut out, windows.smallest_ops);
                push(&mut out, difference(0, windows.smallest_ticks as u64));
            }
        }
        last = *sample;
    }
    out
}

/// Unpacks what [`pack`] packed. Any bytes may be given.
pub fn unpack(bytes: &[u8]) -> Result<Vec<Sample>, BadSamples> {
    let mut rest = Rest(bytes);
    let several = match rest.byte()? {
        ONE_WINDOW => false,
        SEVERAL_WINDOWS => true,
        other => return Err(BadSamples::Version(other)),
    };
    let mut samples = Vec::new();
    let mut last = Sample::default();
    while !rest.0.is_empty() {
        let head = rest.byte()?;
        let ticks = add_difference(last.ticks as u64, rest.number()?) as i64;
        let cpu_ns = match head & part::CPU_TIME {
            0 => None,
            _ => Some(add_difference(last.cpu_ns.unwrap_or(0), rest.number()?)),
        };
        let mut number = |bit| if head & bit == 0 { Ok(0) } else { rest.number() };
        let next = last.batch.wrapping_add(1);
        last = Sample {
            ticks,
            cpu_ns,
            arm: narrow(add_difference(last.arm.into(), number(part::ARM)?))?,
            round: narrow(add_difference(last.round.into(), number(part::ROUND)?))?,
            batch: narrow(add_difference(next.into(), number(part::BATCH)?))?,
            n: add_difference(last.n, number(part::N)?),
            involuntary_switches: narrow(number(part::SWITCHES)?)?,
            major_faults: narrow(number(part::FAULTS)?)?,
            migrated: head & part::MIGRATED != 0,
            windows: None,
        };
        let count = if several { rest.number()? } else { 0 };
        if count > 0 {
            let smallest_ops = rest.number()?;
            let smallest_ticks = add_difference(0, rest.number()?) as i64;
            last.windows = Some(Windows { count, smallest_ops, smallest_ticks });
        }
        samples.push(last);
    }
    Ok(samples)
}

/// The wrapping difference between two numbers, with its sign in the lowest bit (zigzag), so that
/// small differences in either direction are small numbers.
pub(super) fn difference(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from) as i64;
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// The number with this difference from another.
pub(super) fn add_difference(from: u64, difference: u64) -> u64 {
    let difference = (difference >> 1) ^ (difference & 1).wrapping_neg();
    from.wrapping_add(difference)
}

fn narrow<T: TryFrom<u64>>(number: u64) -> Result<T, BadSamples> {
    T::try_from(number).map_err(|_| BadSamples::OutOfRange)
}

/// Appends a number.
pub(super) fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The bytes that are still to be read.
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl Rest<'_> {
    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8, BadSamples> {
        let (&byte, rest) = self.0.split_first().ok_or(BadSamples::Short)?;
        self.0 = rest;
        Ok(byte)
    }

    /// The next number.
    pub(super) fn number(&mut self) -> Result<u64, BadSamples> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if bits << shift >> shift != bits {
                return Err(BadSamples::OutOfRange);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(BadSamples::OutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_sample() -> impl Strategy<Value = Sample> {
        // Mostly small numbers, as in real samples, and any numbers.
        let rare = || prop_oneof![3 => Just(0u32), 1 => any::<u32>()];
        let long = || prop_oneof![0..100_000u64, any::<u64>()];
        let target = (any::<u8>(), 0..5u32, rare());
        let times = (long(), any::<i64>(), prop::option::of(long()));
        let windows = (1..=u64::MAX, long(), any::<i64>()).prop_map(
            |(count, smallest_ops, smallest_ticks)| Windows { count, smallest_ops, smallest_ticks },
        );
        let windows = prop::option::of(windows);
        (target, times, (rare(), rare()), any::<bool>(), windows).prop_map(
            |((arm, round, batch), (n, ticks, cpu_ns), (switches, faults), migrated, windows)| {
                Sample {
                    arm,
                    round,
                    batch,
                    n,
                    ticks,
                    cpu_ns,
                    involuntary_switches: switches,
                    major_faults: faults,
                    migrated,
                    windows,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn samples_survive_packing(samples in prop::collection::vec(any_sample(), 0..50)) {
            prop_assert_eq!(unpack(&pack(&samples)), Ok(samples));
        }

        #[test]
        fn unpacking_accepts_any_bytes_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = bytes;
            let _ = unpack(&bytes);
            bytes.insert(0, ONE_WINDOW + bytes.len() as u8 % 2);
            if let Ok(samples) = unpack(&bytes) {
                prop_assert_eq!(unpack(&pack(&samples)), Ok(samples));
            }
        }

        #[test]
        fn truncated_bytes_give_fewer_samples_or_an_error(
            samples in prop::collection::vec(any_sample(), 1..9),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = pack(&samples);
            let cut = &whole[..cut.index(whole.len())];
            match unpack(cut) {
                Ok(fewer) => prop_assert!(fewer.len() < samples.len() && samples.starts_with(&fewer)),
                Err(error) => prop_assert_eq!(error, BadSamples::Short),
            }
        }
    }

    #[test]
    fn extreme_values_survive_packing() {
        let high = Sample {
            arm: u8::MAX,
            round: u32::MAX,
            batch: u32::MAX,
            n: u64::MAX,
            ticks: i64::MAX,
            cpu_ns: Some(u64::MAX),
            involuntary_switches: u32::MAX,
            major_faults: u32::MAX,
            migrated: true,
            windows: Some(Windows {
                count: u64::MAX,
                smallest_ops: u64::MAX,
                smallest_ticks: i64::MIN,
            }),
        };
        let low = Sample { ticks: i64::MIN, ..Sample::default() };
        let samples = [high, low, high, high, low, Sample { cpu_ns: Some(0), ..low }];
        assert_eq!(unpack(&pack(&samples)), Ok(samples.to_vec()));
    }

    #[test]
    fn the_bytes_of_version_1_never_change() {
        let first =
            Sample { batch: 0, n: 64, ticks: 5_000, cpu_ns: Some(2_000), ..Sample::default() };
        let second = Sample { batch: 1, ticks: 4_999, involuntary_switches: 2, ..first };
        let third = Sample { batch: 2, ticks: 5_000, cpu_ns: None, ..first };
        let bytes = [
            1, // The version.
            0x8c, 0x90, 0x4e, 0xa0, 0x1f, 0x01, 0x80, 0x01, // +5000, +2000, batch -1, n +64.
            0x90, 0x01, 0x00, 0x02, // -1, +0, 2 switches.
            0x00, 0x02, // +1.
        ];
        assert_eq!(pack(&[first, second, third]), bytes);
        assert_eq!(unpack(&bytes), Ok(vec![first, second, third]));
    }

    #[test]
    fn the_bytes_of_version_2_never_change() {
        let windows = Windows { count: 3, smallest_ops: 1, smallest_ticks: -2 };
        let several = Sample { n: 3, ticks: 300, windows: Some(windows), ..Sample::default() };
        let one = Sample { batch: 1, windows: None, ..several };
        let bytes = [
            2, // The version.
            0x0c, 0xd8, 0x04, 0x01, 0x06, 3, 1,
            3, // +300, batch -1, n +3; 3 windows, 1 op, -2.
            0x00, 0x00, 0, // +0; one window.
        ];
        assert_eq!(pack(&[several, one]), bytes);
        assert_eq!(unpack(&bytes), Ok(vec![several, one]));
        assert_eq!(unpack(&bytes[..bytes.len() - 1]), Err(BadSamples::Short));
    }

    #[test]
    fn invalid_bytes_are_refused_with_their_reason() {
        assert_eq!(unpack(&[]), Err(BadSamples::Short));
        assert_eq!(unpack(&[1]), Ok(vec![]));
        assert_eq!(unpack(&[3, 0, 0, 0]), Err(BadSamples::Version(3)));
        assert_eq!(unpack(&[1, part::CPU_TIME, 0]), Err(BadSamples::Short));
        let arm_300 = [1, part::ARM, 0, 0xd8, 0x04];
        assert_eq!(unpack(&arm_300), Err(BadSamples::OutOfRange));
        let eleven_bytes = [1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(unpack(&eleven_bytes), Err(BadSamples::OutOfRange));
    }
}
