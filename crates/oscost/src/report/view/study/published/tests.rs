//! Built-in studies as published.

use super::*;
use crate::report::render::terminal;
use crate::studies::find_built_in;

#[test]
fn a_note_on_several_tables_is_told_once() {
    let study = find_built_in("ph-2000").unwrap();
    let shared = "the study's pH is a patch of the kernel";
    let has_it = |table: &&StudyTable| table.notes.iter().any(|it| it.text.starts_with(shared));
    assert!(study.tables.iter().filter(has_it).count() > 1);
    let page = terminal::report(&page(&study, "ph-2000", &[]));
    assert_eq!(page.matches(shared).count(), 1, "{page}");
}

#[test]
fn a_claim_is_shown_with_how_it_is_read() {
    let study = find_built_in("lmbench-1996").unwrap();
    let page = terminal::report(&page(&study, "lmbench-1996", &[]));
    let text = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("); a ratio of whole laps, the calls included"), "{page}");
}
