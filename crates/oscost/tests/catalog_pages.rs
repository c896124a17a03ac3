//! docs/catalog is made from the definitions, and says what they say; the tables of columns in
//! docs/reference/EXPORTS.md are made from the columns.

use std::fs;
use std::path::Path;

use oscost::report;

/// Rewrites the pages instead of comparing them.
const UPDATE: &str = "UPDATE_GOLDEN";

#[test]
fn each_family_has_a_page_that_says_what_its_definitions_say_and_no_other_page_lies_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/catalog");
    let update = std::env::var_os(UPDATE).is_some();
    let catalog = oscost_worker::benchmarks::data();
    let mut wrong = Vec::new();
    for family in &catalog.families {
        let path = folder.join(format!("{}.md", family.name));
        let page = report::catalog::page(&catalog, &family.name);
        if update {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &page).unwrap();
        } else if fs::read_to_string(&path).ok().as_ref() != Some(&page) {
            wrong.push(format!("{} is not what the definitions say", path.display()));
        }
    }
    for entry in fs::read_dir(&folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let names = catalog.families.iter().map(|family| format!("{}.md", family.name));
        let is_page = names.into_iter().any(|name| path.ends_with(name));
        if !is_page && update {
            fs::remove_file(&path).unwrap();
        } else if !is_page {
            wrong.push(format!("{} is the page of no family", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}; {UPDATE}=1 makes the pages anew", wrong.join("; "));
}

#[test]
fn pages_fit_their_reader() {
    let catalog = oscost_worker::benchmarks::data();
    for family in &catalog.families {
        let page = report::catalog::page(&catalog, &family.name);
        let long: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:?}");
        for definition in catalog.benchmarks.iter().filter(|it| it.family() == family.name) {
            assert!(page.contains(&format!("\n## {}\n", definition.id)), "{page}");
        }
    }
}

#[test]
fn the_page_on_exports_says_what_every_column_means() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/EXPORTS.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut made = page.clone();
    for (schema, table) in report::export::page() {
        // Between the line that names the columns' version and the next heading.
        let (before, after) = made.split_once(&format!("`{schema}`\n\n")).unwrap();
        let (_, behind) = after.split_once("\n\n").unwrap();
        made = format!("{before}`{schema}`\n\n{table}\n{behind}");
    }
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &made).unwrap();
    } else {
        assert!(
            page == made,
            "{} is not what the columns say; {UPDATE}=1 makes it anew",
            path.display()
        );
    }
}
