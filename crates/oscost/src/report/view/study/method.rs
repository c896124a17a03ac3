//! The method of a study in words.

use oscost_model::study_method::{
    ClockCost, Statistic, StudyMethod, StudyMethodFigure, TimingScope,
};

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

/// How many ops were made here by the method of a study, and how far its statistic still moves with
/// their number; nothing where no row has a figure.
pub(super) fn ops_made(figures: &[&StudyMethodFigure]) -> String {
    let with_value: Vec<&&StudyMethodFigure> =
        figures.iter().filter(|it| it.value.is_some() && it.ops > 0).collect();
    let made = || with_value.iter().map(|it| it.ops);
    let (Some(fewest), Some(most)) = (made().min(), made().max()) else { return String::new() };
    let is_complete = |it: &&&StudyMethodFigure| {
        it.ops >= it.method.iterations.saturating_mul(u64::from(it.method.experiments))
    };
    let made = match with_value.iter().all(is_complete) {
        true => "all of them made here".to_owned(),
        false if fewest == most => format!("{} of them made here", with_commas(fewest)),
        false => format!("{} to {} of them made here", with_commas(fewest), with_commas(most)),
    };
    let distances = with_value.iter().filter_map(|it| it.distance_from_rounds_pct);
    let farthest = distances.map(f64::abs).reduce(f64::max);
    let distance =
        farthest.map(|pct| format!(", at most {pct:.1} % from the median of their rounds"));
    let distance = distance.unwrap_or_default();
    format!(" ({made}{distance})")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ops_that_were_made_stand_beside_those_of_the_study() {
        let figure = |ops: u64, distance: Option<f64>| StudyMethodFigure {
            method: StudyMethod {
                timed: TimingScope::Each,
                iterations: 1_000,
                experiments: 1_000,
                statistic: Statistic::Mean,
                clock: ClockCost::Included,
            },
            iterations: 1_000,
            experiments: 10,
            ops,
            value: Some(1.0),
            deviation: None,
            rounds: Vec::new(),
            distance_from_rounds_pct: distance,
            reason: None,
        };
        let [all, few, fewer] =
            [figure(1_000_000, Some(0.04)), figure(10_000, Some(-1.26)), figure(558, None)];
        let failed = StudyMethodFigure { value: None, ..all.clone() };
        assert_eq!(
            ops_made(&[&all]),
            " (all of them made here, at most 0.0 % from the median of their rounds)"
        );
        assert_eq!(ops_made(&[&fewer, &failed]), " (558 of them made here)");
        let expected =
            " (558 to 1,000,000 of them made here, at most 1.3 % from the median of their rounds)";
        assert_eq!(ops_made(&[&all, &few, &fewer]), expected);
        assert_eq!(ops_made(&[&failed]), "");
    }
}
