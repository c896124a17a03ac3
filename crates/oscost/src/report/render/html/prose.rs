//! Sentences as markup: what stands between backticks as code, as far as that is safe.

use crate::report::render::svg::{escape, escape_paragraph};

/// The markup of a sentence, with commands and options of oscost as code. Other backticks stay as they
/// are: what stands between them may be text from outside, which makes no markup.
pub(super) fn prose(text: &str) -> String {
    marked_up(text, is_command)
}

/// The same of what was measured, where a value of plain letters is code, too.
pub(super) fn lead(text: &str) -> String {
    marked_up(text, |code| is_command(code) || is_value(code))
}

/// The markup of a text of oscost's own, in which all that stands between backticks is code.
pub(super) fn own_prose(text: &str) -> String {
    marked_up(text, |code| !code.is_empty())
}

fn marked_up(text: &str, is_code: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        out += &paragraph(before);
        match after.split_once('`').filter(|(code, _)| is_code(code)) {
            Some((code, others)) => {
                out += &format!("<code>{}</code>", paragraph(code));
                rest = others;
            }
            None => {
                out.push('`');
                rest = after;
            }
        }
    }
    out + &paragraph(rest)
}

fn is_command(code: &str) -> bool {
    code == "oscost" || code.starts_with("oscost ") || code.starts_with("--")
}

/// Whether a text is a version, a name or a command: letters, and signs between them that have no
/// meaning in markup.
fn is_value(code: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = code.as_bytes();
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || b" _./=+%@*-".contains(byte);
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inside)
}

/// A part of a sentence without what HTML gives a meaning.
fn paragraph(text: &str) -> String {
    without_single_quotes(&escape_paragraph(text))
}

/// Text without what HTML gives a meaning, also inside quotes of either kind.
pub(super) fn without_markup(text: &str) -> String {
    without_single_quotes(&escape(text))
}

fn without_single_quotes(text: &str) -> String {
    text.replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_options_are_code_and_other_backticks_stay() {
        for (text, markup) in [
            ("Next: `oscost doctor` names it.", "Next: <code>oscost doctor</code> names it."),
            ("(`--budget`), `oscost`", "(<code>--budget</code>), <code>oscost</code>"),
            ("the kernel: `6.1` and `oscost ab`", "the kernel: `6.1` and <code>oscost ab</code>"),
            ("`oscost <b>` 'x'", "<code>oscost &lt;b&gt;</code> &#39;x&#39;"),
            ("one ` alone, `oscost", "one ` alone, `oscost"),
            ("", ""),
        ] {
            assert_eq!(prose(text), markup, "{text}");
        }
    }

    #[test]
    fn a_sentence_of_several_reasons_is_whole() {
        let reasons = "a reason of a run; ".repeat(60);
        assert_eq!(prose(&reasons), reasons);
        assert!(prose(&"x".repeat(5_000)).ends_with("..."), "it has a bound");
    }

    #[test]
    fn values_are_code_in_what_was_measured_and_anything_is_in_texts_of_its_own() {
        let text = "`6.1+deb12` or `find /usr -name *.c` by <b>, `oscost ab`";
        let markup = "<code>6.1+deb12</code> or <code>find /usr -name *.c</code> by &lt;b&gt;, \
                      <code>oscost ab</code>";
        assert_eq!([lead(text), own_prose(text)], [markup; 2]);
        for text in ["`/`, `", "`, Linux qz`", "`a b: c`", "`a<b`", "``"] {
            assert!(!lead(text).contains("<code>"), "{text}");
        }
        assert_eq!(own_prose("`!N` or `<`"), "<code>!N</code> or <code>&lt;</code>");
    }
}
