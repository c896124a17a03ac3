//! Two machines: which cases can have their peer on the other one, and why the others cannot.

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Definition};
use oscost_model::journal::PlannedRow;
use oscost_model::point::Value;
use oscost_model::record::TargetInfo;

/// The axis of cases with two ends.
const PEER_CPU: &str = "peer_cpu";
/// Its only point if the peer is on another machine.
const OTHER: &str = "other";

/// Cases with a peer on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePeerCases {
    /// The cases, each once.
    pub cases: Vec<Case>,
    /// Whether the peer's CPU was changed in any of them.
    pub changed: bool,
}

/// The requested cases with a peer on another machine, whose CPU is then always another one.
pub fn with_remote_peer(catalog: &Catalog, requested: Vec<Case>) -> RemotePeerCases {
    let mut cases: Vec<Case> = Vec::new();
    let mut changed = false;
    for case in requested {
        let definition =
            catalog.get(&case.benchmark).filter(|definition| definition.peer_may_be_remote);
        let case = match definition {
            Some(definition) => with_peer_on_other_cpu(definition, case, &mut changed),
            None => case,
        };
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    RemotePeerCases { cases, changed }
}

/// The case with its peer on another CPU.
fn with_peer_on_other_cpu(definition: &Definition, case: Case, changed: &mut bool) -> Case {
    let other = Value::from(OTHER);
    let whole = definition.with_implied(&case.point);
    let offers = definition.axis(PEER_CPU).is_some_and(|axis| axis.has_point(&other));
    if !offers || whole.get(PEER_CPU) == Some(&other) {
        return case;
    }
    *changed = true;
    let point = whole.iter().fold(oscost_model::point::Point::none(), |point, (axis, value)| {
        let value = if axis == PEER_CPU { &other } else { value };
        point.with(axis, value.clone())
    });
    Case::new(case.benchmark, definition.without_implied(&point))
}

/// Marks the rows whose peer is on the machine `peer`.
pub fn mark_remote_peer(rows: &mut [PlannedRow], peer: &str) {
    for row in rows.iter_mut().filter(|row| row.requested && row.definition.peer_may_be_remote) {
        row.target.peer = Some(peer.to_owned());
    }
}

/// The rows of cases whose peer is on the machine `peer`, in a run whose other rows have both ends
/// here; without `peer` their target names none. A row that cannot have a remote peer does not name
/// one ([`local_only_reason`]).
pub fn remote_peer_rows(
    catalog: &Catalog,
    requested: Vec<Case>,
    target: &TargetInfo,
    peer: Option<&str>,
) -> Vec<PlannedRow> {
    let cases = with_remote_peer(catalog, requested).cases;
    let row = |case: Case| {
        let definition = catalog.get(&case.benchmark)?.clone();
        let there = peer.filter(|_| definition.peer_may_be_remote).map(str::to_owned);
        Some(PlannedRow {
            case,
            definition,
            target: TargetInfo { peer: there, ..target.clone() },
            requested: true,
            is_reference: false,
            is_refinement: false,
            monitored: false,
            workload: None,
            study_method: None,
        })
    };
    cases.into_iter().filter_map(row).collect()
}

/// Why the peer of a row cannot be on another machine; `None` if it is, or if there is no peer.
pub fn local_only_reason(row: &PlannedRow) -> Option<String> {
    let definition = &row.definition;
    if !row.requested || row.target.peer.is_some() || definition.axis(PEER_CPU).is_none() {
        return None;
    }
    let (_, name) = definition.id.split_once('/').unwrap_or_default();
    Some(match name.contains("one-way") {
        true => "one-way times cannot be measured between machines, since their clocks are not \
                 synchronised; half a round trip is reported instead (HALF_ASSUMED)"
            .to_owned(),
        false => {
            format!("both ends of `{}` must be on one machine: leave out --peer", definition.id)
        }
    })
}

#[cfg(test)]
mod tests {
    use oscost_model::definition::Axis;
    use oscost_model::point::Point;

    use super::*;

    fn catalog(
        id: &str,
        peer_may_be_remote: bool,
        offered: &[&str],
        implied: Option<&str>,
    ) -> Catalog {
        let mut catalog = oscost_worker::benchmarks::data();
        let mut definition = catalog.get("timer/nothing").unwrap().clone();
        let points: Vec<Value> = offered.iter().map(|&word| Value::from(word)).collect();
        definition.id = id.to_owned();
        definition.peer_may_be_remote = peer_may_be_remote;
        definition.axes = vec![Axis {
            name: PEER_CPU.into(),
            sets: "where".into(),
            default_points: points.clone(),
            points,
            implied: implied.map(Value::from),
            price_list_points: vec![],
            thorough_points: vec![],
            range: None,
            item: String::new(),
        }];
        catalog.benchmarks = vec![definition];
        catalog
    }

    fn cases(catalog: &Catalog, names: &[&str]) -> (Vec<String>, bool) {
        let requested = names.iter().map(|name| Case::parse(name).unwrap()).collect();
        let RemotePeerCases { cases, changed } = with_remote_peer(catalog, requested);
        (cases.iter().map(Case::to_string).collect(), changed)
    }

    #[test]
    fn a_remote_peer_is_on_another_cpu_and_each_case_is_listed_once() {
        let remote = catalog("s/t", true, &["same", "other"], None);
        let both = ["s/t:peer_cpu=same", "s/t:peer_cpu=other"];
        assert_eq!(cases(&remote, &both), (vec!["s/t:peer_cpu=other".to_owned()], true));
        assert_eq!(cases(&remote, &both[1..]), (vec!["s/t:peer_cpu=other".to_owned()], false));
        let local = catalog("s/t", false, &["same", "other"], None);
        assert_eq!(cases(&local, &both).0.len(), 2);
        let implied = catalog("s/t", true, &["same", "other"], Some("same"));
        assert_eq!(cases(&implied, &["s/t"]), (vec!["s/t:peer_cpu=other".to_owned()], true));
    }

    #[test]
    fn remote_rows_name_the_peer_if_there_is_one() {
        let target = TargetInfo {
            text: "local".into(),
            host: "local".into(),
            treatments: vec![],
            machine: "m0".into(),
            cpu: None,
            peer: None,
        };
        let keys = |peer_may_be_remote, peer| {
            let catalog = catalog("s/t", peer_may_be_remote, &["same", "other"], None);
            let requested = ["s/t:peer_cpu=same", "s/t:peer_cpu=other"];
            let requested = requested.iter().map(|name| Case::parse(name).unwrap()).collect();
            let rows = remote_peer_rows(&catalog, requested, &target, peer);
            let keys = rows.into_iter().map(|row| (row.case.to_string(), row.target.peer));
            keys.collect::<Vec<_>>()
        };
        let other = "s/t:peer_cpu=other".to_owned();
        assert_eq!(keys(true, Some("m1")), [(other.clone(), Some("m1".to_owned()))]);
        assert_eq!(keys(true, None), [(other.clone(), None)]);
        assert_eq!(keys(false, Some("m1")).iter().filter(|row| row.1.is_some()).count(), 0);
    }

    #[test]
    fn a_local_only_row_says_why_and_what_to_do() {
        let row = |id: &str, peer_may_be_remote| {
            let catalog = catalog(id, peer_may_be_remote, &["other"], None);
            let mut rows = [PlannedRow {
                case: Case::new(id, Point::none().with(PEER_CPU, OTHER)),
                definition: catalog.benchmarks[0].clone(),
                target: TargetInfo {
                    text: "local".into(),
                    host: "local".into(),
                    treatments: vec![],
                    machine: "m0".into(),
                    cpu: None,
                    peer: None,
                },
                requested: true,
                is_reference: false,
                is_refinement: false,
                monitored: false,
                workload: None,
                study_method: None,
            }];
            mark_remote_peer(&mut rows, "m1");
            let [row] = rows;
            row
        };
        assert_eq!(local_only_reason(&row("socket/round-trip", true)), None);
        assert_eq!(row("socket/round-trip", true).target.peer.as_deref(), Some("m1"));
        assert!(
            local_only_reason(&row("pipe/round-trip", false)).unwrap().contains("leave out --peer")
        );
        assert!(local_only_reason(&row("socket/one-way", false)).unwrap().contains("clocks"));
    }
}
