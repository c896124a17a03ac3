//! Definitions: the list of benchmarks, and the explanation of each.

use oscost_model::calls::{ANY_OTHER_CALL, CallRule, CallTimes, Caller};
use oscost_model::definition::{Axis, Catalog, Definition, FloorPart, Requirement};
use oscost_model::point::{Point, Value};
use oscost_model::program::FAMILY;

use crate::report::text::plain;
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};

/// From so many benchmarks on, a list of the families comes first.
const MIN_LONG_LIST: usize = 40;

/// The families and their benchmarks, a line each: its name and its question. A long list begins
/// with the families alone. With `with_axes` the axes of each are named below it.
pub fn list(catalog: &Catalog, selected: &[&Definition], with_axes: bool) -> View {
    let row = |definition: &&Definition| {
        let mark = if definition.in_price_list { ' ' } else { '-' };
        let axes: Vec<&str> = definition.axes.iter().map(|axis| axis.name.as_str()).collect();
        let notes = match with_axes && !axes.is_empty() {
            true => vec![format!("axes: {}", axes.join(", "))],
            false => Vec::new(),
        };
        let name = format!("{mark}{}", definition.id);
        let cells = vec![Cell::text(name), Cell::text(plain(&definition.asks))];
        TableRow { notes, ..TableRow::of(cells) }
    };
    let families = catalog.families.iter().filter_map(|family| {
        let rows: Vec<TableRow> = members(selected, &family.name).map(|it| row(&it)).collect();
        let columns = vec![Column::text(""), Column::excerpt("")];
        let table = Table { columns, ..Table::default() };
        let title = format!("{}: {}", family.name, family.about);
        (!rows.is_empty()).then(|| Section::of(title, [Block::Table(Table { rows, ..table })]))
    });
    let sizes = sizes(catalog, selected);
    let first = (selected.len() >= MIN_LONG_LIST && sizes.rows.len() > 1)
        .then(|| Section::of("", [Block::Table(sizes)]));
    let legend = selected.iter().any(|definition| !definition.in_price_list).then(|| {
        let text = "`-`: not in the price list, which `oscost run` measures if nothing is named";
        Section::of("", [Block::Text(text.to_owned())])
    });
    View::of(first.into_iter().chain(families).chain(legend).collect())
}

/// Benchmarks of a family, a line each, and how each is explained.
pub fn overview(catalog: &Catalog, selected: &[&Definition]) -> View {
    let text = "`oscost explain NAME` explains one of them, with its calls counted here; `--full` \
                explains all of them";
    let next = Section::of("", [Block::Text(text.to_owned())]);
    let mut view = list(catalog, selected, false);
    view.sections.push(next);
    view
}

/// The families alone, a line each, and how their benchmarks are listed.
pub fn families(catalog: &Catalog) -> View {
    let all: Vec<&Definition> = catalog.benchmarks.iter().collect();
    let next = format!(
        "`oscost list FAMILY` lists those of a family, `oscost list all` all {}, `oscost list -k \
         TEXT` those about something",
        all.len()
    );
    View::of(vec![
        Section::of("", [Block::Table(sizes(catalog, &all))]),
        Section::of("", [Block::Text(next)]),
    ])
}

/// How many benchmarks of a selection each family has.
fn sizes(catalog: &Catalog, selected: &[&Definition]) -> Table {
    let rows = catalog.families.iter().filter_map(|family| {
        let count = members(selected, &family.name).count();
        let cells = [family.name.clone(), count.to_string(), plain(&family.about)];
        (count > 0).then(|| TableRow::of(cells.into_iter().map(Cell::text).collect()))
    });
    let columns = vec![
        Column::text("family"),
        Column::number("benchmarks", "benchmarks"),
        Column::excerpt(""),
    ];
    Table { columns, rows: rows.collect(), ..Table::default() }
}

/// Those of some benchmarks that belong to a family.
fn members<'a>(
    selected: &'a [&Definition],
    family: &'a str,
) -> impl Iterator<Item = &'a Definition> {
    selected.iter().copied().filter(move |definition| definition.family() == family)
}

/// The complete explanation of a benchmark.
pub fn explanation(definition: &Definition) -> Vec<Section> {
    let text = |text: &str| (!text.is_empty()).then(|| Block::Text(text.to_owned()));
    let is_program = definition.family() == FAMILY;
    let calls = if is_program { Vec::new() } else { calls(definition) };
    let price_list = if definition.in_price_list {
        "belongs to the price list"
    } else {
        "is not in the price list"
    };
    let method = match is_program {
        true => {
            "One warm-up run, then trials in fresh processes, on all CPUs; trials of compared targets \
             alternate; the median over trials with its order-statistic interval \
             (docs/explanation/METHOD.md, section 13). `oscost run --calls` counts its system calls."
        }
        false => {
            "In fresh processes, pinned to one CPU, spread over the run in random order; batches \
             between two clock reads; the median of each process's undisturbed batches; the median \
             over processes with its order-statistic interval (docs/explanation/METHOD.md)."
        }
    };
    let revision = format!(
        "Revision {}; it {price_list}; figures in {}.",
        definition.rev,
        definition.unit.text()
    );
    let parts = [
        (definition.id.as_str(), text(&definition.asks)),
        ("What is timed", text(&definition.op)),
        ("Expected, before measuring", text(&definition.expected)),
        ("Why it costs what it costs", text(&definition.explanation)),
        ("The system calls of an op, counted in every run", Block::list(calls)),
        (
            "Lower bound: the primitives that an op contains",
            Block::list(definition.floor.iter().map(floor)),
        ),
        ("Axes", axes(&definition.axes)),
        ("Needs", Block::list(needs(definition))),
        ("Not defined at", Block::list(undefined_points(definition))),
        ("How it is measured", Block::list([method.to_owned(), revision])),
        ("Source", text(&definition.source)),
    ];
    let section = |(title, block): (&str, Option<Block>)| Some(Section::of(title, [block?]));
    parts.into_iter().filter_map(section).collect()
}

fn calls(definition: &Definition) -> Vec<String> {
    if definition.calls.is_empty() {
        return vec!["none".to_owned()];
    }
    let rule = |rule: &CallRule| {
        let times = match rule.times {
            CallTimes::Exactly(times) => format!("{times}"),
            CallTimes::UpTo(times) => format!("at most {times}"),
            CallTimes::Per { calls, ops } => format!("{calls} in {ops} ops:"),
        };
        let call = match rule.call.as_str() {
            ANY_OTHER_CALL => "others".to_owned(),
            names => names.replace('|', " or "),
        };
        let by = match rule.caller {
            Caller::Own => "",
            Caller::Peer => " by the peer",
            Caller::BothEnds => " by each side",
        };
        let parts = rule.parts.as_ref().map_or(String::new(), |parts| {
            format!(", plus {times} per {} bytes of `{}`", parts.bytes, parts.axis)
        });
        format!("{times} {call}{by}{parts}{}", condition(&rule.when))
    };
    definition.calls.iter().map(rule).collect()
}

fn condition(when: &Point) -> String {
    if when.is_empty() { String::new() } else { format!("  (at {when})") }
}

fn floor(part: &FloorPart) -> String {
    format!("{} x {}{}", part.times, part.case, condition(&part.when))
}

/// The axes, below a line that explains their marks.
fn axes(axes: &[Axis]) -> Option<Block> {
    let legend = "`*` marks default points.".to_owned();
    let legend = axes.iter().any(|axis| !axis.default_points.is_empty()).then_some(legend);
    Block::list(legend.into_iter().chain(axes.iter().map(axis)))
}

fn axis(axis: &Axis) -> String {
    let points = axis.points.iter().map(|value| match axis.default_points.contains(value) {
        true => format!("*{value}"),
        false => value.to_string(),
    });
    let any = axis.range.map(|(min, max)| format!("any number from {min} to {max}"));
    let points = points.chain(any).collect::<Vec<_>>().join(" | ");
    let only = |what: &str, values: &[Value]| {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        (!values.is_empty()).then(|| format!("; {what} {}", values.join(" | ")))
    };
    let others = [
        axis.implied.as_ref().map(|value| format!("; {value} is left out of a case's name")),
        only("in the price list", &axis.price_list_points),
        only("in a thorough run", &axis.thorough_points),
    ];
    let others: String = others.into_iter().flatten().collect();
    format!("{} = {points}  ({}{others})", axis.name, axis.sets)
}

fn needs(definition: &Definition) -> Vec<String> {
    let needs = definition.needs.iter().filter_map(|need| {
        let what = match &need.requirement {
            Requirement::Readable(path) => format!("{path} can be read"),
            Requirement::VdsoFunction(name) => format!("{name} in the vDSO"),
            Requirement::Counter => "a usable cycle counter in the processor".to_owned(),
            Requirement::WallTime => "wall-clock time".to_owned(),
            Requirement::IoUring => "io_uring, available and allowed".to_owned(),
            Requirement::Resource(what) => what.to_string(),
            // It is no condition: without it the case says what is missing.
            Requirement::Capability(_) | Requirement::Undefined(_) => return None,
        };
        Some(format!("{what}{}", condition(&need.when)))
    });
    needs.collect()
}

/// The points at which a benchmark is not defined, and why.
fn undefined_points(definition: &Definition) -> Vec<String> {
    let undefined = definition.needs.iter().filter_map(|need| match &need.requirement {
        Requirement::Undefined(why) if need.when.is_empty() => Some(format!("any point: {why}")),
        Requirement::Undefined(why) => Some(format!("{}: {why}", need.when)),
        _ => None,
    });
    undefined.collect()
}

/// The values of a selector's shell completion: families and benchmarks.
pub fn names(catalog: &Catalog) -> Vec<String> {
    let families = catalog.families.iter().map(|family| family.name.clone());
    families.chain(catalog.benchmarks.iter().map(|definition| definition.id.clone())).collect()
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn an_explanation_says_what_is_timed_what_is_not_and_its_source() {
        let catalog = oscost_worker::benchmarks::data();
        let definition = catalog.get("syscall/getppid").unwrap();
        let text = crate::report::terminal(&View::of(explanation(definition)));
        for part in [
            "What is timed",
            "Not included:",
            "Expected, before measuring",
            "1 getppid",
            "Lower bound",
            "METHOD",
            "Source",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_list_has_a_line_for_each_benchmark_and_families_first_where_it_is_long() {
        let catalog = oscost_worker::benchmarks::data();
        let all: Vec<&Definition> = catalog.benchmarks.iter().collect();
        let text = crate::report::terminal(&list(&catalog, &all, false));
        assert!(text.starts_with("family "), "{text}");
        let first_words = || text.lines().filter_map(|line| line.split_whitespace().next());
        for definition in &all {
            let lines = first_words().filter(|word| word.trim_start_matches('-') == definition.id);
            assert_eq!(lines.count(), 1, "{}: {text}", definition.id);
        }
        let few = list(&catalog, &all[..3], true);
        let few = crate::report::terminal(&few);
        assert!(!few.contains("benchmarks") && few.lines().all(|it| it.len() <= 80), "{few}");
        let with_axes = all.iter().position(|it| !it.axes.is_empty()).unwrap();
        let one = list(&catalog, &all[with_axes..=with_axes], true);
        let axis = &all[with_axes].axes[0].name;
        assert!(crate::report::terminal(&one).contains(&format!("axes: {axis}")));
    }

    #[test]
    fn families_alone_have_a_line_each() {
        let catalog = oscost_worker::benchmarks::data();
        let text = crate::report::terminal(&families(&catalog));
        // The heading, an empty line and two lines about what to type.
        assert!(text.lines().count() <= catalog.families.len() + 4, "{text}");
        for family in &catalog.families {
            let is_it = |line: &&str| line.split_whitespace().next() == Some(family.name.as_str());
            assert_eq!(text.lines().filter(is_it).count(), 1, "{}: {text}", family.name);
        }
        assert!(text.contains("`oscost list FAMILY`") && text.contains("`oscost list all`"));
    }

    #[test]
    fn default_points_are_marked() {
        let defaults = Axis {
            name: "via".into(),
            sets: "the entry".into(),
            points: vec![Value::from("raw"), Value::from("libc")],
            default_points: vec![Value::from("raw")],
            implied: None,
            price_list_points: vec![],
            thorough_points: vec![],
            range: None,
            item: String::new(),
        };
        assert!(axis(&defaults).starts_with("via = *raw | libc"));
        assert!(!axis(&defaults).contains("left out"));
        let sizes = Axis {
            points: vec![Value::from(64u64)],
            price_list_points: vec![Value::from(64u64)],
            range: Some((1, 100)),
            item: String::new(),
            ..defaults.clone()
        };
        assert!(axis(&sizes).starts_with("via = 64 | any number from 1 to 100"));
        assert!(axis(&sizes).ends_with("; in the price list 64)"));
        let implied = Axis { implied: Some(Value::from("raw")), ..defaults };
        assert!(axis(&implied).contains("raw is left out"), "{}", axis(&implied));
    }
}
