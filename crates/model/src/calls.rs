//! System calls by name: what an op must make, and what it was seen to make.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::point::{Point, Value};

/// How many of one call an op makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CallTimes {
    /// So many in every op.
    Exactly(u32),
    /// At most so many in every op.
    UpTo(u32),
    /// `calls` of them in every `ops` ops.
    Per {
        /// The calls made.
        calls: u32,
        /// The ops they serve.
        ops: u32,
    },
}

impl CallTimes {
    /// The smallest and the largest number of calls that `ops` ops may make.
    pub fn range(self, ops: u64) -> (u64, u64) {
        match self {
            CallTimes::Exactly(calls) => (u64::from(calls) * ops, u64::from(calls) * ops),
            CallTimes::UpTo(calls) => (0, u64::from(calls) * ops),
            CallTimes::Per { calls, ops: per } => {
                let (calls, per) = (u64::from(calls), u64::from(per.max(1)));
                (calls * (ops / per), calls * ops.div_ceil(per))
            }
        }
    }
}

/// The name of all the calls that no other rule names: those of a program that is the system's and
/// not ours, whose loader and library differ from machine to machine.
pub const ANY_OTHER_CALL: &str = "*";

/// One line of a definition's `calls`: which call, how often, at which points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallRule {
    /// The call, by the kernel's name. Names parted by `|` stand for each other: libraries differ
    /// in which of them they make. [`OTHERS`] stands for every call that no rule names.
    pub call: String,
    /// How often an op makes it.
    pub times: CallTimes,
    /// The axis values at which the rule holds; everywhere when empty.
    pub when: Point,
    /// Who makes it.
    #[serde(default)]
    pub caller: Caller,
    /// How an op that is large may make it more often; null where that changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// What an op moves may have to be moved in parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// The axis whose number says how much it is.
    pub axis: String,
    /// How large the parts are at least. An op of more makes the call as often as [`CallRule`]
    /// says, and as often again at most for each of its parts.
    pub bytes: u64,
}

impl CallRule {
    /// The smallest and the largest number of calls that `ops` ops may make at `point`.
    pub fn range(&self, ops: u64, point: &Point) -> (u64, u64) {
        let (low, high) = self.times.range(ops);
        let parts = self.parts.as_ref().map_or(0, |parts| match point.get(&parts.axis) {
            Some(&Value::Number(number)) if number > parts.bytes => {
                number.div_ceil(parts.bytes.max(1))
            }
            _ => 0,
        });
        (low, high * (1 + parts))
    }
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Caller {
    /// The measured task, and what it starts in the op.
    #[default]
    Own,
    /// A task that stood beside it before the ops began.
    Peer,
    /// Each of the two; with `peer_cpu=none`, where there is no peer, the measured task for both.
    BothEnds,
}

impl Caller {
    /// How many times as often as a rule says the measured task, and its peer, make a call.
    fn multipliers(self, point: &Point) -> (u64, u64) {
        let alone = || point.get("peer_cpu").is_some_and(|cpu| *cpu == Value::from("none"));
        match self {
            Caller::Own => (1, 0),
            Caller::Peer => (0, 1),
            Caller::BothEnds if alone() => (2, 0),
            Caller::BothEnds => (1, 1),
        }
    }
}

/// What was counted on an untimed copy of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallCount {
    /// How many ops were run under the counter.
    pub ops: u64,
    /// Calls made by the measured task and what it started in those ops, by name.
    pub own: BTreeMap<String, u64>,
    /// Calls made meanwhile by tasks that stood beside it before (a peer), by name.
    pub peer: BTreeMap<String, u64>,
    /// The means by which they were counted.
    pub by: String,
    /// Tasks that those ops made; null where nobody looked.
    #[serde(default)]
    pub tasks: Option<u64>,
    /// Faults of the measured process in those ops, minor and major; null where nobody could look.
    #[serde(default)]
    pub faults: Option<u64>,
    /// Bytes that read, write and their kin handed over in those ops; null where nobody looked.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Whether an op runs code of the vDSO (within its first 2,000 instructions), as single steps
    /// through some further ops showed; null where nobody could step.
    #[serde(default)]
    pub vdso: Option<bool>,
    /// Instructions that an op takes in user mode, its turn of the loop included; null where nobody
    /// could step, or where they were too many to step through.
    #[serde(default)]
    pub instructions: Option<f64>,
    /// The number of the copy's process, by which a monitor knows it.
    #[serde(default)]
    pub counted_pid: Option<u32>,
}

impl CallCount {
    /// The same count by larger ops, each of which is worth so many of those that were counted:
    /// messages, where the ops are bytes.
    #[must_use]
    pub fn grouped_by(self, each: u64) -> Self {
        let instructions = self.instructions.map(|instructions| instructions * each as f64);
        Self { ops: self.ops / each.max(1), instructions, ..self }
    }

    /// How often an op enters the kernel.
    pub fn entries_per_op(&self) -> f64 {
        self.own.values().sum::<u64>() as f64 / self.ops.max(1) as f64
    }

    /// What differs from `rules` at `point`, in words; empty when all is as the definition says.
    pub fn unexpected(&self, rules: &[CallRule], point: &Point) -> Vec<String> {
        let mut allowed: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for rule in rules.iter().filter(|rule| point.includes(&rule.when)) {
            let (own, _) = rule.caller.multipliers(point);
            if own > 0 {
                let (low, high) = rule.range(own * self.ops, point);
                let entry = allowed.entry(&rule.call).or_default();
                *entry = (entry.0 + low, entry.1 + high);
            }
        }
        let named = |call: &str| {
            allowed
                .keys()
                .any(|names| names.split('|').any(|name| name == call && name != ANY_OTHER_CALL))
        };
        let mut surprises = Vec::new();
        for (names, &(low, high)) in &allowed {
            let seen: u64 = match *names {
                ANY_OTHER_CALL => {
                    self.own.iter().filter(|(call, _)| !named(call)).map(|(_, n)| n).sum()
                }
                names => names.split('|').filter_map(|name| self.own.get(name)).sum(),
            };
            if seen < low || seen > high {
                let want = if low == high { low.to_string() } else { format!("{low} to {high}") };
                let what = if *names == ANY_OTHER_CALL { "other calls" } else { names };
                surprises.push(format!("{seen} {what} in {} ops, not {want}", self.ops));
            }
        }
        if !allowed.contains_key(ANY_OTHER_CALL) {
            for (call, seen) in self.own.iter().filter(|(call, _)| !named(call)) {
                surprises.push(format!("{seen} {call} in {} ops, not 0", self.ops));
            }
        }
        surprises.extend(self.unexpected_peer_calls(rules, point));
        surprises
    }

    /// What its peer did otherwise than `rules` say; nothing where they say nothing of a peer. It
    /// runs beside the counted ops, and may be one of them behind or ahead at either end.
    fn unexpected_peer_calls(&self, rules: &[CallRule], point: &Point) -> Vec<String> {
        let theirs =
            |rule: &&CallRule| rule.caller.multipliers(point).1 > 0 && point.includes(&rule.when);
        let rules: Vec<&CallRule> = rules.iter().filter(theirs).collect();
        let mut surprises = Vec::new();
        for rule in &rules {
            let low = rule.range(self.ops.saturating_sub(1), point).0;
            let high = rule.range(self.ops + 1, point).1;
            let seen = self.peer.get(&rule.call).copied().unwrap_or(0);
            if seen < low || seen > high {
                let (call, ops) = (&rule.call, self.ops);
                surprises
                    .push(format!("{seen} {call} of the peer in {ops} ops, not {low} to {high}"));
            }
        }
        let strangers =
            self.peer.iter().filter(|(call, _)| rules.iter().all(|rule| rule.call != **call));
        for (call, seen) in strangers.filter(|_| !rules.is_empty()) {
            surprises.push(format!("{seen} {call} of the peer in {} ops, not 0", self.ops));
        }
        surprises
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(call: &str, times: CallTimes) -> CallRule {
        CallRule { call: call.into(), times, when: Point::none(), caller: Caller::Own, parts: None }
    }

    fn count(own: &[(&str, u64)]) -> CallCount {
        let own = own.iter().map(|&(call, seen)| (call.to_owned(), seen)).collect();
        CallCount { ops: 23, own, ..CallCount::default() }
    }

    #[test]
    fn what_is_large_may_be_moved_in_parts_and_what_is_small_may_not() {
        let parts = Some(Parts { axis: "size".into(), bytes: 4_096 });
        let rule = CallRule { parts, ..rule("read", CallTimes::Exactly(1)) };
        let range = |size: u64| rule.range(10, &Point::none().with("size", size));
        assert_eq!(range(4_096), (10, 10));
        assert_eq!(range(4_097), (10, 30));
        assert_eq!(range(65_536), (10, 170));
        assert_eq!(rule.range(10, &Point::none()), (10, 10));
    }

    #[test]
    fn a_count_of_bytes_is_told_by_the_message() {
        let count = CallCount { ops: 92, instructions: Some(0.5), ..count(&[("write", 23)]) };
        let told = count.grouped_by(4);
        assert_eq!((told.ops, told.instructions), (23, Some(2.0)));
        assert!((told.entries_per_op() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn exact_counts_must_match_and_strangers_are_named() {
        let rules = [rule("getppid", CallTimes::Exactly(1))];
        let at = Point::none();
        assert_eq!(count(&[("getppid", 23)]).unexpected(&rules, &at), Vec::<String>::new());
        assert_eq!(
            count(&[("getppid", 22)]).unexpected(&rules, &at),
            ["22 getppid in 23 ops, not 23"]
        );
        assert_eq!(count(&[]).unexpected(&rules, &at), ["0 getppid in 23 ops, not 23"]);
        assert_eq!(
            count(&[("getppid", 23), ("brk", 1)]).unexpected(&rules, &at),
            ["1 brk in 23 ops, not 0"]
        );
    }

    #[test]
    fn a_rule_holds_only_at_its_points() {
        let mut only_raw = rule("clock_gettime", CallTimes::Exactly(1));
        only_raw.when = Point::none().with("via", "raw");
        let rules = [only_raw];
        let raw = Point::none().with("via", "raw");
        let vdso = Point::none().with("via", "vdso");
        assert_eq!(count(&[("clock_gettime", 23)]).unexpected(&rules, &raw).len(), 0);
        assert_eq!(count(&[]).unexpected(&rules, &vdso).len(), 0);
        assert_eq!(count(&[("clock_gettime", 23)]).unexpected(&rules, &vdso).len(), 1);
    }

    #[test]
    fn either_of_two_names_will_do_but_not_both() {
        let rules = [rule("clone|clone3", CallTimes::Exactly(1))];
        let at = Point::none();
        assert_eq!(count(&[("clone", 23)]).unexpected(&rules, &at), Vec::<String>::new());
        assert_eq!(count(&[("clone3", 23)]).unexpected(&rules, &at), Vec::<String>::new());
        assert_eq!(
            count(&[("clone", 23), ("clone3", 23)]).unexpected(&rules, &at),
            ["46 clone|clone3 in 23 ops, not 23"]
        );
    }

    #[test]
    fn a_peer_has_rules_of_its_own_and_may_be_an_op_ahead_or_behind() {
        let mut write = rule("write", CallTimes::Exactly(2));
        write.caller = Caller::Peer;
        let rules = [rule("read", CallTimes::Exactly(1)), write];
        let at = Point::none();
        let beside =
            |peer: &[(&str, u64)]| CallCount { peer: count(peer).own, ..count(&[("read", 23)]) };
        for seen in [44, 46, 48] {
            let none: Vec<String> = Vec::new();
            assert_eq!(beside(&[("write", seen)]).unexpected(&rules, &at), none, "{seen}");
        }
        assert_eq!(
            beside(&[("write", 43), ("brk", 1)]).unexpected(&rules, &at),
            ["43 write of the peer in 23 ops, not 44 to 48", "1 brk of the peer in 23 ops, not 0"]
        );
        // Where nothing is said of a peer, nothing is held against it.
        assert_eq!(beside(&[("brk", 1)]).unexpected(&rules[..1], &at).len(), 0);
    }

    #[test]
    fn what_each_side_does_is_done_twice_by_one_that_is_alone() {
        let mut write = rule("write", CallTimes::Exactly(1));
        write.caller = Caller::BothEnds;
        let rules = [write];
        let at = |cpu: &str| Point::none().with("peer_cpu", cpu);
        let seen = |own, peer| CallCount {
            peer: count(&[("write", peer)]).own,
            ..count(&[("write", own)])
        };
        let none: Vec<String> = Vec::new();
        assert_eq!(seen(23, 22).unexpected(&rules, &at("same")), none);
        assert_eq!(count(&[("write", 46)]).unexpected(&rules, &at("none")), none);
        assert_eq!(seen(46, 23).unexpected(&rules, &at("same")), ["46 write in 23 ops, not 23"]);
        assert_eq!(
            count(&[("write", 23)]).unexpected(&rules, &at("same")),
            ["0 write of the peer in 23 ops, not 22 to 24"]
        );
    }

    #[test]
    fn calls_of_a_foreign_program_may_be_any_but_not_any_number() {
        let rules =
            [rule("execve", CallTimes::Exactly(1)), rule(ANY_OTHER_CALL, CallTimes::UpTo(2))];
        let at = Point::none();
        let seen = |mmap| count(&[("execve", 23), ("mmap", mmap), ("openat", 23)]);
        assert_eq!(seen(23).unexpected(&rules, &at), Vec::<String>::new());
        assert_eq!(seen(24).unexpected(&rules, &at), ["47 other calls in 23 ops, not 0 to 46"]);
        assert_eq!(count(&[("mmap", 23)]).unexpected(&rules, &at), ["0 execve in 23 ops, not 23"]);
    }

    #[test]
    fn shared_calls_may_round_either_way() {
        assert_eq!(CallTimes::Per { calls: 1, ops: 32 }.range(23), (0, 1));
        assert_eq!(CallTimes::UpTo(2).range(23), (0, 46));
    }
}
