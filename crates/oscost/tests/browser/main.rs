//! Pages in a real browser: a headless Chromium, driven by the DevTools protocol. Where there is
//! none each test says so in a line.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on shows where it stood, and says what it could not do"
)]

mod chromium;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "pages take a part of what the command line takes")]
mod common;
mod page;
mod wire;

mod driver;
mod report;
