use std::collections::BTreeMap;

use super::*;
use crate::report::book_files;
use crate::studies::class_lesson::built_in_class_lessons;
use crate::studies::{Study, built_in_names, find_built_in};

fn without_runs() -> Book {
    let studies: Vec<Study> = built_in_names().filter_map(find_built_in).collect();
    let runs: Vec<LastRun<'_>> =
        studies.iter().map(|study| LastRun { study, record: None, earlier: &[] }).collect();
    let lessons = built_in_class_lessons();
    let (figures, across) = (BTreeMap::new(), None);
    book(BookContent { studies: &runs, figures: &figures, lessons: &lessons, across })
}

#[test]
fn a_book_without_runs_has_every_page_and_names_the_commands() {
    let book = without_runs();
    let files = book_files(&book).unwrap();
    let text = |name: &str| &files.iter().find(|file| file.name == name).unwrap().text;
    for name in built_in_names() {
        assert!(text(&format!("{name}.md")).contains("Not measured here: oscost"), "{name}");
    }
    for lesson in built_in_class_lessons() {
        assert!(text(&format!("{}.md", lesson.id)).contains("not measured here: oscost"));
    }
    assert!(text("claims.md").contains("not measured"));
    let checklist = text("README.md");
    assert!(checklist.contains("| Section 3: getpid() |"), "{checklist}");
}
