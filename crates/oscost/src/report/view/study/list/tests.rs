//! The built-in studies as lists, and as pages.

use super::*;
use crate::report::render::terminal;
use crate::report::view::study::published::{StudyCode, page};
use crate::studies::{built_in_names, find_built_in};

#[test]
fn every_study_is_listed_with_its_command_and_fits_a_page() {
    let studies: Vec<Study> = built_in_names().filter_map(find_built_in).collect();
    let listed = terminal::report(&list(&studies));
    for study in &studies {
        assert!(listed.contains(&study.id), "{listed}");
        let code = StudyCode { command: "cc it.c".to_owned(), text: "int x;\n".to_owned() };
        let page = terminal::report(&page(study, &study.id, &[code]));
        assert!(page.ends_with("Program of the study, by cc it.c\nint x;\n"), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        for table in &study.tables {
            assert!(page.contains(&table.name), "{page}");
        }
    }
    assert!(listed.contains("oscost ab --study ph-2000"));
    assert!(listed.contains("oscost run --study cse221-2014"));
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
}

#[test]
fn a_study_without_a_run_is_listed_with_its_command() {
    let studies: Vec<Study> = built_in_names().filter_map(find_built_in).collect();
    let none: Vec<LastRun<'_>> =
        studies.iter().map(|study| LastRun { study, record: None, earlier: &[] }).collect();
    let text = terminal::report(&claims(&none));
    assert!(text.contains("cs736-2019: not measured here; oscost run --study"), "{text}");
}
