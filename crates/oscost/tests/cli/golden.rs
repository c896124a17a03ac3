//! Golden files of the command line's output.

use std::path::Path;

#[path = "../common/golden.rs"]
mod check;

pub(crate) use check::check_golden;

/// Compares `text` with the golden file of that name.
pub(crate) fn golden(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    check_golden(&folder.join(name), text);
}
