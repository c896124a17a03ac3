//! The counter of a build without the feature `ebpf`: there is none.

use std::path::Path;

use oscost_model::program_calls::ProgramCalls;

use super::missing_requirement;

/// Counts calls in the kernel. This build has none.
#[derive(Debug)]
pub enum KernelCounter {}

impl KernelCounter {
    /// Says why there is none.
    pub fn load() -> Result<Self, String> {
        Err(missing_requirement().unwrap_or_else(|| "this oscost was built without it".to_owned()))
    }

    /// Never called.
    pub fn count_clock_reads(&mut self, _library: &Path) -> Result<(), String> {
        match *self {}
    }

    /// Never called.
    pub fn begin_program(&mut self) -> Result<u64, String> {
        match *self {}
    }

    /// Never called.
    pub fn begin_process(&mut self, _process: u32, _children: bool) -> Result<(), String> {
        match *self {}
    }

    /// Never called.
    pub fn stop(&mut self) {
        match *self {}
    }

    /// Never called.
    pub fn end(&mut self) -> Result<ProgramCalls, String> {
        match *self {}
    }
}
