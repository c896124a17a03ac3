//! The text of a lesson.

use super::placeholder::Placeholder;

/// A lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassLesson {
    /// The name of its file.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text, in order.
    pub parts: Vec<LessonPart>,
}

/// A part of a lesson's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LessonPart {
    /// A smaller title.
    Heading(String),
    /// A paragraph.
    Paragraph(Vec<LessonText>),
    /// An item of a list.
    Item(Vec<LessonText>),
    /// Lines for a shell.
    Commands(String),
    /// The picture of a table of a study.
    Picture {
        /// The study.
        study: String,
        /// The table.
        table: String,
    },
}

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LessonText {
    /// Words.
    Words(String),
    /// A place for a figure.
    Placeholder(Placeholder),
}

impl ClassLesson {
    /// All places for figures.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let texts = self.parts.iter().flat_map(|part| match part {
            LessonPart::Paragraph(texts) | LessonPart::Item(texts) => &texts[..],
            LessonPart::Heading(_) | LessonPart::Commands(_) | LessonPart::Picture { .. } => &[],
        });
        texts.filter_map(|text| match text {
            LessonText::Placeholder(it) => Some(it),
            LessonText::Words(_) => None,
        })
    }
}
