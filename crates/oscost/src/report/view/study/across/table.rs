//! Every published figure of the acts in one table.

use super::costs::{costs, cycles_by, unit};
use crate::report::text::{day, plain};
use crate::report::view::document::{Cell, Column, Table, TableRow};
use crate::studies::history::across::Across;

/// Every published figure with its counterpart here, a line each.
pub fn figures(across: &Across<'_>) -> Table {
    let mut rows = Vec::new();
    for act in &across.acts {
        let unit = unit(act.act.kind);
        for it in &act.figures {
            let here = it.here.as_ref();
            let none = || Cell::number("-", None);
            let of_here =
                |at: usize| here.map_or_else(none, |it| costs(&it.cost, unit)[at].clone());
            let [then, cycles, calls, loads] = costs(&it.then, unit);
            rows.push(TableRow::of(vec![
                Cell::text(act.act.key),
                Cell::number(it.year.to_string(), Some(f64::from(it.year))),
                Cell::text(plain(&it.study.id)),
                Cell::text(plain(it.system.unwrap_or_default())),
                Cell::text(plain(&format!("{}: {}", it.table.name, it.row.name))),
                Cell::text(plain(&it.published)),
                then,
                cycles,
                calls,
                loads,
                of_here(0),
                of_here(1),
                of_here(2),
                of_here(3),
                Cell::text(plain(it.row.case().unwrap_or_default())),
                Cell::text(here.map(|it| day(&it.started)).unwrap_or_default()),
                Cell::text(here.map(|it| plain(&it.runs.join(" "))).unwrap_or_default()),
                Cell::text(here.and_then(cycles_by).unwrap_or_default()),
            ]));
        }
    }
    let columns = vec![
        Column::choice("act"),
        Column::number("year", "year"),
        Column::choice("study"),
        Column::text("system"),
        Column::text("row"),
        Column::text("published"),
        Column::number("then", "then_ns_or_bytes_per_s"),
        Column::number("in cycles", "then_cycles_or_bytes_per_cycle"),
        Column::number("in calls", "then_procedure_calls"),
        Column::number("in loads", "then_memory_latencies"),
        Column::number("here", "here_ns_or_bytes_per_s"),
        Column::number("in cycles, here", "here_cycles_or_bytes_per_cycle"),
        Column::number("in calls, here", "here_procedure_calls"),
        Column::number("in loads, here", "here_memory_latencies"),
        Column::text("case"),
        Column::text("measured"),
        Column::text("runs"),
        Column::text("cycles by"),
    ];
    Table { id: "all".to_owned(), columns, rows, ..Table::default() }
}
