//! A trial: a program runs once, with what is done before, beside and after it.
//!
//! Two processes stand for a trial. The worker does all that is not measured and keeps the folders; a
//! fork of it takes the treatments, starts the program and reads the clock. Each takes in the
//! orphans of what it has started, and nothing of that is left when it has answered.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oscost_model::program::{CompanionProgram, Program, ProgramLimits, ProgramResult};
use oscost_model::protocol::{Event, EventHead, EventKind};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::answer::Answer;
use super::external_program::{self, Outside, Reads, Session, Turn, Until, named};
use super::failure::{failed, in_words, refused};
use super::io::{read_some, until};
use super::{tracer, treat};
use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::file::location;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::usage;
use crate::kernel::process::{self, Ended, Whose};
use crate::treatments::Treatments;

/// What a process that outlives the program may take to end by itself.
const FAREWELL: Duration = Duration::from_millis(200);
/// What is done after a trial may take so long at least, even where the trial took all its time.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(5);
/// What runs beside the program is ready by then.
const READY_IN: Duration = Duration::from_secs(30);

/// Runs a program once, or has its calls counted, as the order in `line` says.
pub(super) fn trial(id: u64, spec: &WorkerSpec, line: &[u8]) -> Answer {
    let Subject::Program(program) = &spec.subject else {
        return failed(id, "a case is no program").into();
    };
    let deadline = Instant::now() + Duration::from_secs(program.limits.seconds.into());
    let trial = Trial { id, spec, line, program, deadline };
    if spec.treatments_of(0).contains(&AppliedTreatment::Sud) {
        let missing = treat::NO_SUD.to_owned();
        return Event::Skipped { id, missing, arm: None }.into();
    }
    // What it has started would outlive a killed supervisor, but for us: the input ends then.
    process::outlive_parent();
    let prepared = process::become_subreaper()
        .and_then(|()| Folders::make(program))
        .map_err(|error| failed(id, format!("make a folder for the trial: {error}")));
    let folders = match prepared {
        Ok(folders) => folders,
        Err(answer) => return answer.into(),
    };
    let answer = trial.within().unwrap_or_else(Answer::from);
    let after = trial.all(
        "after it, ",
        &program.after,
        Until {
            deadline: trial.deadline.max(Instant::now() + AFTERWARDS),
            session: Session::IsAllTheSame,
        },
    );
    external_program::end_all();
    drop(folders);
    match after {
        Err(why) if has_run(&answer) => why.into(),
        // Why the trial itself failed says more.
        _ => answer,
    }
}

/// Whether an answer is that nothing was wrong.
fn has_run(answer: &Answer) -> bool {
    let Answer::Pass(line) = answer else { return false };
    let head = serde_json::from_slice::<EventHead>(line);
    head.is_ok_and(|head| matches!(head.event, EventKind::ProgramExited | EventKind::Counted))
}

/// The private folder of a trial, with one for temporary files and one to stand in.
struct Folders(PathBuf);

impl Folders {
    /// Makes them, and goes where the program is to stand.
    fn make(program: &Program) -> Result<Self, Errno> {
        // By this name the supervisor removes it if we are killed.
        let made = Self(std::env::temp_dir().join(location::own_name()));
        let make = |folder: &PathBuf| DirBuilder::new().mode(0o700).create(folder);
        make(&made.0)?;
        let (temporary, here) = (made.0.join("tmp"), made.0.join("here"));
        make(&temporary)?;
        make(&here)?;
        process::set_variable("TMPDIR", temporary.as_os_str())?;
        std::env::set_current_dir(program.working_directory.as_ref().map_or(here, PathBuf::from))?;
        Ok(made)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.0).is_err() {
            // Folders that nobody may write to, as some programs make them, hold what is in them.
            let mut command = Command::new("chmod");
            command.args(["-R", "u+rwx"]).arg(&self.0).stderr(Stdio::null());
            let _ = command.status();
            // What cannot be removed goes with the supervisor's own folder, if at all.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A trial that goes on.
struct Trial<'a> {
    id: u64,
    spec: &'a WorkerSpec,
    /// The order, as it came.
    line: &'a [u8],
    program: &'a Program,
    deadline: Instant,
}

impl Trial<'_> {
    /// All that comes before what is done afterwards.
    fn within(&self) -> Result<Answer, Event> {
        for (name, value) in &self.program.variables {
            self.set(name, value.into())?;
        }
        let to = Until { deadline: self.deadline, session: Session::Matters };
        self.all("before it, ", &self.program.before, to)?;
        let mut beside = match &self.program.companion {
            Some(beside) => Some(self.beside(beside)?),
            None => None,
        };
        let answer = self.forked(&mut beside);
        if let (Some(outside), Some(beside)) = (beside, &self.program.companion) {
            self.dismiss(outside, beside)?;
        }
        answer
    }

    fn failed(&self, why: &[&str]) -> Event {
        failed(self.id, why.concat())
    }

    fn set(&self, name: &str, value: OsString) -> Result<(), Event> {
        let set = process::set_variable(name, &value);
        set.map_err(|_| self.failed(&["the variable `", name, "` cannot be set to that"]))
    }

    /// Does one thing after the other, each of which must end well.
    fn all(&self, lead: &str, commands: &[Vec<String>], to: Until) -> Result<(), Event> {
        for command in commands {
            let mut outside = self.start(lead, command, Reads::All, &ProgramLimits::default())?;
            loop {
                match external_program::turn(Some(&mut outside), None, to) {
                    Ok(Turn::Ended) => break,
                    Ok(Turn::Heard | Turn::Other) => {}
                    Ok(turn) => {
                        process::kill_group(outside.pid);
                        return Err(self.cut_short(
                            lead,
                            command,
                            &outside.said.last_words(),
                            turn,
                        ));
                    }
                    Err(error) => return Err(self.cannot(lead, command, "waited for", error)),
                }
            }
            let (how, ..) =
                outside.reap().map_err(|error| self.cannot(lead, command, "waited for", error))?;
            outside.listen_on();
            self.judge(lead, command, (&outside, how), &[])?;
        }
        Ok(())
    }

    fn start(
        &self,
        lead: &str,
        command: &[String],
        reads: Reads,
        bounds: &ProgramLimits,
    ) -> Result<Outside, Event> {
        let started = Outside::start(command, reads, bounds);
        started.map_err(|error| self.cannot(lead, command, "started", error))
    }

    fn cannot(&self, lead: &str, command: &[String], what: &str, error: Errno) -> Event {
        self.failed(&[lead, &named(command), " cannot be ", what, ": ", &error.to_string()])
    }

    /// Whether a command ended as it should.
    fn judge(
        &self,
        lead: &str,
        command: &[String],
        (outside, how): (&Outside, Ended),
        statuses: &[i32],
    ) -> Result<(), Event> {
        let statuses = if statuses.is_empty() { &[0] } else { statuses };
        match how {
            Ended::Exited(status) if statuses.contains(&status) => Ok(()),
            _ => {
                let how = external_program::in_words(how, &self.program.limits);
                let last = outside.said.behind(": ");
                Err(self.failed(&[lead, &named(command), " ", &how, &last]))
            }
        }
    }

    /// MiB that may be written to what is read. Of a warm-up that is more than goes to /dev/null in
    /// its trials: only who never ends is to be cut short.
    fn most_mib(&self) -> u32 {
        const MORE: u32 = 16;
        let warms = matches!(self.spec.task, Task::Run { warm_up: true });
        let limit = self.program.limits.output_mib;
        if warms && !self.program.captures_output { limit.saturating_mul(MORE) } else { limit }
    }

    /// What is said of a command that was not let come to its end.
    fn cut_short(&self, lead: &str, command: &[String], last: &str, turn: Turn) -> Event {
        let (seconds, output_mib) = (self.program.limits.seconds, self.most_mib());
        let subject = [lead, &named(command)].concat();
        match turn {
            Turn::Late => Event::TimedOut {
                id: self.id,
                after_ms: u64::from(seconds) * 1_000,
                reason: Some(format!("{subject} took longer than its limit of {seconds} s{last}")),
            },
            Turn::Heard => {
                failed(self.id, format!("{subject} wrote more than its limit of {output_mib} MiB"))
            }
            _ => self.failed(&[&subject, " was stopped before it had ended", last]),
        }
    }

    /// Starts what is to run beside the program, and waits for its first line.
    fn beside(&self, beside: &CompanionProgram) -> Result<Outside, Event> {
        let (lead, command) = ("beside it, ", &beside.command);
        let mut outside = self.start(lead, command, Reads::All, &ProgramLimits::default())?;
        let ready_by = Instant::now() + READY_IN;
        let deadline = self.deadline.min(ready_by);
        let to = Until { deadline, session: Session::Matters };
        let line = loop {
            if let Some(line) = outside.said.first_line() {
                break line;
            }
            match external_program::turn(Some(&mut outside), None, to) {
                Ok(Turn::Heard | Turn::Other) => {}
                // What it said last may be the line.
                Ok(Turn::Ended) => {
                    outside.listen_on();
                    match outside.said.first_line() {
                        Some(line) => break line,
                        None => return Err(self.gone(beside, &outside)),
                    }
                }
                Ok(Turn::Late) if deadline == ready_by => {
                    let last = outside.said.last_words();
                    let words = " has written no line within 30 s";
                    return Err(self.failed(&[lead, &named(command), words, &last]));
                }
                Ok(turn) => {
                    return Err(self.cut_short(lead, command, &outside.said.last_words(), turn));
                }
                Err(error) => return Err(self.cannot(lead, command, "waited for", error)),
            }
        };
        if !beside.variable.is_empty() {
            let value = [beside.prefix.as_bytes(), &line].concat();
            self.set(&beside.variable, OsString::from_vec(value))?;
        }
        Ok(outside)
    }

    /// What ran beside the program has ended before it was ready.
    fn gone(&self, beside: &CompanionProgram, outside: &Outside) -> Event {
        let (lead, command) = ("beside it, ", &beside.command);
        match outside.reap() {
            Ok((Ended::Exited(0), ..)) => {
                self.failed(&[lead, &named(command), " ended and has written no line"])
            }
            Ok((how, ..)) => match self.judge(lead, command, (outside, how), &[]) {
                Err(why) => why,
                Ok(()) => self.failed(&[lead, &named(command)]),
            },
            Err(error) => self.cannot(lead, command, "waited for", error),
        }
    }

    /// Ends what ran beside the program. That it had to be ended is as it should be, and so is that
    /// it ended well.
    fn dismiss(&self, mut outside: Outside, beside: &CompanionProgram) -> Result<(), Event> {
        let early = process::wait(Whose::Child(outside.pid), false);
        process::kill_group(outside.pid);
        match early {
            Ok(Some((_, how))) => {
                outside.listen_on();
                self.judge("beside it, ", &beside.command, (&outside, how), &[])
            }
            _ => Ok(()),
        }
    }

    /// Has the program run, or its calls counted, by a process of its own, and takes in meanwhile
    /// what is said beside it.
    fn forked(&self, beside: &mut Option<Outside>) -> Result<Answer, Event> {
        let id = self.id;
        let counts = matches!(self.spec.task, Task::Count { .. });
        // Who is counted takes its treatments itself, and its tracer has none.
        let applied = if counts { &[] } else { self.spec.treatments_of(0) };
        let lost = |error: Errno| failed(id, format!("hear from the trial: {error}"));
        let (mut heard, says) = pipe().map_err(lost)?;
        let mut says = Some(says);
        let treatments = Treatments { applied, cpu: self.spec.cpu, arm: 0 };
        let started = treatments.start(&mut |_| {
            let answer = match self.spec.task {
                Task::Count { .. } => tracer::count(id, self.spec, self.line),
                Task::Run { warm_up: warms } => {
                    self.timed(warms).unwrap_or_else(|event| event).into()
                }
                _ => failed(id, "a program can be run, or its calls be counted").into(),
            };
            let line = match answer {
                Answer::Say(event) => serde_json::to_vec(&event).unwrap_or_default(),
                Answer::Pass(line) => line,
                Answer::Said => Vec::new(),
            };
            let said = says.take().map(|mut says: File| says.write_all(&line));
            i32::from(!matches!(said, Some(Ok(()))))
        });
        let running = started.map_err(|why| refused(id, why))?;
        drop(says);
        // Who runs the program ends it by itself, in time; a tracer only waits for it, and ends it by
        // being killed.
        let grace = if counts { Duration::ZERO } else { 2 * AFTERWARDS };
        let to = Until { deadline: self.deadline + grace, session: Session::Matters };
        let mut line = Vec::new();
        loop {
            match external_program::turn(beside.as_mut(), Some(heard.as_fd()), to).map_err(lost)? {
                Turn::Other => {
                    if read_some(&mut heard, &mut line).map_err(lost)? == 0 {
                        break;
                    }
                }
                Turn::Heard | Turn::Ended => {}
                Turn::Unwanted if !counts => {
                    heard.read_to_end(&mut line).map_err(|error| lost(error.into()))?;
                    break;
                }
                turn => return Err(self.cut_short("", &self.program.command, "", turn)),
            }
        }
        match running.ended() {
            Ok(Ended::Exited(0)) => Ok(Answer::Pass(line)),
            Ok(how) => Err(self.failed(&["the worker ", &in_words(how, applied)])),
            Err(why) => Err(refused(id, why)),
        }
    }

    /// Runs the program in this process's name.
    fn timed(&self, warms: bool) -> Result<Event, Event> {
        let (id, program) = (self.id, self.program);
        process::become_subreaper()
            .map_err(|error| failed(id, format!("take in orphans: {error}")))?;
        if let Some(cpu) = self.spec.cpu {
            affinity::pin(cpu).map_err(|error| failed(id, format!("pin to CPU {cpu}: {error}")))?;
        }
        let (command, limits) = (&program.command, &program.limits);
        let is_read = warms || program.captures_output;
        let reads = if is_read { Reads::All } else { Reads::Errors };
        // A fork copies each page that it writes to for the first time. What it takes to start a
        // program is done once for nothing, so that the clock does not run meanwhile.
        let _ = Outside::start(&[String::new()], reads, &ProgramLimits::default());
        let mut outside = self.start("", command, reads, limits)?;
        let most_bytes = u64::from(self.most_mib()) << 20;
        let to = Until { deadline: self.deadline, session: Session::Matters };
        let ended = loop {
            match external_program::turn(Some(&mut outside), None, to) {
                Ok(Turn::Ended) => break outside.reap(),
                Ok(Turn::Heard) if outside.said.bytes <= most_bytes => {}
                Ok(turn) => {
                    process::kill_group(outside.pid);
                    external_program::end_all();
                    return Err(self.cut_short("", command, &outside.said.last_words(), turn));
                }
                Err(error) => break Err(error),
            }
        };
        let ended = ended.inspect_err(|_| drop(external_program::end_all()));
        let (how, mut usage, ended_ns) =
            ended.map_err(|error| self.cannot("", command, "waited for", error))?;
        let farewell =
            Until { deadline: Instant::now() + FAREWELL, session: Session::IsAllTheSame };
        while let Ok(left) = usage::wait(Whose::Any, false) {
            match left {
                Some((_, of_orphan)) => usage = usage.merged_with(of_orphan),
                None if until(farewell.deadline).is_zero() => break,
                None => {
                    let soon = Instant::now() + Duration::from_millis(1);
                    let to = Until { deadline: soon, ..farewell };
                    // They may speak until then, and whoever is not listened to waits.
                    let _ = external_program::turn(Some(&mut outside), None, to);
                }
            }
        }
        let names = external_program::end_all();
        outside.listen_on();
        if outside.said.bytes > most_bytes {
            return Err(self.cut_short("", command, "", Turn::Heard));
        }
        self.judge("", command, (&outside, how), &program.ok_statuses)?;
        if let Some(left) = external_program::left(&names) {
            return Err(self.failed(&[&named(command), " ", &left]));
        }
        let ran = ProgramResult {
            real_ns: ended_ns.saturating_sub(outside.begun_ns),
            usage,
            lines: is_read.then(|| outside.said.lines()),
            output: outside.said.last(),
        };
        Ok(Event::ProgramExited { id, result: Box::new(ran) })
    }
}
