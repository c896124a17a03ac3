//! How quiet a machine was: one word for the share of time that was lost.

/// Less lost time than this is clean, and ...
const NOISY_FROM_PCT: f64 = 1.0;
/// ... more than this is hostile.
const VERY_NOISY_FROM_PCT: f64 = 10.0;

/// The class of a run, or of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Below 1 %.
    Clean,
    /// 1 % to 10 %.
    Noisy,
    /// Above 10 %: absolute figures of single shots are not to be claimed.
    VeryNoisy,
}

impl Class {
    /// The class of a share of time that was wanted and not had, stolen time included.
    pub fn of_lost_pct(lost_pct: f64) -> Self {
        match lost_pct {
            _ if lost_pct < NOISY_FROM_PCT => Class::Clean,
            _ if lost_pct <= VERY_NOISY_FROM_PCT => Class::Noisy,
            _ => Class::VeryNoisy,
        }
    }

    /// The class as the record spells it.
    pub fn text(self) -> &'static str {
        match self {
            Class::Clean => "clean",
            Class::Noisy => "noisy",
            Class::VeryNoisy => "hostile",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn the_classes_meet_at_one_and_at_ten_per_cent() {
        let classes = [0.0, 0.999, 1.0, 10.0, 10.001].map(Class::of_lost_pct);
        let (clean, noisy, very_noisy) = (Class::Clean, Class::Noisy, Class::VeryNoisy);
        assert_eq!(classes, [clean, clean, noisy, noisy, very_noisy]);
    }
}
