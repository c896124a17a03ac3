//! The work of cases, built and run in the test's own process.

use oscost_model::case::Case;
use oscost_model::definition::{Definition, Requirement};
use oscost_model::point::Point;
use oscost_worker::bench::{Context, OpError, Params, Work};
use oscost_worker::benchmarks;
use oscost_worker::kernel::Errno;
use oscost_worker::kernel::cpu::affinity;
use oscost_worker::kernel::machine::resources;

/// Why a case cannot run on this machine; `None` if it can.
fn lacking(definition: &Definition, point: &Point) -> Option<String> {
    let needs = definition.needs.iter().filter(|need| point.includes(&need.when));
    needs.map(|need| &need.requirement).find_map(|what| match what {
        Requirement::Resource(offer) => resources::missing(*offer),
        Requirement::Undefined(reason) => Some(reason.clone()),
        // Asked by the page faults of userfaultfd; tests that have all capabilities build it.
        Requirement::Capability(_) => None,
        other => panic!("{}: {other:?} is not a need of these families", definition.id),
    })
}

/// The work of a case as a worker builds it; `None`, with a message, if it is not available.
pub(crate) fn work(text: &str) -> Option<Work> {
    let case = Case::parse(text).unwrap();
    let bench = benchmarks::find(&case.benchmark).unwrap();
    assert!(bench.is_complete(&case.point), "{text} is not a case");
    if let Some(lacking) = lacking(&bench.definition(), &case.point) {
        eprintln!("{text}: {lacking}");
        return None;
    }
    let cpus = affinity::allowed_cpus(0).unwrap();
    let other_cpu = (cpus.len() > 1).then(|| cpus[cpus.len() - 1]);
    let site = Context { cpu: cpus.first().copied(), other_cpu, ..Context::DEFAULT };
    match (bench.build)(Params::new(&case.point, site)) {
        Ok(work) => match work.unavailable_reason() {
            Some(reason) => {
                eprintln!("{text}: {reason}");
                None
            }
            None => Some(work),
        },
        Err(Errno::EOPNOTSUPP) => {
            eprintln!("{text}: not supported here");
            None
        }
        Err(error) => panic!("{text} is not built: {error}"),
    }
}

/// A batch as the engine runs it.
pub(crate) fn batch(work: &mut Work, ops: u64) -> Result<(), OpError> {
    work.prepare(ops)?;
    work.run(ops, 1)?;
    work.verify()
}
