//! `oscost fleet ab`: what a treatment costs on a fleet, with the node as the unit.

mod sides;

use std::collections::BTreeMap;

use oscost_model::record::{Conditions, Record};

use self::sides::Sides;
use super::source::{FleetSource, for_each_record};
use crate::app::error::UsageError;
use crate::bill::is_void;
use crate::fleet::{ComparedSides, ExcludedRun, UnreadRecords, compare_sides};

/// Which fleet to analyse.
#[derive(Clone, Debug)]
pub struct Request {
    /// The fleet: its name in the store, or its folder.
    pub fleet: String,
    /// The treatments of the new side; without it, those that the fleet was measured under.
    pub treatments: Option<String>,
}

/// Compares the sides of a fleet.
pub fn ab(request: &Request) -> anyhow::Result<ComparedSides> {
    let mut sides = Sides::default();
    let mut excluded = Vec::new();
    // By treatments, the first run under them.
    let mut treated: BTreeMap<String, ExcludedRun> = BTreeMap::new();
    let mut each = |record: &Record| {
        let Some(visit) = &record.fleet else { return };
        match not_claimable_reason(record) {
            None => sides.add(&visit.node, record),
            Some(why) => {
                let run = ExcludedRun { run: record.id.clone(), node: visit.node.clone(), why };
                let rows = record.results.iter().map(|row| &row.target.treatments);
                for treatments in rows.filter(|treatments| !treatments.is_empty()) {
                    treated.entry(treatments.join("+")).or_insert_with(|| run.clone());
                }
                excluded.push(run);
            }
        }
    };
    let rejected = for_each_record(&FleetSource::parse(&request.fleet), &mut each)?;
    let measured = sides.treatments();
    if let Some((treatments, first)) = unjudged(&measured, &treated, request.treatments.as_deref())
    {
        anyhow::bail!(
            "cannot compare sides: nothing is concluded from any run under `{treatments}`, as that of \
             {}, which {}\n  hint: measure the fleet again, in a new folder, when its nodes have \
             nothing else to do",
            first.node,
            first.why
        );
    }
    let treatments = choose(&measured, request.treatments.as_deref())?;
    let counts = sides.node_counts(&treatments);
    Ok(ComparedSides {
        fleet: request.fleet.clone(),
        nodes_of_both: counts.both,
        nodes_of_base: counts.base,
        nodes_of_new: counts.new,
        comparisons: compare_sides(&sides.of_nodes(&treatments)),
        other_revisions: sides.other_revisions(&treatments),
        treatments,
        excluded,
        unread: rejected.first().map(|first| UnreadRecords {
            count: rejected.len(),
            first: first.file.clone(),
            why: first.why.clone(),
        }),
    })
}

/// Why nothing is concluded from a run, as what it is or has; `None` if something may be.
fn not_claimable_reason(record: &Record) -> Option<&'static str> {
    let of_conditions = record.conditions.iter().find_map(Conditions::not_claimable_reason);
    of_conditions.or_else(|| is_void(record).then_some("has a control that shows an effect"))
}

/// The treatments to compare, with the first run under them, if all of these runs are excluded.
fn unjudged<'a>(
    measured: &[String],
    excluded: &'a BTreeMap<String, ExcludedRun>,
    wanted: Option<&str>,
) -> Option<(&'a String, &'a ExcludedRun)> {
    let of_wanted = wanted.and_then(|wanted| excluded.get_key_value(wanted));
    let of_wanted = of_wanted.filter(|(treatments, _)| !measured.contains(*treatments));
    of_wanted.or_else(|| excluded.first_key_value().filter(|_| measured.is_empty()))
}

/// The treatments to compare: those that were asked for, or the only ones.
fn choose(measured: &[String], wanted: Option<&str>) -> Result<String, UsageError> {
    let names = measured.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    match (measured, wanted) {
        ([], _) => Err(UsageError::with_hint(
            "cannot compare sides: no run of the fleet has treatments",
            "`oscost fleet run --treatment TREATMENTS` measures a fleet with and without them",
        )),
        (_, Some(wanted)) if measured.iter().any(|it| it == wanted) => Ok(wanted.to_owned()),
        (_, Some(wanted)) => {
            let what = format!("no run of the fleet has the treatments `{wanted}`");
            Err(UsageError::with_hint(&what, &format!("its runs have {names}")))
        }
        ([only], None) => Ok(only.clone()),
        _ => Err(UsageError::with_hint(
            "cannot compare sides: the fleet was measured under several treatments",
            &format!("`--treatment` chooses one of {names}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_concluded_from_a_run_whose_control_shows_an_effect() {
        let record = include_str!("../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(record).unwrap();
        assert_eq!(not_claimable_reason(&record), None);
        record.comparisons[0].flags.push("VOID".to_owned());
        assert_eq!(not_claimable_reason(&record), Some("has a control that shows an effect"));
    }

    #[test]
    fn treatments_of_excluded_runs_alone_are_not_called_unmeasured() {
        let run = |why| ExcludedRun { run: "r1".to_owned(), node: "n1".to_owned(), why };
        let excluded = ["nice=5", "seccomp=docker"].map(|it| (it.to_owned(), run("is very noisy")));
        let excluded = BTreeMap::from(excluded);
        let found = |measured: &[String], wanted: Option<&str>| {
            unjudged(measured, &excluded, wanted).map(|(treatments, _)| treatments.clone())
        };
        let nice = ["nice=5".to_owned()];
        assert_eq!(found(&nice, Some("seccomp=docker")).as_deref(), Some("seccomp=docker"));
        assert_eq!(found(&nice, Some("nice=5")), None);
        assert_eq!(found(&nice, None), None);
        assert_eq!(found(&[], Some("seccomp=docker")).as_deref(), Some("seccomp=docker"));
        assert_eq!(found(&[], None).as_deref(), Some("nice=5"));
    }

    #[test]
    fn the_only_treatments_need_no_name_and_of_several_one_is_chosen() {
        let several = ["nice=5", "seccomp=docker"].map(str::to_owned);
        let one = &several[..1];
        assert_eq!(choose(one, None).unwrap(), "nice=5");
        assert_eq!(choose(&several, Some("nice=5")).unwrap(), "nice=5");
        let why = |measured: &[String], wanted| choose(measured, wanted).unwrap_err().0;
        assert!(why(&several, None).contains("one of `nice=5`, `seccomp=docker`"));
        assert!(why(one, Some("ptrace")).contains("its runs have `nice=5`"));
        assert!(why(&[], None).contains("`oscost fleet run --treatment"));
    }
}
