//! How things look: figures, tables, texts.
//!
//! What this room is for: turning records and definitions into what people and programs read. What
//! it may not know: how anything was measured or kept. All text from outside is shown without its
//! control characters.

pub mod ab;
mod answer;
pub mod beside;
pub mod catalog;
mod claims;
pub mod compare;
mod counted;
mod curves;
pub mod doctor;
pub mod export;
pub mod figures;
mod files;
pub mod flags;
mod groups;
mod halves;
pub mod here;
pub mod history;
pub mod html;
pub mod json;
pub mod machine;
pub mod markdown;
pub mod monitor;
pub mod ph;
mod plot;
pub mod predictions;
pub mod progress;
mod requests;
pub mod runs;
mod steps;
pub mod studies;
pub mod study;
pub mod survey;
pub mod table;
pub mod treatments;
mod trials;

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
fn fold(text: &str, width: usize, indent: &str) -> String {
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
