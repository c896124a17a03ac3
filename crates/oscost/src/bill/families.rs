//! The families of items: which kind of work of the kernel a call is.

use std::sync::LazyLock;

use oscost_model::bill::OTHER_FAMILY;
use serde::Deserialize;

/// The table.
const TABLE: &str = include_str!("../../../../docs/reference/calls/families.toml");

static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    // A test reads the file. Without it everything would be of the last family.
    toml::from_str::<Table>(TABLE).map(|table| table.families).unwrap_or_default()
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    families: Vec<Family>,
}

/// A family, and what is of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    /// Kinds of descriptors.
    #[serde(default)]
    kinds: Vec<String>,
    /// Names of calls; a `*` at the end stands for any rest.
    #[serde(default)]
    calls: Vec<String>,
    /// Names of items that are no calls.
    #[serde(default)]
    items: Vec<String>,
}

impl Family {
    fn has_item(&self, item: &str) -> bool {
        self.items.iter().any(|it| it == item)
    }

    fn has_kind(&self, form: &str) -> bool {
        form.split(' ').skip(1).any(|word| self.kinds.iter().any(|kind| kind == word))
    }

    fn has_call(&self, name: &str) -> bool {
        self.calls.iter().any(|call| call == name)
    }

    fn has_begin_of(&self, name: &str) -> bool {
        let mut begins = self.calls.iter().filter_map(|call| call.strip_suffix('*'));
        begins.any(|begin| name.starts_with(begin))
    }
}

/// The family of an item: of a call in its form, or of what else was counted.
pub(super) fn family_of(item: &str) -> &'static str {
    let name = item.split(' ').next().unwrap_or(item);
    let find = |is_of: &dyn Fn(&Family) -> bool| FAMILIES.iter().find(|family| is_of(family));
    let found = find(&|family| family.has_item(item))
        .or_else(|| find(&|family| family.has_kind(item)))
        .or_else(|| find(&|family| family.has_call(name)))
        .or_else(|| find(&|family| family.has_begin_of(name)));
    found.map_or(OTHER_FAMILY, |family| &family.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use oscost_model::bill::FAMILIES as NAMES;

    use super::*;

    #[test]
    fn the_table_is_read_has_all_families_and_nothing_is_in_it_twice() {
        let read = toml::from_str::<Table>(TABLE);
        let families = read.unwrap_or_else(|error| panic!("families.toml: {error}")).families;
        let names: Vec<&str> = families.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names, NAMES);
        let mut seen = BTreeSet::new();
        for family in &families {
            let Family { kinds, calls, items, .. } = family;
            for (what, words) in [("kind", kinds), ("call", calls), ("item", items)] {
                for word in words {
                    assert!(seen.insert((what, word.clone())), "{what} `{word}` is there twice");
                }
            }
        }
    }

    #[test]
    fn the_kind_of_a_descriptor_comes_before_the_name_of_the_call() {
        for (item, family) in [
            ("read file", "files"),
            ("read pipe", "files"),
            ("read unix", "network"),
            ("close tcp", "network"),
            ("close shared tcp", "network"),
            ("close shared directory", "files"),
            ("newfstatat empty unix", "network"),
            ("recvfrom tcp EAGAIN", "network"),
            ("write eventfd", "waiting"),
            ("epoll_ctl eventpoll", "waiting"),
            ("read timerfd", "time"),
            ("read signalfd", "signals"),
            ("close pidfd", "processes"),
            ("close none EBADF", "files"),
            ("mmap file fixed", "memory"),
            ("sendfile tcp", "network"),
        ] {
            assert_eq!(family_of(item), family, "{item}");
        }
    }

    #[test]
    fn a_whole_name_comes_before_a_beginning_and_the_rest_is_other() {
        for (item, family) in [
            ("sched_yield", "waiting"),
            ("sched_getaffinity", "processes"),
            ("clock_nanosleep", "waiting"),
            ("clock_gettime", "time"),
            ("futex wait", "waiting"),
            ("rt_sigprocmask", "signals"),
            ("child on another CPU", "processes"),
            ("wake-up across CPUs", "waiting"),
            ("switch across CPUs", "waiting"),
            ("minor page fault", "memory"),
            ("copy-on-write page fault", "memory"),
            ("reuse page fault", "memory"),
            ("major page fault", "memory"),
            ("exit_group", "processes"),
            ("getrandom", "other"),
            ("32-bit-call", "other"),
            ("no_such_call", "other"),
            ("", "other"),
        ] {
            assert_eq!(family_of(item), family, "{item}");
        }
    }

    #[test]
    fn nearly_every_call_of_programs_has_a_family() {
        let counted = include_str!("../../../../docs/reference/calls/calls.tsv");
        let forms = counted.lines().filter_map(|line| line.split('\t').next());
        let others = forms.filter(|form| family_of(form) == OTHER_FAMILY);
        let others: BTreeSet<&str> = others.filter_map(|form| form.split(' ').next()).collect();
        assert_eq!(others.into_iter().collect::<Vec<_>>(), ["getrandom", "sysinfo", "uname"]);
    }
}
