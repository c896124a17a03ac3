//! A word of the command line.

/// An option of the command line, or one of its subcommands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandWord {
    /// Its syntax: `--precision PCT`.
    pub syntax: String,
    /// What its help says.
    pub means: String,
    /// The values that it takes, where they are few.
    pub values: String,
    /// Its value if it is not given.
    pub default: String,
    /// The commands that have it; of a subcommand itself.
    pub commands: Vec<String>,
    /// Whether it is a subcommand.
    pub is_subcommand: bool,
}

impl CommandWord {
    /// The forms of an option as they are typed: `-o`, `--output`; none of a subcommand, and none of
    /// what has no dash.
    pub(super) fn options(&self) -> impl Iterator<Item = &str> {
        self.syntax.split([' ', ',']).filter(|part| part.starts_with('-'))
    }

    /// Whether a value follows.
    pub(super) fn takes_value(&self) -> bool {
        self.syntax.split(' ').any(|part| !part.starts_with('-'))
    }
}
