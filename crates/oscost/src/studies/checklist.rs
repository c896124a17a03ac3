//! The checklist of a study: for each row of its tables the act, the statistic, the size and the
//! placement with which it is measured, and what differs from the study.

use oscost_model::case::Case;
use oscost_model::study_method::StudyMethod;

use super::study::{Placement, Study, Subject, Table, TableRow};

/// How a row, or a curve, is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ChecklistLine<'a> {
    /// The table.
    pub table: &'a Table,
    /// The name of the row or the curve.
    pub name: &'a str,
    /// The benchmark and what is chosen of it, without size and placement; or why it is not
    /// measured.
    pub act: Act,
    /// Whether it is a program, which has trials instead of ops.
    pub is_program: bool,
    /// The number of its runs, where the study compares two targets by means of runs.
    pub runs: usize,
    /// The study's method of timing it.
    pub study_method: Option<StudyMethod>,
    /// The sizes, numbers and amounts of the case, as axis and value.
    pub sizes: Vec<[String; 2]>,
    /// Where its two sides run, in words; empty for one side.
    pub placement: String,
    /// What differs from the study.
    pub differs: Vec<&'a str>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A case.
    Case(String),
    /// Nothing that can be measured here, and why.
    Unmeasurable(String),
}

/// The axis that says where the two sides of a case run.
const PLACEMENT: &str = "peer_cpu";

/// The lines of a study's checklist: a line for each row, and one for each curve.
pub fn checklist(study: &Study) -> Vec<ChecklistLine<'_>> {
    study.tables.iter().flat_map(of_table).collect()
}

fn of_table(table: &Table) -> Vec<ChecklistLine<'_>> {
    let in_series = |at: usize| table.series.iter().any(|series| series.rows().contains(&at));
    let single = table.rows.iter().enumerate().filter(|(at, _)| !in_series(*at));
    let mut lines: Vec<ChecklistLine<'_>> =
        single.map(|(_, row)| line(table, &row.name, row)).collect();
    for series in &table.series {
        let Some(first) = table.rows.get(series.first) else { continue };
        let mut of_series = line(table, &series.name, first);
        // Its rows differ in one number.
        of_series.sizes.retain(|[axis, _]| *axis != series.axis);
        let ends = [series.values.first(), series.values.last()].map(|it| it.copied().unwrap_or(0));
        of_series.sizes.insert(0, [series.axis.clone(), format!("{} to {}", ends[0], ends[1])]);
        if let Act::Case(case) = &mut of_series.act {
            *case = without_axis(case, &series.axis);
        }
        lines.push(of_series);
    }
    lines
}

fn line<'a>(table: &'a Table, name: &'a str, row: &'a TableRow) -> ChecklistLine<'a> {
    let notes = row.notes.iter().chain(&table.notes).filter(|note| note.differs);
    let differs = notes.map(|note| note.text.as_str()).collect();
    let unplaced = |act| ChecklistLine {
        table,
        name,
        act,
        is_program: row.is_program(),
        runs: row.runs,
        study_method: row.study_method,
        sizes: Vec::new(),
        placement: String::new(),
        differs,
    };
    let case = match &row.subject {
        Subject::Case(case) => case,
        Subject::Unmeasurable(why) => return unplaced(Act::Unmeasurable(why.clone())),
    };
    let parsed = Case::parse(case);
    let axes: Vec<[String; 2]> = parsed
        .iter()
        .flat_map(|it| it.point.iter())
        .map(|(axis, value)| [axis.to_owned(), value.to_string()])
        .collect();
    let is_size = |[axis, value]: &&[String; 2]| {
        axis != PLACEMENT && value.chars().next().is_some_and(|it| it.is_ascii_digit())
    };
    let sizes: Vec<[String; 2]> = axes.iter().filter(is_size).cloned().collect();
    let placed = axes.iter().find(|[axis, _]| axis == PLACEMENT).map(|[_, value]| value.as_str());
    let placed = match (placed, row.peer) {
        (_, true) => "two machines",
        (Some("same"), false) => "one CPU",
        (Some("other"), false) => "two CPUs",
        (Some(_), false) => "as the case says",
        (None, false) => "",
    };
    let placement = match row.placement {
        Placement::Stated => placed.to_owned(),
        Placement::OneCpu | Placement::TwoCpus => format!("not stated: {placed}"),
    };
    let mut act = without_axis(case, PLACEMENT);
    for [axis, _] in &sizes {
        act = without_axis(&act, axis);
    }
    let metric = row.metric.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
    ChecklistLine { sizes, placement, ..unplaced(Act::Case(format!("{act}{metric}"))) }
}

/// A case without one of its axes.
fn without_axis(case: &str, axis: &str) -> String {
    let Some((benchmark, point)) = case.split_once(':') else { return case.to_owned() };
    let others = point.split(',').filter(|it| it.split('=').next() != Some(axis));
    match others.collect::<Vec<_>>().join(",") {
        point if point.is_empty() => benchmark.to_owned(),
        point => format!("{benchmark}:{point}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::{built_in_names, find_built_in};

    #[test]
    fn every_row_of_every_study_has_a_line_or_is_a_point_of_a_curve_that_has_one() {
        for name in built_in_names() {
            let study = find_built_in(name).unwrap();
            let lines = checklist(&study);
            let of_curves: usize =
                study.tables.iter().flat_map(|it| &it.series).map(|it| it.values.len()).sum();
            let curves: usize = study.tables.iter().map(|it| it.series.len()).sum();
            assert_eq!(lines.len(), study.rows().count() - of_curves + curves, "{name}");
        }
    }

    #[test]
    fn a_line_separates_act_size_and_placement() {
        let study = find_built_in("cs736-2019").unwrap();
        let lines = checklist(&study);
        let pipe = lines.iter().find(|it| it.name.starts_with("pipe rate")).unwrap();
        assert_eq!(pipe.act, Act::Case("pipe/throughput:by=pipe".to_owned()));
        assert_eq!(pipe.sizes, [["size".to_owned(), "4 to 524288".to_owned()]]);
        assert!(pipe.placement.ends_with("CPU") || pipe.placement.ends_with("CPUs"), "{pipe:?}");
        let remote = lines.iter().find(|it| it.name == "TCP remote").unwrap();
        assert_eq!(remote.placement, "two machines");
        let none = lines.iter().filter(|it| matches!(it.act, Act::Unmeasurable(_)));
        assert!(none.clone().all(|it| it.sizes.is_empty() && it.placement.is_empty()));
    }
}
