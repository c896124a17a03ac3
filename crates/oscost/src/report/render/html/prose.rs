//! Sentences as markup: commands and options of oscost, which stand between backticks, as code.

use crate::report::render::svg::escape;

/// The markup of a sentence. Other backticks stay as they are: what stands between them may be text
/// from outside, which makes no markup.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        out += &without_markup(before);
        match after.split_once('`').filter(|(code, _)| is_command(code)) {
            Some((code, others)) => {
                out += &format!("<code>{}</code>", without_markup(code));
                rest = others;
            }
            None => {
                out.push('`');
                rest = after;
            }
        }
    }
    out + &without_markup(rest)
}

fn is_command(code: &str) -> bool {
    code == "oscost" || code.starts_with("oscost ") || code.starts_with("--")
}

fn without_markup(text: &str) -> String {
    escape(text).replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::prose;

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
}
