//! Selectors of cases that the store has: it may hold some that no worker offers any more, and
//! there may be no worker.

use std::collections::BTreeSet;

use oscost_model::case::Case;
use wildmatch::WildMatch;

use crate::app::error::UsageError;
use crate::plan::{nearest_names, parse_size};

/// A case, a benchmark, the last part of its id, a family or a glob, with values of some axes.
#[derive(Debug)]
pub(super) struct Selector {
    text: String,
    name: WildMatch,
    /// Axes and the values that they may have; an empty list for any.
    axes: Vec<(String, Vec<String>)>,
}

/// Reads selectors.
pub(super) fn parse(texts: &[String]) -> Result<Vec<Selector>, UsageError> {
    texts.iter().map(|text| Selector::of(text)).collect()
}

/// The known cases that are selected; without selectors, all of them.
pub(super) fn cases(
    known: &[String],
    selectors: &[Selector],
) -> Result<BTreeSet<String>, UsageError> {
    if selectors.is_empty() {
        return Ok(known.iter().cloned().collect());
    }
    let mut found = BTreeSet::new();
    for selector in selectors {
        let selected = known.iter().filter(|case| selector.selects(case));
        let selected: Vec<String> = selected.cloned().collect();
        if selected.is_empty() {
            return Err(selector.unknown(known));
        }
        found.extend(selected);
    }
    Ok(found)
}

/// A value as cases have it: sizes may be typed as they are printed.
fn in_bytes(value: &str) -> String {
    parse_size(value).map_or_else(|| value.to_owned(), |size| size.to_string())
}

impl Selector {
    fn of(text: &str) -> Result<Self, UsageError> {
        let (name, axes) = text.split_once(':').unwrap_or((text, ""));
        let pairs = axes.split(',').filter(|_| !axes.is_empty());
        let axes = pairs.map(|pair| match pair.split_once('=') {
            Some((axis, values)) if !axis.is_empty() && !values.is_empty() => {
                let values = match values {
                    "*" => Vec::new(),
                    some => some.split('|').map(in_bytes).collect(),
                };
                Ok((axis.to_owned(), values))
            }
            _ => Err(UsageError(format!(
                "`{}` is not `axis=value`\n  hint: `axis=a|b` selects two points; an axis that is \
                 not named, all of them",
                pair.escape_debug()
            ))),
        });
        let axes = axes.collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), name: WildMatch::new(name), axes })
    }

    /// Whether it selects a case.
    fn selects(&self, case: &str) -> bool {
        if self.text == case {
            return true;
        }
        let Some(case) = Case::parse(case) else { return false };
        let family = case.benchmark.split_once('/').map_or("", |(family, _)| family);
        let last_part = case.benchmark.split_once('/').map_or("", |(_, part)| part);
        let named = self.name.matches(&case.benchmark)
            || self.name.matches(family)
            || self.text.split(':').next() == Some(last_part);
        let has = |(axis, values): &(String, Vec<String>)| {
            let value = case.point.get(axis).map(ToString::to_string);
            value.is_some_and(|value| values.is_empty() || values.contains(&value))
        };
        named && self.axes.iter().all(has)
    }

    fn unknown(&self, known: &[String]) -> UsageError {
        let text = self.text.escape_debug();
        if known.is_empty() {
            return UsageError(format!(
                "no run in the store has a figure of `{text}`: the store is empty\n  hint: `oscost run` \
                 measures, and keeps its figures"
            ));
        }
        let benchmark = |case: &String| case.split_once(':').map_or(case.len(), |(id, _)| id.len());
        let ids: BTreeSet<&str> = known.iter().map(|case| &case[..benchmark(case)]).collect();
        // As in the verbs that measure.
        let names = ids.iter().copied().chain(known.iter().map(String::as_str));
        let nearest = nearest_names(&self.text, names).into_iter().next();
        let nearest = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        UsageError(format!(
            "no run in the store has a figure of `{text}`{nearest}\n  hint: `oscost list` lists \
             what can be measured, `oscost runs list` what was"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = [
        "pipe/round-trip:size=4096,peer_cpu=same",
        "pipe/round-trip:size=64,peer_cpu=same",
        "syscall/getppid:via=libc",
        "syscall/getppid:via=raw",
        "timer/nothing",
    ];

    fn selected(texts: &[&str]) -> Result<Vec<usize>, String> {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let known: Vec<String> = KNOWN.map(str::to_owned).to_vec();
        let found = parse(&texts).and_then(|it| cases(&known, &it));
        let found = found.map_err(|error| error.to_string())?;
        Ok((0..KNOWN.len()).filter(|&at| found.contains(KNOWN[at])).collect())
    }

    #[test]
    fn cases_are_selected_as_in_other_verbs_and_without_a_catalog() {
        for (texts, found) in [
            (&[][..], vec![0, 1, 2, 3, 4]),
            (&["timer/nothing"], vec![4]),
            (&["syscall"], vec![2, 3]),
            (&["syscall/getppid"], vec![2, 3]),
            (&["syscall/getppid:via=raw"], vec![3]),
            (&["*/getppid:via=raw|libc"], vec![2, 3]),
            (&["getppid"], vec![2, 3]),
            (&["round-trip:size=4k"], vec![0]),
            (&["pipe/round-trip:size=64"], vec![1]),
            (&["pipe:peer_cpu=*", "timer"], vec![0, 1, 4]),
            (&["*"], vec![0, 1, 2, 3, 4]),
        ] {
            assert_eq!(selected(texts), Ok(found), "{texts:?}");
        }
    }

    #[test]
    fn an_unknown_case_is_answered_with_the_nearest_name() {
        let wrong = selected(&["timer", "syscall/getpid"]).unwrap_err();
        assert!(wrong.contains("`syscall/getpid`; did you mean syscall/getppid?"), "{wrong}");
        let swapped = selected(&["pipe/trip-round"]).unwrap_err();
        assert!(swapped.contains("; did you mean pipe/round-trip?"), "{swapped}");
        let other = selected(&["zzz"]).unwrap_err();
        assert!(!other.contains("did you mean"), "{other}");
        assert!(selected(&["pipe:size=5"]).is_err());
        assert!(selected(&["pipe:size"]).unwrap_err().contains("`size` is not `axis=value`"));
        let none = parse(&["x".to_owned()]).and_then(|it| cases(&[], &it)).unwrap_err();
        assert!(none.to_string().contains("the store is empty"), "{none}");
    }
}
