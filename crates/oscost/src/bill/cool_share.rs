//! How cool the caches of a billed program are.

use oscost_model::bill::{Amount, Bill};

/// Where the system time of a program lies between what it is charged with warm caches and with cool ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoolShare {
    /// 0 is warm, and 1 is cool.
    pub value: f64,
    /// The same of both ends of the system time's interval.
    pub ends: [f64; 2],
}

impl CoolShare {
    /// Somewhere between both.
    pub const UNKNOWN: Self = Self { value: 0.5, ends: [0.0, 1.0] };

    /// That of a billed program. One whose system time is outside of the range has the caches of the nearer
    /// end: how much colder than after a walk they are is not measured.
    pub fn of(bill: &Bill) -> Self {
        let (Some(warm), Some(cool)) = (&bill.charged, &bill.charged_cool) else {
            return Self::UNKNOWN;
        };
        Self::between(warm.ns, cool.ns, &bill.trials.system_time)
    }

    fn between(warm_ns: f64, cool_ns: f64, measured: &Amount) -> Self {
        if cool_ns <= warm_ns {
            return Self::UNKNOWN;
        }
        let place = |ns: f64| ((ns - warm_ns) / (cool_ns - warm_ns)).clamp(0.0, 1.0);
        let ends = measured.ci95.map_or([0.0, 1.0], |ends| ends.map(place));
        Self { value: place(measured.ns), ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_where_the_system_time_lies_in_the_range() {
        let measured = |ns: f64, ci95| Amount { ns, ci95 };
        let found = CoolShare::between(100.0, 200.0, &measured(125.0, Some([90.0, 150.0])));
        assert_eq!(found, CoolShare { value: 0.25, ends: [0.0, 0.5] });
        let above = CoolShare::between(100.0, 200.0, &measured(260.0, Some([250.0, 270.0])));
        assert_eq!(above, CoolShare { value: 1.0, ends: [1.0; 2] });
        let unknown = CoolShare::between(100.0, 200.0, &measured(150.0, None));
        assert_eq!(unknown, CoolShare { value: 0.5, ends: [0.0, 1.0] });
        // Noise may put a cool sum below the warm one.
        let none = CoolShare::between(100.0, 90.0, &measured(95.0, Some([94.0, 96.0])));
        assert_eq!(none, CoolShare::UNKNOWN);
    }
}
