//! What a case needs of its place, asked before anything is built.

use std::fs::File;

use oscost_model::definition::{Definition, Requirement};
use oscost_model::point::Point;

use crate::sys::{counter, vdso};

/// The first need that is not met at `point`, in words.
pub(super) fn missing(definition: &Definition, point: &Point) -> Option<String> {
    definition
        .needs
        .iter()
        .filter(|need| point.includes(&need.when))
        .find_map(|need| unmet(&need.what))
}

fn unmet(what: &Requirement) -> Option<String> {
    match what {
        Requirement::Readable(path) => File::open(path)
            .err()
            .map(|error| format!("{path} cannot be opened for reading: {error}")),
        Requirement::VdsoFunction(name) => {
            // x86-64 and aarch64 prefix the function's name differently.
            let found =
                vdso::has(&format!("__vdso_{name}")) || vdso::has(&format!("__kernel_{name}"));
            (!found).then(|| format!("this kernel's vDSO has no {name}"))
        }
        Requirement::Counter => counter::declared_unusable(),
        Requirement::Meaning(why) => Some(why.clone()),
    }
}
