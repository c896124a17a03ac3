//! Pages without a browser: the content of the file, whatever the record holds.

mod content;
mod contrast;
mod extreme_figures;
mod large_runs;
mod markup;
mod records;
mod scripts;
mod untrusted_text;

#[path = "../../../../tests/common/large_run.rs"]
mod large_run;
