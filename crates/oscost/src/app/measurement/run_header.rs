//! The header of a run: its id, its beginning, and the programs that measure it.

use std::time::SystemTime;

use oscost_model::journal::RunHeader;
use oscost_model::protocol::Hello;
use oscost_model::record::{Settings, Tool, WorkerProgram};

/// The header of a run that begins now.
pub(crate) fn run_header(label: Option<String>, hello: &Hello, settings: Settings) -> RunHeader {
    RunHeader {
        id: uuid::Uuid::now_v7().to_string(),
        started_at: timestamp(),
        label,
        command: std::env::args().collect(),
        tool: tool(hello),
        settings,
    }
}

/// Now, as records spell it.
pub(crate) fn timestamp() -> String {
    rfc3339(SystemTime::now())
}

/// A time as records spell it.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// A fresh seed, within the 53 bits that every reader of JSON keeps.
pub(crate) fn fresh_seed() -> u64 {
    uuid::Uuid::now_v7().as_u64_pair().1 & ((1 << 53) - 1)
}

/// The programs that measure in a session.
pub(crate) fn tool(hello: &Hello) -> Tool {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Tool {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: known(env!("OSCOST_COMMIT")),
        rustc: known(env!("OSCOST_RUSTC")),
        worker: WorkerProgram {
            hash: hello.worker_hash.clone(),
            link: hello.build.link.clone(),
            libc: hello.build.libc.clone(),
            catalog: hello.catalog_hash.clone(),
        },
    }
}
