//! Exact counts of instructions, which an emulator makes: a difference of two needs no judgement.

use std::cmp::Ordering;

use super::content::TableContent;
use super::texts::{factor, number};
use crate::estimate::machine_table::CaseLine;
use crate::report::text::{plain, plural};

/// A case that a machine and the first one counted exactly.
#[derive(Clone, Copy)]
struct CountedCase<'a> {
    case: &'a str,
    count: f64,
    /// That of the first machine.
    base: f64,
}

impl<'a> CountedCase<'a> {
    /// The case of a line; `None` if one of the two counts is not exact.
    fn of(line: &'a CaseLine, column: usize) -> Option<Self> {
        let exact = |column: usize| {
            let figure = line.cells.get(column)?.figure()?;
            figure.is_exact.then_some(figure.value)
        };
        Some(Self { case: &line.case, count: exact(column)?, base: exact(0)? })
    }

    fn ratio(self) -> f64 {
        self.count / self.base
    }

    /// `0.51 times as many in file/stat (3524 for 6856)`.
    fn text(self) -> String {
        let Self { case, count, base } = self;
        let times = factor(self.ratio());
        format!("{times} times as many in {} ({} for {})", plain(case), number(count), number(base))
    }
}

/// A sentence for each column with exact counts beside those of the first column.
pub(super) fn sentences(content: &TableContent<'_>) -> Vec<String> {
    let columns = content.table.columns.iter().enumerate().skip(1);
    let sentences = columns.filter_map(|(at, column)| {
        let lines = content.table.lines.iter();
        let cases: Vec<CountedCase<'_>> =
            lines.filter_map(|line| CountedCase::of(line, at)).collect();
        sentence(&content.column_name(column), &content.base_name(), &cases)
    });
    sentences.collect()
}

/// In how many cases the counts differ, in which direction and how far; `None` without a case.
fn sentence(name: &str, base: &str, cases: &[CountedCase<'_>]) -> Option<String> {
    if cases.is_empty() {
        return None;
    }
    let all = plural(cases.len() as u64, "exactly counted case");
    let with = |order: Ordering| {
        cases.iter().filter(move |it| it.count.total_cmp(&it.base) == order).count()
    };
    let counts = match (with(Ordering::Greater), with(Ordering::Less)) {
        (0, 0) => {
            return Some(format!("{name} executes as many instructions as {base} in {all}"));
        }
        (more, 0) => format!("more instructions than {base} in {more} of {all}"),
        (0, fewer) => format!("fewer instructions than {base} in {fewer} of {all}"),
        (more, fewer) => {
            format!("more instructions than {base} in {more} and fewer in {fewer} of {all}")
        }
    };
    let mut differing: Vec<CountedCase<'_>> =
        cases.iter().copied().filter(|it| it.count.total_cmp(&it.base).is_ne()).collect();
    differing.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let extremes = match &differing[..] {
        [] => return None,
        [only] => only.text(),
        [least, .., most] => format!("from {} to {}", least.text(), most.text()),
    };
    Some(format!("{name} executes {counts}: {extremes}"))
}
