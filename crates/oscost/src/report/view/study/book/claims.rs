//! What became of the claims: in a line each, and with all figures.

use super::study_run::{JoinedRun, StudyComparison, StudyRun, command};
use crate::report::text::{plain, plain_paragraph};
use crate::report::view::document::{
    Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};
use crate::report::view::study::claims::{ClaimParts, ratio_note, verdict_over_runs};
use crate::report::view::study::list::{Tally, run_date};
use crate::studies::Study;
use crate::studies::claims::judgement::JudgedClaim;

/// The claims of all studies, a line each.
pub(super) fn overview(studies: &[StudyRun<'_>]) -> View {
    let lead = "A claim holds where the whole interval of its figures lies within its bounds, does \
                not hold where it lies outside, and is undecided otherwise. The page of each study \
                has the figures.";
    let tallies = studies.iter().map(|StudyRun { study, run }| {
        let [measured, claims] = match run {
            Some(JoinedRun { record, joined }) => {
                [run_date(study, record), Tally::of(joined.claims()).text()]
            }
            None => ["not here".to_owned(), format!("{} claims", study.claims.len())],
        };
        let cells = [study.id.clone(), study.year.to_string(), measured, claims];
        TableRow::of(cells.map(Cell::text).into_iter().collect())
    });
    let columns = ["study", "published", "measured", "claims"].map(Column::text);
    let (columns, rows) = (columns.into_iter().collect(), tallies.collect());
    let tallies = Block::Table(Table { columns, rows, ..Table::default() });
    let each = studies.iter().map(|it| Section::of(it.study.id.clone(), [in_lines(it)]));
    View {
        title: "What became of the claims".to_owned(),
        lead: vec![Paragraph::from(lead.to_owned())],
        sections: std::iter::once(Section::of("", [tallies])).chain(each).collect(),
        ..View::default()
    }
}

fn in_lines(StudyRun { study, run }: &StudyRun<'_>) -> Block {
    let columns = ["claim", "where", "here"].map(Column::text).into_iter().collect();
    let rows = study.claims.iter().enumerate().map(|(at, claim)| {
        let judged = run.as_ref().and_then(|it| it.joined.claims().get(at));
        let verdict = judged.map_or_else(
            || "not measured".to_owned(),
            |it| verdict_over_runs(&it.verdict, it.runs),
        );
        let cells = [plain(&claim.statement), plain(&claim.location), verdict];
        TableRow::of(cells.map(Cell::text).into_iter().collect())
    });
    Block::Table(Table { columns, rows: rows.collect(), ..Table::default() })
}

/// The claims of a study, each with what its own figures say and what the run says.
pub(super) fn in_full(study: &Study, joined: &StudyComparison<'_>) -> Section {
    let judged = joined.claims();
    let mut blocks = vec![Block::Text(format!("{}.", Tally::of(judged).text()))];
    for it in judged {
        blocks.extend(one(study, it));
    }
    blocks.extend(ratio_note(judged).map(Block::Text));
    Section::of("Claims, and whether they hold here", blocks)
}

fn one(study: &Study, judged: &JudgedClaim<'_>) -> Vec<Block> {
    let claim = judged.claim;
    let verdict = verdict_over_runs(&judged.verdict, judged.runs);
    let heading = format!("{verdict}: \"{}\" ({})", claim.statement, claim.location);
    let ClaimParts { then, here } = ClaimParts::of(study, judged);
    let then = then.iter().map(|part| plain_paragraph(&format!("then: {part}")));
    let here = here.iter().map(|part| plain_paragraph(&format!("here: {part}")));
    let list = Block::list(then.chain(here));
    std::iter::once(Block::Heading(plain(&heading))).chain(list).collect()
}

/// The claims of a study that was not measured here.
pub(super) fn unjudged_claims(study: &Study) -> Section {
    let text = format!("Not judged: {} measures what they need.", command(study));
    let claims = study.claims.iter();
    let list = claims.map(|it| plain(&format!("\"{}\" ({})", it.statement, it.location)));
    let blocks = std::iter::once(Block::Text(text)).chain(Block::list(list));
    Section::of("Claims", blocks)
}
