//! `oscost explain`

use super::exit::ExitStatus;
use super::output::Output;
use super::terminal::Terminal;
use crate::app::explain::{
    CaseHere, Explanation, Here, Kind, LastFigure, Mechanism, Request, explain as find, observe,
};
use crate::report;
use crate::report::explain::{CaseDetails, PreviousFigure};
use crate::report::treatments::TreatmentExplanation;
use crate::report::view::document::{Section, View};

/// What to explain.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Of a single benchmark, the system calls are also counted here and now, which
takes a moment, and its last figure from this machine is shown.

Examples:
  oscost explain syscall/getppid
  oscost explain getppid           the same
  oscost explain timer             every benchmark of a family
  oscost explain seccomp           a treatment (`oscost treat list`)")]
pub(super) struct Arguments {
    /// A benchmark, a case, a family, or a treatment.
    #[arg(value_name = "NAME")]
    name: String,
    /// Where to count its system calls.
    #[arg(long, value_name = "HOST", default_value = "local")]
    at: String,
}

pub(super) fn explain(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { name, at } = arguments;
    let benchmarks = match find(&Request { name, at })? {
        Explanation::Treatment(kind) => {
            output.write(&report::terminal(&report::treatments::explanation(&treatment(kind))))?;
            return Ok(ExitStatus::Success);
        }
        Explanation::Benchmarks(benchmarks) => *benchmarks,
    };
    let text = |sections| report::terminal(&View::of(sections));
    let sections = benchmarks.definitions.iter().flat_map(report::catalog::explanation);
    output.write(&text(sections.collect()))?;
    if let Some(here) = observe(benchmarks, &Terminal::new())? {
        output.write(&format!("\n{}", text(here_sections(here))))?;
    }
    Ok(ExitStatus::Success)
}

fn treatment(kind: &Kind) -> TreatmentExplanation {
    let compared = match kind.mechanism {
        Mechanism::Applied => {
            "As fork twins: one process forks two, one of them is treated, and they are timed in \
             alternation (docs/explanation/METHOD.md, section 12)."
        }
        Mechanism::Attached => {
            "By toggling: one process is timed while it is attached and while it is not, in \
             alternation (docs/explanation/METHOD.md, section 12)."
        }
        Mechanism::Wraps => {
            "In pairs: separate processes, in random order \
             (docs/explanation/METHOD.md, section 12)."
        }
    };
    let &Kind { name, value, effect, needs, why, source, .. } = kind;
    TreatmentExplanation { name, value, effect, needs, why, compared, source }
}

fn here_sections(Here { definition, cases }: Here) -> Vec<Section> {
    let shown =
        |CaseHere { case, counted, last }| {
            let last = last.map(|LastFigure { row, started, class, other_kernel }| {
                PreviousFigure { row, started, quiet: class, other_kernel }
            });
            CaseDetails { case, counted, last }
        };
    match cases {
        Ok(cases) => {
            let shown: Vec<CaseDetails> = cases.into_iter().map(shown).collect();
            report::explain::sections(&definition, &shown)
        }
        Err(why) => report::explain::nothing(&why),
    }
}
