//! Keys and values of the JSON documents that are no records, as words.

mod catalog;
mod document;

use self::catalog::CATALOG;
use self::document::{Document, DocumentWord, word};
use super::word_section;
use crate::report::view::document::Section;

/// The meanings of a word in these documents.
pub fn sections(name: &str) -> Vec<Section> {
    let meanings = |document: &'static Document| {
        let named = document.words.iter().filter(move |word| word.name == name);
        named.map(move |word| section(document, word))
    };
    DOCUMENTS.iter().flat_map(meanings).collect()
}

/// The words of all documents.
pub fn names() -> impl Iterator<Item = &'static str> {
    DOCUMENTS.iter().flat_map(|document| document.words).map(|word| word.name)
}

fn section(document: &Document, word: &DocumentWord) -> Section {
    let facts = [
        ("means", word.means.to_owned()),
        ("of", format!("`{}`", document.source)),
        ("more", "docs/reference/RECORDS.md".to_owned()),
    ];
    word_section(word.name, "word of a JSON document", facts)
}

const DOCUMENTS: &[Document] = &[
    Document {
        source: "oscost bill A B --json",
        words: &[
            word("base_amount", "what the item comes to in the base bill"),
            word("base_times", "how often the item was charged in the base bill"),
            word("by_count", "the part of the change that comes from another number of times"),
            word("by_price", "the part of the change that comes from another price"),
            word("charged", "what all items come to, in both bills"),
            word("difference", "the measured system time less what is charged, in both bills"),
            word("differing", "what else differs between the two machines"),
            word("items", "the items of both bills, the largest change first"),
            word("new_amount", "what the item comes to in the new bill"),
            word("new_times", "how often the item was charged in the new bill"),
            word("not_compared", "why items are not compared; null if they are"),
            word("price_ratio", "the price in the new bill over that in the base bill"),
            word("price_run", "the run that the prices are of"),
            word("watched", "whether the bill is of a running process"),
        ],
    },
    Document {
        source: "oscost compare --json",
        words: &[
            word("differences", "what else differs between the two sides, in words"),
            word("not_compared", "rows without a counterpart on the other side, with the reason"),
            word("notes", "what readers of the verdicts must know, in words"),
            word(
                "threshold_insn",
                "the instructions from which on a change counts as a regression; null for a share",
            ),
            word(
                "threshold_pct",
                "the per cent from which on a change counts as a regression; null for instructions",
            ),
        ],
    },
    Document {
        source: "oscost doctor --json",
        words: &[
            word("activity", "what other processes did on the machine meanwhile"),
            word("activity_unread", "why that is not known; null if it is"),
            word("adjtime_us", "the rest of a correction by adjtime(3), in microseconds"),
            word("allowed", "the CPUs that the interrupt may be sent to"),
            word("audit", "whether the audit system is on: 0 no, 1 yes, 2 yes and locked"),
            word("audit_unread", "why that is not known; null if it is"),
            word("cpu_pct", "the share of 10 s in which a task waited for a CPU, in per cent"),
            word("daemons", "programs that run and are known to disturb"),
            word("discipline", "how the kernel corrects its clocks, as adjtimex(2) reads it"),
            word("effective", "the CPUs that the interrupt is sent to"),
            word("findings", "what disturbs here, the worst first"),
            word("fix", "what changes the condition of a finding, in words"),
            word("fll", "whether the frequency-locked loop of the clock is on"),
            word("freq_ppm", "the correction of the clock's rate, in parts per million"),
            word(
                "interrupts",
                "the sources of interrupts, each with its counts; of a CPU their number",
            ),
            word("io_pct", "the share of 10 s in which a task waited for I/O, in per cent"),
            word("irq", "the number of an interrupt, or the kernel's abbreviation"),
            word("load_1min", "the load average of one minute"),
            word("memory_pct", "the share of 10 s in which a task waited for memory, in per cent"),
            word(
                "monotonic_rate_offset_ppm",
                "the rate of CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW, in parts per million",
            ),
            word("not_visible", "what cannot be examined here, and why"),
            word("offset_ns", "the rest of the clock's offset, in nanoseconds"),
            word("ok", "what was examined without a finding"),
            word("pids", "some of the processes of this name"),
            word("pll", "whether the phase-locked loop of the clock is on"),
            word("pressure", "the kernel's pressure stall information before the probe"),
            word(
                "processes_unread",
                "why the list of processes may be incomplete; null if it is whole",
            ),
            word("rule", "the name of the rule that made a finding"),
            word("steal_ticks", "the time that the hypervisor took from a CPU, in 1/100 s"),
            word("synchronized", "whether the clock is marked as synchronized"),
            word("throttled_periods", "the periods in which the cgroup was throttled"),
            word(
                "tick_us",
                "the length of a tick in microseconds: 10000 unless a daemon adjusts it",
            ),
            word("total_ticks", "all time of a CPU, idle and stolen time included, in 1/100 s"),
            word(
                "unattributed_cpu_ns",
                "CPU time that belongs to no process of the list, in nanoseconds",
            ),
            word("uncountable_reason", "why system calls cannot be counted; null if they can"),
            word("wall_ns", "how long the activity was observed, in nanoseconds"),
            word(
                "weight",
                "how bad a finding is: `invalidates`, `biases`, `noise`, `limitation` or `note`",
            ),
        ],
    },
    Document {
        source: "oscost doctor --self --json",
        words: &[
            word("can_measure", "whether no condition blocks a measurement"),
            word("fine", "the state of a condition that limits nothing"),
            word("remedy", "what changes a condition; null where nothing is limited"),
            word("subject", "what a condition is about"),
        ],
    },
    Document {
        source: "oscost fleet ab --json",
        words: &[
            word("excluded", "runs that are left out, with the reason"),
            word(
                "other_revisions",
                "figures of older revisions of their benchmarks, which are left out",
            ),
        ],
    },
    Document {
        source: "oscost fleet check --json",
        words: &[
            word("finds_doubled_cost", "whether twice the cost would be a finding"),
            word("healthy", "the verdict on a node that is no slower than its equals"),
            word("not-judged", "the verdict on a node that cannot be compared, with the reason"),
            word("not_judged", "cases that cannot be compared, with the reason"),
            word("unmeasured", "cases without a figure of this node, with the reason"),
            word("unusual_facts", "facts of the node that most of its class have otherwise"),
            word("usual", "the value that most nodes of the class have"),
        ],
    },
    Document {
        source: "oscost fleet collect --json",
        words: &[
            word("imported", "how many records were imported now"),
            word("known", "how many records were imported before"),
            word("no-record", "the state of a visit that left no record"),
        ],
    },
    Document {
        source: "oscost fleet links --json",
        words: &[
            word("findings", "nodes and pairs that differ"),
            word("reasons", "why measurements are missing"),
            word("values", "the figure of each measurement"),
        ],
    },
    Document {
        source: "oscost fleet report --json",
        words: &[
            word(
                "adjusted_for",
                "what else the node differs by that the ratio is without; null for nothing",
            ),
            word("between_nodes", "the standard deviation of the logarithm between nodes"),
            word(
                "between_visits",
                "the standard deviation of the logarithm between visits of a node",
            ),
            word("changed_class", "how many of the common nodes are of another class now"),
            word(
                "changed_revision",
                "cases whose benchmarks have another revision now, which are not compared",
            ),
            word("changes", "what changed since the baseline; null without one"),
            word("common_nodes", "how many nodes both fleets have"),
            word("detectable_ratio", "the slowness of one node that is probably found"),
            word(
                "disturbed",
                "nodes whose visits support no claim more often than those of their equals",
            ),
            word("equals", "the same counts of the visits of the equals of a node"),
            word("facts", "the facts that set a node apart, the best supported first"),
            word("false_discovery_rate", "the share of findings that may be false"),
            word("farthest_case", "the case of a node that is farthest from its equals"),
            word("farthest_ratio", "the ratio of its cost to theirs"),
            word("findings", "nodes that differ from their equals, the surest first"),
            word("has_other_visits", "whether other visits of the node support claims"),
            word("newest", "the revision of the other figures of a case"),
            word(
                "not_claimable",
                "why visits support no claim; of a finding null if they do; how many do not",
            ),
            word("not_judged", "nodes with figures that are of visits alone that support no claim"),
            word("numa_node", "the NUMA node of a finding that is of one; null for the whole node"),
            word(
                "numa_not_judged",
                "nodes whose NUMA nodes could not be compared, with the reason",
            ),
            word("only_base", "how many nodes the baseline alone has"),
            word("only_new", "how many nodes the new fleet alone has"),
            word("own", "how many visits of a node support no claim, and how many there are"),
            word(
                "ratio_to_fleet",
                "the ratio to the medians of the fleet, with all that the node differs by",
            ),
            word("scope", "whether a finding is of a node, of a family or of a case"),
            word("too-few-equals", "too few nodes have as many NUMA nodes to compare them"),
            word("too-few-visits", "too few visits have measured each NUMA node of the node"),
            word("variance", "the shares of processes, visits, nodes and classes in the variance"),
            word(
                "with",
                "how many nodes have the value of a fact, and how many of these were found",
            ),
            word("without", "how many nodes have another value, and how many of these were found"),
        ],
    },
    Document {
        source: "oscost fleet status --json",
        words: &[word(
            "exit",
            "the exit status of a task; null if it did not fail, and if that is not known",
        )],
    },
    Document {
        source: "oscost history --json",
        words: &[
            word(
                "autocorrelation",
                "the correlation of successive runs that was removed before the test; null for \
                 none",
            ),
            word(
                "between_run_sd",
                "the standard deviation of the logarithm of the figure between runs of one level",
            ),
            word("changes", "the changes of a series, in order"),
            word("command-line", "a part that was updated: the command line of the kernel"),
            word("counted_runs", "how many runs before and since a change have counts"),
            word("imported", "whether the run was imported"),
            word("kernel_class", "the class of the kernels of a series, in words"),
            word("left_out", "runs that are not among the points, by reason"),
            word("machine_class", "the class of the machines of a series, in words"),
            word("medians", "the medians of what was counted, over the workers that counted"),
            word("not_decomposed", "why the counts of two levels cannot be compared"),
            word("older_runs", "how many runs are older than those that were read"),
            word("oscost", "a part that was updated: oscost itself"),
            word("other_targets", "other targets on which the case was measured"),
            word("peer_host", "the host of the other end; null if it is unknown, or this machine"),
            word("recent_shift", "a provisional shift of the newest runs; null for none"),
            word(
                "rejected_by_correction",
                "whether the series would have a change if it were tested alone",
            ),
            word("series", "the figures of a case on a target, run by run"),
            word("updates", "what was updated between two runs"),
            word("without_figures", "runs that have no figures, by reason"),
        ],
    },
    CATALOG,
    Document {
        source: "oscost machine --json",
        words: &[
            word("rates", "the rates of a core and of its clock, or why they were not measured"),
            word("tracers_unread", "sources of the list of tracers that could not be read"),
            word("unread", "files that could not be read, with the reason"),
            word("unusable_reason", "why a clock cannot be used; null if it can"),
        ],
    },
    Document {
        source: "oscost predict list --json",
        words: &[word("number", "the number by which `oscost predict delete` knows a prediction")],
    },
    Document {
        source: "oscost runs list --json",
        words: &[
            word(
                "duration_s",
                "from the start to the end of a run, in seconds; null if it did not end",
            ),
            word("has_raw_batches", "whether the store still has the raw batches of a run"),
            word("imported", "whether a run was imported"),
            word("of_bill", "whether a bill has started the run for itself; `last` passes over it"),
            word("store_bytes", "the size of the store, in bytes"),
            word("system_ns", "the measured system time of a bill, in nanoseconds; null of a run"),
        ],
    },
    Document {
        source: "oscost study list --json",
        words: &[
            word(
                "quick_seconds",
                "how long the study takes with `--quick`; null if its file does not say so",
            ),
            word("seconds", "how long the study takes; null if its file does not say so"),
            word("title", "the title of the publication"),
        ],
    },
    Document {
        source: "oscost table --json",
        words: &[
            word(
                "are_equals",
                "whether the others of a finding are of the same class; if not, they are the \
                 first column",
            ),
            word("cells", "the figures of a case, one for each column"),
            word("columns", "the machines of each column, as their places in `machines`"),
            word(
                "counted_metric",
                "which counts of the processor the figures of a case are; null if they are none",
            ),
            word("facts", "what is known of a machine"),
            word("findings", "machines that differ from others in several cases"),
            word("is_between_runs", "whether the interval contains the variation between runs"),
            word("is_exact", "whether all repetitions gave this count"),
            word("is_of_class", "whether machines that differ in the fact are of two classes"),
            word(
                "lowest_and_highest",
                "the lowest and the highest figure of the machines of a column",
            ),
            word("not_claimable", "why nothing is concluded from a run; null if something may be"),
            word("setting_of", "the name of the same machine with other settings"),
            word("slowness", "how many times as much the machines pay as the others"),
        ],
    },
    Document {
        source: "oscost study claims --json",
        words: &[
            word("evidence", "the figure that decides on a claim, and what is required of it"),
            word("location", "where in the text of the study a claim stands"),
            word("statement", "what a study claims, in words"),
        ],
    },
    Document {
        source: "oscost workload list --json",
        words: &[
            word("lacks", "what the workload needs and this machine does not have"),
            word("question", "the question that the workload answers"),
        ],
    },
    Document {
        source: "plan.json of a fleet",
        words: &[
            word("alone", "the sides of a plan without a comparison"),
            word("apart_s", "the least time between two visits of a node, in seconds"),
            word("at_once", "how many tasks may run at once; null for no limit"),
            word("begin_s", "when a task may begin, in seconds after `created`"),
            word("both", "the sides of a plan: each node measures both"),
            word("created", "when the plan was made"),
            word("effort", "how much a task measures: `quick`, `default` or `thorough`"),
            word("launcher", "what starts the tasks: Slurm or ssh"),
            word("measurement", "what each task measures"),
            word(
                "respects_lock",
                "whether the lock of the machine is asked for, which nodes of one machine share",
            ),
            word("split", "the sides of a plan: one on each node, by lot"),
        ],
    },
];

#[cfg(test)]
mod tests;
