//! `oscost fleet ab`: what a treatment costs on a fleet, with the node as the unit.

mod sides;

use oscost_model::record::{Conditions, Record};

use self::sides::Sides;
use super::source::{FleetSource, for_each_record};
use crate::app::error::UsageError;
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
    let mut each = |record: &Record| {
        let Some(visit) = &record.fleet else { return };
        match record.conditions.iter().find_map(Conditions::not_claimable_reason) {
            None => sides.add(&visit.node, record),
            Some(why) => {
                excluded.push(ExcludedRun { run: record.id.clone(), node: visit.node.clone(), why })
            }
        }
    };
    let rejected = for_each_record(&FleetSource::parse(&request.fleet), &mut each)?;
    let treatments = choose(&sides.treatments(), request.treatments.as_deref())?;
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
