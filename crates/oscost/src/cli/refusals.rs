//! Arguments that are refused: what clap says of them, without advice that misleads and with what
//! was perhaps meant.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::benchmark_names::is_benchmark;
use super::command_words::{commands_with, paths_ending_in};
use super::suggestions::{
    ALTERNATIVES, EXAMPLES, OTHER_NESTED_VERBS, OTHER_OPTIONS, OTHER_VERBS, OtherNestedVerb,
    PROGRAM_EXAMPLES, VALUE_EXAMPLES, WORDS_TOO_MANY,
};
use crate::app::nearest_names;
use crate::app::study::list as studies;
use crate::report::words::is_word;

/// The most commands that are named.
const MAX_NAMED: usize = 3;
/// With fewer letters the beginning of an option says too little: `--in` of `--interactive`.
const MIN_BEGINNING: usize = 4;

/// Replaces the suggestions of a refusal of clap's, by the whole command line.
pub(super) fn amend(mut error: clap::Error, command: &Command) -> clap::Error {
    let suggestions = match error.kind() {
        ErrorKind::UnknownArgument => {
            drop_misleading(&mut error);
            drop_far_option(&mut error, command);
            option_suggestion(&error, command)
        }
        ErrorKind::InvalidSubcommand => verb_suggestion(&error, command),
        ErrorKind::MissingRequiredArgument => {
            name_alternatives(&mut error);
            example(&error)
        }
        ErrorKind::InvalidValue => value_example(&error),
        _ => None,
    };
    if let Some(text) = suggestions {
        // One that is certain replaces those of similar letters.
        error.remove(ContextKind::SuggestedSubcommand);
        let texts = vec![StyledStr::from(text)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(texts));
    } else if error.kind() == ErrorKind::InvalidSubcommand {
        suggest_near_verbs(&mut error, command);
    }
    error
}

/// The command that was refused, as it is typed: `oscost runs show`. Its usage says it.
fn path(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    let usage = usage.to_string();
    let words = usage.split_whitespace().skip_while(|word| *word != "oscost");
    let is_verb = |word: &&str| word.chars().all(|it| it.is_ascii_lowercase() || it == '-');
    let is_option = |word: &&str| word.starts_with('-');
    let path: Vec<&str> = words.take_while(|word| is_verb(word) && !is_option(word)).collect();
    (!path.is_empty()).then(|| path.join(" "))
}

/// Names with a missing argument those that may stand in its place.
fn name_alternatives(error: &mut clap::Error) {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return };
    let with_others = |it: &String| text_of(ALTERNATIVES, it).unwrap_or_else(|| it.clone());
    let named: Vec<String> = missing.iter().map(with_others).collect();
    error.insert(ContextKind::InvalidArg, ContextValue::Strings(named));
}

/// What a command without what it needs is typed with.
fn example(error: &clap::Error) -> Option<String> {
    text_of(EXAMPLES, &path(error)?)
}

/// What an option without its value is typed with.
fn value_example(error: &clap::Error) -> Option<String> {
    let (ContextValue::String(option), ContextValue::String(value)) =
        (error.get(ContextKind::InvalidArg)?, error.get(ContextKind::InvalidValue)?)
    else {
        return None;
    };
    if value.is_empty() { text_of(VALUE_EXAMPLES, option) } else { None }
}

/// Replaces clap's similar verbs, which may share few letters (`install`, `list`), by near ones; where
/// none is near, by the help that lists all.
fn suggest_near_verbs(error: &mut clap::Error, command: &Command) {
    error.remove(ContextKind::SuggestedSubcommand);
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let path = path(error).unwrap_or_else(|| command.get_name().to_owned());
    let refused = path.split(' ').skip(1).try_fold(command, |it, verb| it.find_subcommand(verb));
    let names = refused.into_iter().flat_map(Command::get_subcommands).map(Command::get_name);
    let near = nearest_names(verb, names);
    if near.is_empty() {
        let text = format!("{} lists its subcommands", quoted(&format!("{path} --help")));
        let texts = vec![StyledStr::from(text)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(texts));
    } else {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
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

/// Removes an option that clap takes for a similar one and that is far from what was typed (`--treat`
/// for `--iterations`), and the usage of that option alone.
fn drop_far_option(error: &mut clap::Error, command: &Command) {
    let (Some(ContextValue::String(typed)), Some(ContextValue::String(similar))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::SuggestedArg))
    else {
        return;
    };
    if is_near_option(typed, similar) {
        return;
    }
    let usage = path(error).and_then(|path| usage(command, &path));
    error.remove(ContextKind::SuggestedArg);
    if let Some(usage) = usage {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
}

/// Whether an option has few other letters than the typed one, or one is the beginning of the other.
fn is_near_option(typed: &str, option: &str) -> bool {
    let typed = typed.split('=').next().unwrap_or_default().trim_start_matches('-');
    let option = option.trim_start_matches('-');
    let is_beginning = |short: &str, long: &str| {
        short.len() >= MIN_BEGINNING && long.len() > short.len() && long.starts_with(short)
    };
    is_beginning(typed, option)
        || is_beginning(option, typed)
        || !nearest_names(typed, std::iter::once(option)).is_empty()
}

/// The usage of the command that is typed so.
fn usage(command: &Command, path: &str) -> Option<StyledStr> {
    let mut whole = command.clone();
    whole.build();
    let mut refused = &mut whole;
    for verb in path.split(' ').skip(1) {
        refused = refused.find_subcommand_mut(verb)?;
    }
    Some(refused.render_usage())
}

/// The commands that have an option which this one lacks, or what does the same; of a word too many
/// what takes several.
fn option_suggestion(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if !option.starts_with('-') {
        return text_of(WORDS_TOO_MANY, &path(error)?);
    }
    let option = option.split('=').next().unwrap_or_default();
    let commands = commands_with(command, option);
    if !commands.is_empty() {
        return Some(format!("{} is an option of {}", quoted(option), alternatives(&commands)));
    }
    let is_typo = error.get(ContextKind::SuggestedArg).is_some();
    text_of(OTHER_OPTIONS, option)
        .or_else(|| path(error).filter(|_| !is_typo).and_then(|it| text_of(PROGRAM_EXAMPLES, &it)))
}

/// The text of a name in a table.
fn text_of(table: &[(&str, &str)], name: &str) -> Option<String> {
    table.iter().find(|(of, _)| *of == name).map(|(_, text)| (*text).to_owned())
}

/// What a verb may mean that oscost does not have: one of another verb, one of another tool, a
/// benchmark, or a word.
fn verb_suggestion(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let path = path(error).unwrap_or_default();
    if let Some(meant) = nested_suggestion(&path, verb) {
        return Some(meant);
    }
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

/// What a verb may mean that a command of several verbs does not have; `None` of oscost itself.
fn nested_suggestion(path: &str, verb: &str) -> Option<String> {
    let is_it = |it: &&OtherNestedVerb| it.command == path && it.typed == verb;
    if let Some(OtherNestedVerb { meant, .. }) = OTHER_NESTED_VERBS.iter().find(is_it) {
        return Some(format!("did you mean {}?", quoted(meant)));
    }
    if path != "oscost study" {
        return None;
    }
    let studies = studies();
    let near = nearest_names(verb, studies.iter().map(|study| study.id.as_str()));
    let commands: Vec<String> =
        near.iter().map(|name| format!("oscost study show {name}")).collect();
    (!commands.is_empty()).then(|| format!("did you mean {}?", alternatives(&commands)))
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
    fn a_command_of_several_verbs_suggests_its_own() {
        assert!(refusal("oscost fleet list").contains("'oscost fleet status FOLDER'"));
        assert!(refusal("oscost study sunos").contains("'oscost study show sunos-1999'"));
        assert!(refusal("oscost study ph-2000").contains("'oscost study show ph-2000'"));
        assert!(refusal("oscost help runz").contains("'runs'"));
        assert!(refusal("oscost runs shwo").contains("'show'"));
        let none = refusal("oscost install");
        assert!(none.contains("'oscost --help' lists") && !none.contains("'list'"), "{none}");
    }

    #[test]
    fn what_is_missing_or_too_much_has_an_example() {
        assert!(refusal("oscost compare A").contains("'oscost compare last~1 last'"));
        assert!(refusal("oscost compare A B C").contains("'oscost compare A,B C'"));
        assert!(refusal("oscost table").contains("'oscost table last~1 last'"));
        assert!(refusal("oscost report").contains("'last' is the newest run"));
        assert!(refusal("oscost explain").contains("'oscost explain getppid'"));
        let fleet = refusal("oscost fleet run lab");
        assert!(fleet.contains("--slurm <OPTIONS>, or --ssh <FILE>, or --retry\n"), "{fleet}");
        assert!(fleet.contains("'oscost fleet run ./lab --ssh hosts.txt'"), "{fleet}");
        let treated = refusal("oscost treat run foo -- true");
        assert!(treated.contains("'oscost treat nice=5+ptrace -- ls'"), "{treated}");
        assert!(refusal("oscost report last --json").contains("'--json -' prints it"));
        assert!(refusal("oscost list -k").contains("'oscost list -k fork'"));
        assert!(refusal("oscost history --since yesterday").contains("'oscost history --last N'"));
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
    fn only_near_options_are_suggested() {
        for (line, usage) in [
            ("oscost run --iterations 10", "Usage: oscost run [OPTIONS]"),
            ("oscost report last --interactive", "Usage: oscost report [OPTIONS]"),
            ("oscost --verbose", "Usage: oscost [OPTIONS]"),
        ] {
            let refused = refusal(line);
            assert!(!refused.contains("similar") && refused.contains(usage), "{line}: {refused}");
        }
        for (line, near) in [
            ("oscost run --precison 1", "'--precision'"),
            ("oscost run --treatment sud", "'--treat'"),
            ("oscost run --quietly", "'--quiet'"),
        ] {
            let refused = refusal(line);
            assert!(refused.contains("similar") && refused.contains(near), "{line}: {refused}");
        }
    }

    #[test]
    fn a_command_without_dashes_before_it_is_told_where_it_stands() {
        assert!(refusal("oscost run ls -l").contains("'oscost run -- ls -l'"));
        assert!(refusal("oscost bill find --depth").contains("'oscost bill -- find /usr'"));
        assert!(!refusal("oscost run --precison 1").contains("-- ls"));
        assert!(refusal("oscost runs import a b").contains("one file at a time"));
        assert!(refusal("oscost report A B").contains("'oscost table A B'"));
    }
}
