//! Targets side by side: which rows are compared with which, and how they are interleaved.

use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::journal::{Design, PlannedRow};
use oscost_model::program::FAMILY;
use oscost_model::record::TargetInfo;
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment, TreatmentSet};

use super::rows;

/// The maximum number of targets measured together with a base in one worker.
const MAX_NEW_ARMS: usize = 2;

/// Benchmarks that cannot be measured as fork twins. The second process of `quantum` keeps running
/// while its arm waits, and takes the CPU from the other arm; `sched-yield` and `sched/yield` yield
/// the CPU to the process that schedules the arms, which appears as a preemption or as a yield's
/// cost.
const BENCHMARKS_WITHOUT_TWINS: [&str; 3] =
    ["switch/quantum", "syscall/sched-yield", "sched/yield"];

/// A target with its treatments.
#[derive(Clone, Debug)]
pub struct ComparedTarget {
    /// The target as in the record.
    pub target: TargetInfo,
    /// Its treatments.
    pub treatments: TreatmentSet,
}

/// Rows of one case that are measured side by side, by one worker or by workers one after the
/// other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonSet {
    /// How they are interleaved.
    pub design: Design,
    /// The row of the base.
    pub base: usize,
    /// The rows to compare with it: one or two as twins, otherwise one.
    pub news: Vec<usize>,
}

/// The rows and sets of a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonRows {
    /// The rows: all of the base, then all of each other target.
    pub rows: Vec<PlannedRow>,
    /// The treatments of each row.
    pub treatments: Vec<TreatmentSet>,
    /// What is measured side by side in each round.
    pub sets: Vec<ComparisonSet>,
}

/// The rows of all targets, and their sets. Reference cases are compared on every target, so that
/// the cost of a treatment on them is a row too.
pub fn comparison_rows(
    catalog: &Catalog,
    requested: &[Case],
    base: &ComparedTarget,
    news: &[ComparedTarget],
) -> ComparisonRows {
    let mut sides = ComparisonRows { rows: Vec::new(), treatments: Vec::new(), sets: Vec::new() };
    let mut of_base = rows(catalog, requested.to_vec(), &base.target);
    // The primitives of floors are not compared.
    of_base.retain(|row| row.requested || row.is_reference);
    let cases = of_base.len();
    for (number, side) in std::iter::once(base).chain(news).enumerate() {
        for row in &of_base {
            let reference_case = row.is_reference && number == 0;
            let target = side.target.clone();
            let monitored = has_monitor(&side.treatments);
            sides.rows.push(PlannedRow {
                target,
                is_reference: reference_case,
                monitored,
                ..row.clone()
            });
            sides.treatments.push(side.treatments.clone());
        }
    }
    for (case, row) in of_base.iter().enumerate() {
        let is_program = row.definition.family() == FAMILY;
        let twins = !BENCHMARKS_WITHOUT_TWINS.contains(&row.definition.id.as_str());
        let of_case = |new: usize| match design(base, &news[new]) {
            Design::Twins if !twins => Design::Pairs,
            _ if is_program => Design::Pairs,
            design => design,
        };
        // A monitored arm is up to a hundred times slower, and all arms of a worker have the same
        // number of ops per batch: the batches of the others would be too short.
        for monitored in [false, true] {
            let twins: Vec<usize> = (0..news.len())
                .filter(|&new| of_case(new) == Design::Twins)
                .filter(|&new| has_monitor(&news[new].treatments) == monitored)
                .map(|new| (new + 1) * cases + case)
                .collect();
            let sets = twins.chunks(MAX_NEW_ARMS).map(|news| {
                let news = news.to_vec();
                ComparisonSet { design: Design::Twins, base: case, news }
            });
            sides.sets.extend(sets);
        }
        for number in 0..news.len() {
            let design = of_case(number);
            if design != Design::Twins {
                sides.sets.push(ComparisonSet {
                    design,
                    base: case,
                    news: vec![(number + 1) * cases + case],
                });
            }
        }
    }
    sides
}

/// The rows and sets of programs that are compared with each other on one target: in each group the
/// first case with the others. Reference cases are measured, not compared.
pub fn program_rows(
    catalog: &Catalog,
    groups: &[Vec<Case>],
    target: &ComparedTarget,
) -> ComparisonRows {
    let mut cases: Vec<Case> = Vec::new();
    for case in groups.iter().flatten() {
        if !cases.contains(case) {
            cases.push(case.clone());
        }
    }
    let mut rows = rows(catalog, cases.clone(), &target.target);
    rows.retain(|row| row.requested || row.is_reference);
    let monitored = has_monitor(&target.treatments);
    rows.iter_mut().for_each(|row| row.monitored = monitored);
    let set = |group: &Vec<Case>| {
        let mut indices = group.iter().filter_map(|case| cases.iter().position(|it| it == case));
        let base = indices.next()?;
        Some(ComparisonSet { design: Design::Pairs, base, news: indices.collect() })
    };
    let sets = groups.iter().filter_map(set).collect();
    ComparisonRows { treatments: vec![target.treatments.clone(); rows.len()], rows, sets }
}

/// How two targets are interleaved, depending on what they differ in.
pub fn design(base: &ComparedTarget, new: &ComparedTarget) -> Design {
    let twins = |side: &ComparedTarget| {
        side.treatments.applied.iter().all(AppliedTreatment::supports_twins)
    };
    let (base_system, new_system) = (&base.treatments.attached, &new.treatments.attached);
    if base_system == new_system && twins(base) && twins(new) {
        Design::Twins
    } else if base_system.is_empty() && base.treatments.applied == new.treatments.applied {
        Design::Toggle
    } else {
        Design::Pairs
    }
}

/// Whether another process may alternate with the measured one on its CPU.
pub fn has_monitor(treatments: &TreatmentSet) -> bool {
    let same_cpu =
        |it: &AttachedTreatment| matches!(it, AttachedTreatment::Antagonist { same_cpu: true, .. });
    // A wrapper may be a tracer.
    let other =
        |it: &AppliedTreatment| it.has_monitor() || matches!(it, AppliedTreatment::Wrapper { .. });
    treatments.applied.iter().any(other) || treatments.attached.iter().any(same_cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(
        text: &str,
        applied: Vec<AppliedTreatment>,
        attached: Vec<AttachedTreatment>,
    ) -> ComparedTarget {
        let target = TargetInfo {
            text: text.into(),
            host: "local".into(),
            treatments: vec![text.into()],
            machine: "m0".into(),
            cpu: None,
            peer: None,
        };
        ComparedTarget { target, treatments: TreatmentSet { applied, attached } }
    }

    fn variable() -> AppliedTreatment {
        AppliedTreatment::Env { name: "A".into(), value: "b".into() }
    }

    const EBPF: AttachedTreatment = AttachedTreatment::Ebpf { counts: false };

    #[test]
    fn the_design_follows_from_what_differs() {
        let local = side("local", vec![], vec![]);
        let sud = side("sud", vec![AppliedTreatment::Sud], vec![]);
        let ebpf = side("ebpf=empty", vec![], vec![EBPF]);
        let both = side("sud+ebpf=empty", vec![AppliedTreatment::Sud], vec![EBPF]);
        let env = side("env=A=b", vec![variable()], vec![]);
        for (base, new, expected) in [
            (&local, &local, Design::Twins),
            (&local, &sud, Design::Twins),
            (&ebpf, &both, Design::Twins),
            (&local, &ebpf, Design::Toggle),
            (&sud, &both, Design::Toggle),
            (&ebpf, &local, Design::Pairs),
            (&local, &both, Design::Pairs),
            (&local, &env, Design::Pairs),
        ] {
            assert_eq!(design(base, new), expected, "{} {}", base.target.text, new.target.text);
        }
    }

    #[test]
    fn every_case_is_compared_with_its_base_once_per_target() {
        let catalog = oscost_worker::benchmarks::data();
        let requested: Vec<Case> = ["syscall/getppid:via=libc", "syscall/write"]
            .into_iter()
            .filter_map(Case::parse)
            .collect();
        let base = side("local", vec![], vec![]);
        let news = [
            side("sud", vec![AppliedTreatment::Sud], vec![]),
            side("ebpf=empty", vec![], vec![EBPF]),
            side("ptrace", vec![AppliedTreatment::Ptrace], vec![]),
            side("nice=1", vec![AppliedTreatment::Nice { increment: 1 }], vec![]),
            side("env=A=b", vec![variable()], vec![]),
        ];
        let ComparisonRows { rows, treatments, sets } =
            comparison_rows(&catalog, &requested, &base, &news);
        let cases = rows.len() / 6;
        assert!(cases > requested.len(), "reference cases are among them");
        assert_eq!(treatments.len(), rows.len());
        for (number, new) in news.iter().enumerate() {
            for case in 0..cases {
                let row = (number + 1) * cases + case;
                assert_eq!(rows[row].case, rows[case].case);
                assert_eq!(treatments[row], new.treatments);
                let with = sets.iter().filter(|set| set.news.contains(&row)).collect::<Vec<_>>();
                assert!(matches!(&with[..], [set] if set.base == case), "{with:?}");
            }
        }
        let of = |design| sets.iter().filter(|set| set.design == design).count() / cases;
        assert_eq!([Design::Twins, Design::Toggle, Design::Pairs].map(of), [2, 1, 1]);
        let monitored = |set: &ComparisonSet| set.news.iter().any(|&row| rows[row].monitored);
        assert!(sets.iter().filter(|set| monitored(set)).all(|set| set.news.len() == 1));
        assert!(
            rows[cases..].iter().all(|row| !row.is_reference),
            "a reference case is the base's"
        );
    }

    #[test]
    fn benchmarks_without_twins_exist_and_are_measured_in_pairs() {
        let catalog = oscost_worker::benchmarks::data();
        let side = |applied| side("x", applied, vec![]);
        for id in BENCHMARKS_WITHOUT_TWINS {
            assert!(catalog.get(id).is_some(), "{id}");
            let requested = [Case::new(id, Default::default())];
            let sides = comparison_rows(
                &catalog,
                &requested,
                &side(vec![]),
                &[side(vec![AppliedTreatment::Sud])],
            );
            let is_it = |set: &&ComparisonSet| sides.rows[set.base].case.benchmark == id;
            let designs = sides.sets.iter().filter(is_it).map(|set| set.design);
            assert_eq!(designs.collect::<Vec<_>>(), [Design::Pairs], "{id}");
        }
    }
}
