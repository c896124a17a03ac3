//! What a fleet needs of a visit's record. The rest is half of the record or more, and is not
//! parsed where the record comes from the store.

use oscost_model::fleet::FleetVisit;
use oscost_model::record::{Conditions, Machine, Record, Row, RowOutcome};
use oscost_model::unit::{Better, Unit};
use serde::Deserialize;

/// The record of a visit.
#[derive(Deserialize)]
pub(super) struct VisitRecord {
    pub(super) id: String,
    pub(super) started: String,
    #[serde(default)]
    pub(super) fleet: Option<FleetVisit>,
    pub(super) machines: Vec<Machine>,
    pub(super) conditions: Vec<Conditions>,
    pub(super) results: Vec<VisitRow>,
}

/// A row of it.
#[derive(Deserialize)]
pub(super) struct VisitRow {
    pub(super) case: String,
    pub(super) benchmark: String,
    pub(super) rev: u32,
    pub(super) target: VisitTarget,
    pub(super) outcome: RowOutcome,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) estimate: Option<VisitEstimate>,
    pub(super) flags: Vec<String>,
}

/// The target of a row.
#[derive(Deserialize)]
pub(super) struct VisitTarget {
    pub(super) treatments: Vec<String>,
    pub(super) machine: String,
    pub(super) cpu: Option<u32>,
}

/// The estimate of a row.
#[derive(Deserialize)]
pub(super) struct VisitEstimate {
    pub(super) median: f64,
    pub(super) ci95: Option<[f64; 2]>,
}

impl From<Record> for VisitRecord {
    fn from(record: Record) -> Self {
        let Record { id, started, fleet, machines, conditions, results, .. } = record;
        let results = results.into_iter().map(VisitRow::from).collect();
        Self { id, started, fleet, machines, conditions, results }
    }
}

impl From<Row> for VisitRow {
    fn from(row: Row) -> Self {
        Self {
            case: row.case,
            benchmark: row.benchmark,
            rev: row.rev,
            target: VisitTarget {
                treatments: row.target.treatments,
                machine: row.target.machine,
                cpu: row.target.cpu,
            },
            outcome: row.outcome,
            unit: row.unit,
            better: row.better,
            estimate: row
                .estimate
                .map(|estimate| VisitEstimate { median: estimate.median, ci95: estimate.ci95 }),
            flags: row.flags,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_keys_and_the_whole_record_give_the_same() {
        let text = include_str!("../../../tests/store/run-1.json");
        let whole = VisitRecord::from(serde_json::from_str::<Record>(text).unwrap());
        let part: VisitRecord = serde_json::from_str(text).unwrap();
        assert_eq!((&part.id, &part.started), (&whole.id, &whole.started));
        assert_eq!((&part.machines, &part.conditions), (&whole.machines, &whole.conditions));
        let key = |row: &VisitRow| {
            let figure = row.estimate.as_ref().map(|it| (it.median, it.ci95));
            (row.case.clone(), row.target.machine.clone(), row.outcome, row.unit, figure)
        };
        let keys = |of: &VisitRecord| of.results.iter().map(key).collect::<Vec<_>>();
        assert_eq!(keys(&part), keys(&whole));
        assert!(keys(&part).iter().any(|(.., figure)| figure.is_some()));
    }
}
