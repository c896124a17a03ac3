//! Places for figures in the text of a lesson.

/// A place for a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `figure STUDY "ROW" COLUMN`: a figure of a row of a study.
    Figure(FigurePlaceholder),
    /// `case "CASE"`: the newest figure of a case on this machine.
    Case {
        /// The case, in full.
        case: String,
        /// The case that it is a multiple of; `None` for the figure itself.
        over: Option<String>,
    },
    /// `machine FACT`: a fact about the machine of a study's run.
    Machine(MachineFact),
}

/// A figure of a row of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigurePlaceholder {
    /// The study.
    pub study: String,
    /// The row's name; the first of that name.
    pub row: String,
    /// Which of its figures.
    pub column: FigureColumn,
    /// The row whose figure it is a multiple of; `None` for the figure itself.
    pub over: Option<String>,
}

/// Which figure of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureColumn {
    /// The published figure.
    Then,
    /// The same in cycles of the study's core.
    ThenCycles,
    /// This machine's, by the study's statistic.
    Here,
    /// The same in cycles of this machine's core.
    HereCycles,
    /// This machine's, by oscost's own estimate.
    Median,
    /// What the second target adds, as published; of a study of two targets.
    ThenAdded,
    /// What the second target adds here.
    HereAdded,
    /// The figure of the second target over that of the first, as published.
    ThenRatio,
    /// The figure of the second target over that of the first, here.
    HereRatio,
}

impl FigureColumn {
    /// All columns with their names in lessons.
    const NAMES: [(&'static str, FigureColumn); 9] = [
        ("then", FigureColumn::Then),
        ("then-cycles", FigureColumn::ThenCycles),
        ("here", FigureColumn::Here),
        ("here-cycles", FigureColumn::HereCycles),
        ("median", FigureColumn::Median),
        ("then-added", FigureColumn::ThenAdded),
        ("here-added", FigureColumn::HereAdded),
        ("then-ratio", FigureColumn::ThenRatio),
        ("here-ratio", FigureColumn::HereRatio),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, column)| column)
    }

    /// Whether it is a published figure, which needs no run.
    pub fn is_published(self) -> bool {
        matches!(self, Self::Then | Self::ThenCycles | Self::ThenAdded | Self::ThenRatio)
    }

    /// Whether it is of a study that compares two targets.
    pub fn is_of_two_targets(self) -> bool {
        matches!(self, Self::ThenAdded | Self::HereAdded | Self::ThenRatio | Self::HereRatio)
    }
}

/// A fact about the machine of a study's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineFact {
    /// The processor.
    Cpu,
    /// The kernel's release.
    Kernel,
    /// What the kernel does about the processor's flaws.
    Mitigations,
}

/// A word of a placeholder: bare, or between quotation marks.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word<'a> {
    Bare(&'a str),
    Quoted(&'a str),
}

fn words(text: &str) -> Result<Vec<Word<'_>>, String> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (word, after) = quoted.split_once('"').ok_or("a quotation mark is missing")?;
                (Word::Quoted(word), after)
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (Word::Bare(&rest[..end]), &rest[end..])
            }
        };
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

/// Parses the text between the braces.
pub(super) fn parse(text: &str) -> Result<Placeholder, String> {
    use Word::{Bare, Quoted};
    let words = words(text)?;
    let column = |name: &str| {
        FigureColumn::parse(name).ok_or_else(|| format!("`{name}` is not a column of figures"))
    };
    let figure = |study: &str, row: &str, name: &str, over: Option<&str>| {
        Ok(Placeholder::Figure(FigurePlaceholder {
            study: study.to_owned(),
            row: row.to_owned(),
            column: column(name)?,
            over: over.map(str::to_owned),
        }))
    };
    let case = |case: &str, over: Option<&str>| {
        Ok(Placeholder::Case { case: case.to_owned(), over: over.map(str::to_owned) })
    };
    match words[..] {
        [Bare("figure"), Bare(study), Quoted(row), Bare(name)] => figure(study, row, name, None),
        [Bare("figure"), Bare(study), Quoted(row), Bare(name), Bare("/"), Quoted(over)] => {
            figure(study, row, name, Some(over))
        }
        [Bare("case"), Quoted(name)] => case(name, None),
        [Bare("case"), Quoted(name), Bare("/"), Quoted(over)] => case(name, Some(over)),
        [Bare("machine"), Bare("cpu")] => Ok(Placeholder::Machine(MachineFact::Cpu)),
        [Bare("machine"), Bare("kernel")] => Ok(Placeholder::Machine(MachineFact::Kernel)),
        [Bare("machine"), Bare("mitigations")] => {
            Ok(Placeholder::Machine(MachineFact::Mitigations))
        }
        _ => Err(format!("`{{{{{text}}}}}` is not a placeholder")),
    }
}

/// Parses `picture STUDY "TABLE"`: the study and the table; `None` if it is something else.
pub(super) fn parse_picture(text: &str) -> Option<[String; 2]> {
    match words(text).ok()?[..] {
        [Word::Bare("picture"), Word::Bare(study), Word::Quoted(table)] => {
            Some([study, table].map(str::to_owned))
        }
        _ => None,
    }
}
