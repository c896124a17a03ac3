//! A word with its kind and what is known of it.

/// What a word is. The order is that in which several meanings of one word are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A flag of a row.
    RowFlag,
    /// A flag of a comparison.
    ComparisonFlag,
    /// A flag of a whole run.
    RunFlag,
    /// The class of a cost.
    CostClass,
    /// The class of a run: how quiet the machine was.
    NoiseClass,
    /// The grade of a run.
    Trust,
    /// The verdict on a comparison.
    Verdict,
    /// The verdict on a claim or on a prediction.
    ClaimVerdict,
    /// The outcome of a row.
    Outcome,
    /// How an op is timed.
    Mode,
    /// How much a run measures.
    Profile,
    /// How two sides are interleaved.
    Design,
    /// Why a figure changed.
    Cause,
    /// The direction in which a figure gets better.
    Direction,
    /// The weight of a finding of `oscost doctor`.
    Weight,
    /// How a treatment is put into effect.
    Mechanism,
    /// Where workers run.
    Host,
    /// The unit of a figure.
    Unit,
    /// A metric of a row.
    Metric,
    /// A mark in a table.
    Mark,
    /// A line below the figures of curves.
    CurveLine,
    /// The family of an item of a bill.
    BillFamily,
    /// Another word of a bill.
    BillTerm,
    /// A word of the glossary.
    Term,
    /// A term of operating systems or of statistics.
    GeneralTerm,
    /// A heading of a table.
    Column,
}

impl Kind {
    /// The kind as it follows the word.
    pub fn text(self) -> &'static str {
        match self {
            Kind::RowFlag => "flag of a row",
            Kind::ComparisonFlag => "flag of a comparison",
            Kind::RunFlag => "flag of a run",
            Kind::CostClass => "class of a cost",
            Kind::NoiseClass => "class of a run",
            Kind::Trust => "grade of a run",
            Kind::Verdict => "verdict on a comparison",
            Kind::ClaimVerdict => "verdict on a claim or a prediction",
            Kind::Outcome => "outcome of a row",
            Kind::Mode => "mode of timing",
            Kind::Profile => "profile of a run",
            Kind::Design => "design of a comparison",
            Kind::Cause => "cause of a change",
            Kind::Direction => "direction of a figure",
            Kind::Weight => "weight of a finding",
            Kind::Mechanism => "mechanism of a treatment",
            Kind::Host => "host",
            Kind::Unit => "unit",
            Kind::Metric => "metric of a row",
            Kind::Mark => "mark in a table",
            Kind::CurveLine => "line of a table of curves",
            Kind::BillFamily => "family of items of a bill",
            Kind::BillTerm => "word of a bill",
            Kind::Term => "word of the glossary",
            Kind::GeneralTerm => "term",
            Kind::Column => "column of a table",
        }
    }

    /// The page that has more about words of this kind.
    fn page(self) -> &'static str {
        match self {
            Kind::RowFlag | Kind::ComparisonFlag | Kind::RunFlag => {
                "docs/reference/RECORDS.md, flags"
            }
            Kind::CostClass => "docs/explanation/METHOD.md, section 7",
            Kind::NoiseClass => "docs/explanation/METHOD.md, section 5",
            Kind::Trust => "the flags and conditions of the record",
            Kind::Verdict | Kind::Design => "docs/explanation/METHOD.md, sections 11 and 12",
            Kind::ClaimVerdict => "docs/explanation/METHOD.md, section 14",
            Kind::Mode => "docs/explanation/METHOD.md, section 2",
            Kind::Cause => "docs/explanation/METHOD.md, section 17",
            Kind::Weight => "`oscost doctor`",
            Kind::Mechanism | Kind::Host => "docs/reference/TARGETS.md",
            Kind::Outcome
            | Kind::Profile
            | Kind::Direction
            | Kind::Unit
            | Kind::Metric
            | Kind::Mark => "docs/reference/RECORDS.md",
            Kind::CurveLine => "docs/explanation/METHOD.md, section 8",
            Kind::BillFamily => "docs/explanation/BILL.md, docs/reference/calls/families.toml",
            Kind::BillTerm => "docs/explanation/BILL.md",
            Kind::Term => "docs/reference/GLOSSARY.md",
            Kind::GeneralTerm => "docs/explanation/METHOD.md",
            Kind::Column => "docs/reference/RECORDS.md, docs/reference/EXPORTS.md",
        }
    }

    /// Whether sentences have such words, also in the plural.
    pub(super) fn is_of_sentences(self) -> bool {
        matches!(self, Kind::Term | Kind::GeneralTerm)
    }
}

/// What a flag says of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information: the figure and its interval hold.
    Information,
    /// The interval is wider than was asked for, or than it says.
    Wide,
    /// The figure should not be used.
    Unusable,
}

/// A word.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// As it is printed; of a glossary entry of two words both, with a comma.
    pub word: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What it means: one sentence, or a phrase that follows the word.
    pub means: &'static str,
    /// Its unit, and the range of its values; empty where there is none.
    pub range: &'static str,
    /// Why it matters; empty where the meaning says it.
    pub matters: &'static str,
    /// What to do; empty for nothing.
    pub action: &'static str,
    /// Where more is written; empty for the page of its kind.
    pub source: &'static str,
    /// Of a flag, what it says of the figure.
    pub severity: Severity,
}

impl Word {
    /// A word of a kind, to be completed.
    pub(super) const fn of(kind: Kind) -> Self {
        Self {
            word: "",
            kind,
            means: "",
            range: "",
            matters: "",
            action: "",
            source: "",
            severity: Severity::Information,
        }
    }

    /// The words as they are printed: several of a glossary entry of several.
    pub fn spellings(&self) -> impl Iterator<Item = &'static str> {
        let spellings: Vec<&'static str> = match self.kind {
            Kind::Term => self.word.split(", ").collect(),
            _ => vec![self.word],
        };
        spellings.into_iter()
    }

    /// Where more is written.
    pub fn page(&self) -> &'static str {
        if self.source.is_empty() { self.kind.page() } else { self.source }
    }

    /// Whether it is printed in this spelling.
    pub(super) fn is_spelled(&self, name: &str) -> bool {
        let part = |part: &str| part.eq_ignore_ascii_case(name);
        let singular = |part: &str| {
            let names = [Some(name), name.strip_suffix('s'), name.strip_suffix("es")];
            names.into_iter().flatten().any(|name| part.eq_ignore_ascii_case(name))
        };
        match self.kind {
            Kind::Term => singular(self.word) || self.spellings().any(singular),
            Kind::GeneralTerm => singular(self.word),
            // The record spells it with a hyphen, a sentence without.
            Kind::NoiseClass => self.word.eq_ignore_ascii_case(&name.replace(' ', "-")),
            _ => part(self.word),
        }
    }
}
