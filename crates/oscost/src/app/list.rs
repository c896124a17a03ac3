//! `oscost list`: the benchmarks that can be measured.

use oscost_model::calls::ANY_OTHER_CALL;
use oscost_model::definition::{Catalog, Definition, Extent};

use super::error::UsageError;
use super::selection::cases::all_definitions;
use crate::plan::{self, nearest_hint, nearest_names};

/// Which benchmarks are listed: those that all of these name.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Families, benchmarks or globs; empty for all.
    pub selectors: Vec<String>,
    /// A word in names, questions or system calls.
    pub keyword: Option<String>,
    /// A system call that their ops make.
    pub call: Option<String>,
}

/// What is listed.
pub struct Outcome {
    /// All families and benchmarks.
    pub catalog: Catalog,
    /// The selected benchmarks.
    pub selected: Vec<Definition>,
}

/// Lists the requested benchmarks. A search that finds none is an error with near words.
pub fn list(request: &Request) -> anyhow::Result<Outcome> {
    let Request { selectors, keyword, call } = request;
    let catalog = all_definitions()?;
    let cases = plan::select(&catalog, selectors, Extent::Default)?;
    let is_selected = |definition: &&Definition| {
        selectors.is_empty() || cases.iter().any(|case| case.benchmark == definition.id)
    };
    let has_keyword =
        |it: &&Definition| keyword.as_ref().is_none_or(|word| is_about(it, &word.to_lowercase()));
    let makes_call = |it: &&Definition| {
        call.as_ref().is_none_or(|call| calls(it).any(|it| it.eq_ignore_ascii_case(call)))
    };
    let selected: Vec<Definition> = catalog
        .benchmarks
        .iter()
        .filter(is_selected)
        .filter(has_keyword)
        .filter(makes_call)
        .cloned()
        .collect();
    match selected.is_empty() && !catalog.benchmarks.is_empty() {
        true => Err(nothing_found(&catalog, request).into()),
        false => Ok(Outcome { catalog, selected }),
    }
}

/// The names of the system calls that an op of a benchmark makes by its definition.
fn calls(definition: &Definition) -> impl Iterator<Item = &str> {
    let rules = definition.calls.iter().filter(|rule| rule.call != ANY_OTHER_CALL);
    rules.flat_map(|rule| rule.call.split('|'))
}

/// Whether a word in lower case is in the name, the question or a system call of a benchmark.
fn is_about(definition: &Definition, word: &str) -> bool {
    let texts = [definition.id.as_str(), definition.asks.as_str()];
    texts.into_iter().chain(calls(definition)).any(|text| text.to_lowercase().contains(word))
}

fn nothing_found(catalog: &Catalog, Request { keyword, call, .. }: &Request) -> UsageError {
    let all_calls = || catalog.benchmarks.iter().flat_map(calls);
    let (what, near) = match (call, keyword) {
        (Some(call), _) if !all_calls().any(|it| it.eq_ignore_ascii_case(call)) => {
            let what = format!("no benchmark makes the system call `{call}`");
            (what, nearest_names(call, all_calls()))
        }
        (None, Some(word)) => {
            let ids = catalog.benchmarks.iter().map(|it| it.id.as_str());
            let what = format!("`{word}` is in no name, question or system call of a benchmark");
            (what, nearest_names(word, ids.chain(all_calls())))
        }
        _ => ("no benchmark has all that was asked for".to_owned(), Vec::new()),
    };
    match &near[..] {
        [] => UsageError::with_hint(&what, "`oscost list` lists all of them"),
        near => UsageError::with_hint(&what, &nearest_hint(near)),
    }
}

/// All that can be measured.
pub fn definitions() -> anyhow::Result<Catalog> {
    all_definitions()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_looked_for_in_names_questions_and_system_calls() {
        let catalog = oscost_worker::benchmarks::data();
        let about = |word: &str| {
            let found = catalog.benchmarks.iter().filter(|it| is_about(it, word));
            found.map(|it| it.id.as_str()).collect::<Vec<_>>()
        };
        assert!(about("getppid").contains(&"syscall/getppid"), "a name");
        let opening = about("openat");
        assert!(opening.contains(&"syscall/open-close"), "a system call: {opening:?}");
        assert!(about("no such word").is_empty());
    }

    #[test]
    fn a_search_without_a_result_offers_near_words() {
        let catalog = oscost_worker::benchmarks::data();
        let refusal = |keyword: Option<&str>, call: Option<&str>| {
            let (keyword, call) = (keyword.map(str::to_owned), call.map(str::to_owned));
            nothing_found(&catalog, &Request { keyword, call, ..Request::default() }).0
        };
        let call = refusal(None, Some("opennat"));
        assert!(call.contains("makes the system call `opennat`") && call.contains("`openat`"));
        assert!(refusal(Some("getpppid"), None).contains("`syscall/getppid`"));
        assert!(refusal(Some("zzzzzzz"), None).contains("`oscost list` lists all"));
        assert!(refusal(Some("fork"), Some("openat")).contains("all that was asked for"));
    }
}
