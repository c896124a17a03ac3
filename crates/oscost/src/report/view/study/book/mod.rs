//! The book of the studies: a page for each study by its last run, what became of the claims, the
//! lessons, and the checklist.

mod checklist;
mod claims;
mod lesson;
pub(in crate::report::view) mod picture;
mod study_page;
mod study_run;

use self::study_page::StudyPage;
use self::study_run::{JoinedRun, StudyComparison, StudyRun};
use crate::report::text::plain;
use crate::report::view::document::book::{Book, BookPage, BookPart};
use crate::report::view::document::{Paragraph, View};
use crate::report::view::study::list::LastRun;
use crate::studies::class_lesson::ClassLesson;
use crate::studies::history::across::MeasuredFigures;

/// What a book is made from.
pub struct BookContent<'a> {
    /// The studies, each with its last run.
    pub studies: &'a [LastRun<'a>],
    /// The newest figures of this machine, by case.
    pub figures: &'a MeasuredFigures,
    /// The lessons.
    pub lessons: &'a [ClassLesson],
    /// The acts of all studies side by side.
    pub across: Option<View>,
}

/// The book.
pub fn book(content: BookContent<'_>) -> Book {
    let BookContent { studies, figures, lessons, across } = content;
    let runs: Vec<StudyRun<'_>> = studies
        .iter()
        .map(|&LastRun { study, record, earlier }| {
            let run = record.map(|record| JoinedRun {
                record,
                joined: StudyComparison::of(study, record, earlier),
            });
            StudyRun { study, run }
        })
        .collect();
    let pages = runs.iter().map(|it| BookPage {
        name: it.study.id.clone(),
        summary: plain(&format!("{}: {}", it.study.year, it.study.title)),
        view: StudyPage::view(it),
    });
    let mut together = vec![BookPage {
        name: "claims".to_owned(),
        summary: "every claim in a line, and whether it holds here".to_owned(),
        view: claims::overview(&runs),
    }];
    together.extend(across.map(|view| BookPage {
        name: "across".to_owned(),
        summary: "the same acts in all of them and today".to_owned(),
        view,
    }));
    let lessons = lessons.iter().map(|it| BookPage {
        name: it.id.clone(),
        summary: String::new(),
        view: lesson::view(it, &runs, figures),
    });
    let part = |title: &str, pages: Vec<BookPage>| BookPart { title: title.to_owned(), pages };
    Book {
        front: front(),
        parts: vec![
            part("The studies", pages.collect()),
            part("All together", together),
            part("Lessons", lessons.collect()),
        ],
        appendix: checklist::sections(studies.iter().map(|it| it.study)),
    }
}

/// The first page, which is the same on every machine.
fn front() -> View {
    let lead = [
        "Published measurements of operating systems, made again: what was published, what one \
         machine measures today by the method of the study, which claims still hold, and why some \
         do not. And five lessons for a class, each with a question, a prediction to write down, a \
         command, and what was found here.",
        "All pages are made from the files of the studies and from the last run of each: by make \
         studies, or by oscost study book. Do not edit them. The verdicts are those of one machine \
         on one day.",
    ];
    View {
        title: "The studies, then and now".to_owned(),
        lead: lead.map(|text| Paragraph::from(text.to_owned())).into_iter().collect(),
        ..View::default()
    }
}

#[cfg(test)]
mod tests;
