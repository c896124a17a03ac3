//! The checklist: how each row of the studies is measured, and what differs.

use crate::report::text::plain;
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};
use crate::report::view::study::method::{OF_TRIALS, method_text};
use crate::studies::Study;
use crate::studies::checklist::{Act, ChecklistLine, checklist};

/// A section that explains the checklist, and one for each study.
pub(super) fn sections<'a>(studies: impl Iterator<Item = &'a Study>) -> Vec<Section> {
    let text = "A line for each row of the studies' tables and each curve of their figures: the act \
                that is measured, the statistic, the size and the placement. They are as the study has \
                them; where something differs, the last column says what. A row of a study without a \
                method of its own, or to which its method does not apply, is compared with oscost's \
                own estimate, the median over fresh processes.";
    let head = Section::of("Checklist", [Block::Text(text.to_owned())]);
    std::iter::once(head).chain(studies.map(of_study)).collect()
}

fn of_study(study: &Study) -> Section {
    let columns = ["row", "act", "statistic", "size", "placement", "what differs"];
    let columns = columns.map(Column::text).into_iter().collect();
    let rows = checklist(study).iter().map(|it| row(study, it)).collect();
    let table = Block::Table(Table { columns, rows, ..Table::default() });
    // What a study tabulates of its machine is no act.
    let machine = (!study.machine.is_empty()).then(|| {
        let facts = study.machine.len();
        Block::Text(format!(
            "What it says of its machine, {facts} facts, stands beside those of this one on its page."
        ))
    });
    let blocks: Vec<Block> = machine.into_iter().chain([table]).collect();
    Section::of(format!("Checklist of {}", study.id), blocks)
}

fn row(study: &Study, line: &ChecklistLine<'_>) -> TableRow {
    let name = format!("{}: {}", line.table.name, line.name);
    let sizes = line.sizes.iter().map(|[axis, value]| format!("{axis} {value}"));
    let sizes = sizes.collect::<Vec<_>>().join(", ");
    let mut differs: Vec<String> = line.differs.iter().map(|text| plain(text)).collect();
    let [act, statistic] = match &line.act {
        Act::Case(case) => {
            let statistic = match &study.columns {
                Some(_) => format!("mean and deviation of {} runs", line.runs),
                None if line.is_program => OF_TRIALS.to_owned(),
                None => method_text(line.study_method.as_ref()),
            };
            [case.clone(), statistic]
        }
        Act::Unmeasurable(why) => {
            differs.push(format!("not measured: {}", plain(why)));
            [String::new(), String::new()]
        }
    };
    let cells = [name, act, statistic, sizes, line.placement.clone()];
    let cells = cells.iter().map(|text| Cell::text(plain(text)));
    TableRow::of(cells.chain([Cell::parts(differs)]).collect())
}
