//! Whether the effects that a run measured drifted, so that one figure describes few of them.

use oscost_model::counters::is_work;
use oscost_model::record::{Comparison, Row};

use super::interleaved_run::SECONDARY;

/// From this share of the verdicts on, drift is said of the run: of many effects a few seem to drift
/// by chance.
const FROM_SHARE: f64 = 0.5;

/// Whether the effect drifted in at least half of the comparisons of requested rows with a verdict of
/// their own.
pub(in crate::estimate) fn effects_drift(comparisons: &[Comparison], rows: &[Row]) -> bool {
    let has = |it: &Comparison, name: &str| it.flags.iter().any(|flag| flag == name);
    let is_requested = |it: &Comparison| rows.get(it.base as usize).is_some_and(Row::is_requested);
    let judged: Vec<&Comparison> = comparisons
        .iter()
        .filter(|it| !it.control && !is_work(&it.metric) && !has(it, SECONDARY))
        .filter(|it| is_requested(it))
        .collect();
    let drifting = judged.iter().filter(|it| has(it, "EFFECT_DRIFTS")).count();
    drifting > 0 && drifting as f64 >= FROM_SHARE * judged.len() as f64
}

#[cfg(test)]
mod tests {
    use oscost_model::record::Record;

    use super::*;

    #[test]
    fn effects_drift_if_half_of_the_verdicts_of_requested_rows_are_on_such() {
        let text = include_str!("../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let requested = Row { flags: Vec::new(), ..record.results[0].clone() };
        let reference = Row { flags: vec!["REFERENCE".to_owned()], ..requested.clone() };
        let rows = [requested, reference];
        let of = |base: u32, flags: &[&str]| Comparison {
            base,
            control: false,
            metric: "primary".to_owned(),
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            ..record.comparisons[0].clone()
        };
        let drifting = of(0, &["EFFECT_DRIFTS", "SHORT_SPAN"]);
        let steady = of(0, &["SHORT_SPAN"]);
        let pair = [drifting.clone(), steady.clone()];
        assert!(effects_drift(&pair, &rows));
        assert!(!effects_drift(&[&pair[..], std::slice::from_ref(&steady)].concat(), &rows));
        for other in [
            of(1, &["EFFECT_DRIFTS"]),
            of(0, &["EFFECT_DRIFTS", SECONDARY]),
            Comparison { control: true, ..drifting.clone() },
        ] {
            assert!(!effects_drift(&[other.clone(), steady.clone()], &rows), "{other:?}");
            assert!(!effects_drift(&[other], &rows), "there is no verdict");
        }
    }
}
