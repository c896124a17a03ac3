//! Arguments that are refused: what clap says of them, without advice that misleads and with what
//! was perhaps meant.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::benchmark_names::is_benchmark;
use super::command_words::{commands_with, paths_ending_in};
use crate::report::words::is_word;

/// Verbs of other tools, and those of oscost that do the same.
const OTHER_VERBS: &[(&str, &str)] = &[
    ("bench", "oscost run"),
    ("benchmark", "oscost run"),
    ("measure", "oscost run"),
    ("test", "oscost run"),
    ("time", "oscost run -- COMMAND"),
    ("exec", "oscost treat TREATMENTS -- COMMAND"),
    ("diff", "oscost compare BASE NEW"),
    ("cmp", "oscost compare BASE NEW"),
    ("ls", "oscost list"),
    ("search", "oscost list -k TEXT"),
    ("find", "oscost list -k TEXT"),
    ("describe", "oscost explain NAME"),
    ("glossary", "oscost explain NAME"),
    ("info", "oscost machine"),
    ("check", "oscost doctor"),
    ("noise", "oscost doctor"),
    ("results", "oscost runs list"),
    ("log", "oscost history"),
    ("view", "oscost runs show RUN"),
    ("html", "oscost report RUN -o FILE.html"),
    ("page", "oscost report RUN -o FILE.html"),
    ("rm", "oscost runs delete RUN"),
    ("version", "oscost --version"),
];

/// The most commands that are named.
const MAX_NAMED: usize = 3;

/// Replaces the suggestions of a refusal of clap's, by the whole command line.
pub(super) fn amend(mut error: clap::Error, command: &Command) -> clap::Error {
    let suggestions = match error.kind() {
        ErrorKind::UnknownArgument => {
            drop_misleading(&mut error);
            option_suggestion(&error, command)
        }
        ErrorKind::InvalidSubcommand => verb_suggestion(&error, command),
        _ => None,
    };
    if let Some(text) = suggestions {
        // One that is certain replaces those of similar letters.
        error.remove(ContextKind::SuggestedSubcommand);
        let texts = vec![StyledStr::from(text)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(texts));
    }
    error
}

/// Removes the advice to pass an unknown option as a value, `-- --quiet`: it would be measured as a
/// command, or taken for the name of a benchmark.
fn drop_misleading(error: &mut clap::Error) {
    let Some(ContextValue::StyledStrs(texts)) = error.remove(ContextKind::Suggested) else {
        return;
    };
    let is_kept = |text: &StyledStr| !text.to_string().contains("' as a value, use '-- ");
    let kept: Vec<StyledStr> = texts.into_iter().filter(is_kept).collect();
    if !kept.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(kept));
    }
}

/// The commands that have an option which this one lacks.
fn option_suggestion(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = option.split('=').next().unwrap_or_default();
    let commands = commands_with(command, option);
    (!commands.is_empty())
        .then(|| format!("{} is an option of {}", quoted(option), alternatives(&commands)))
}

/// What a verb may mean that oscost does not have: one of another verb, one of another tool, a
/// benchmark, or a word.
fn verb_suggestion(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let nested = paths_ending_in(command, verb);
    if !nested.is_empty() {
        return Some(format!("did you mean {}?", alternatives(&nested)));
    }
    if let Some((_, meant)) = OTHER_VERBS.iter().find(|(other, _)| other == verb) {
        return Some(format!("did you mean {}?", quoted(meant)));
    }
    if is_benchmark(verb) {
        let both = [format!("oscost run {verb}"), format!("oscost explain {verb}")];
        return Some(format!("it is a benchmark or a family: {}", alternatives(&both)));
    }
    is_word(verb).then(|| format!("it is a word: {}", quoted(&format!("oscost explain {verb}"))))
}

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

/// The first of some commands.
fn alternatives(commands: &[String]) -> String {
    let shown: Vec<String> = commands.iter().take(MAX_NAMED).map(|it| quoted(it)).collect();
    let more = if commands.len() > MAX_NAMED { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(line: &str) -> String {
        let words = line.split(' ').map(std::ffi::OsString::from);
        amend(crate::cli::check(words).unwrap_err(), &crate::cli::command()).render().to_string()
    }

    #[test]
    fn a_verb_of_another_verb_or_of_another_tool_is_suggested() {
        assert!(refusal("oscost show").contains("'oscost runs show'"));
        assert!(refusal("oscost prune").contains("did you mean 'oscost runs prune'?"));
        assert!(refusal("oscost diff").contains("'oscost compare BASE NEW'"));
        assert!(refusal("oscost NOT_CONVERGED").contains("'oscost explain NOT_CONVERGED'"));
    }

    #[test]
    fn an_option_of_another_command_is_named_and_no_dash_dash_is_advised() {
        let refused = refusal("oscost list --quick");
        assert!(refused.contains("'--quick' is an option of 'oscost run'"), "{refused}");
        for line in ["oscost run --quietly", "oscost list --quick", "oscost run --no-such-option"] {
            assert!(!refusal(line).contains("as a value"), "{}", refusal(line));
        }
    }

    #[test]
    fn other_verbs_are_none_of_ours_and_what_is_suggested_exists() {
        let command = crate::cli::command();
        let own: Vec<String> =
            command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
        for (other, meant) in OTHER_VERBS {
            assert!(!own.iter().any(|it| it == other), "`oscost {other}` exists");
            let verb = meant.split(' ').nth(1).unwrap();
            assert!(verb == "--version" || own.iter().any(|it| it == verb), "`{meant}`");
        }
    }
}
