//! The instructions of compared rows, counted by the processor, and why figures changed.

use oscost_model::counters::INSN;
use oscost_model::record::{Comparison, Row};

use crate::report::figures::{Style, per_cent};
use crate::report::text::plain;
use crate::report::view::comparison::pair::Pair;
use crate::report::view::comparison::verdicts::{chance_text, may_be_chance, verdict_style};
use crate::report::view::document::{Block, Cell, Column, Table, TableRow};

/// The texts of a comparison of instructions.
pub(in crate::report::view) struct WorkText {
    pub(in crate::report::view) ratio: String,
    pub(in crate::report::view) interval: Option<[String; 2]>,
    pub(in crate::report::view) added: String,
    pub(in crate::report::view) verdict: String,
}

/// Four digits behind the point: a tenth of a per cent is a change.
fn ratio(value: f64) -> String {
    format!("{value:.4}")
}

impl WorkText {
    /// The texts of a comparison with this base.
    pub(in crate::report::view) fn of(it: &Comparison, base: &Row) -> Self {
        let verdict = match (it.verdict.as_str(), it.ratio.ci95, it.mde_pct) {
            // How far they may differ at most.
            ("equivalent", Some([low, high]), _) => {
                let bound = (high - 1.0).abs().max((1.0 - low).abs());
                format!("equivalent ({:.2} %)", 100.0 * bound)
            }
            ("inconclusive", ..) if may_be_chance(it, base) => chance_text(it),
            ("inconclusive", _, Some(pct)) => format!("inconclusive ({})", per_cent(pct)),
            (verdict, ..) => plain(verdict),
        };
        let style = Style::of(it.added.value, it.added.unit);
        Self {
            ratio: ratio(it.ratio.value),
            interval: it.ratio.ci95.map(|ends| ends.map(ratio)),
            added: format!("{:+.1} {}", it.added.value, style.unit()),
            verdict,
        }
    }
}

/// The table of such comparisons, and a sentence for each row whose figure has a known or unknown
/// cause; empty if nothing was counted.
pub(in crate::report::view) fn blocks(pairs: &[Pair<'_>]) -> Vec<Block> {
    let work: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.is_work()).collect();
    let mut blocks: Vec<Block> = table(&work).map(Block::Table).into_iter().collect();
    let sentences = pairs.iter().filter_map(|pair| {
        let found = pair.it.decomposition.as_ref()?;
        Some(plain(&format!("{}: {}", pair.base.case, found.sentence)))
    });
    blocks.extend(Block::list(sentences));
    blocks
}

fn table(pairs: &[&Pair<'_>]) -> Option<Table> {
    let columns = vec![
        Column::text("case"),
        Column::number("base, insn", "base"),
        Column::number("ratio", "ratio"),
        Column::number("95 % interval", "ratio_ci95"),
        Column::number("added", "added"),
        Column::choice("work"),
    ];
    let row = |pair: &&Pair<'_>| {
        let WorkText { ratio, interval, added, verdict } = WorkText::of(pair.it, &pair.base);
        let base = pair.base.estimate.as_ref().map(|estimate| format!("{:.1}", estimate.median));
        let interval = interval.map(|[low, high]| format!("{low} .. {high}"));
        TableRow::of(vec![
            Cell::case(&pair.base),
            Cell::text(base.unwrap_or_default()),
            Cell::text(ratio),
            Cell::text(interval.unwrap_or_else(|| "-".to_owned())),
            Cell::text(added),
            Cell::text(verdict).with_style(verdict_style(pair.it)),
        ])
    };
    let rows: Vec<TableRow> = pairs.iter().map(row).collect();
    let caption = match pairs.iter().all(|pair| pair.it.metric == INSN) {
        true => "Work: instructions of an op, the program's and the kernel's",
        false => {
            "Work: instructions of an op, where the kernel's are not visible in user mode alone"
        }
    };
    let caption = caption.to_owned();
    (!rows.is_empty()).then(|| Table { caption, columns, rows, ..Table::default() })
}

/// How many verdicts on work there are of each kind; `None` without any.
pub(in crate::report::view) fn verdicts(work: &[&Comparison]) -> Option<String> {
    let count = |verdict: &str| work.iter().filter(|it| it.verdict == verdict).count();
    (!work.is_empty()).then(|| {
        format!(
            "Work: {} slower (more instructions), {} faster, {} equivalent (within 0.3 %), {} \
             inconclusive.",
            count("slower"),
            count("faster"),
            count("equivalent"),
            count("inconclusive")
        )
    })
}

#[cfg(test)]
mod tests {
    use oscost_model::record::{Ratio, Record};

    use super::*;

    /// The text of an inconclusive verdict on work with this interval.
    fn verdict(interval: [f64; 2], q: f64) -> String {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let it = Comparison {
            metric: INSN.to_owned(),
            verdict: "inconclusive".to_owned(),
            p: 0.02,
            q,
            mde_pct: Some(0.58),
            ratio: Ratio { value: (interval[0] * interval[1]).sqrt(), ci95: Some(interval) },
            ..record.comparisons[0].clone()
        };
        WorkText::of(&it, &record.results[0]).verdict
    }

    #[test]
    fn an_interval_of_work_beyond_the_margin_is_inconclusive_by_its_q() {
        assert_eq!(verdict([1.001_2, 1.005], 0.064), "inconclusive (q 0.07)");
        assert_eq!(verdict([0.995, 0.998], 0.2), "inconclusive (q 0.20)");
        assert_eq!(verdict([1.000_5, 1.004], 0.064), "inconclusive (0.6 %)", "within 0.1 %");
        assert_eq!(verdict([0.998, 1.003], 0.2), "inconclusive (0.6 %)");
    }
}
