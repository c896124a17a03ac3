//! Golden files: what was printed once and found good.

use std::fs;
use std::path::Path;

/// Compares `text` with the golden file of that name. `UPDATE_GOLDEN=1` rewrites it; one that is
/// missing is made, and the test fails this once so that somebody looks at it.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    match fs::read_to_string(&path) {
        Ok(good) => assert!(
            good == text,
            "{name} has changed (UPDATE_GOLDEN=1 takes it as it is now)\n\
             ---------- good:\n{good}\n---------- now:\n{text}\n----------"
        ),
        Err(_) => {
            fs::write(&path, text).unwrap();
            panic!(
                "{} was not there: it is now, look at it and run the test again",
                path.display()
            );
        }
    }
}
