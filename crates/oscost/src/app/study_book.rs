//! `oscost study book`: the lessons, and the cases whose figures they need.

use crate::studies::class_lesson::{ClassLesson, Placeholder, built_in_class_lessons};

/// The lessons that come with oscost.
pub fn lessons() -> Vec<ClassLesson> {
    built_in_class_lessons()
}

/// The cases that lessons have figures of, besides the rows of studies.
pub fn lesson_cases(lessons: &[ClassLesson]) -> Vec<String> {
    let placeholders = lessons.iter().flat_map(ClassLesson::placeholders);
    let cases = placeholders.flat_map(|it| match it {
        Placeholder::Case { case, over } => std::iter::once(case).chain(over).cloned().collect(),
        Placeholder::Figure(_) | Placeholder::Machine(_) => Vec::new(),
    });
    let mut cases: Vec<String> = cases.collect();
    cases.sort();
    cases.dedup();
    cases
}
