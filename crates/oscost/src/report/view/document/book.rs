//! A book: several reports that belong together, as plain data.

use super::{Section, View};

/// A book.
pub struct Book {
    /// Its first page, without the contents, which the medium makes.
    pub front: View,
    /// Its pages, in order, under the titles of their parts.
    pub parts: Vec<BookPart>,
    /// What follows the contents on the first page.
    pub appendix: Vec<Section>,
}

/// Pages under a title.
pub struct BookPart {
    /// The title.
    pub title: String,
    /// The pages.
    pub pages: Vec<BookPage>,
}

/// A page.
pub struct BookPage {
    /// Its name: that of its file, without an ending. No other page has it.
    pub name: String,
    /// What is on it, in a few words.
    pub summary: String,
    /// The page.
    pub view: View,
}

impl Book {
    /// All pages, in order.
    pub fn pages(&self) -> impl Iterator<Item = &BookPage> {
        self.parts.iter().flat_map(|part| &part.pages)
    }
}
