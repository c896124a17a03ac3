//! The pages of docs/catalog.

use oscost_model::definition::Catalog;

use crate::report::render::terminal;
use crate::report::view::document::View;
use crate::report::view::lists::catalog::explanation;

/// The page of a family: the text of `oscost explain` for each of its benchmarks.
pub fn catalog_page(catalog: &Catalog, family: &str) -> String {
    let about = catalog.families.iter().find(|found| found.name == family);
    let head = format!(
        "# {family}\n\n{}.\n\nMade from the definitions by `make docs`; do not edit.\n",
        about.map_or("", |found| found.about.as_str())
    );
    let of_family = catalog.benchmarks.iter().filter(|found| found.family() == family);
    of_family.fold(head, |page, definition| {
        let text = terminal::report(&View::of(explanation(definition)));
        // The first line is the title of the section.
        let body = text.split_once('\n').map_or("", |(_, body)| body);
        page + &format!("\n## {}\n\n```text\n{body}```\n", definition.id)
    })
}
