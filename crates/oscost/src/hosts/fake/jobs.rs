//! The jobs of a fake host: workers and programs, as its scenario has them.

use oscost_model::calls::CallCount;
use oscost_model::counters::TreeCounts;
use oscost_model::parameter::ParameterValues;
use oscost_model::program::{Program, TurnResult};
use oscost_model::protocol::{Event, TurnFailure};
use oscost_model::seed::Seed;
use oscost_model::worker::{Disturbance, Sample, Subject, Task, Usage, Windows, WorkerSpec};

use super::batches::{self, BatchGroup};
use super::counters::CountedOp;
use super::session::FakeSession;
use super::{calls, programs};

impl FakeSession {
    /// What a job answers when it starts.
    pub(super) fn start_job(&mut self, id: u64, spec: &WorkerSpec) -> Event {
        let case = match &spec.subject {
            Subject::Case(case) => case,
            Subject::Program(program) => return self.run_program(id, spec, program),
            Subject::Programs(programs) => return self.take_turns(id, spec, programs),
        };
        let name = case.to_string();
        if let Some(missing) = self.scenario.skipped.get(&name) {
            return Event::Skipped { id, missing: missing.clone(), arm: None };
        }
        for (arm, list) in (0..).zip(&spec.treatments) {
            if let Some(missing) = self.scenario.refusal(list) {
                return Event::Skipped { id, missing, arm: Some(arm) };
            }
        }
        if let Some(why) = self.scenario.failed.get(&name) {
            return Event::Failed {
                id,
                at_op: Some(0),
                reason: why.clone(),
                errno: None,
                arm: None,
            };
        }
        if self.scenario.timed_out.contains(&name) {
            return Event::TimedOut { id, after_ms: spec.timeout_ms, reason: None };
        }
        if let (Task::Count { .. }, Some(why)) = (&spec.task, &self.scenario.counting_error) {
            return Event::Failed { id, at_op: None, reason: why.clone(), errno: None, arm: None };
        }
        if let Task::Count { ops, .. } = spec.task {
            if self.scenario.uncountable.contains(&name) {
                let why = "ptrace is refused: Operation not permitted".to_owned();
                return Event::Failed { id, at_op: None, reason: why, errno: None, arm: None };
            }
            let count = calls::call_count(&self.scenario, &self.program.catalog, case, ops);
            let count = CallCount { counted_pid: u32::try_from(id).ok(), ..count };
            if let (Some(report), Some(pid)) = (&mut self.monitor_report, count.counted_pid) {
                let calls: u64 = count.own.values().sum();
                let missed = self.scenario.missed_calls.get(&name).copied().unwrap_or(0);
                report.add_marked(pid, calls.saturating_sub(missed));
            }
            return Event::Counted { id, count: Box::new(count) };
        }
        self.specs.insert(id, spec.clone());
        Event::Ready { id, pid: 1, addr: None }
    }

    /// Trials of programs in turns.
    fn take_turns(&mut self, id: u64, spec: &WorkerSpec, programs: &[Program]) -> Event {
        let Task::TakeTurns { order, values, in_group } = &spec.task else {
            let reason = "programs can only take turns".to_owned();
            return Event::Failed { id, at_op: None, reason, errno: None, arm: None };
        };
        let start_ns = self.now_ns;
        let mut trials = Vec::new();
        let no_values = ParameterValues::new();
        for (turn, &program) in order.iter().enumerate() {
            let values = values.get(turn / programs.len().max(1)).unwrap_or(&no_values);
            let spec = WorkerSpec {
                task: Task::Run { warm_up: false, counted: Vec::new() },
                treatments: vec![spec.treatments_of(program).to_vec()],
                seed: spec.seed.wrapping_add(turn as u64),
                ..spec.clone()
            };
            let run = &programs[usize::from(program)].with_values(values);
            match self.run_program(id, &spec, run) {
                Event::ProgramExited { result, .. } => {
                    let ended_ns = self.now_ns - start_ns;
                    trials.push(TurnResult { program, ended_ns, result: *result });
                }
                other => {
                    let failure = Some(TurnFailure { program, event: Box::new(other) });
                    return Event::TurnsTaken { id, trials, failure, group: None };
                }
            }
        }
        let group = in_group.then(|| Ok(programs::group_times(&trials)));
        Event::TurnsTaken { id, trials, failure: None, group }
    }

    /// A trial of a program.
    fn run_program(&mut self, id: u64, spec: &WorkerSpec, program: &Program) -> Event {
        let name = program.command.join(" ");
        if let Some(missing) = self.scenario.skipped.get(&name) {
            return Event::Skipped { id, missing: missing.clone(), arm: None };
        }
        if let Some(why) = self.scenario.failed.get(&name) {
            return Event::Failed { id, at_op: None, reason: why.clone(), errno: None, arm: None };
        }
        if self.scenario.timed_out.contains(&name) {
            let after_ms = 1_000 * u64::from(program.limits.seconds);
            return Event::TimedOut { id, after_ms, reason: None };
        }
        if let Some(missing) =
            self.scenario.refusal(spec.treatments.first().map_or(&[][..], Vec::as_slice))
        {
            return Event::Skipped { id, missing, arm: None };
        }
        if let Task::Count { .. } = spec.task {
            return Event::Counted { id, count: Box::new(calls::program_call_count()) };
        }
        if spec.task == Task::CountForms {
            return Event::FormsCounted { id, calls: Box::new(calls::program_calls()) };
        }
        let cost = self.scenario.costs_ns.get(&name).copied().unwrap_or(1e8);
        let mut seed = Seed::new(spec.seed);
        let cost = cost * (1.0 + 2.0 * self.scenario.between_sd * (seed.unit() - 0.5));
        let added = self.attached_ns()
            + spec.treatments.first().map_or(0.0, |list| self.scenario.added_ns(list));
        let added = 1_000.0 * added;
        let output = self.scenario.outputs.get(&name).cloned().unwrap_or_default();
        self.now_ns += (cost + added) as u64;
        self.workers += 1;
        let counts = self.tree_counts(&name, spec, cost + added);
        let result = programs::trial_result(cost, added, output, counts);
        Event::ProgramExited { id, result: Box::new(result) }
    }

    /// The nanoseconds that the attached treatments add to an op.
    pub(super) fn attached_ns(&self) -> f64 {
        self.attached.map_or(0.0, |attached| attached.added_ns)
    }

    /// The groups of batches of a worker, in order.
    fn groups(&mut self, id: u64, spec: &WorkerSpec, groups: u32) -> Vec<BatchGroup> {
        let applied_ns = |arm: u8| {
            let treatments = spec.treatments.get(usize::from(arm));
            treatments.map_or(0.0, |list| self.scenario.added_ns(list))
        };
        let Some(toggled) = self.toggled_groups.get(&id) else {
            let attached_ns = self.attached_ns();
            let arms: Vec<(u8, f64)> =
                (0..spec.arms).map(|arm| (arm, attached_ns + applied_ns(arm))).collect();
            return batches::in_turns(&arms, groups);
        };
        let all = batches::as_ordered(toggled, applied_ns(0));
        self.toggled_groups.remove(&id);
        all
    }

    /// Instructions that the attached treatments add to an op, and those of a worker.
    fn added_insn(&self, spec: &WorkerSpec) -> f64 {
        let attached = self.attached.map_or(0.0, |attached| attached.added_insn);
        let applied = spec.treatments.first();
        attached + applied.map_or(0.0, |list| self.scenario.added_insn(list))
    }

    /// The events that a worker counted.
    pub(super) fn count_events(&mut self, id: u64) -> Option<Event> {
        let spec = self.specs.remove(&id)?;
        let (Subject::Case(case), Task::CountEvents(plan)) = (&spec.subject, &spec.task) else {
            return None;
        };
        let counters = self.scenario.counters.as_ref()?;
        let name = case.to_string();
        let applied = spec.treatments.first();
        let added = applied.map_or(0.0, |list| self.scenario.added_ns(list)) + self.attached_ns();
        let cost = self.scenario.costs_ns.get(&name).copied().unwrap_or(100.0);
        let op = CountedOp {
            op: counters.op(&name),
            cost_ns: cost + added,
            added_insn: self.added_insn(&spec),
        };
        let counts = counters.counts(&name, op, plan, &mut Seed::new(spec.seed));
        let before = self.counted.entry(name).or_default();
        let counts = counters.openable_counts(counts, *before);
        *before += 1;
        Some(Event::EventsCounted { id, counts: Box::new(counts) })
    }

    /// The events of a program's process tree, if they are to be counted.
    fn tree_counts(&self, name: &str, spec: &WorkerSpec, cost_ns: f64) -> Option<TreeCounts> {
        let Task::Run { counted, .. } = &spec.task else { return None };
        let counters = self.scenario.counters.as_ref().filter(|_| !counted.is_empty())?;
        let (op, added_insn) = (counters.op(name), self.added_insn(spec));
        Some(counters.tree(name, CountedOp { op, cost_ns, added_insn }, counted))
    }

    /// What a worker has measured when it is stopped.
    pub(super) fn end(&mut self, id: u64) -> Option<Event> {
        let spec = self.specs.remove(&id)?;
        let Subject::Case(case) = &spec.subject else { return None };
        let Task::Measure(plan) = &spec.task else { return None };
        let name = case.to_string();
        let mut seed = Seed::new(spec.seed);
        let cost = self.scenario.costs_ns.get(&name).copied().unwrap_or(100.0);
        // The sum of twelve uniform deviates approximates a normal deviate.
        let deviation = (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
        let cost = cost * (self.scenario.between_sd * deviation).exp();
        let preempted = u32::from(self.scenario.preempted.contains(&name));
        let mut samples: Vec<Sample> = Vec::new();
        for BatchGroup { arm, round, added_ns } in self.groups(id, &spec, plan.groups) {
            let second = self.scenario.second_arm_factor.filter(|_| arm > 0).unwrap_or(1.0);
            let noise = 1.0 + 0.01 * (seed.unit() - 0.5);
            let window_ticks = ((cost + added_ns) * second * plan.iterations as f64 * noise) as i64;
            let windows = spec.windows_of_group(round, plan.groups).map(|count| Windows {
                count,
                smallest_ops: plan.iterations,
                smallest_ticks: window_ticks,
            });
            let count = windows.map_or(1, |it| it.count);
            let ticks = window_ticks * count as i64;
            self.now_ns += ticks as u64;
            samples.push(Sample {
                arm,
                round,
                batch: samples.len() as u32,
                n: plan.iterations * count,
                ticks,
                cpu_ns: Some(ticks as u64),
                involuntary_switches: preempted,
                windows,
                ..Sample::default()
            });
        }
        let wall_ns = samples.iter().map(|sample| sample.ticks as u64).sum();
        let run_delay_ns = Some((self.scenario.lost_pct / 100.0 * wall_ns as f64) as u64);
        let ops = samples.iter().map(|sample| sample.n).sum();
        let blocks = self.scenario.blocking.contains(&name);
        let voluntary_switches = if blocks { ops } else { 0 };
        let usage = Usage { ops, user_ns: wall_ns, voluntary_switches, ..Usage::default() };
        let disturbance = Disturbance {
            wall_ns,
            cpu_ns: wall_ns,
            run_delay_ns,
            usage: Some(usage),
            channel: self.scenario.channels.get(&name).copied(),
            ..Default::default()
        };
        self.workers += 1;
        if self.scenario.detached_after_workers == Some(self.workers) {
            self.events.extend(self.attached.take().map(|attached| Event::Failed {
                id: attached.job,
                at_op: None,
                reason: "the scenario detached it".to_owned(),
                errno: None,
                arm: None,
            }));
        }
        Some(Event::Sampled {
            id,
            samples,
            disturbance: Box::new(disturbance),
            monitor_wakeups_per_op: Vec::new(),
            speculation: Vec::new(),
            plan: None,
        })
    }
}
