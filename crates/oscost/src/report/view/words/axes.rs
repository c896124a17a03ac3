//! The axes of benchmarks and their values, as words.

use oscost_model::definition::{Axis, Catalog, Definition};
use oscost_model::point::Value;
use oscost_model::record::Record;

use super::examples::{AxisPoint, of_axis};
use super::word_section;
use crate::report::text::plain;
use crate::report::view::document::Section;

/// How many benchmarks are named.
const MAX_NAMED: usize = 4;

/// Axes that set the same, and the benchmarks that have them.
struct AxisUse<'a> {
    axis: &'a Axis,
    benchmarks: Vec<&'a str>,
}

/// The axes and the values of this name, or of `axis=value`; where the last run has such rows, with
/// their figures.
pub fn sections(catalog: &Catalog, name: &str, last: Option<&Record>) -> Vec<Section> {
    let (axis_name, value) = match name.split_once('=') {
        Some((axis, value)) => (Some(axis), Some(Value::parse(value))),
        None => (None, None),
    };
    let axes = uses(catalog, &|axis| axis_name.is_none() && axis.name == name);
    let is_value = |axis: &Axis| match (axis_name, &value) {
        (Some(of), Some(value)) => axis.name == of && axis.has_point(value),
        _ => axis.points.contains(&Value::Word(name.to_owned())),
    };
    let values = uses(catalog, &is_value);
    let axes =
        axes.iter().map(|it| word_section(name, "axis of benchmarks", facts(it, None, last)));
    let value = value.unwrap_or_else(|| Value::Word(name.to_owned()));
    let values = values.iter().map(|it| {
        let kind = format!("value of the axis `{}`", it.axis.name);
        word_section(&value.to_string(), &kind, facts(it, Some(&value), last))
    });
    axes.chain(values).collect()
}

/// The names of all axes, and of their values that are words.
pub fn names(catalog: &Catalog) -> Vec<String> {
    let axes = || catalog.benchmarks.iter().flat_map(|definition| &definition.axes);
    let words = axes().flat_map(|axis| &axis.points).filter_map(|value| match value {
        Value::Word(word) => Some(word.clone()),
        Value::Number(_) => None,
    });
    axes().map(|axis| axis.name.clone()).chain(words).collect()
}

fn uses<'a>(catalog: &'a Catalog, is_it: &dyn Fn(&Axis) -> bool) -> Vec<AxisUse<'a>> {
    let mut found: Vec<AxisUse<'a>> = Vec::new();
    for definition in &catalog.benchmarks {
        let Definition { id, axes, .. } = definition;
        for axis in axes.iter().filter(|axis| is_it(axis)) {
            let same =
                |it: &&mut AxisUse<'_>| (&it.axis.name, &it.axis.sets) == (&axis.name, &axis.sets);
            match found.iter_mut().find(same) {
                Some(known) => known.benchmarks.push(id),
                None => found.push(AxisUse { axis, benchmarks: vec![id] }),
            }
        }
    }
    found
}

fn facts(
    AxisUse { axis, benchmarks }: &AxisUse<'_>,
    value: Option<&Value>,
    last: Option<&Record>,
) -> [(&'static str, String); 5] {
    let points = axis.points.iter().map(|value| match axis.default_points.contains(value) {
        true => format!("*{value}"),
        false => value.to_string(),
    });
    let range = axis.range.map(|(least, most)| format!("any number from {least} to {most}"));
    let points = points.chain(range).collect::<Vec<_>>().join(" | ");
    let first = benchmarks.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = match benchmarks.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let example = benchmarks.first().copied().unwrap_or_default();
    let point = AxisPoint { axis: &axis.name, value, benchmarks };
    let here = last.and_then(|record| of_axis(&point, record));
    [
        ("sets", plain(&axis.sets)),
        ("points", format!("{points} (`*`: measured by default)")),
        ("of", format!("{first}{more}")),
        ("do", format!("`oscost run '{example}:{}=*'` measures all points", axis.name)),
        ("here", here.unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::View;

    #[test]
    fn axes_values_and_assignments_are_explained() {
        let catalog = oscost_worker::benchmarks::data();
        let text = |name: &str| crate::report::terminal(&View::of(sections(&catalog, name, None)));
        let peer_cpu = text("peer_cpu");
        assert!(peer_cpu.starts_with("peer_cpu: axis of benchmarks\n"), "{peer_cpu}");
        assert!(peer_cpu.contains("same") && peer_cpu.contains("other"), "{peer_cpu}");
        assert!(text("other").contains("other: value of the axis `peer_cpu`"));
        assert!(text("peer_cpu=other").starts_with("other: value of the axis `peer_cpu`"));
        assert_eq!(text("no-such-axis"), "");
        assert_eq!(text("peer_cpu=nowhere"), "");
    }
}
