//! axe-core, as a page of a test runs it: which of its rules a page violates.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::page::Page;

/// Where `scripts/install.sh browser` puts it.
const FILE: &str = "../../target/axe-core/axe.min.js";

/// Each element that violates a rule: the rule, the element, and what would mend it.
const VIOLATIONS: &str = "axe.run(document, { resultTypes: ['violations'] }).then(found =>
  found.violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
    `${id}: ${target.join(' ')}: ${failureSummary.replace(/\\s+/g, ' ')}`)))";

/// The rules, as a script that a page runs.
pub(crate) struct Axe {
    script: String,
}

impl Axe {
    /// `None`, with a line that says why, where it is not installed.
    pub(crate) fn find() -> Option<Self> {
        let script = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)).ok();
        if script.is_none() {
            eprintln!("skipped: no axe-core: scripts/install.sh browser");
        }
        Some(Self { script: script? })
    }

    /// Asserts that a page, as it is shown, violates no rule.
    pub(crate) fn passes(&self, page: &Page, shown: &str) {
        assert_eq!(self.violations(page), json!([]), "{shown}");
    }

    /// Asserts that a page violates a rule: a check that finds nothing may not have looked.
    pub(crate) fn finds(&self, page: &Page, rule: &str) {
        let found = self.violations(page).to_string();
        assert!(found.contains(&format!("\"{rule}: ")), "{rule}: {found}");
    }

    fn violations(&self, page: &Page) -> Value {
        if page.eval("window.axe === undefined") == true {
            page.eval(&format!("{}; void 0", self.script));
        }
        page.eval(VIOLATIONS)
    }
}
