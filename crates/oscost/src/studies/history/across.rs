//! The same act in all studies and here: what it cost then and what it costs now, in time, in cycles
//! of each core, and in multiples of two yardsticks.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::unit::Unit;

use super::acts::{ACTS, Act, MEMORY_LATENCY, PROCEDURE_CALL};
use super::lesson::{Lesson, Pair, cost};
use crate::studies::figures::formula::{Formula, Variables};
use crate::studies::figures::unit::{BaseUnit, ClockRates, UnitKind, base_unit};
use crate::studies::study::{Figure, Study, Table, TableRow};

/// A figure of this machine: the newest of its case.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredFigure {
    /// The figure, in its unit.
    pub value: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// Its unit.
    pub unit: Unit,
    /// The id of its run.
    pub run: String,
    /// When that run began, RFC 3339.
    pub started: String,
    /// Cycles of the core per nanosecond in that run, if known.
    pub core_ghz: Option<f64>,
    /// The cycles of an op that the processor counted in that run, where they are those of its time.
    pub counted_cycles: Option<f64>,
}

/// The figures of this machine, by case.
pub type MeasuredFigures = BTreeMap<String, MeasuredFigure>;

/// All acts, then and here.
#[derive(Clone, Debug)]
pub struct Across<'a> {
    /// The acts of which a study has a figure.
    pub acts: Vec<ActFigures<'a>>,
    /// The cases of which this machine has no figure.
    pub missing: Vec<String>,
}

/// An act, then and here.
#[derive(Clone, Debug)]
pub struct ActFigures<'a> {
    /// The act.
    pub act: &'static Act,
    /// What was published of it, by year.
    pub figures: Vec<AgeFigure<'a>>,
    /// What follows from that.
    pub lesson: Lesson,
}

/// A published figure of an act, and its counterpart here.
#[derive(Clone, Debug)]
pub struct AgeFigure<'a> {
    /// The study.
    pub study: &'a Study,
    /// The name of its system; `None` if the study measured one.
    pub system: Option<&'a str>,
    /// Whether it is the system that stands for its study.
    pub is_reference: bool,
    /// The year of the system, or of the study.
    pub year: u16,
    /// The row's table.
    pub table: &'a Table,
    /// The row.
    pub row: &'a TableRow,
    /// The published figure, as published, with its unit.
    pub published: String,
    /// What it comes to.
    pub then: Cost,
    /// The same row of this machine; `None` if it was not measured.
    pub here: Option<CostHere>,
}

/// What an act costs: a time in nanoseconds, or a rate in bytes per second; and what that is in
/// other measures. A range has two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The time or the rate.
    pub value: [f64; 2],
    /// Cycles of the core; of a rate, bytes per cycle.
    pub cycles: Option<[f64; 2]>,
    /// Times the cost of a procedure call of the same machine.
    pub calls: Option<[f64; 2]>,
    /// Times the latency of the same machine's memory.
    pub loads: Option<[f64; 2]>,
}

/// Where cycles are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CyclesBy {
    /// The processor counted them.
    Counter,
    /// They are the time at the core's frequency, which was estimated before the run.
    Frequency,
}

/// What an act costs here.
#[derive(Clone, Debug, PartialEq)]
pub struct CostHere {
    /// The cost, by oscost's own estimate.
    pub cost: Cost,
    /// Where its cycles are from.
    pub cycles_by: CyclesBy,
    /// Its interval, if the figure is that of one row.
    pub interval: Option<[f64; 2]>,
    /// When the newest of its runs began, RFC 3339.
    pub started: String,
    /// The ids of its runs.
    pub runs: Vec<String>,
}

/// The cases whose figures the acts of these studies need, in their order.
pub fn cases(studies: &[Study]) -> Vec<String> {
    let mut cases: Vec<String> = Vec::new();
    for (_, table, row) in rows(studies) {
        let figure = column(table, row);
        let others = figure.formula.rows();
        let others =
            others.iter().filter_map(|name| table.rows.iter().find(|it| it.name == **name));
        for case in std::iter::once(row).chain(others).filter_map(TableRow::case) {
            if !cases.iter().any(|it| it == case) {
                cases.push(case.to_owned());
            }
        }
    }
    cases
}

/// All acts of these studies, then and by these figures.
pub fn across<'a>(studies: &'a [Study], here: &MeasuredFigures) -> Across<'a> {
    let missing = cases(studies).into_iter().filter(|case| !here.contains_key(case)).collect();
    let mut figures: Vec<AgeFigure<'a>> = Vec::new();
    for (study, table, row) in rows(studies) {
        figures.extend(published(study, table, row, here));
    }
    add_multiples(&mut figures);
    let acts = ACTS.iter().filter_map(|act| {
        let of_act = |it: &&AgeFigure<'_>| it.row.same_as == Some(act);
        let mut figures: Vec<AgeFigure<'a>> = figures.iter().filter(of_act).cloned().collect();
        figures.sort_by_key(|it| (it.year, it.study.year));
        let lesson = lesson(act.kind, &figures);
        (!figures.is_empty()).then_some(ActFigures { act, figures, lesson })
    });
    Across { acts: acts.collect(), missing }
}

/// What the figures of an act say: one figure for each study that has several systems.
fn lesson(kind: UnitKind, figures: &[AgeFigure<'_>]) -> Lesson {
    let pair = |it: &AgeFigure<'_>| {
        let here = it.here.as_ref()?.cost;
        let both = |then: Option<[f64; 2]>, here: Option<[f64; 2]>| {
            Some([then?, here?].map(|ends| cost(kind, Cost::middle(ends))))
        };
        Some(Pair {
            in_time: both(Some(it.then.value), Some(here.value)),
            in_cycles: both(it.then.cycles, here.cycles),
            // The yardstick is one of itself on every machine.
            in_loads: both(it.then.loads, here.loads).filter(|_| !is_memory(it)),
        })
    };
    let references = figures.iter().filter(|it| it.is_reference);
    Lesson::of(&references.filter_map(pair).collect::<Vec<Pair>>())
}

/// The rows that name an act and have a published figure.
fn rows(studies: &[Study]) -> impl Iterator<Item = (&Study, &Table, &TableRow)> {
    let tables = studies.iter().flat_map(|study| study.tables.iter().map(move |it| (study, it)));
    let rows =
        tables.flat_map(|(study, table)| table.rows.iter().map(move |it| (study, table, it)));
    rows.filter(|(_, _, row)| {
        let of_systems = row.by_system.iter().flatten().any(|it| it.figure.is_some());
        row.same_as.is_some() && (row.published.iter().any(Option::is_some) || of_systems)
    })
}

/// The first column of a row; a study of two targets has the row's own figures instead.
fn column(table: &Table, row: &TableRow) -> Figure {
    let own = || Figure { name: String::new(), unit: row.unit, formula: Formula::This };
    table.figures.first().map_or_else(own, |figure| figure.in_row(row))
}

/// The published figures of a row: one, or one for each system.
fn published<'a>(
    study: &'a Study,
    table: &'a Table,
    row: &'a TableRow,
    here: &MeasuredFigures,
) -> Vec<AgeFigure<'a>> {
    let figure = column(table, row);
    let here = cost_here(table, row, &figure, here);
    let one = |system: Option<usize>, text: &str, ends: [f64; 2]| {
        let of_study = &study.systems;
        let system = system.and_then(|at| of_study.list.get(at).map(|system| (at, system)));
        let rates = system.map_or(study.clock_rates, |(_, system)| system.clock_rates);
        // A column that only multiplies the row's own figure is taken back to that.
        let size = figure.unit.size(rates)? / figure.formula.own_figure_factor().unwrap_or(1.0);
        let value = ends.map(|end| end * size);
        Some(AgeFigure {
            study,
            system: system.map(|(_, system)| system.name.as_str()),
            is_reference: system.is_none_or(|(at, _)| at == of_study.reference),
            year: system.and_then(|(_, system)| system.year).unwrap_or(study.year),
            table,
            row,
            published: format!("{text} {}", figure.unit.text()),
            then: Cost::of(figure.unit.kind(), value, rates),
            here: here.clone(),
        })
    };
    let of_systems = table.systems.iter().flat_map(|systems| &systems.order).zip(&row.by_system);
    let of_systems: Vec<AgeFigure<'a>> = of_systems
        .filter_map(|(at, figure)| {
            let it = figure.as_ref()?.figure.as_ref().filter(|it| !it.is_bound)?;
            one(Some(*at), &it.text, [it.low, it.high])
        })
        .collect();
    if !of_systems.is_empty() {
        return of_systems;
    }
    let first = row.published.first().and_then(Option::as_ref).filter(|it| !it.is_bound);
    first.and_then(|it| one(None, &it.text, [it.low, it.high])).into_iter().collect()
}

impl Cost {
    fn of(kind: UnitKind, value: [f64; 2], rates: ClockRates) -> Self {
        let cycles = rates.core_ghz.map(|ghz| match kind {
            UnitKind::Rate => value.map(|end| end / (ghz * 1e9)),
            _ => value.map(|end| end * ghz),
        });
        Self { value, cycles, calls: None, loads: None }
    }

    /// The middle of a range.
    pub fn middle(ends: [f64; 2]) -> f64 {
        f64::midpoint(ends[0], ends[1])
    }

    /// In multiples of these yardsticks, two times in nanoseconds.
    fn in_multiples(&mut self, call: Option<f64>, load: Option<f64>) {
        let over = |of: Option<f64>, value: [f64; 2]| {
            of.filter(|of| *of > 0.0).map(|of| value.map(|end| end / of))
        };
        self.calls = over(call, self.value);
        self.loads = over(load, self.value);
    }
}

/// The variables of a column's formula, by the newest figures of this machine.
struct VariablesHere<'a> {
    table: &'a Table,
    row: &'a TableRow,
    here: &'a MeasuredFigures,
    /// What of a figure they are.
    quantity: fn(&MeasuredFigure) -> Option<f64>,
}

impl VariablesHere<'_> {
    fn figure(&self, row: &TableRow) -> Option<f64> {
        (self.quantity)(self.here.get(row.case()?)?)
    }
}

impl MeasuredFigure {
    /// In the base unit of its kind.
    fn in_base_unit(&self) -> Option<f64> {
        Some(self.value * base_unit(self.unit).size)
    }
}

impl Variables for VariablesHere<'_> {
    fn own_figure(&self) -> Option<f64> {
        self.figure(self.row)
    }

    fn row(&self, name: &str) -> Option<f64> {
        self.figure(self.table.rows.iter().find(|row| row.name == name)?)
    }

    fn calls(&self) -> Option<f64> {
        None
    }
}

/// The cost of a row here: its case's figure, or what the column computes from several.
fn cost_here(
    table: &Table,
    row: &TableRow,
    figure: &Figure,
    here: &MeasuredFigures,
) -> Option<CostHere> {
    let own = here.get(row.case()?)?;
    let BaseUnit { kind, size: one } = base_unit(own.unit);
    (kind == figure.unit.kind()).then_some(())?;
    let is_own = figure.formula.own_figure_factor().is_some();
    let of_column = |quantity: fn(&MeasuredFigure) -> Option<f64>| match is_own {
        true => quantity(own),
        false => figure.formula.value(&VariablesHere { table, row, here, quantity }),
    };
    let value = of_column(MeasuredFigure::in_base_unit)?;
    // What is subtracted may exceed what it is subtracted from: that is no cost.
    (value > 0.0).then_some(())?;
    let names = if is_own { Vec::new() } else { figure.formula.rows() };
    let others = names.iter().filter_map(|name| table.rows.iter().find(|it| it.name == **name));
    let others = others.filter_map(|row| here.get(row.case()?));
    let of: Vec<&MeasuredFigure> = std::iter::once(own).chain(others).collect();
    let runs: BTreeSet<&str> = of.iter().map(|it| it.run.as_str()).collect();
    let rates = ClockRates { core_ghz: own.core_ghz, ticks_per_ns: None };
    let cost = Cost::of(kind, [value; 2], rates);
    let counted = of_column(|it| it.counted_cycles);
    let counted = counted.filter(|&cycles| kind == UnitKind::Time && cycles > 0.0);
    let (cost, cycles_by) = match counted {
        Some(cycles) => (Cost { cycles: Some([cycles; 2]), ..cost }, CyclesBy::Counter),
        None => (cost, CyclesBy::Frequency),
    };
    Some(CostHere {
        cost,
        cycles_by,
        interval: own.interval.filter(|_| is_own).map(|ends| ends.map(|end| end * one)),
        started: of.iter().map(|it| it.started.clone()).max().unwrap_or_default(),
        runs: runs.into_iter().map(str::to_owned).collect(),
    })
}

/// The machine of a figure: the study and the system in it.
fn machine<'a>(it: &AgeFigure<'a>) -> (&'a str, Option<&'a str>) {
    (it.study.id.as_str(), it.system)
}

/// Adds the multiples of a procedure call and of a memory latency: then by those of the same machine
/// of the same study, here by those of the study's rows, or of the first that has them.
fn add_multiples(figures: &mut [AgeFigure<'_>]) {
    let yardsticks: Vec<AgeFigure<'_>> = figures
        .iter()
        .filter(|it| it.row.same_as.is_some_and(|act| is_yardstick(act.key)))
        .cloned()
        .collect();
    let of_act = |key: &'static str| {
        let is_it = move |it: &&AgeFigure<'_>| it.row.same_as.is_some_and(|act| act.key == key);
        yardsticks.iter().filter(is_it)
    };
    for figure in figures {
        if figure.row.same_as.is_none_or(|act| act.kind != UnitKind::Time) {
            continue;
        }
        let then = |key| {
            let found = of_act(key).find(|it| machine(it) == machine(figure));
            found.map(|it| Cost::middle(it.then.value))
        };
        let here = |key| {
            let of_study = of_act(key).find(|it| it.study.id == figure.study.id);
            let found = of_study.or_else(|| of_act(key).find(|it| it.here.is_some()));
            found.and_then(|it| it.here.as_ref()).map(|it| Cost::middle(it.cost.value))
        };
        let (call_then, load_then) = (then(PROCEDURE_CALL), then(MEMORY_LATENCY));
        let (call_here, load_here) = (here(PROCEDURE_CALL), here(MEMORY_LATENCY));
        figure.then.in_multiples(call_then, load_then);
        if let Some(here) = &mut figure.here {
            here.cost.in_multiples(call_here, load_here);
        }
    }
}

fn is_memory(it: &AgeFigure<'_>) -> bool {
    it.row.same_as.is_some_and(|act| act.key == MEMORY_LATENCY)
}

fn is_yardstick(key: &str) -> bool {
    key == PROCEDURE_CALL || key == MEMORY_LATENCY
}

#[cfg(test)]
mod tests;
