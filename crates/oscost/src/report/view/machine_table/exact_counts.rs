//! Exact counts of instructions, which an emulator makes: a difference of two needs no judgement.

use oscost_model::unit::Unit;

use super::content::TableContent;
use super::texts::factor;
use crate::estimate::machine_table::CaseLine;
use crate::report::text::{plain, plural};

/// A case that both machines counted exactly.
struct CountedCase<'a> {
    case: &'a str,
    /// The count over that of the first machine.
    ratio: f64,
}

/// A sentence for each column with exact counts beside those of the first column.
pub(super) fn sentences(content: &TableContent<'_>) -> Vec<String> {
    let columns = content.table.columns.iter().enumerate().skip(1);
    let sentences = columns.filter_map(|(at, column)| {
        let mut cases: Vec<CountedCase<'_>> =
            content.table.lines.iter().filter_map(|line| counted_case(line, at)).collect();
        cases.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
        sentence(&content.column_name(column), &content.base_name(), &cases)
    });
    sentences.collect()
}

fn counted_case(line: &CaseLine, column: usize) -> Option<CountedCase<'_>> {
    let exact = |column: usize| {
        let figure = line.cells.get(column)?.figure()?;
        // A count that is not exact has an interval of some width, or none.
        let is_exact = figure.interval.is_some_and(|[low, high]| low >= high);
        (is_exact && figure.value > 0.0).then_some(figure.value)
    };
    let ratio = exact(column)? / exact(0)?;
    let is_counted = line.unit == Some(Unit::InstructionsPerOp);
    is_counted.then_some(CountedCase { case: &line.case, ratio })
}

/// In how many cases the counts differ, and how far, of those in the order of their ratios; `None`
/// without a case.
fn sentence(name: &str, base: &str, cases: &[CountedCase<'_>]) -> Option<String> {
    let (least, most) = (cases.first()?, cases.last()?);
    let differing = cases.iter().filter(|it| (it.ratio - 1.0).abs() > 0.0).count();
    let all = plural(cases.len() as u64, "exactly counted case");
    if differing == 0 {
        return Some(format!("{name} executes as many instructions as {base} in {all}"));
    }
    let extreme = |it: &CountedCase<'_>| format!("{} times ({})", factor(it.ratio), plain(it.case));
    let range = match cases.len() {
        1 => extreme(least),
        _ => format!("from {} to {}", extreme(least), extreme(most)),
    };
    Some(format!(
        "{name} executes another number of instructions than {base} in {differing} of {all}: \
         {range} as many"
    ))
}
