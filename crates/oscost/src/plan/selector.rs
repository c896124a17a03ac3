//! Selectors: a family, an id or its unique last part, a case, or a glob.

use std::fmt;

use oscost_model::case::Case;
use oscost_model::definition::{Axis, Catalog, Definition, Extent};
use oscost_model::point::{Point, Value};
use wildmatch::WildMatch;

use super::name_sets::{SetError, alternatives, without_sets};
use super::near_names::{nearest_hint, nearest_names};

/// The last part of several ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousName {
    /// The requested text.
    pub name: String,
    /// The ids.
    pub ids: Vec<String>,
}

/// Why a selector is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorError {
    /// No family, benchmark or glob of that name.
    UnknownName {
        /// The requested text.
        name: String,
        /// The nearest names.
        nearest: Vec<String>,
    },
    /// Of each of these names several benchmarks have a last part.
    AmbiguousNames {
        /// The names, one at least.
        all: Vec<AmbiguousName>,
    },
    /// A `{` without its `}`, a set in a set, or sets that stand for too many names.
    InvalidSet {
        /// The requested text.
        text: String,
    },
    /// A benchmark has no such axis.
    UnknownAxis {
        /// The benchmark.
        benchmark: String,
        /// The requested text.
        axis: String,
        /// The axes that it has.
        axes: Vec<String>,
    },
    /// An axis has no such point.
    UnknownValue {
        /// The benchmark.
        benchmark: String,
        /// The axis.
        axis: String,
        /// The requested text.
        value: String,
        /// The points that it has, in backticks, and the numbers between them in words.
        allowed: Vec<String>,
    },
    /// The text after the colon is not `axis=value`.
    NotAnAssignment {
        /// The requested text.
        text: String,
    },
}

impl fmt::Display for SelectorError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { name, .. } if name.is_empty() => write!(
                out,
                "the name of a benchmark is empty\n  hint: `oscost list` lists all of them; without \
                 any name `oscost run` measures the price list"
            ),
            Self::UnknownName { name, nearest } => {
                write!(out, "`{name}` is not a family, benchmark or case\n  hint: ")?;
                match (form_hint(name), &nearest[..]) {
                    (Some(hint), _) => out.write_str(&hint),
                    (None, []) => out.write_str(
                        "`oscost list` lists all of them; a command to measure stands behind `--`",
                    ),
                    (None, nearest) => write!(
                        out,
                        "{}; a command to measure stands behind `--`",
                        nearest_hint(nearest)
                    ),
                }
            }
            Self::AmbiguousNames { all } => write_ambiguous(all, out),
            Self::InvalidSet { text } => write!(
                out,
                "`{text}` has a set that cannot be read\n  hint: `{{a,b}}` stands for two names, \
                 without blanks and without a set in it"
            ),
            Self::UnknownAxis { benchmark, axis, axes } if axes.is_empty() => {
                write!(
                    out,
                    "`{benchmark}` has no axis `{axis}`: it has no axes\n  hint: write \
                     `{benchmark}` alone; of a set `{{a,b}}:axis=value` all must have the axis"
                )
            }
            Self::UnknownAxis { benchmark, axis, axes } => {
                write!(out, "`{benchmark}` has no axis `{axis}`\n  hint: it has {}", names(axes))
            }
            Self::UnknownValue { benchmark, axis, value, allowed } => write!(
                out,
                "axis `{axis}` of `{benchmark}` has no value `{value}`\n  hint: `{axis}` may be {}",
                allowed.join(", ")
            ),
            Self::NotAnAssignment { text } => write!(
                out,
                "`{text}` is not `axis=value`\n  hint: `axis=a|b` selects two points, `axis=*` all"
            ),
        }
    }
}

impl std::error::Error for SelectorError {}

/// How to write what was typed as one name: several names, or a name with its axes.
fn form_hint(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    match &parts[..] {
        [name, axes @ ..] if !axes.is_empty() && axes.iter().all(|part| part.contains('=')) => {
            Some(format!("axes stand behind a colon: `{name}:{}`", axes.join(",")))
        }
        [_, _, ..] => Some(format!("each name is an argument of its own: `{}`", parts.join(" "))),
        _ => None,
    }
}

/// Each of the names, and what it may mean.
fn write_ambiguous(all: &[AmbiguousName], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let what = |it: &AmbiguousName| format!("`{}` names {} benchmarks", it.name, it.ids.len());
    let hint = |it: &AmbiguousName| match all.len() {
        1 => names(&it.ids),
        _ => format!("`{}`: {}", it.name, names(&it.ids)),
    };
    let what: Vec<String> = all.iter().map(what).collect();
    let hints: Vec<String> = all.iter().map(hint).collect();
    write!(out, "{}\n  hint: {}", what.join(", "), hints.join("; "))
}

fn names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The cases that `selectors` name, each once, in the catalog's order; without selectors, the price
/// list. Axes that are not named take their default points, or those of a thorough run.
pub fn select(
    catalog: &Catalog,
    selectors: &[String],
    extent: Extent,
) -> Result<Vec<Case>, SelectorError> {
    let mut selected = Vec::new();
    let mut ambiguous = Vec::new();
    for text in selectors {
        match select_one(catalog, text, extent, |_, _| true) {
            Ok(cases) => selected.extend(cases),
            // All of them are told at once.
            Err(SelectorError::AmbiguousNames { all }) => ambiguous.extend(all),
            Err(error) => return Err(error),
        }
    }
    if !ambiguous.is_empty() {
        return Err(SelectorError::AmbiguousNames { all: ambiguous });
    }
    let in_price_list = |definition: &&Definition| selectors.is_empty() && definition.in_price_list;
    for definition in catalog.benchmarks.iter().filter(in_price_list) {
        selected.extend(cases(definition, &[], Extent::PriceList)?);
    }
    let mut ordered: Vec<Case> = Vec::new();
    for definition in &catalog.benchmarks {
        for case in selected.iter().filter(|case| case.benchmark == definition.id) {
            if !ordered.contains(case) {
                ordered.push(case.clone());
            }
        }
    }
    Ok(ordered)
}

/// Those of the selected cases that a selector names: as a case, or by the id of their benchmark or
/// its last part. A family and a glob name none, and neither does a run without selectors.
pub fn named_cases(
    catalog: &Catalog,
    selectors: &[String],
    extent: Extent,
) -> Result<Vec<Case>, SelectorError> {
    let mut named = Vec::new();
    for text in selectors {
        named.extend(select_one(catalog, text, extent, is_of_one_benchmark)?);
    }
    Ok(named)
}

/// Whether a name is that of one benchmark, and not of a family or a glob. The id of a command may
/// have the characters of a glob.
fn is_of_one_benchmark(catalog: &Catalog, name: &str) -> bool {
    let is_id = catalog.benchmarks.iter().any(|definition| definition.id == name);
    let is_family = catalog.benchmarks.iter().any(|definition| definition.family() == name);
    is_id || !(is_family || is_glob(name))
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// The cases of one selector, of those of its names that `is_wanted`.
fn select_one(
    catalog: &Catalog,
    text: &str,
    extent: Extent,
    is_wanted: fn(&Catalog, &str) -> bool,
) -> Result<Vec<Case>, SelectorError> {
    let (name, axes) = text.split_once(':').unwrap_or((text, ""));
    let refusal = |SetError| SelectorError::InvalidSet { text: text.to_owned() };
    let axes = without_sets(axes).map_err(refusal)?;
    let requested = assignments(&axes)?;
    let names = alternatives(name).map_err(refusal)?;
    let mut found = Vec::new();
    for name in names.iter().filter(|name| is_wanted(catalog, name)) {
        found.extend(select_name(catalog, name, &requested, extent)?);
    }
    Ok(found)
}

/// The cases of what has this name, at the requested points.
fn select_name(
    catalog: &Catalog,
    name: &str,
    requested: &[(&str, Vec<&str>)],
    extent: Extent,
) -> Result<Vec<Case>, SelectorError> {
    let is_glob = is_glob(name);
    let pattern = WildMatch::new(name);
    let named: Vec<&Definition> = catalog
        .benchmarks
        .iter()
        .filter(|definition| {
            definition.id == name
                || definition.family() == name
                || (is_glob && pattern.matches(&definition.id))
        })
        .collect();
    let name_text = || name.to_owned();
    let named = match (&named[..], &with_last_part(catalog, name)[..]) {
        ([], []) => {
            let nearest = nearest(catalog, name);
            return Err(SelectorError::UnknownName { name: name_text(), nearest });
        }
        ([], &[one]) => vec![one],
        ([], several) => {
            let ids = several.iter().map(|it| it.id.clone()).collect();
            let all = vec![AmbiguousName { name: name_text(), ids }];
            return Err(SelectorError::AmbiguousNames { all });
        }
        _ => named,
    };
    // A family or a glob selects those of its benchmarks that have the axes.
    let has_all = |definition: &&&Definition| {
        requested.iter().all(|(axis, _)| definition.axis(axis).is_some())
    };
    let fitting: Vec<&Definition> = match named.iter().filter(has_all).copied().collect::<Vec<_>>()
    {
        none if none.is_empty() => named,
        some => some,
    };
    let mut found = Vec::new();
    for definition in fitting {
        found.extend(cases(definition, requested, extent)?);
    }
    // A whole family includes its survey, which goes beyond the default points.
    if requested.is_empty() {
        let family = |case: &Case| case.benchmark.split_once('/').is_some_and(|(of, _)| of == name);
        found.extend(catalog.survey_cases().into_iter().filter(family));
    }
    Ok(found)
}

/// The benchmarks whose ids end in this part; of several the one in the price list, if it is alone
/// there.
fn with_last_part<'a>(catalog: &'a Catalog, part: &str) -> Vec<&'a Definition> {
    let has_it =
        |it: &&Definition| it.id.split_once('/').is_some_and(|(_, last_part)| last_part == part);
    let all: Vec<&Definition> = catalog.benchmarks.iter().filter(has_it).collect();
    let mut listed = all.iter().copied().filter(|definition| definition.in_price_list);
    match (listed.next(), listed.next()) {
        (Some(one), None) => vec![one],
        _ => all,
    }
}

/// A size as reports print it: `64k`, `64Ki`, `64KiB`, `1M`.
pub fn parse_size(text: &str) -> Option<Value> {
    let text = text.strip_suffix("iB").or_else(|| text.strip_suffix('i')).unwrap_or(text);
    let unit = text.chars().next_back()?;
    let shift = match unit {
        'k' | 'K' => 10,
        'M' => 20,
        'G' => 30,
        _ => return None,
    };
    let digits = text.strip_suffix(unit)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|_| is_number)?;
    number.checked_mul(1 << shift).map(Value::Number)
}

/// Parses `axis=a|b,axis=*` into axes and requested values.
fn assignments(axes: &str) -> Result<Vec<(&str, Vec<&str>)>, SelectorError> {
    axes.split(',')
        .filter(|_| !axes.is_empty())
        .map(|pair| match pair.split_once('=') {
            Some((axis, values)) if !axis.is_empty() && !values.is_empty() => {
                Ok((axis, values.split('|').collect()))
            }
            _ => Err(SelectorError::NotAnAssignment { text: pair.to_owned() }),
        })
        .collect()
}

/// The cases of a benchmark at the requested points; axes that are not named take those of
/// `extent`.
fn cases(
    definition: &Definition,
    requested: &[(&str, Vec<&str>)],
    extent: Extent,
) -> Result<Vec<Case>, SelectorError> {
    for (axis, _) in requested {
        if definition.axis(axis).is_none() {
            return Err(SelectorError::UnknownAxis {
                benchmark: definition.id.clone(),
                axis: (*axis).to_owned(),
                axes: definition.axes.iter().map(|axis| axis.name.clone()).collect(),
            });
        }
    }
    let mut points = vec![Point::none()];
    for axis in &definition.axes {
        let values = match requested.iter().find(|(name, _)| *name == axis.name) {
            None => axis.default_points_for(extent).to_vec(),
            Some((_, words)) if words == &["*"] => axis.points.clone(),
            Some((_, words)) => words
                .iter()
                .map(|word| {
                    let values = [Some(Value::parse(word)), parse_size(word)];
                    let value = values.into_iter().flatten().find(|value| axis.has_point(value));
                    value.ok_or_else(|| SelectorError::UnknownValue {
                        benchmark: definition.id.clone(),
                        axis: axis.name.clone(),
                        value: (*word).to_owned(),
                        allowed: allowed_values(axis),
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        points = points
            .into_iter()
            .flat_map(|point| {
                let axis = axis.name.clone();
                values.iter().map(move |value| point.clone().with(axis.clone(), value.clone()))
            })
            .collect();
    }
    let named = |point: Point| Case::new(definition.id.clone(), definition.without_implied(&point));
    Ok(points.into_iter().map(named).collect())
}

/// The points of an axis as a hint lists them: only what can be typed is in backticks.
fn allowed_values(axis: &Axis) -> Vec<String> {
    let any = axis.range.map(|(least, most)| format!("any number from {least} to {most}"));
    axis.points.iter().map(|point| format!("`{point}`")).chain(any).collect()
}

/// Up to three families and benchmarks that look like `name`, best first.
/// A slash too many at an end is no other name.
fn nearest(catalog: &Catalog, name: &str) -> Vec<String> {
    let families = catalog.families.iter().map(|family| family.name.as_str());
    let ids = catalog.benchmarks.iter().map(|definition| definition.id.as_str());
    nearest_names(name.trim_matches('/'), families.chain(ids))
}

#[cfg(test)]
mod tests;
