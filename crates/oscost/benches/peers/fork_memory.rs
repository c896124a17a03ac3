//! What fork(2) copies of a worker and of plain programs in C that only fork, and what that costs.
//!
//! The loops of the other comparisons grow to the worker's memory, so that the ops are compared and
//! not the processes; these do not.

use oscost_model::definition::Catalog;

use super::acts::{ACTS, resolve_case};
use super::pairs::{alternate, figure, print_comparison};
use super::peer_programs::PeerPrograms;
use super::worker_session::{Memory, WorkerSession};

/// The programs in C, and how they are linked: at a fixed address, without relocations, and as the
/// worker is.
const PROGRAMS: [(&str, &str); 2] = [("C, -static", "-static"), ("C, -static-pie", "-static-pie")];

/// Prints the memory of all programs, and compares fork rows with theirs; returns whether the bars
/// hold.
pub(super) fn compare(catalog: &Catalog, worker: &mut WorkerSession<'_>) -> anyhow::Result<bool> {
    println!("program            mappings  private pages  page tables");
    print_memory("worker", worker.memory()?);
    let mut programs = Vec::new();
    for (name, link) in PROGRAMS {
        let program = PeerPrograms::linked(worker, link, Memory::default())?;
        print_memory(name, program.memory()?);
        programs.push((name, program));
    }
    let mut holds = true;
    for act in ACTS.iter().filter(|act| act.case.starts_with("process/fork-")) {
        println!("\n{} (ours, the peer's, ratio, 95 % interval, bar)", act.case);
        let (case, definition) = resolve_case(act, catalog)?;
        let plan = worker.plan(&case)?;
        for (name, program) in &programs {
            let pairs = alternate(
                || figure(|| worker.value(&case, &plan, definition.switches)),
                || figure(|| program.c_loop_value(act, &plan, definition.switches)),
            );
            holds &= print_comparison(name, act.bar, pairs);
        }
    }
    println!("\nbars hold: {holds}");
    Ok(holds)
}

fn print_memory(name: &str, Memory { mappings, pages, page_table_kib }: Memory) {
    println!("{name:<16}{mappings:>11}{pages:>15}{page_table_kib:>9} KiB");
}
