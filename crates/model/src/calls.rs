//! System calls of an op: which ones its definition allows, and which ones were counted.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::point::{Point, Value};

/// How often an op makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CallTimes {
    /// Exactly this often per op.
    Exactly(u32),
    /// At most this often per op.
    UpTo(u32),
    /// `calls` times in every `ops` ops.
    Per {
        /// The number of calls.
        calls: u32,
        /// The number of ops that they serve.
        ops: u32,
    },
}

impl CallTimes {
    /// The allowed numbers of calls in `ops` ops.
    pub fn range(self, ops: u64) -> RangeInclusive<u64> {
        match self {
            CallTimes::Exactly(calls) => u64::from(calls) * ops..=u64::from(calls) * ops,
            CallTimes::UpTo(calls) => 0..=u64::from(calls) * ops,
            CallTimes::Per { calls, ops: per } => {
                let (calls, per) = (u64::from(calls), u64::from(per.max(1)));
                calls * (ops / per)..=calls * ops.div_ceil(per)
            }
        }
    }
}

/// The name for all calls that no other rule names: for programs of the system, whose loader and
/// C library differ between machines.
pub const ANY_OTHER_CALL: &str = "*";

/// One rule of a definition: which call an op makes, how often, and at which points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallRule {
    /// The kernel's name of the call. `a|b` matches either name, since C libraries differ in which
    /// one they use. [`ANY_OTHER_CALL`] matches every call that no rule names.
    pub call: String,
    /// How often an op makes it.
    pub times: CallTimes,
    /// The axis values at which the rule applies; empty for all points.
    pub when: Point,
    /// Which task makes it.
    #[serde(default)]
    pub caller: Caller,
    /// Allows more calls for large ops; null where the size does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
}

/// A large transfer may be split into several calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// The axis that gives the size in bytes.
    pub axis: String,
    /// The minimum size of a part. A larger op may repeat the calls of its [`CallRule`] for each
    /// part.
    pub bytes: u64,
}

impl CallRule {
    /// The allowed numbers of calls in `ops` ops at `point`.
    pub fn range(&self, ops: u64, point: &Point) -> RangeInclusive<u64> {
        let (low, high) = self.times.range(ops).into_inner();
        let parts = self.parts.as_ref().map_or(0, |parts| match point.get(&parts.axis) {
            Some(&Value::Number(number)) if number > parts.bytes => {
                number.div_ceil(parts.bytes.max(1))
            }
            _ => 0,
        });
        low..=high * (1 + parts)
    }
}

/// Which task makes a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Caller {
    /// The measured task, and the tasks that it starts within the op.
    #[default]
    Own,
    /// A task that was started before the ops: the peer.
    Peer,
    /// Both of them; with `peer_cpu=none`, where there is no peer, the measured task twice.
    BothEnds,
}

impl Caller {
    /// The factors by which the count of a rule with this caller is multiplied.
    fn multipliers(self, point: &Point) -> Multipliers {
        let has_no_peer = || point.get("peer_cpu").is_some_and(|cpu| *cpu == Value::from("none"));
        match self {
            Caller::Own => Multipliers { own: 1, peer: 0 },
            Caller::Peer => Multipliers { own: 0, peer: 1 },
            Caller::BothEnds if has_no_peer() => Multipliers { own: 2, peer: 0 },
            Caller::BothEnds => Multipliers { own: 1, peer: 1 },
        }
    }
}

/// How often the measured task and its peer make the calls of a rule.
struct Multipliers {
    own: u64,
    peer: u64,
}

/// What was counted in an untimed run of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallCount {
    /// The number of counted ops.
    pub ops: u64,
    /// Calls of the measured task and of the tasks it started within the ops, by name.
    pub own: BTreeMap<String, u64>,
    /// Calls of the peer meanwhile, by name.
    pub peer: BTreeMap<String, u64>,
    /// How they were counted, for example `ptrace`.
    pub by: String,
    /// Tasks created by those ops; null if not counted.
    #[serde(default)]
    pub tasks: Option<u64>,
    /// Minor and major page faults of the measured process in those ops; null if unknown.
    #[serde(default)]
    pub faults: Option<u64>,
    /// Bytes transferred by read, write and similar calls in those ops; null if not counted.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Whether an op runs vDSO code within its first 2,000 instructions, found by single-stepping
    /// further ops; null if single-stepping was not possible.
    #[serde(default)]
    pub vdso: Option<bool>,
    /// User-mode instructions of an op including its loop iteration; null if single-stepping was
    /// not possible, or if there were too many.
    #[serde(default)]
    pub instructions: Option<f64>,
    /// The pid of the counted process, by which a monitor identifies it.
    #[serde(default)]
    pub counted_pid: Option<u32>,
}

impl CallCount {
    /// The same count in terms of larger ops, each of which groups `each` counted ops: messages,
    /// where the counted ops are bytes.
    #[must_use]
    pub fn grouped_by(self, each: u64) -> Self {
        let instructions = self.instructions.map(|instructions| instructions * each as f64);
        Self { ops: self.ops / each.max(1), instructions, ..self }
    }

    /// System calls per op.
    pub fn entries_per_op(&self) -> f64 {
        self.own.values().sum::<u64>() as f64 / self.ops.max(1) as f64
    }

    /// Descriptions of all differences from `rules` at `point`; empty if there are none.
    pub fn unexpected(&self, rules: &[CallRule], point: &Point) -> Vec<String> {
        let mut allowed: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for rule in rules.iter().filter(|rule| point.includes(&rule.when)) {
            let Multipliers { own, .. } = rule.caller.multipliers(point);
            if own > 0 {
                let (low, high) = rule.range(own * self.ops, point).into_inner();
                let entry = allowed.entry(&rule.call).or_default();
                *entry = (entry.0 + low, entry.1 + high);
            }
        }
        let named = |call: &str| {
            allowed
                .keys()
                .any(|names| names.split('|').any(|name| name == call && name != ANY_OTHER_CALL))
        };
        let mut differences = Vec::new();
        for (names, &(low, high)) in &allowed {
            let counted: u64 = match *names {
                ANY_OTHER_CALL => {
                    self.own.iter().filter(|(call, _)| !named(call)).map(|(_, n)| n).sum()
                }
                names => names.split('|').filter_map(|name| self.own.get(name)).sum(),
            };
            if counted < low || counted > high {
                let allowed_number =
                    if low == high { low.to_string() } else { format!("{low} to {high}") };
                let what = if *names == ANY_OTHER_CALL { "other calls" } else { names };
                differences
                    .push(format!("{counted} {what} in {} ops, not {allowed_number}", self.ops));
            }
        }
        if !allowed.contains_key(ANY_OTHER_CALL) {
            for (call, counted) in self.own.iter().filter(|(call, _)| !named(call)) {
                differences.push(format!("{counted} {call} in {} ops, not 0", self.ops));
            }
        }
        differences.extend(self.unexpected_peer_calls(rules, point));
        differences
    }

    /// The differences of the peer's calls from `rules`; empty if no rule applies to a peer. The
    /// peer runs concurrently, so at either end it may be one op behind or ahead.
    fn unexpected_peer_calls(&self, rules: &[CallRule], point: &Point) -> Vec<String> {
        let is_of_peer = |rule: &&CallRule| {
            rule.caller.multipliers(point).peer > 0 && point.includes(&rule.when)
        };
        let rules: Vec<&CallRule> = rules.iter().filter(is_of_peer).collect();
        let mut differences = Vec::new();
        for rule in &rules {
            let low = *rule.range(self.ops.saturating_sub(1), point).start();
            let high = *rule.range(self.ops + 1, point).end();
            let counted = self.peer.get(&rule.call).copied().unwrap_or(0);
            if counted < low || counted > high {
                let (call, ops) = (&rule.call, self.ops);
                differences.push(format!(
                    "{counted} {call} of the peer in {ops} ops, not {low} to {high}"
                ));
            }
        }
        let unlisted =
            self.peer.iter().filter(|(call, _)| rules.iter().all(|rule| rule.call != **call));
        for (call, counted) in unlisted.filter(|_| !rules.is_empty()) {
            differences.push(format!("{counted} {call} of the peer in {} ops, not 0", self.ops));
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(call: &str, times: CallTimes) -> CallRule {
        CallRule { call: call.into(), times, when: Point::none(), caller: Caller::Own, parts: None }
    }

    fn count(own: &[(&str, u64)]) -> CallCount {
        let own = own.iter().map(|&(call, counted)| (call.to_owned(), counted)).collect();
        CallCount { ops: 23, own, ..CallCount::default() }
    }

    #[test]
    fn a_large_op_may_be_split_into_parts_and_a_small_one_may_not() {
        let parts = Some(Parts { axis: "size".into(), bytes: 4_096 });
        let rule = CallRule { parts, ..rule("read", CallTimes::Exactly(1)) };
        let range = |size: u64| rule.range(10, &Point::none().with("size", size));
        assert_eq!(range(4_096), 10..=10);
        assert_eq!(range(4_097), 10..=30);
        assert_eq!(range(65_536), 10..=170);
        assert_eq!(rule.range(10, &Point::none()), 10..=10);
    }

    #[test]
    fn a_count_of_bytes_is_converted_to_messages() {
        let count = CallCount { ops: 92, instructions: Some(0.5), ..count(&[("write", 23)]) };
        let messages = count.grouped_by(4);
        assert_eq!((messages.ops, messages.instructions), (23, Some(2.0)));
        assert!((messages.entries_per_op() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn exact_counts_must_match_and_unlisted_calls_are_reported() {
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
    fn a_rule_applies_only_at_its_points() {
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
    fn either_of_two_alternative_names_matches_but_not_both() {
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
        let with_peer =
            |peer: &[(&str, u64)]| CallCount { peer: count(peer).own, ..count(&[("read", 23)]) };
        for counted in [44, 46, 48] {
            let none: Vec<String> = Vec::new();
            assert_eq!(with_peer(&[("write", counted)]).unexpected(&rules, &at), none, "{counted}");
        }
        assert_eq!(
            with_peer(&[("write", 43), ("brk", 1)]).unexpected(&rules, &at),
            ["43 write of the peer in 23 ops, not 44 to 48", "1 brk of the peer in 23 ops, not 0"]
        );
        // Without a rule for the peer its calls are not checked.
        assert_eq!(with_peer(&[("brk", 1)]).unexpected(&rules[..1], &at).len(), 0);
    }

    #[test]
    fn a_task_without_a_peer_makes_the_calls_of_both_ends() {
        let mut write = rule("write", CallTimes::Exactly(1));
        write.caller = Caller::BothEnds;
        let rules = [write];
        let at = |cpu: &str| Point::none().with("peer_cpu", cpu);
        let counted = |own, peer| CallCount {
            peer: count(&[("write", peer)]).own,
            ..count(&[("write", own)])
        };
        let none: Vec<String> = Vec::new();
        assert_eq!(counted(23, 22).unexpected(&rules, &at("same")), none);
        assert_eq!(count(&[("write", 46)]).unexpected(&rules, &at("none")), none);
        assert_eq!(counted(46, 23).unexpected(&rules, &at("same")), ["46 write in 23 ops, not 23"]);
        assert_eq!(
            count(&[("write", 23)]).unexpected(&rules, &at("same")),
            ["0 write of the peer in 23 ops, not 22 to 24"]
        );
    }

    #[test]
    fn other_calls_may_have_any_name_but_their_number_is_bounded() {
        let rules =
            [rule("execve", CallTimes::Exactly(1)), rule(ANY_OTHER_CALL, CallTimes::UpTo(2))];
        let at = Point::none();
        let counted = |mmap| count(&[("execve", 23), ("mmap", mmap), ("openat", 23)]);
        assert_eq!(counted(23).unexpected(&rules, &at), Vec::<String>::new());
        assert_eq!(counted(24).unexpected(&rules, &at), ["47 other calls in 23 ops, not 0 to 46"]);
        assert_eq!(count(&[("mmap", 23)]).unexpected(&rules, &at), ["0 execve in 23 ops, not 23"]);
    }

    #[test]
    fn calls_shared_by_several_ops_may_round_either_way() {
        assert_eq!(CallTimes::Per { calls: 1, ops: 32 }.range(23), 0..=1);
        assert_eq!(CallTimes::UpTo(2).range(23), 0..=46);
    }
}
