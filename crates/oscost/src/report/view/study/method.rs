//! The method of a study in words.

use oscost_model::study_method::{ClockCost, Statistic, StudyMethod, TimingScope};

/// The method of a program, which times its ops itself.
pub(super) const OF_TRIALS: &str = "the median of a program's runs";

/// The calls of a program.
pub(super) const COUNTED: &str = "counted in one run of a program, untimed";

/// The method of a study in words.
pub(super) fn method_text(study_method: Option<&StudyMethod>) -> String {
    let Some(study_method) = study_method else { return "by oscost's own estimate".to_owned() };
    let ops = with_commas(study_method.iterations);
    let timed = match study_method.timed {
        TimingScope::Each => format!("{ops} ops, each timed by itself"),
        TimingScope::Together => format!("{ops} ops timed together"),
    };
    let times = match study_method.experiments {
        1 => String::new(),
        many => format!(", {} times", with_commas(u64::from(many))),
    };
    let statistic = match study_method.statistic {
        Statistic::Mean => "the mean",
        Statistic::MeanAndDeviation => "the mean, and the deviation between their means,",
        Statistic::Minimum => "the smallest",
    };
    let clock = match study_method.clock {
        ClockCost::Included => "the clock's cost included",
        ClockCost::Subtracted => "the clock's cost subtracted",
    };
    format!("{statistic} of {timed}{times}, {clock}")
}

/// The number of ops of some experiments, in words.
pub(super) fn op_count(iterations: u64, experiments: u32) -> String {
    match experiments {
        1 => with_commas(iterations),
        many => format!("{} times {}", with_commas(u64::from(many)), with_commas(iterations)),
    }
}

/// A whole number with commas between thousands.
fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
