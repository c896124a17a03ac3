//! Text for a terminal or a page: without control characters, and broken into lines.

/// Text from outside, safe for a terminal: of bounded length, and without control characters; those
/// that separate words become spaces.
pub fn plain(text: &str) -> String {
    without_control_characters(text, 400)
}

/// The same of a text that is composed of several.
pub fn plain_paragraph(text: &str) -> String {
    without_control_characters(text, 4_000)
}

fn without_control_characters(text: &str, max_chars: usize) -> String {
    let separated = text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c });
    let shown: String = separated.filter(|c| !c.is_control()).take(max_chars).collect();
    if text.chars().count() > max_chars { format!("{shown}...") } else { shown }
}

/// A reason without the number of a kernel's error, which stands behind its words.
pub fn without_error_number(text: &str) -> String {
    let parts = text.split_once(" (os error ").and_then(|(words, rest)| {
        let (number, rest) = rest.split_once(')')?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{words}{rest}"))
    });
    parts.unwrap_or_else(|| text.to_owned())
}

/// A space at which lines are not broken.
pub const NO_BREAK_SPACE: char = '\u{a0}';

/// Breaks a text at spaces, and words that are longer than a line anywhere, so that no line of it is
/// longer than `width`; all lines but the first begin with `indent`, which is not counted. A figure
/// and its `%` stay in one line.
pub fn fold(text: &str, width: usize, indent: &str) -> String {
    let text = text.replace(" %", &format!("{NO_BREAK_SPACE}%"));
    let mut lines = vec![String::new()];
    let is_break = |c: char| c.is_whitespace() && c != NO_BREAK_SPACE;
    for word in text.split(is_break).filter(|word| !word.is_empty()) {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(width.max(1)) {
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() && line.chars().count() + 1 + piece.len() > width {
                    lines.push(piece.iter().collect());
                } else {
                    line.push_str(if line.is_empty() { "" } else { " " });
                    line.extend(piece);
                }
            }
        }
    }
    lines.join(&format!("\n{indent}")).replace(NO_BREAK_SPACE, " ")
}

/// A text in exactly `width` columns; the middle of a longer text is replaced by `..`.
pub fn shorten(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width {
        return format!("{text:<width$}");
    }
    let tail = (width - 2) / 2;
    let head: String = letters[..width - 2 - tail].iter().collect();
    let end: String = letters[letters.len() - tail..].iter().collect();
    format!("{head}..{end}")
}

/// The words of a command as they are typed into a shell.
pub fn shell_command(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// A word, in quotes if a shell would read another one without them.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A number of things: `1 pair`, `2 pairs`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A clock in a sentence: the record spells the processor's counter alike on all machines, and on this
/// architecture it has a name of its own.
pub fn clock_name<'a>(source: &'a str, architecture: Option<&str>) -> &'a str {
    match (source, architecture) {
        ("tsc", Some("aarch64")) => "cntvct_el0",
        _ => source,
    }
}

/// A noise class in a sentence; the record spells it with hyphens.
pub fn class_text(class: &str) -> String {
    plain(class).replace('-', " ")
}

/// The minute of a time, RFC 3339.
pub fn minute(time: &str) -> String {
    plain(time.get(..16).unwrap_or(time)).replace('T', " ")
}

/// The day of a time, RFC 3339.
pub fn day(time: &str) -> String {
    plain(time.get(..10).unwrap_or(time))
}

/// The part of an id, a UUID of version 7, that is its time in milliseconds: with fewer characters
/// those of one minute begin alike, and none can be named.
const ID_TIME_CHARS: usize = 13;

/// The beginning of an id that names its run or bill.
pub fn id_beginning(id: &str) -> String {
    plain(&id.chars().take(ID_TIME_CHARS).collect::<String>())
}

/// The number of leading characters that distinguish these ids; at least 8, since UUIDs of version 7
/// begin with the time.
pub fn shortest_unique(ids: &[&str]) -> usize {
    (8..=36)
        .find(|&length| {
            let mut prefixes: Vec<&str> =
                ids.iter().map(|id| id.get(..length).unwrap_or(id)).collect();
            prefixes.sort_unstable();
            prefixes.windows(2).all(|pair| pair[0] != pair[1])
        })
        .unwrap_or(36)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_minute_are_told_apart_by_their_beginnings() {
        let [one, other] = ["01a21d22-5b3c-7000-8000-1", "01a21d22-9f01-7000-8000-2"];
        assert_eq!(id_beginning(one), "01a21d22-5b3c");
        assert_ne!(id_beginning(one), id_beginning(other));
        assert_eq!(id_beginning("0192"), "0192");
    }

    #[test]
    fn a_line_is_not_broken_between_a_figure_and_its_per_cent_sign() {
        assert_eq!(fold("quiet (0.0 % lost)", 11, ""), "quiet\n(0.0 %\nlost)");
        assert_eq!(fold("quiet (0.0 % lost)", 12, ""), "quiet (0.0 %\nlost)");
        assert_eq!(fold("9 % of 5 %", 80, ""), "9 % of 5 %");
    }

    #[test]
    fn words_of_a_command_are_quoted_where_a_shell_would_change_them() {
        let typed = |words: &[&str]| {
            shell_command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(typed(&["find", "/usr", "-name", "*.zzz"]), "find /usr -name '*.zzz'");
        assert_eq!(typed(&["sh", "-c", "echo it's", ""]), r"sh -c 'echo it'\''s' ''");
        let plain = ["run", "--at", "nice=5+sud@ssh:me@db1", "--json=-", "a,b_c.d", "50%", "--"];
        assert_eq!(typed(&plain), plain.join(" "));
        for word in ["a b", "~", "$x", "{a,b}", "x;y", "a|b", "`x`", "\"", "#", "!", "a\nb"] {
            assert_eq!(typed(&[word]), format!("'{word}'"));
        }
    }

    #[test]
    fn an_error_is_told_by_its_words_and_not_by_its_number_too() {
        for (text, shown) in [
            ("No such file or directory (os error 2); no PMU", "No such file or directory; no PMU"),
            ("Permission denied (os error 13)", "Permission denied"),
            ("not one (os error x)", "not one (os error x)"),
            ("cut (os error 1", "cut (os error 1"),
            ("perf_event_open: ENOENT", "perf_event_open: ENOENT"),
        ] {
            assert_eq!(without_error_number(text), shown);
        }
    }
}
