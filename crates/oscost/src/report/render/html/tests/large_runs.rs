//! Runs of many rows: the size of their pages, and the time they take.

use oscost_model::unit::Unit;

use super::large_run;
use super::markup::{charts, every_chart_is_of_numbers, ids_are_unique};
use super::records::{comparison_of, page};
use crate::report::render::html::report as html;
use crate::report::render::terminal;
use crate::report::view::comparison::ab;
use crate::report::view::page::{self, PageContent};
use crate::report::view::run;

#[test]
fn a_page_of_two_thousand_rows_is_under_three_megabytes() {
    let names: Vec<String> = (0..140).map(|at| format!("family-{}/name-{at}", at / 12)).collect();
    let of: Vec<(&str, Unit)> = names.iter().map(|it| (it.as_str(), Unit::NsPerOp)).collect();
    let record = large_run::run(&of, 2_000, 2);
    let page = page(&record);
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert_eq!(page.matches("<tr id=\"r").count(), 2_000);
    let measured = record.results.iter().filter(|row| row.estimate.is_some()).count();
    let prices = charts(&page)["price-list-ns-op"];
    assert_eq!(prices.matches("<li><a href=\"#r").count(), measured);
    every_chart_is_of_numbers(&page);
    ids_are_unique(&page);
}

#[test]
fn a_page_of_one_run_is_under_400_kilobytes() {
    let catalog = oscost_worker::benchmarks::data();
    let listed = catalog.benchmarks.iter().filter(|it| it.in_price_list);
    let of: Vec<(&str, Unit)> = listed.map(|it| (it.id.as_str(), it.unit)).collect();
    let record = large_run::run(&of, of.len(), 60);
    let shown = PageContent { record: &record, study: None, catalog: Some(&catalog) };
    let page = html(&page::run(&shown)).unwrap();
    assert!(of.len() > 50 && page.len() < 400_000, "{} rows: {}", of.len(), page.len());
    every_chart_is_of_numbers(&page);
}

/// In time that is quadratic in the rows, this takes minutes.
#[test]
fn many_rows_of_one_benchmark_are_shown() {
    let mut record = large_run::run(&[("pipe/copy", Unit::NsPerOp)], 20_000, 0);
    record.results.iter_mut().for_each(|row| row.repetitions.truncate(2));
    let view = run::view(&record, run::Plots::WhereFew, run::CountedEvents::default());
    let text = terminal::report(&view);
    // Of seven sizes each; only the first hundred have a column.
    assert!(text.contains("2757 more curves: `curves` in the record"), "{}", &text[..5_000]);
    let lines = text.lines().count();
    assert!((18_000..22_000).contains(&lines), "{lines} lines\n{}", &text[..5_000]);
    assert_eq!(page(&record).matches("<tr id=\"r").count(), 20_000);

    record.comparisons =
        (0..10_000).map(|at| comparison_of(format!("pipe/copy:size={at}"), 2 * at)).collect();
    let text = terminal::report(&ab::view(&record));
    assert!(text.matches(" slower").count() >= 10_000, "{}", &text[..5_000]);
}
