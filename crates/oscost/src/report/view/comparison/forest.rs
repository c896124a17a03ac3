//! Forest plots of comparisons, and the short names of their cases.

use std::collections::BTreeMap;

use oscost_model::case::Case;
use oscost_model::point::Value;

use crate::report::text::plain;
use crate::report::view::answer::priority::of_comparison;
use crate::report::view::comparison::pair::Pair;
use crate::report::view::comparison::texts::ComparisonText;
use crate::report::view::document::{ForestLine, ForestPlot};

/// A forest plot of the ratios.
pub(in crate::report::view) fn forest(number: usize, pairs: &[&Pair<'_>]) -> ForestPlot {
    let cases: Vec<&str> = pairs.iter().map(|pair| pair.base.case.as_str()).collect();
    let names = short_names(&cases);
    let line = |((which, pair), name): ((usize, &&Pair<'_>), String)| ForestLine {
        row: row_id(number, which),
        name: plain(&name),
        ratio: pair.it.ratio.value,
        interval: pair.it.ratio.ci95,
        verdict: pair.it.verdict.clone(),
        figure: figure(pair),
        priority: of_comparison(pair.it),
    };
    let counted = !pairs.is_empty() && pairs.iter().all(|pair| pair.is_counted());
    let caption = match counted {
        true => {
            "Ratios of new to base, on a logarithmic scale; a line is the range of repetitions."
        }
        false => {
            "Ratios of new to base with their 95 % intervals, on a logarithmic scale; the band is the \
             3 % within which two figures are called equivalent."
        }
    };
    ForestPlot {
        id: format!("forest-{number}"),
        caption: caption.to_owned(),
        margin: (!counted).then_some(1.03),
        lines: pairs.iter().enumerate().zip(names).map(line).collect(),
    }
}

/// The anchor of a comparison's row.
pub(in crate::report::view) fn row_id(number: usize, which: usize) -> String {
    format!("c{number}-{which}")
}

/// What is written beside the symbol of a comparison: the ratio, and what is added.
fn figure(pair: &Pair<'_>) -> String {
    let ComparisonText { ratio, added, .. } = ComparisonText::of(pair.it, &pair.base);
    format!("x {ratio}, {added}")
}

/// Cases by their benchmarks and the axes in which the cases of one benchmark differ.
pub(in crate::report::view) fn short_names(cases: &[&str]) -> Vec<String> {
    let parsed: Vec<Option<Case>> = cases.iter().map(|case| Case::parse(case)).collect();
    // The axes that have one value in all cases of a benchmark.
    let mut shared: BTreeMap<&str, Vec<(&str, &Value)>> = BTreeMap::new();
    for Case { benchmark, point } in parsed.iter().flatten() {
        shared
            .entry(benchmark)
            .and_modify(|axes| axes.retain(|(axis, value)| point.get(axis) == Some(*value)))
            .or_insert_with(|| point.iter().collect());
    }
    let name = |(text, case): (&&str, &Option<Case>)| {
        let Some(case) = case else { return (*text).to_owned() };
        let shared = shared.get(case.benchmark.as_str()).map_or(&[][..], Vec::as_slice);
        let differs = |axis: &str| !shared.iter().any(|(name, _)| *name == axis);
        let axes = case.point.iter().filter(|(axis, _)| differs(axis));
        let axes: Vec<String> = axes.map(|(axis, value)| format!("{axis}={value}")).collect();
        match axes.is_empty() {
            true => case.benchmark.clone(),
            false => format!("{}:{}", case.benchmark, axes.join(",")),
        }
    };
    cases.iter().zip(&parsed).map(name).collect()
}
