//! `oscost table`

use super::display;
use super::exit::ExitStatus;
use super::exports::{Exports, Subject};
use super::output::{Output, report_line};
use super::values::ScreenArguments;
use crate::app::fleet::RejectedRecord;
use crate::app::table::{
    ReferenceRecord, Request, TableUnit, reference_records, table as table_of,
};
use crate::report::machine_table::{self as view, Reference, TableContent};

/// Which runs, and where to write.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is an id, the beginning of one, `last`, `last~1` for the run before it, or
`@LABEL` for the newest run with that label; a record file, with a slash in its
name or ending in .json; or `@NAME`, a record that comes with oscost (`--list`).
`MACHINE=RUN` says which machine a run is of. Several runs of one machine are
one column: those with one name, of one boot, or that this oscost measured at
one host. Records do not name their machines, so others are machines of their
own; those with the same recorded facts share a column if none stands out.

The answer says which machine stands out among its equals, in which family, and
which recorded facts are the same and which are not. Such a fact is a candidate
for the reason, and no proof. The machines were measured at different moments:
intervals contain what runs differ by, where that is known. Runs of one machine
under several treatments have a column for each treatment.

Examples:
  oscost table last ./colleague.json            two machines
  oscost table a=last a=last~1 b=./b.json       two runs of one of them
  oscost table ./node*.json -o nodes.html       many, as a page
  oscost table last ./b.json --in cycles        in cycles of each core
  oscost table last ./b.json --in insn          in instructions of an op
  oscost table ./x.json ./y.json --base y       ratios to the other one
  oscost table --fleet night                    all nodes of a fleet
  oscost table --list                           records that come with oscost")]
pub(super) struct Arguments {
    /// Runs, each as RUN or MACHINE=RUN: from two to 64.
    #[arg(value_name = "RUN", required_unless_present_any = ["list", "fleet"])]
    runs: Vec<String>,
    /// All nodes of a fleet of up to 1,024 visits, by its name or its folder: a machine each, with
    /// all its visits.
    #[arg(long, value_name = "SOURCE")]
    fleet: Option<String>,
    /// Machine that ratios are to, by its name or a run of it [default: that of the first run].
    #[arg(long, value_name = "MACHINE")]
    base: Option<String>,
    /// Show figures in this unit: `ns` (each row's own), `cycles` of each core, `calls` of an empty
    /// function, or `insn`: the instructions of an op, where they were counted.
    #[arg(long = "in", value_name = "UNIT", default_value = "ns", value_parser = table_unit)]
    unit: TableUnit,
    /// List the records that come with oscost; with `--verbose` the command that measured each, too.
    #[arg(long, conflicts_with_all = ["runs", "fleet", "base", "output", "json", "html", "csv",
          "markdown", "parquet"])]
    list: bool,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    screen: ScreenArguments,
}

fn table_unit(text: &str) -> Result<TableUnit, String> {
    let all = [TableUnit::Own, TableUnit::Cycles, TableUnit::Calls, TableUnit::Instructions];
    let found = all.into_iter().find(|unit| unit.text() == text);
    found.ok_or_else(|| "it must be ns, cycles, calls or insn".to_owned())
}

pub(super) fn table(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { runs, fleet, base, unit, list, screen, exports } = arguments;
    let screen = screen.screen();
    if list {
        return self::list(screen.verbose, output);
    }
    exports.check()?;
    let found = table_of(&Request { runs, fleet, base, unit })?;
    for RejectedRecord { file, why } in &found.rejected {
        report_line(&format!("note: {file} is left out: {why}"));
    }
    let content = TableContent { table: &found.table, machines: &found.machines };
    let text = || display::fitted_text(view::view(&content), screen);
    exports.write_with_text(&Subject::Machines(&content), text, output)?;
    Ok(match content.has_figures() {
        true => ExitStatus::Success,
        false => ExitStatus::NotMeasured,
    })
}

/// Lists the records that come with oscost.
fn list(verbose: bool, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let records: Vec<Reference> = reference_records().into_iter().map(reference).collect();
    if records.is_empty() {
        report_line(view::NO_REFERENCES);
        return Ok(ExitStatus::Success);
    }
    output.write(&display::list_text(&view::references(&records, verbose)))?;
    if !verbose {
        report_line(view::COMMANDS);
    }
    Ok(ExitStatus::Success)
}

fn reference(it: ReferenceRecord) -> Reference {
    let ReferenceRecord { name, record } = it;
    let machine = record.machines.first();
    let commit = record.tool.commit.as_deref().map(|commit| format!(" ({commit})"));
    Reference {
        name: name.to_owned(),
        processor: machine.and_then(|it| it.cpu.model_name.clone()),
        kernel: machine.and_then(|it| it.os.release.clone()),
        tool: format!("{}{}", record.tool.version, commit.unwrap_or_default()),
        started: record.started,
        command: record.command,
    }
}
