//! Files in the repository with the program's output as last reviewed.

use std::fs;
use std::path::Path;

/// Compares the file at `path` with `text`. With `UPDATE_GOLDEN` in the environment, which
/// `make golden` sets, the file is rewritten instead, for review by `git diff`.
pub(crate) fn check_golden(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let reviewed = fs::read_to_string(path).unwrap_or_default();
    if reviewed == text {
        return;
    }
    let same = reviewed.lines().zip(text.lines()).take_while(|(old, new)| old == new).count();
    let rest = |text: &str| text.lines().skip(same).take(20).collect::<Vec<_>>().join("\n");
    panic!(
        "{} differs from line {} on; `make golden` rewrites it for review\n\
         ---------- reviewed:\n{}\n---------- now:\n{}\n----------",
        path.display(),
        same + 1,
        rest(&reviewed),
        rest(text)
    );
}
