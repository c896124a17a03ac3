//! Colours of words that classify: the words stand there in any case, so that nothing is lost
//! without colours.
//!
//! No sequence spans a line, so that a pager can show any part of a text.

use anstyle::{AnsiColor, Style};

use crate::advice::words::{Kind, Severity, of_kind};

/// What is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint<'a> {
    /// A title.
    Title,
    /// The name of a flag of this severity.
    Flag(Severity),
    /// A word of this style, as views name them.
    Word(&'a str),
}

impl Paint<'_> {
    fn style(self) -> Style {
        let colour = |colour: AnsiColor| colour.on_default();
        match self {
            Paint::Title => Style::new().bold(),
            Paint::Flag(Severity::Unusable) => colour(AnsiColor::Red).bold(),
            Paint::Flag(Severity::Wide) => colour(AnsiColor::Yellow),
            Paint::Flag(Severity::Information) => Style::new(),
            Paint::Word("user" | "vdso" | "faster" | "good" | "quiet") => colour(AnsiColor::Green),
            Paint::Word("light") => colour(AnsiColor::Cyan),
            Paint::Word("heavy" | "inconclusive" | "fair" | "noisy") => colour(AnsiColor::Yellow),
            Paint::Word("blocking") => colour(AnsiColor::Magenta),
            Paint::Word("slower" | "bad" | "poor" | "very noisy") => colour(AnsiColor::Red).bold(),
            Paint::Word(_) => Style::new(),
        }
    }

    /// A part of a line in its colour, if the screen shows colours.
    pub(super) fn of(self, text: &str, colour: bool) -> String {
        let style = self.style();
        match colour && !style.is_plain() && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    /// The same of whole lines, without the spaces before them.
    pub(super) fn lines(self, text: &str, colour: bool) -> String {
        let line = |line: &str| {
            let (content, end) = match line.strip_suffix('\n') {
                Some(content) => (content, "\n"),
                None => (line, ""),
            };
            let words = content.trim_start();
            let indent = &content[..content.len() - words.len()];
            format!("{indent}{}{end}", self.of(words, colour))
        };
        text.split_inclusive('\n').map(line).collect()
    }
}

/// Lines that begin with the name of a flag and a colon, with the name in its colour.
pub(super) fn with_flag(text: &str, colour: bool) -> String {
    let words = text.trim_start();
    let (indent, name) = (&text[..text.len() - words.len()], words.split(':').next().unwrap_or(""));
    let is_flag_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    match name.len() < words.len() && name.len() > 2 && name.bytes().all(is_flag_letter) {
        true => {
            let name_shown = Paint::Flag(severity(name)).of(name, colour);
            format!("{indent}{name_shown}{}", &words[name.len()..])
        }
        false => text.to_owned(),
    }
}

/// The worst that a flag of this name says of a figure. One of a newer oscost may say anything.
fn severity(flag: &str) -> Severity {
    let kinds = [Kind::RowFlag, Kind::ComparisonFlag, Kind::RunFlag].into_iter();
    let known = kinds.filter_map(|kind| of_kind(kind, flag)).map(|word| word.severity);
    known.max().unwrap_or(Severity::Wide)
}

/// A text that says how far to trust a report, with the grade in its colour; any other as it is.
pub(super) fn with_grade(text: &str, colour: bool) -> String {
    const BEFORE: &str = "Trust: ";
    let Some(rest) = text.strip_prefix(BEFORE) else { return text.to_owned() };
    let grade = rest.split([':', ' ', '.']).next().unwrap_or_default();
    format!("{BEFORE}{}{}", Paint::Word(grade).of(grade, colour), &rest[grade.len()..])
}

/// Lines that begin with a verdict and a colon, with the verdict in the colour of its style.
pub(super) fn with_verdict(text: &str, style: &str, colour: bool) -> String {
    let (verdict, rest) = text.split_at(text.find(':').unwrap_or(0));
    format!("{}{rest}", Paint::Word(style).lines(verdict, colour))
}

/// Lines with the noise classes of machines in their colours, where these stand behind a comma or a
/// colon.
pub(super) fn with_classes(text: &str, colour: bool) -> String {
    let mut out = String::new();
    let mut written = 0;
    for (at, _) in text.match_indices([',', ':']) {
        let words = text[at + 1..].trim_start();
        let start = text.len() - words.len();
        if let Some(class) = first_class(words) {
            let name = class.split_whitespace().collect::<Vec<_>>().join(" ");
            out += &text[written..start];
            out += &Paint::Word(&name).lines(class, colour);
            written = start + class.len();
        }
    }
    out + &text[written..]
}

/// The noise class that a text begins with; it may span two lines.
fn first_class(text: &str) -> Option<&str> {
    let rest = match text.strip_prefix("very") {
        Some(rest) => rest.trim_start().strip_prefix("noisy")?,
        None => text.strip_prefix("noisy").or_else(|| text.strip_prefix("quiet"))?,
    };
    let is_whole = rest.chars().next().is_none_or(|next| !next.is_alphanumeric());
    is_whole.then(|| &text[..text.len() - rest.len()])
}

/// The columns of a text: escape sequences have none.
pub(super) fn width(text: &str) -> usize {
    let mut in_sequence = false;
    let is_shown = |letter: &char| {
        let was_in_sequence = in_sequence;
        in_sequence = *letter == '\u{1b}' || in_sequence && *letter != 'm';
        !was_in_sequence && !in_sequence
    };
    text.chars().filter(is_shown).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_painted_by_itself() {
        let text = Paint::Word("heavy").lines("  one\n  two\n", true);
        assert_eq!(text, "  \u{1b}[33mone\u{1b}[0m\n  \u{1b}[33mtwo\u{1b}[0m\n");
        assert_eq!(Paint::Word("heavy").lines("one\n", false), "one\n");
        assert_eq!(Paint::Word("equivalent").of("equivalent", true), "equivalent");
    }

    #[test]
    fn a_flag_is_a_word_in_capitals_before_a_colon() {
        let text = with_flag("NOT_CONVERGED: wide: 2 rows", true);
        assert_eq!(text, "\u{1b}[33mNOT_CONVERGED\u{1b}[0m: wide: 2 rows");
        for other in ["CPU 3 was chosen", "pipe/copy: SIGBUS: once", "control, twins: 8 pairs"] {
            assert_eq!(with_flag(other, true), other);
        }
    }

    #[test]
    fn flags_are_painted_by_their_severity() {
        let text = with_flag("DRIFT: it moved", true);
        assert_eq!(text, "\u{1b}[1m\u{1b}[31mDRIFT\u{1b}[0m: it moved");
        let common = "PROCESSES_DIFFER: processes differ";
        assert_eq!(with_flag(common, true), common, "it is for information");
        assert_eq!(severity("OF_A_NEWER_VERSION"), Severity::Wide);
    }

    #[test]
    fn a_grade_is_painted_where_a_text_is_about_trust() {
        let text = with_grade("Trust: fair: 6 % were lost.", true);
        assert_eq!(text, "Trust: \u{1b}[33mfair\u{1b}[0m: 6 % were lost.");
        for other in ["Trust: unknown.", "Next: a fair run."] {
            assert_eq!(with_grade(other, true), other);
        }
    }

    #[test]
    fn a_verdict_is_painted_up_to_its_colon() {
        let text = with_verdict("  does not hold over 3 runs: it is so: yes\n", "slower", true);
        let verdict = "\u{1b}[1m\u{1b}[31mdoes not hold over 3 runs\u{1b}[0m";
        assert_eq!(text, format!("  {verdict}: it is so: yes\n"));
        assert_eq!(with_verdict("holds: a\n", "faster", false), "holds: a\n");
        assert_eq!(with_verdict("no colon\n", "faster", true), "no colon\n");
    }

    #[test]
    fn noise_classes_are_painted_each_in_its_colour() {
        let text = with_classes("CPU 1, quiet (0.0 % lost)\n", true);
        assert_eq!(text, "CPU 1, \u{1b}[32mquiet\u{1b}[0m (0.0 % lost)\n");
        let text = with_classes("base  run 7, noisy\n", true);
        assert_eq!(text, "base  run 7, \u{1b}[33mnoisy\u{1b}[0m\n");
        let text = with_classes("verdict: very\n  noisy: 15 %, so\n", true);
        let [very, noisy] =
            ["very", "noisy"].map(|word| format!("\u{1b}[1m\u{1b}[31m{word}\u{1b}[0m"));
        assert_eq!(text, format!("verdict: {very}\n  {noisy}: 15 %, so\n"));
        for other in ["so noisy, it is", "a, quieter", "a, very", "findings: 8 noise", ","] {
            assert_eq!(with_classes(other, true), other);
        }
        assert_eq!(with_classes("a, very noisy", false), "a, very noisy");
    }

    #[test]
    fn a_painted_text_has_the_width_of_its_letters() {
        for paint in [Paint::Title, Paint::Word("slower"), Paint::Flag(Severity::Wide)] {
            assert_eq!(width(&format!("a{}b", paint.of("verdict", true))), 9);
        }
        assert_eq!(width("mm"), 2);
    }
}
