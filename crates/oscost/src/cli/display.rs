//! How output is shown: its colours, its progress, and the columns of its lines.

use std::ffi::OsString;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;

use crate::report::progress::ProgressMode;
use crate::report::text::fold;
use crate::report::view::document::{Table, View};
use crate::report::{self, Screen, ScreenFormat, WIDTH};

/// The narrowest lines that tables have: on a narrower terminal they are broken.
const MIN_COLUMNS: usize = 60;
/// The widest lines of reports: longer ones are hard to read along.
const MAX_COLUMNS: usize = 160;
/// The same of lists whose last column is cut at the end of a line.
const MAX_LIST_COLUMNS: usize = 240;

/// How output is shown; options of every command.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct DisplayArguments {
    /// Colours: `auto` has them on a terminal, unless NO_COLOR or CLICOLOR=0 is set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Display"
    )]
    color: ColorWhen,
    /// Progress on standard error: `auto` draws it on a terminal, `plain` prints a line a second.
    #[arg(
        long,
        global = true,
        value_name = "HOW",
        default_value = "auto",
        help_heading = "Display"
    )]
    progress: ProgressOption,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProgressOption {
    Auto,
    Plain,
    None,
}

impl ColorWhen {
    fn choice(self) -> ColorChoice {
        match self {
            ColorWhen::Auto => ColorChoice::Auto,
            ColorWhen::Always => ColorChoice::Always,
            ColorWhen::Never => ColorChoice::Never,
        }
    }
}

impl DisplayArguments {
    /// How progress is shown.
    pub(super) fn progress(self) -> ProgressMode {
        match self.progress {
            ProgressOption::Auto => ProgressMode::Drawn,
            ProgressOption::Plain => ProgressMode::Lines,
            ProgressOption::None => ProgressMode::Hidden,
        }
    }
}

/// Decides about colours by a command line that is not parsed yet: helps and refusals have them,
/// too.
pub(super) fn choose_colours(arguments: &[OsString]) {
    let when = color_value(arguments).and_then(|value| ColorWhen::from_str(value, false).ok());
    when.unwrap_or(ColorWhen::Auto).choice().write_global();
}

/// The value of `--color`: the last one before `--`.
fn color_value(arguments: &[OsString]) -> Option<&str> {
    let texts: Vec<&str> = arguments.iter().map(|it| it.to_str().unwrap_or_default()).collect();
    let options = texts.split(|text| *text == "--").next().unwrap_or_default();
    let next = options.iter().skip(1).copied().chain([""]);
    let mut found = None;
    for (option, next) in options.iter().zip(next) {
        if *option == "--color" {
            found = Some(next);
        } else if let Some(value) = option.strip_prefix("--color=") {
            found = Some(value);
        }
    }
    found
}

/// A message on standard error, with its kind in a colour if there are any.
pub(super) fn message(text: &str) -> String {
    let words = text.trim_start();
    let (indent, kind) = (&text[..text.len() - words.len()], words.split(':').next().unwrap_or(""));
    let style = style_of(kind);
    let has_colours = AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
    match has_colours && !style.is_plain() {
        true => format!("{indent}{style}{kind}{style:#}{}", &words[kind.len()..]),
        false => text.to_owned(),
    }
}

/// A message as it fits a terminal at standard error; a line of it in a file stays one line.
pub(super) fn folded(text: &str) -> String {
    match terminal_size::terminal_size_of(std::io::stderr()) {
        Some((terminal_size::Width(columns), _)) => {
            folded_at(text, usize::from(columns).max(MIN_COLUMNS))
        }
        None => text.to_owned(),
    }
}

/// The lines of a message in so many columns; what is broken goes on below its beginning.
fn folded_at(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        if line.chars().count() <= columns {
            return line.to_owned();
        }
        let words = line.trim_start();
        let indent = &line[..line.len() - words.len()];
        let below = format!("{indent}  ");
        let width = columns.saturating_sub(below.len());
        format!("{indent}{}", fold(words, width, &below))
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The style of a kind of message, as clap has it for its own.
fn style_of(kind: &str) -> Style {
    match kind {
        "error" => AnsiColor::Red.on_default().bold(),
        "note" => AnsiColor::Yellow.on_default(),
        "hint" => AnsiColor::Green.on_default(),
        _ => Style::new(),
    }
}

/// A report as standard output shows it.
pub(super) fn text(view: &View) -> String {
    report::terminal_on(view, screen(MAX_COLUMNS))
}

/// A report as it fits standard output.
pub(super) fn fitted_text(view: View, screen: Screen) -> String {
    let format = self::screen(MAX_COLUMNS);
    report::terminal_on(&report::fitted(view, screen, format), format)
}

/// The lines of the terminal at standard output; `None` where it is no terminal.
pub(super) fn height() -> Option<usize> {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    terminal.map(|(_, terminal_size::Height(lines))| lines.into())
}

/// A list of which long lines are cut, as standard output shows it.
pub(super) fn list_text(table: &Table) -> String {
    report::terminal_table(table, screen(MAX_LIST_COLUMNS))
}

fn screen(max_columns: usize) -> ScreenFormat {
    let colour = AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
    ScreenFormat { columns: columns().clamp(MIN_COLUMNS, max_columns), colour }
}

/// The columns of the terminal at standard output; where it is none, those of the variable COLUMNS,
/// as in ls(1).
fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let of_terminal = terminal.map(|(terminal_size::Width(columns), _)| usize::from(columns));
    let of_variable = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    of_terminal.or_else(of_variable).filter(|columns| *columns > 0).unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_broken_below_its_beginning_and_a_short_one_stays() {
        let text = "error: short  as it is\n  hint: these words do not fit into thirty columns";
        assert_eq!(
            folded_at(text, 30),
            "error: short  as it is\n  hint: these words do not\n    fit into thirty columns"
        );
        assert!(folded_at(&"word ".repeat(40), 30).lines().all(|line| line.chars().count() <= 30));
    }

    #[test]
    fn the_last_color_option_before_a_command_decides() {
        let value = |text: &str| {
            let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            color_value(&words).map(str::to_owned)
        };
        assert_eq!(value("oscost run --color never"), Some("never".to_owned()));
        assert_eq!(value("oscost --color=always run --color=never"), Some("never".to_owned()));
        assert_eq!(value("oscost run -- ls --color=always"), None);
        assert_eq!(value("oscost run --color"), Some(String::new()));
    }
}
