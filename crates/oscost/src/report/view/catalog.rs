//! Definitions as people read them: `list`, `explain`, and the pages of docs/catalog.

use std::fmt::Write as _;

use crate::report::text::fold;
use oscost_model::calls::{ANY_OTHER_CALL, CallRule, CallTimes, Caller};
use oscost_model::definition::{Axis, Catalog, Definition, FloorPart, Requirement};
use oscost_model::point::{Point, Value};
use oscost_model::program::FAMILY;

/// The families and their benchmarks, a line each.
pub fn list(catalog: &Catalog, chosen: &[&Definition]) -> String {
    let mut out = String::new();
    let longest = chosen.iter().map(|definition| definition.id.len()).max().unwrap_or(0);
    for family in &catalog.families {
        let members: Vec<_> =
            chosen.iter().filter(|definition| definition.family() == family.name).collect();
        if members.is_empty() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}: {}", family.name, family.about);
        for definition in members {
            let price_list = if definition.in_price_list { ' ' } else { '-' };
            let axes: Vec<&str> = definition.axes.iter().map(|axis| axis.name.as_str()).collect();
            let axes =
                if axes.is_empty() { String::new() } else { format!("  [{}]", axes.join(", ")) };
            let line = format!(" {price_list}{:<longest$}{axes}", definition.id);
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    out
}

/// Everything that is said of a benchmark.
pub fn explain(definition: &Definition) -> String {
    let mut out = format!("{}\n  {}\n", definition.id, fold(&definition.asks, 76, "  "));
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(out, "\n{title}\n");
            for line in lines {
                let _ = writeln!(out, "  {}", fold(&line, 76, "  "));
            }
        }
    };
    part("What is timed", vec![definition.op.clone()]);
    part("Expected, before measuring", vec![definition.expected.clone()]);
    let why = (!definition.explanation.is_empty()).then(|| definition.explanation.clone());
    part("Why it costs what it costs", why.into_iter().collect());
    let is_program = definition.family() == FAMILY;
    let calls = if is_program { Vec::new() } else { calls(definition) };
    part("The system calls of an op, counted in every run", calls);
    part("The floor: what an op contains at least", definition.floor.iter().map(floor).collect());
    part("Axes", definition.axes.iter().map(axis).collect());
    part("Needs", needs(definition));
    let price_list = if definition.in_price_list {
        "belongs to the price list"
    } else {
        "is not in the price list"
    };
    part(
        "How it is measured",
        vec![
            match is_program {
                true => {
                    "One run ahead, then trials in fresh processes, on all CPUs, those of compared \
                     places in turns; the median over trials with its order-statistic interval \
                     (docs/explanation/METHOD.md, section 13). `oscost run --calls` counts its system calls."
                }
                false => {
                    "In fresh processes, pinned to one CPU, spread over the run in random order; \
                     batches between two clock reads; the median of each process's undisturbed \
                     batches; the median over processes with its order-statistic interval \
                     (docs/explanation/METHOD.md)."
                }
            }
            .to_owned(),
            format!(
                "Revision {}; it {price_list}; figures in {}.",
                definition.rev,
                definition.unit.text()
            ),
        ],
    );
    part("Source", vec![definition.source.clone()]);
    out
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
            format!(", as often again for each {} of {}", parts.bytes, parts.axis)
        });
        format!("{times} {call}{by}{parts}{}", at(&rule.when))
    };
    definition.calls.iter().map(rule).collect()
}

fn at(when: &Point) -> String {
    if when.is_empty() { String::new() } else { format!("  (at {when})") }
}

fn floor(part: &FloorPart) -> String {
    format!("{} x {}{}", part.times, part.case, at(&part.when))
}

fn axis(axis: &Axis) -> String {
    let points = axis.points.iter().map(|value| match axis.default_points.contains(value) {
        true => format!("*{value}"),
        false => value.to_string(),
    });
    let any = axis.range.map(|(least, most)| format!("any number from {least} to {most}"));
    let points = points.chain(any).collect::<Vec<_>>().join(" | ");
    let only = |what: &str, values: &[Value]| {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        (!values.is_empty()).then(|| format!("; {what} {}", values.join(" | ")))
    };
    let others = [
        axis.implied.as_ref().map(|value| format!("; {value} goes unsaid in a case's name")),
        only("in the price list", &axis.price_list_points),
        only("in a thorough run", &axis.thorough_points),
    ];
    let others: String = others.into_iter().flatten().collect();
    format!("{} = {points}  ({}; * is measured when none is named{others})", axis.name, axis.sets)
}

fn needs(definition: &Definition) -> Vec<String> {
    definition
        .needs
        .iter()
        .map(|need| match &need.requirement {
            Requirement::Readable(path) => format!("{path} can be read{}", at(&need.when)),
            Requirement::VdsoFunction(name) => format!("{name} in the vDSO{}", at(&need.when)),
            Requirement::Counter => {
                format!("a counter in the processor that keeps time{}", at(&need.when))
            }
            Requirement::WallTime => format!("time goes by{}", at(&need.when)),
            Requirement::IoUring => format!("io_uring is there and allowed{}", at(&need.when)),
            Requirement::Resource(what) => format!("{what}{}", at(&need.when)),
            Requirement::Undefined(why) => format!("another point{}: {why}", at(&need.when)),
        })
        .collect()
}

/// The page of a family in docs/catalog: the same text as `explain`, as Markdown.
pub fn page(catalog: &Catalog, family: &str) -> String {
    let about = catalog.families.iter().find(|found| found.name == family);
    let mut out = format!(
        "# {family}\n\n{}.\n\nMade from the definitions by `make docs`; do not edit.\n",
        about.map_or("", |found| found.about.as_str())
    );
    for definition in catalog.benchmarks.iter().filter(|found| found.family() == family) {
        let text = explain(definition);
        let body = text.split_once('\n').map_or("", |(_, body)| body);
        let _ = write!(out, "\n## {}\n\n```text\n{}```\n", definition.id, body);
    }
    out
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
    fn explain_says_what_is_timed_what_is_not_and_where_it_comes_from() {
        let catalog = oscost_worker::benchmarks::data();
        let text = explain(catalog.get("syscall/getppid").unwrap());
        for part in [
            "What is timed",
            "Not included:",
            "Expected",
            "1 getppid",
            "The floor",
            "METHOD",
            "Source",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn usual_points_are_marked() {
        let usual = Axis {
            name: "via".into(),
            sets: "the way in".into(),
            points: vec![Value::from("raw"), Value::from("libc")],
            default_points: vec![Value::from("raw")],
            implied: None,
            price_list_points: vec![],
            thorough_points: vec![],
            range: None,
            item: String::new(),
        };
        assert!(axis(&usual).starts_with("via = *raw | libc"));
        assert!(!axis(&usual).contains("unsaid"));
        let sizes = Axis {
            points: vec![Value::from(64u64)],
            price_list_points: vec![Value::from(64u64)],
            range: Some((1, 100)),
            item: String::new(),
            ..usual.clone()
        };
        assert!(axis(&sizes).starts_with("via = 64 | any number from 1 to 100"));
        assert!(axis(&sizes).ends_with("; in the price list 64)"));
        let unsaid = Axis { implied: Some(Value::from("raw")), ..usual };
        assert!(axis(&unsaid).contains("raw goes unsaid"), "{}", axis(&unsaid));
    }
}
