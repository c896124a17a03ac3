//! Pages in a real browser: a headless Chromium, driven by the DevTools protocol. Without a browser
//! each test prints that it is skipped.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test shows its location; a skipped one prints why"
)]

mod axe;
mod chromium;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "these tests use a part of the helpers")]
mod common;
mod measured_runs;
mod page;
mod page_checks;
mod shared;
mod wire;

mod accessibility;
mod driver;
mod fleet;
mod report;
