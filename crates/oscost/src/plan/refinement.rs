//! Refinement: more sizes around the breaks of a curve.

use oscost_model::curve::Curve;
use oscost_model::journal::PlannedRow;
use oscost_model::point::{Point, Value};

/// The rows that locate the breaks of curves more precisely: rows of the same curve at other sizes.
pub fn refinement_rows(rows: &[PlannedRow], curves: &[Curve]) -> Vec<PlannedRow> {
    let mut found: Vec<PlannedRow> = Vec::new();
    for curve in curves {
        let of_curve = |row: &&PlannedRow| {
            row.target.text == curve.target
                && row.target.peer == curve.peer
                && curve.points.iter().any(|point| point.case == row.case.to_string())
        };
        let Some(like) = rows.iter().find(of_curve) else { continue };
        let sizes = curve.breaks.iter().flatten().flat_map(|it| &it.refinement_values);
        for &size in sizes {
            let mut row = PlannedRow {
                requested: true,
                is_reference: false,
                is_refinement: true,
                ..like.clone()
            };
            // No study measured this size.
            row.study_method = None;
            row.case.point = with_axis_value(&like.case.point, &curve.axis, size);
            let is_same = |other: &PlannedRow| other.case == row.case && other.target == row.target;
            if !rows.iter().chain(&found).any(is_same) {
                found.push(row);
            }
        }
    }
    found
}

/// The same point with another number on one axis.
fn with_axis_value(point: &Point, axis: &str, number: u64) -> Point {
    point.iter().fold(Point::none(), |at, (name, value)| {
        at.with(name, if name == axis { Value::Number(number) } else { value.clone() })
    })
}

#[cfg(test)]
mod tests {
    use oscost_model::case::Case;
    use oscost_model::curve::{Break, CurvePoint};
    use oscost_model::record::TargetInfo;
    use oscost_model::unit::{Better, Unit};

    use super::*;

    fn row(text: &str) -> PlannedRow {
        let case = Case::parse(text).unwrap();
        let target = TargetInfo {
            text: "local".into(),
            host: "local".into(),
            treatments: vec![],
            machine: "m0".into(),
            cpu: None,
            peer: None,
        };
        let definition = oscost_worker::benchmarks::data().get(&case.benchmark).unwrap().clone();
        PlannedRow {
            case,
            definition,
            target,
            requested: true,
            is_reference: false,
            is_refinement: false,
            monitored: false,
            workload: None,
            study_method: None,
        }
    }

    fn curve(rows: &[PlannedRow], closer: &[u64]) -> Curve {
        let point = |row: &PlannedRow| CurvePoint {
            value: 4,
            case: row.case.to_string(),
            figure: None,
            ci95: None,
        };
        let breaks = Break {
            position: 8,
            interval: [4, 16],
            constants: vec![],
            refinement_values: closer.to_vec(),
        };
        Curve {
            benchmark: "pipe/throughput".into(),
            point: Point::none(),
            axis: "size".into(),
            item: "byte".into(),
            target: "local".into(),
            peer: None,
            unit: Unit::BytesPerSecond,
            better: Better::Higher,
            points: rows.iter().map(point).collect(),
            breaks: Some(vec![breaks]),
            saturation: None,
            scaling: None,
            capacity: None,
            sentences: vec![],
        }
    }

    #[test]
    fn the_sizes_around_a_break_are_new_rows_of_its_curve_without_duplicates() {
        let rows = ["same", "other"].map(|cpu| {
            ["4", "16"]
                .map(|size| row(&format!("pipe/throughput:by=pipe,size={size},peer_cpu={cpu}")))
        });
        let whole: Vec<PlannedRow> = rows.iter().flatten().cloned().collect();
        let added = refinement_rows(&whole, &[curve(&rows[1], &[6, 9, 16, 9])]);
        let cases: Vec<String> = added.iter().map(|row| row.case.to_string()).collect();
        let expected =
            ["6", "9"].map(|size| format!("pipe/throughput:by=pipe,size={size},peer_cpu=other"));
        assert_eq!(cases, expected);
        assert!(added.iter().all(|row| row.requested && row.is_refinement && !row.is_reference));
        assert_eq!(refinement_rows(&whole, &[curve(&rows[0], &[])]), []);
    }
}
