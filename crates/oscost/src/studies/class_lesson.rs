//! Lessons for a class: hand-written texts with places for figures, which runs fill in.
//!
//! A lesson is a file under `studies/lessons/`, in a small part of Markdown: a title (`# `), headings
//! (`## `), paragraphs, items (`- `), and commands between lines of three backticks. Its placeholders
//! are described in docs/reference/STUDY-FILES.md. No figure of this machine is written in a lesson.

mod parser;
mod placeholder;
mod text;

pub use self::placeholder::{FigureColumn, FigurePlaceholder, MachineFact, Placeholder};
pub use self::text::{ClassLesson, LessonPart, LessonText};

/// The lessons that come with oscost, and their files.
const EMBEDDED: &[(&str, &str)] = &[
    ("lesson-1-getpid", include_str!("../../../../studies/lessons/1-getpid.md")),
    ("lesson-2-one-cpu-or-two", include_str!("../../../../studies/lessons/2-one-cpu-or-two.md")),
    ("lesson-3-minimum", include_str!("../../../../studies/lessons/3-minimum.md")),
    ("lesson-4-epoll", include_str!("../../../../studies/lessons/4-epoll.md")),
    ("lesson-5-monitor", include_str!("../../../../studies/lessons/5-monitor.md")),
];

/// The lessons that come with oscost. A test parses all of them.
pub fn built_in_class_lessons() -> Vec<ClassLesson> {
    EMBEDDED.iter().filter_map(|(id, text)| parser::parse(id, text).ok()).collect()
}

#[cfg(test)]
mod tests;
