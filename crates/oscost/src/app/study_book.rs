//! `oscost study book`: the lessons, the cases whose figures they need, and the folder of the book.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::error::UsageError;
use crate::files::output_file;
use crate::studies::class_lesson::{ClassLesson, Placeholder, built_in_class_lessons};

/// A file of the book.
#[derive(Clone, Copy, Debug)]
pub struct NamedText<'a> {
    /// Its name in the folder.
    pub name: &'a str,
    /// What it contains.
    pub text: &'a str,
}

/// Writes the files of a book into a folder, which is made if there is none; other files of the
/// folder stay as they are.
pub fn write_files<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = NamedText<'a>>,
) -> anyhow::Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        let what = format!("cannot make the folder {}: {error}", folder.display());
        UsageError::with_hint(&what, "name a folder, in one that you may write")
    })?;
    for NamedText { name, text } in files {
        let path = folder.join(name);
        output_file::write(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The lessons that come with oscost.
pub fn lessons() -> Vec<ClassLesson> {
    built_in_class_lessons()
}

/// The cases that lessons have figures of, besides the rows of studies.
pub fn lesson_cases(lessons: &[ClassLesson]) -> Vec<String> {
    let placeholders = lessons.iter().flat_map(ClassLesson::placeholders);
    let cases = placeholders.flat_map(|it| match it {
        Placeholder::Case { case, over } => std::iter::once(case).chain(over).cloned().collect(),
        Placeholder::Figure(_) | Placeholder::Machine(_) => Vec::new(),
    });
    let mut cases: Vec<String> = cases.collect();
    cases.sort();
    cases.dedup();
    cases
}
