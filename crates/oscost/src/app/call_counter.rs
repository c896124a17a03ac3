//! Which counter counts calls: programs in the kernel, or a tracer.

use std::path::PathBuf;

use oscost_model::program_calls::ProgramCalls;
use oscost_model::target::Host;

use super::error::UsageError;
use crate::counter::KernelCounter;
use crate::run::TreeCounter;

/// The counter that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterChoice {
    /// Programs in the kernel where they can be loaded, otherwise a tracer.
    #[default]
    Best,
    /// Programs in the kernel.
    Ebpf,
    /// A tracer.
    Ptrace,
}

/// A counter.
pub(super) struct ChosenCounter {
    /// The one in the kernel; `None` for a tracer.
    pub(super) kernel: Option<KernelCounter>,
    /// Why it is a tracer; `None` if that was asked for.
    pub(super) reason: Option<String>,
    /// Why clock reads are not counted although that was asked for.
    pub(super) no_clock_reads: Option<String>,
}

/// Why programs in the kernel count nowhere else.
const ONLY_HERE: &str = "programs are loaded into the kernel of this machine alone";
/// What no tracer sees.
const NOT_TRACED: &str = "a tracer does not see them, but the eBPF counter of root does";

impl ChosenCounter {
    /// The counter at a host; the programs are loaded. Clock reads are counted, too, at the functions
    /// of a C library, if that is given; in its place there may be the reason why it is not known.
    pub(super) fn choose(
        choice: CounterChoice,
        host: &Host,
        library: Option<Result<PathBuf, String>>,
    ) -> anyhow::Result<Self> {
        let mut chosen = Self::of_calls(choice, host)?;
        chosen.no_clock_reads = library.and_then(|library| chosen.count_clock_reads(library).err());
        Ok(chosen)
    }

    /// Counts clock reads at the functions of this C library, too.
    fn count_clock_reads(&mut self, library: Result<PathBuf, String>) -> Result<(), String> {
        let kernel = self.kernel.as_mut().ok_or(NOT_TRACED)?;
        kernel.count_clock_reads(&library?)
    }

    fn of_calls(choice: CounterChoice, host: &Host) -> anyhow::Result<Self> {
        let tracer = |reason| Ok(Self { kernel: None, reason, no_clock_reads: None });
        let in_kernel = |kernel| Self { kernel: Some(kernel), reason: None, no_clock_reads: None };
        match choice {
            CounterChoice::Ptrace => tracer(None),
            CounterChoice::Best if matches!(host, Host::Fake(_)) => tracer(None),
            CounterChoice::Best if *host != Host::Local => tracer(Some(ONLY_HERE.to_owned())),
            CounterChoice::Ebpf if *host != Host::Local => {
                let what = format!("cannot count by eBPF at `{host}`");
                Err(UsageError::with_hint(&what, ONLY_HERE).into())
            }
            CounterChoice::Best => match KernelCounter::load() {
                Ok(kernel) => Ok(in_kernel(kernel)),
                Err(reason) => tracer(Some(reason)),
            },
            CounterChoice::Ebpf => match KernelCounter::load() {
                Ok(kernel) => Ok(in_kernel(kernel)),
                Err(reason) => anyhow::bail!(
                    "cannot count by eBPF: {reason}\n  hint: `--counter ptrace` needs no rights, \
                     and slows the counted runs"
                ),
            },
        }
    }

    /// The counter for runs of a program; `None` for a tracer.
    pub(super) fn of_programs(&mut self) -> Option<&mut dyn TreeCounter> {
        match &mut self.kernel {
            Some(kernel) => Some(kernel),
            None => None,
        }
    }
}

impl TreeCounter for KernelCounter {
    fn begin(&mut self) -> Result<u64, String> {
        self.begin_program()
    }

    fn end(&mut self) -> Result<ProgramCalls, String> {
        KernelCounter::end(self)
    }
}
