//! The built program, with a store of its own.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};
use oscost_model::bill::Bill;
use oscost_model::record::{Record, Row, RowOutcome};
use tempfile::TempDir;

use super::programs::BilledProgram;

/// The program, and the folder that has its store.
pub(super) struct Tool {
    program: &'static str,
    folder: TempDir,
}

impl Tool {
    /// The program with an empty store.
    pub(super) fn new(program: &'static str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("cannot create a folder for a store")?;
        Ok(Self { program, folder })
    }

    /// Where its files are.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// It, with these arguments and its own store.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(words).env("XDG_DATA_HOME", self.folder.path()).stdin(Stdio::null());
        // Its programs make the same calls everywhere: each loads the locale that it is told.
        command.env("LC_ALL", "C");
        command
    }

    /// Its standard output, if it succeeds; otherwise the error that it reports.
    pub(super) fn run(&self, words: &[&str]) -> anyhow::Result<Vec<u8>> {
        output_of(&mut self.command(words))
    }

    /// Measures the price list, as a user does.
    pub(super) fn measure_price_list(&self) -> anyhow::Result<()> {
        println!("measuring the price list\n");
        self.measure(&["run", "--quiet"]).context("cannot measure the price list")
    }

    /// Measures with these arguments; a row that cannot be measured here is left out.
    pub(super) fn measure(&self, words: &[&str]) -> anyhow::Result<()> {
        let output = self.command(words).output().context("cannot start oscost")?;
        match output.status.code() {
            Some(0 | 3) => Ok(()),
            _ => bail!("{}", reported_error(&output)),
        }
    }

    /// Compares cases, as `oscost ab` with these words does, and keeps the run; the rows that could not
    /// be measured, each with its reason.
    pub(super) fn compare(&self, words: &[&str]) -> anyhow::Result<Vec<String>> {
        let always = ["ab", "--quiet", "--json", "-"];
        let mut command = self.command(&[&always[..], words].concat());
        let output = command.output().context("cannot start oscost")?;
        // It ends with 3 if a case that was named is not measured: the others are.
        if !matches!(output.status.code(), Some(0 | 3)) || output.stdout.is_empty() {
            bail!("{}", reported_error(&output));
        }
        let record: Record =
            serde_json::from_slice(&output.stdout).context("cannot read the comparison")?;
        let missing = record.results.iter().filter(|row| row.outcome != RowOutcome::Measured);
        Ok(missing.map(why_not).collect())
    }

    /// Measures one price: without any there is no bill.
    pub(super) fn measure_one_price(&self) -> anyhow::Result<()> {
        self.run(&["run", "--quick", "--quiet", "syscall/getppid:via=raw"]).map(drop)
    }

    /// Makes the folder that a program works on, if it has one.
    pub(super) fn prepare(&self, program: &BilledProgram) -> anyhow::Result<()> {
        match program.workload_to_prepare() {
            Some(name) => self.run(&["workload", "prepare", name]).map(drop),
            None => Ok(()),
        }
    }

    /// The bill of a program. What is measured for it is kept, and it is not.
    pub(super) fn bill(&self, options: &[&str], program: &BilledProgram) -> anyhow::Result<Bill> {
        self.bill_in(Path::new("."), options, program)
    }

    /// The same of a program that runs in this folder.
    pub(super) fn bill_in(
        &self,
        folder: &Path,
        options: &[&str],
        program: &BilledProgram,
    ) -> anyhow::Result<Bill> {
        let always = ["bill", "--no-store", "--quiet", "--json", "-"];
        let of_program = program.arguments();
        let mut command = self.command(&[&always[..], options, &of_program[..]].concat());
        let json = output_of(command.current_dir(folder))?;
        serde_json::from_slice(&json).context("cannot read its bill")
    }
}

/// The standard output of a command that succeeds; otherwise the error that it reports.
fn output_of(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().context("cannot start oscost")?;
    if !output.status.success() {
        bail!("{}", reported_error(&output));
    }
    Ok(output.stdout)
}

/// A row that was not measured, and why.
fn why_not(row: &Row) -> String {
    let why = row.reason.as_deref().unwrap_or(row.outcome.text());
    format!("{} under {}: {why}", row.case, row.target.text)
}

/// The error that a program reports, or else how it ended. What else it says, such as a note, is no
/// reason.
fn reported_error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let error = text.lines().map(str::trim).find(|line| line.starts_with("error:"));
    error.map_or_else(|| output.status.to_string(), str::to_owned)
}
