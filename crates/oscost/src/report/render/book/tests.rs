use super::*;
use crate::report::view::document::chart::{Axis, Point, Series, Vertical};
use crate::report::view::document::{Cell, Column, Paragraph, Table, TableRow};

fn book() -> Book {
    let points = [[1.0, 2.0], [10.0, 30.0]].map(|[x, y]| Point { x, y, ..Point::default() });
    let chart = Chart {
        id: "one-1".to_owned(),
        caption: "a picture".to_owned(),
        x: Axis::logarithmic("size"),
        y: Vertical::Axis(Axis::logarithmic("ns")),
        series: vec![Series {
            name: "here".to_owned(),
            points: points.into(),
            ..Series::default()
        }],
        marks: Vec::new(),
        band: None,
    };
    let long = "word ".repeat(40) + "- 7. # end";
    let cells = vec![Cell::text("<b>row</b>"), Cell::text("1")];
    let table = Table {
        columns: vec![Column::text("row"), Column::number("here", "here")],
        rows: vec![TableRow::of(cells)],
        ..Table::default()
    };
    let blocks = vec![
        Block::Text(long.clone()),
        Block::Heading("a heading".to_owned()),
        Block::List(vec![long.into()]),
        Block::Preformatted("oscost run timer".to_owned()),
        Block::Table(table),
        Block::chart(chart),
    ];
    let view = View {
        title: "Page one".to_owned(),
        lead: vec![Paragraph::from("the lead".to_owned())],
        sections: vec![Section::of("Part <i>", blocks)],
        ..View::default()
    };
    let page = BookPage { name: "one".to_owned(), summary: "a page".to_owned(), view };
    Book {
        front: View { title: "A book".to_owned(), ..View::default() },
        parts: vec![BookPart { title: "Pages".to_owned(), pages: vec![page] }],
        appendix: vec![Section::of("Checklist", [Block::Text("all of it".to_owned())])],
    }
}

fn file<'a>(files: &'a [BookFile], name: &str) -> &'a str {
    &files.iter().find(|file| file.name == name).unwrap().text
}

#[test]
fn a_book_is_pages_with_pictures_beside_them_and_one_page_of_all() {
    let files = files(&book()).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["README.md", "one.md", "one-1.svg", "book.html"]);
    let front = file(&files, "README.md");
    assert!(front.contains("[one](one.md): a page") && front.contains("all of it"), "{front}");
    assert!(file(&files, "one.md").contains("![a picture](one-1.svg)"));
}

#[test]
fn long_lines_are_broken_where_that_changes_nothing() {
    let files = files(&book()).unwrap();
    let page = file(&files, "one.md");
    for line in page.lines() {
        assert!(line.len() <= LINE + 30, "{line}");
        assert!(!line.trim_start().starts_with("7.") && !line.starts_with("# end"), "{line}");
    }
    let words = |text: &str| text.split_whitespace().filter(|it| *it == "word").count();
    assert_eq!(words(page), 80);
    assert_eq!(page.lines().filter(|line| line.starts_with("- ")).count(), 1, "{page}");
}

#[test]
fn the_whole_page_escapes_text_draws_the_picture_and_loads_nothing() {
    let files = files(&book()).unwrap();
    let html = file(&files, "book.html");
    assert!(html.contains("&lt;i&gt;") || html.contains("&#60;i&#62;"), "{html}");
    assert!(!html.contains("<b>row</b>"));
    assert_eq!(html.matches("<svg ").count(), 1);
    for word in ["<script", "src=", "url(", "@import", "<link"] {
        assert!(!html.contains(word), "{word}");
    }
    assert_eq!(html, file(&super::files(&book()).unwrap(), "book.html"));
}
