//! `oscost study book`

use std::path::Path;

use super::output::{Output, report_line};
use super::terminal::Terminal;
use crate::app::report::Study;
use crate::app::study::{LastRuns, last_runs, list};
use crate::app::study_across::{Request, look_up_with};
use crate::app::study_book::{NamedText, lesson_cases, lessons, write_files};
use crate::report;
use crate::report::study::across::{AcrossContent, document_with_curves};
use crate::report::study::book::{BookContent, book};
use crate::report::study::list::LastRun;

/// The target of the runs that are compared with the studies.
const TARGET: &str = "local";

/// Writes the book into a folder.
pub(super) fn write(folder: &Path, output: &Output) -> anyhow::Result<()> {
    let lessons = lessons();
    let request = Request { files: Vec::new(), at: TARGET.to_owned() };
    let found = look_up_with(&request, &lesson_cases(&lessons), &Terminal::new(output))?;
    let across = found.across();
    let content = AcrossContent {
        across: &across,
        target: TARGET,
        machine: found.machine.as_deref(),
        other_runs: found.other_runs,
    };
    let studies = list();
    let runs = last_runs(&studies)?;
    if runs.iter().all(Option::is_none) {
        report_line(
            "no run of a study is kept: the book has what was published; `oscost run --study NAME` \
             makes one",
        );
    }
    let pairs = studies.iter().zip(&runs);
    let last_runs: Vec<LastRun<'_>> =
        pairs.map(|(study, runs)| last_run(study, runs.as_ref())).collect();
    let book = book(BookContent {
        studies: &last_runs,
        figures: found.figures(),
        lessons: &lessons,
        across: Some(document_with_curves(&content)),
    });
    let files = report::book_files(&book)?;
    write_files(folder, files.iter().map(|it| NamedText { name: &it.name, text: &it.text }))
}

/// A study with its runs, as they are shown.
pub(super) fn last_run<'a>(study: &'a Study, runs: Option<&'a LastRuns>) -> LastRun<'a> {
    let earlier = runs.map_or(&[][..], |it| it.earlier.as_slice());
    LastRun { study, record: runs.map(|it| &it.last), earlier }
}
