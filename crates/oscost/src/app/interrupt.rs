//! Ctrl-C, and the other signals that ask for an end.

use std::io::{self, ErrorKind};

use nix::libc;

use crate::hosts::Interrupt;

/// Listens for Ctrl-C, so that what there is by then is kept.
pub(super) fn listen() -> anyhow::Result<Interrupt> {
    Interrupt::listen().map_err(|error| {
        anyhow::anyhow!("cannot listen for Ctrl-C: {error}\n  hint: {}", hint(&error))
    })
}

/// It takes descriptors and a thread.
fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "`ulimit -n 256` in the shell that starts oscost allows enough files",
        _ if error.kind() == ErrorKind::WouldBlock => {
            "`ulimit -u` in the shell that starts oscost allows more processes"
        }
        _ => "`oscost doctor --self` lists the limits of this machine",
    }
}
