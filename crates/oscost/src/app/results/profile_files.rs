//! The files in the folder of pH's profiles.

use oscost_model::untrusted_text::display_text;

use super::user_data::profile_folder;
use crate::app::observer::Observer;
use crate::ph::profiles::store::{RefusedFile, StoredProfiles, find_all};

/// A file in the folder that is not a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The file.
    pub file: String,
    /// The line with the error.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

impl Unreadable {
    /// As a line of output.
    pub fn text(&self) -> String {
        const MAX_LETTERS: usize = 400;
        let [file, why] = [&self.file, &self.why].map(|text| display_text(text, MAX_LETTERS));
        format!("refused: {file}: line {}: {why}", self.line)
    }
}

/// The files that are not profiles.
pub(crate) fn unreadable(found: &StoredProfiles) -> Vec<Unreadable> {
    let refused = found.refused.iter().map(|RefusedFile { path, refusal }| Unreadable {
        file: path.to_string_lossy().into_owned(),
        line: refusal.line,
        why: refusal.why.clone(),
    });
    refused.collect()
}

/// Reports the files that are not profiles, which a monitor leaves out.
pub(crate) fn report_unreadable(observer: &dyn Observer) {
    // A folder that cannot be read is an error of the monitor.
    if let Some(found) = profile_folder().ok().and_then(|folder| find_all(&folder).ok()) {
        unreadable(&found).iter().for_each(|file| observer.status(&file.text()));
    }
}
