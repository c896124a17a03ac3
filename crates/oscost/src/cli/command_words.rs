//! Options and subcommands of the command line, as words to explain.

use clap::{Arg, Command};

use crate::report::words::CommandWord;

/// The options and the subcommands of this name: `precision`, `--precision`, `-o`, `runs show`.
pub(super) fn find(command: &Command, name: &str) -> Vec<CommandWord> {
    let mut found: Vec<CommandWord> = Vec::new();
    each(command, "oscost", &mut |path, command| {
        if is_path(path, name) {
            found.push(subcommand(path, command));
        }
        for argument in command.get_arguments().filter(|it| is_argument(it, name)) {
            let word = option(argument);
            let same = |it: &&mut CommandWord| {
                !it.is_subcommand && (&it.syntax, &it.means) == (&word.syntax, &word.means)
            };
            match found.iter_mut().find(same) {
                Some(known) => known.commands.push(path.to_owned()),
                None => found.push(CommandWord { commands: vec![path.to_owned()], ..word }),
            }
        }
    });
    found
}

/// The commands that have an option of this name, in its long or short form.
pub(super) fn commands_with(command: &Command, option: &str) -> Vec<String> {
    let mut found = Vec::new();
    each(command, "oscost", &mut |path, command| {
        if command.get_arguments().any(|it| !it.is_positional() && is_argument(it, option)) {
            found.push(path.to_owned());
        }
    });
    found
}

/// The commands whose last word is this one: `oscost runs show` for `show`.
pub(super) fn paths_ending_in(command: &Command, verb: &str) -> Vec<String> {
    let mut found = Vec::new();
    each(command, "oscost", &mut |path, _| {
        if path.rsplit(' ').next() == Some(verb) {
            found.push(path.to_owned());
        }
    });
    found
}

/// The names of all subcommands, and of all options as they are typed.
pub(super) fn names(command: &Command) -> Vec<String> {
    let mut found = Vec::new();
    each(command, "oscost", &mut |path, command| {
        found.extend(path.strip_prefix("oscost ").map(str::to_owned));
        let long = command.get_arguments().filter_map(Arg::get_long);
        found.extend(long.map(|long| format!("--{long}")));
    });
    found
}

/// Visits a command and those below it, each with the words that it is typed as.
fn each(command: &Command, path: &str, visit: &mut dyn FnMut(&str, &Command)) {
    visit(path, command);
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        each(verb, &format!("{path} {}", verb.get_name()), visit);
    }
}

/// Whether a command is typed so, without the name of the program or as its last word.
fn is_path(path: &str, name: &str) -> bool {
    let Some(verbs) = path.strip_prefix("oscost ") else { return false };
    verbs == name || verbs.rsplit(' ').next() == Some(name)
}

/// Whether an argument has this name: `precision` or `--precision`, `-o`; of one without a dash the
/// placeholder of its value.
fn is_argument(argument: &Arg, name: &str) -> bool {
    let is_short = |letter: char| argument.get_short() == Some(letter);
    match (name.strip_prefix("--"), name.strip_prefix('-')) {
        (Some(long), _) => argument.get_long() == Some(long),
        (None, Some(short)) => {
            let mut letters = short.chars();
            letters.next().is_some_and(is_short) && letters.next().is_none()
        }
        (None, None) => {
            let mut placeholders = argument.get_value_names().into_iter().flatten();
            argument.get_long() == Some(name)
                || (argument.is_positional() && placeholders.any(|it| it.as_str() == name))
        }
    }
}

fn option(argument: &Arg) -> CommandWord {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    // Those of an option without a value are `true` and `false`, which nobody types.
    let takes_value = argument.get_action().takes_values();
    let possible = if takes_value { argument.get_possible_values() } else { Vec::new() };
    let values: Vec<String> = possible.iter().map(|value| value.get_name().to_owned()).collect();
    let set = if takes_value { argument.get_default_values() } else { &[] };
    let default: Vec<String> = set.iter().map(|it| it.to_string_lossy().into_owned()).collect();
    CommandWord {
        syntax: syntax(argument),
        means: help.map(ToString::to_string).unwrap_or_default(),
        values: values.join(", "),
        default: default.join(", "),
        ..CommandWord::default()
    }
}

/// `-o, --output FILE`.
fn syntax(argument: &Arg) -> String {
    let names: Vec<&str> =
        argument.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect();
    let takes_value = argument.get_action().takes_values();
    let value = if takes_value { names.join(" ") } else { String::new() };
    let short = argument.get_short().map(|letter| format!("-{letter}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let options: Vec<String> = [short, long].into_iter().flatten().collect();
    format!("{} {value}", options.join(", ")).trim().to_owned()
}

fn subcommand(path: &str, command: &Command) -> CommandWord {
    CommandWord {
        syntax: path.to_owned(),
        means: command.get_about().map(ToString::to_string).unwrap_or_default(),
        commands: vec![path.to_owned()],
        is_subcommand: true,
        ..CommandWord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> Vec<CommandWord> {
        find(&crate::cli::command(), name)
    }

    #[test]
    fn options_are_found_by_each_of_their_names_with_the_commands_that_have_them() {
        for name in ["precision", "--precision"] {
            let words = found(name);
            assert!(words.iter().all(|it| it.syntax == "--precision PCT"), "{words:?}");
            assert!(words.iter().any(|it| it.commands.contains(&"oscost run".to_owned())));
        }
        assert_eq!(found("-o")[0].syntax, "-o, --output FILE");
        assert!(found("SELECTOR").iter().any(|it| it.means.contains("family")));
        assert!(found("--no-such-option").is_empty() && found("-").is_empty());
        assert!(found("--quick").iter().all(|it| it.values.is_empty() && it.default.is_empty()));
        assert!(found("--color").iter().all(|it| it.values.contains("always")));
    }

    #[test]
    fn subcommands_are_found_by_their_last_word() {
        let shows = found("show");
        assert!(shows.iter().any(|it| it.syntax == "oscost runs show" && it.is_subcommand));
        assert_eq!(found("runs show").len(), 1);
        let paths = paths_ending_in(&crate::cli::command(), "prune");
        assert_eq!(paths, ["oscost runs prune"]);
        let commands = commands_with(&crate::cli::command(), "--quick");
        assert!(commands.contains(&"oscost run".to_owned()), "{commands:?}");
    }
}
