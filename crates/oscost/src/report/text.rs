//! Text for a terminal or a page: without control characters, and broken into lines.

/// Text from outside as it may stand on a terminal: bounded, and without control characters; those
/// that part words become spaces.
pub fn plain(text: &str) -> String {
    const LONGEST: usize = 400;
    let parted = text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c });
    let shown: String = parted.filter(|c| !c.is_control()).take(LONGEST).collect();
    if text.chars().count() > LONGEST { format!("{shown}...") } else { shown }
}

/// Breaks a text at spaces, so that no line of it is longer than `width`; all lines but the first
/// begin with `indent`, which is not counted.
pub(in crate::report) fn fold(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(word.to_owned());
            } else {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(word);
            }
        }
    }
    lines.join(&format!("\n{indent}"))
}
