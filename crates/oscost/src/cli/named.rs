//! Words that name something that comes with oscost, or a file of the user's own: studies and
//! workloads.

use std::fs::File;
use std::io::Read;

use oscost_model::untrusted::ParseError;

use super::UsageError;
use crate::treatments::did_you_mean;

/// What is named.
pub(super) struct Named {
    /// What it is, in a word.
    pub(super) what: &'static str,
    /// Where it stands what stands in a file of it.
    pub(super) page: &'static str,
    /// The most that a file of it may have.
    pub(super) most_bytes: usize,
}

impl Named {
    /// That a word is none of those that come with oscost.
    pub(super) fn unknown(&self, word: &str, names: &[&str]) -> anyhow::Error {
        let text = format!(
            "`{}` is no {}{}\n  hint: there is {}; a file of your own has a `/` in its path, or \
             ends in .toml",
            word.escape_debug(),
            self.what,
            did_you_mean(word, names.iter().copied()),
            names.join(", ")
        );
        UsageError(text).into()
    }

    /// Reads a file of the user's, as far as one of its kind may go.
    pub(super) fn read<T>(
        &self,
        path: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, ParseError>,
    ) -> anyhow::Result<T> {
        let bad = |why: String| {
            let Self { what, page, .. } = self;
            let hint = format!("{page} says what stands in a {what}");
            UsageError(format!("cannot read the {what} {path:?}: {why}\n  hint: {hint}"))
        };
        let file = File::open(path).map_err(|error| bad(error.to_string()))?;
        let mut bytes = Vec::new();
        file.take(self.most_bytes as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| bad(error.to_string()))?;
        parse(&bytes).map_err(|refusal| bad(refusal.to_string()).into())
    }
}
