//! Parses the text of a lesson.

use super::placeholder;
use super::text::{ClassLesson, LessonPart, LessonText};

/// The marks around commands.
const FENCE: &str = "```";

/// Lines that belong together.
#[derive(Default)]
struct OpenLines {
    text: String,
    is_item: bool,
}

impl OpenLines {
    /// Ends them; they are a part unless there are none.
    fn end(&mut self, parts: &mut Vec<LessonPart>) -> Result<(), String> {
        let OpenLines { text, is_item } = std::mem::take(self);
        if text.is_empty() {
            return Ok(());
        }
        let inside = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
        if let Some([study, table]) = inside.and_then(placeholder::parse_picture) {
            parts.push(LessonPart::Picture { study, table });
            return Ok(());
        }
        let texts = sentence(&text)?;
        parts.push(if is_item { LessonPart::Item(texts) } else { LessonPart::Paragraph(texts) });
        Ok(())
    }
}

/// The lesson in this text; the error is for its author.
pub(super) fn parse(id: &str, text: &str) -> Result<ClassLesson, String> {
    let mut lines = text.lines();
    let title = lines.next().and_then(|line| line.strip_prefix("# "));
    let title = title.ok_or("a lesson begins with its title")?.to_owned();
    let mut parts = Vec::new();
    let mut open = OpenLines::default();
    while let Some(line) = lines.next() {
        if line == FENCE {
            open.end(&mut parts)?;
            let commands: Vec<&str> = lines.by_ref().take_while(|line| *line != FENCE).collect();
            parts.push(LessonPart::Commands(commands.join("\n")));
        } else if let Some(heading) = line.strip_prefix("## ") {
            open.end(&mut parts)?;
            parts.push(LessonPart::Heading(heading.to_owned()));
        } else if let Some(item) = line.strip_prefix("- ") {
            open.end(&mut parts)?;
            open = OpenLines { text: item.to_owned(), is_item: true };
        } else if line.trim().is_empty() {
            open.end(&mut parts)?;
        } else {
            let space = if open.text.is_empty() { "" } else { " " };
            open.text = format!("{}{space}{}", open.text, line.trim());
        }
    }
    open.end(&mut parts)?;
    Ok(ClassLesson { id: id.to_owned(), title, parts })
}

/// Words, and the placeholders between them.
fn sentence(text: &str) -> Result<Vec<LessonText>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) = after.split_once("}}").ok_or("`}}` is missing")?;
        if !before.is_empty() {
            found.push(LessonText::Words(before.to_owned()));
        }
        found.push(LessonText::Placeholder(placeholder::parse(inside)?));
        rest = after;
    }
    if !rest.is_empty() {
        found.push(LessonText::Words(rest.to_owned()));
    }
    Ok(found)
}
