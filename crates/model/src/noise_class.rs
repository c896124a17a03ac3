//! Noise classes: how much time a machine lost to disturbances.

/// Below this share of lost time a machine is quiet.
const NOISY_FROM_PCT: f64 = 1.0;
/// Above this share it is very noisy.
const VERY_NOISY_FROM_PCT: f64 = 10.0;

/// The class of a run, or of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoiseClass {
    /// Below 1 %.
    Quiet,
    /// 1 % to 10 %.
    Noisy,
    /// Above 10 %: absolute figures of single shots are not reliable.
    VeryNoisy,
}

impl NoiseClass {
    /// The class for a share of runnable time without a CPU, stolen time included.
    pub fn of_lost_pct(lost_pct: f64) -> Self {
        match lost_pct {
            _ if lost_pct < NOISY_FROM_PCT => NoiseClass::Quiet,
            _ if lost_pct <= VERY_NOISY_FROM_PCT => NoiseClass::Noisy,
            _ => NoiseClass::VeryNoisy,
        }
    }

    /// The class as the record spells it.
    pub fn text(self) -> &'static str {
        match self {
            NoiseClass::Quiet => "quiet",
            NoiseClass::Noisy => "noisy",
            NoiseClass::VeryNoisy => "very-noisy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NoiseClass;

    #[test]
    fn the_limits_of_the_classes_are_one_and_ten_per_cent() {
        let classes = [0.0, 0.999, 1.0, 10.0, 10.001].map(NoiseClass::of_lost_pct);
        let (quiet, noisy, very_noisy) =
            (NoiseClass::Quiet, NoiseClass::Noisy, NoiseClass::VeryNoisy);
        assert_eq!(classes, [quiet, quiet, noisy, noisy, very_noisy]);
    }
}
