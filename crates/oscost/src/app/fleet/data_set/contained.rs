//! Panics of the reader of Parquet files: a malformed file is an error, and no fault of this program.
//!
//! The `parquet` crate checks most of what a file says of itself, and panics on some of the rest: an
//! index beyond a page, a length that is negative. Its own checks cannot be made here again without
//! parsing the file a second time. So its panics are caught; what it has read by then is dropped.
//! The release is compiled to abort on a panic, so that nothing can be caught there: the hook, which
//! is called before, reports the same error and ends the program. Nothing is measured and no file is
//! open for writing while a data set is read.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Once, OnceLock};

/// Reports an error; returns the exit status.
type Report = Box<dyn Fn(&anyhow::Error) -> u8 + Send + Sync>;

static REPORT: OnceLock<Report> = OnceLock::new();

thread_local! {
    /// The file that this thread reads.
    static READING: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Says how the program ends on a malformed file where a panic cannot be caught. The first one holds.
pub fn on_malformed_file(report: impl Fn(&anyhow::Error) -> u8 + Send + Sync + 'static) {
    // It fails if there is one.
    let _ = REPORT.set(Box::new(report));
}

/// Calls the reader of Parquet files; its panic is an error.
pub(super) fn contained<T>(
    file: &Path,
    read: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(set_hook);
    READING.set(Some(file.to_owned()));
    let read = catch_unwind(AssertUnwindSafe(read));
    READING.set(None);
    read.unwrap_or_else(|_| Err(malformed()))
}

/// What could not be done, and the next step.
pub(super) fn cannot_read(file: &Path) -> String {
    format!(
        "cannot read the data set {}\n  hint: `oscost fleet report FLEET --data-set FOLDER` writes it \
         afresh",
        file.display()
    )
}

fn malformed() -> anyhow::Error {
    anyhow::Error::msg("the file is malformed: the reader of Parquet files failed on it")
}

/// Panics of other code are told as before.
fn set_hook() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| match READING.with_borrow(Clone::clone) {
        None => usual(panic),
        Some(file) if cfg!(panic = "abort") => end(&file),
        Some(_) => {}
    }));
}

/// Ends the program, if it has said how.
fn end(file: &Path) {
    if let Some(report) = REPORT.get() {
        let status = report(&malformed().context(cannot_read(file)));
        process::exit(i32::from(status));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_reader_is_an_error_and_others_are_panics() {
        let file = Path::new("x.parquet");
        let empty: Vec<u32> = Vec::new();
        let at = empty.len();
        let error = contained(file, || Ok(empty[at])).unwrap_err();
        assert!(error.to_string().contains("is malformed"), "{error}");
        assert!(READING.with_borrow(Option::is_none));
        let error = contained::<u32>(file, || Err(anyhow::Error::msg("its own"))).unwrap_err();
        assert_eq!(error.to_string(), "its own");
        assert_eq!(contained(file, || Ok(7)).unwrap(), 7);
        assert!(cannot_read(file).contains("x.parquet\n  hint: `oscost fleet report"));
    }
}
