//! The names of cases as markup: a narrow page breaks them between their parts, and not in a word.

use super::prose::without_markup;

/// A name, with a place to break it behind the benchmark and behind each value of its case; any other
/// text is only escaped. Where a case was measured follows it after an `@`.
pub(super) fn case_name(text: &str) -> String {
    let (case, rest) = text.split_at(text.find(" @ ").unwrap_or(text.len()));
    if !is_case(case) {
        return without_markup(text);
    }
    let parts: Vec<&str> = case.split_inclusive([':', ',']).collect();
    format!("{}{}", parts.join("<wbr>"), without_markup(rest))
}

/// Whether a text is written as cases are, of letters that have no meaning in markup.
fn is_case(text: &str) -> bool {
    let is_of_case = |byte: u8| byte.is_ascii_alphanumeric() || b"/:,=.-_".contains(&byte);
    text.contains('/') && text.bytes().all(is_of_case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_broken_between_its_parts_and_other_text_nowhere() {
        for (text, markup) in [
            ("syscall/getppid", "syscall/getppid"),
            ("pipe/round-trip:by=pipe,size=64", "pipe/round-trip:<wbr>by=pipe,<wbr>size=64"),
            ("pipe/copy:size=64 @ vm:6.1,x", "pipe/copy:<wbr>size=64 @ vm:6.1,x"),
            ("pipe/copy:<b>", "pipe/copy:&lt;b&gt;"),
            ("Opening, and closing: a file", "Opening, and closing: a file"),
        ] {
            assert_eq!(case_name(text), markup);
        }
    }
}
