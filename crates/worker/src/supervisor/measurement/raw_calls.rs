//! The treatment `call`: raw system calls that are made in the loop, or through a function.

use oscost_model::protocol::Event;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::WorkerSpec;

use crate::bench::Work;

/// This work, with its raw calls made as the treatments of its arm say; the error is the answer.
pub(super) fn with_raw_calls(
    id: u64,
    mut work: Work,
    spec: &WorkerSpec,
    arm: u8,
) -> Result<Work, Event> {
    let how = spec.treatments_of(arm).iter().find_map(|one| match one {
        AppliedTreatment::Call { how } => Some(*how),
        _ => None,
    });
    match how {
        Some(how) if !work.set_raw_call(how) => {
            let missing = "a loop with a function around each of its raw calls, which `call` needs: \
                           this case has none";
            Err(Event::Skipped { id, missing: missing.to_owned(), arm: None })
        }
        _ => Ok(work),
    }
}
