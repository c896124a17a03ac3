//! Names of rows and families that a person reads, beside their ids.

use oscost_model::definition::Catalog;

/// The openings of questions whose next words name an act, with what follows these.
const FORMS: [(&str, &str); 4] =
    [("What does ", " cost"), ("What do ", " cost"), ("What does ", " add"), ("What is ", "")];
/// A longer name is a sentence.
const MAX_LETTERS: usize = 80;

/// The names of families.
const FAMILIES: [(&str, &str); 28] = [
    ("timer", "Timers"),
    ("procedure", "Function calls"),
    ("syscall", "System calls"),
    ("process", "Processes"),
    ("thread", "Threads"),
    ("switch", "Context switches"),
    ("fault", "Page faults"),
    ("memory", "Memory"),
    ("file", "Files"),
    ("pipe", "Pipes"),
    ("socket", "Sockets"),
    ("event", "Events"),
    ("bpf", "BPF"),
    ("cgroup", "Control groups"),
    ("cpu", "Instructions"),
    ("descriptor", "File descriptors"),
    ("directory", "Directories"),
    ("file-system", "File systems"),
    ("io-uring", "io_uring"),
    ("lock", "Locks on files"),
    ("mount", "Mounts"),
    ("namespace", "Namespaces"),
    ("random", "Random numbers"),
    ("sched", "Scheduling"),
    ("security", "Security"),
    ("signal", "Signals"),
    ("sync", "Synchronisation"),
    ("trace", "Tracing"),
];

/// The name of a family: its id, if this version does not know it.
pub(super) fn of_family(id: &str) -> String {
    let known = FAMILIES.iter().find(|(family, _)| *family == id);
    known.map_or(id, |(_, name)| name).to_owned()
}

/// The name of a benchmark: what its question asks about, or the last part of its id.
pub(super) fn of_benchmark(id: &str, catalog: Option<&Catalog>) -> String {
    let name = id.split_once('/').map_or(id, |(_, name)| name);
    match catalog.and_then(|catalog| catalog.get(id)) {
        Some(known) => subject(&known.asks).unwrap_or_else(|| capital(&name.replace('-', " "))),
        // A command, or a benchmark of another version.
        None => name.to_owned(),
    }
}

/// What a question asks about: of "What does a null system call cost?" the null system call.
fn subject(question: &str) -> Option<String> {
    let inside = |&(opening, closing): &(&str, &str)| {
        let rest = question.strip_prefix(opening)?;
        let is_end = |letter: char| matches!(letter, '?' | ',' | ' ');
        let mut ends = rest.match_indices(closing).map(|(at, _)| at);
        let at = match closing {
            "" => rest.find('?'),
            _ => ends.find(|at| rest[at + closing.len()..].starts_with(is_end)),
        };
        let words = rest[..at?].trim_end_matches(',');
        let articles = ["a ", "an ", "the "];
        let bare = articles.iter().find_map(|article| words.strip_prefix(article));
        Some(bare.unwrap_or(words))
    };
    let words = FORMS.iter().find_map(inside)?;
    (words.chars().count() <= MAX_LETTERS).then(|| capital(words))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_question_asks_about() {
        for (question, name) in [
            ("What does a null system call cost?", Some("Null system call")),
            (
                "What does reading a clock cost, and does it enter the kernel?",
                Some("Reading a clock"),
            ),
            (
                "What do kernel entry and exit cost if the call does nothing?",
                Some("Kernel entry and exit"),
            ),
            ("What does calling through a pointer add?", Some("Calling through a pointer")),
            (
                "What does waking a peer, and being woken back, cost?",
                Some("Waking a peer, and being woken back"),
            ),
            (
                "What is the round-trip time of a message to another process?",
                Some("Round-trip time of a message to another process"),
            ),
            ("By which step does a timer advance?", None),
            ("Does sbrk(0) enter the kernel?", None),
        ] {
            assert_eq!(subject(question).as_deref(), name, "{question}");
        }
    }

    #[test]
    fn a_benchmark_without_a_definition_is_named_by_its_id() {
        assert_eq!(of_benchmark("program/my-tool", None), "my-tool");
        let catalog = oscost_worker::benchmarks::data();
        assert_eq!(of_benchmark("pipe/throughput", Some(&catalog)), "Throughput");
        assert_eq!(of_benchmark("syscall/getppid", Some(&catalog)), "Null system call");
        assert_eq!([of_family("syscall"), of_family("mine")], ["System calls", "mine"]);
    }

    #[test]
    fn most_benchmarks_of_the_price_list_have_a_name_of_their_own() {
        let catalog = oscost_worker::benchmarks::data();
        let listed = catalog.benchmarks.iter().filter(|it| it.in_price_list);
        let (named, others): (Vec<_>, Vec<_>) = listed.partition(|it| subject(&it.asks).is_some());
        assert!(named.len() > 4 * others.len(), "{} and {}", named.len(), others.len());
    }
}
