//! Parsers for the notations that files in /proc and /sys share.

use std::collections::BTreeMap;

/// One more than the largest plausible CPU or node number: Linux supports at most 8192, and a
/// damaged range must not become a list of four billion.
const MAX_NUMBER: u32 = 1 << 16;

/// `text` as it may be stored and printed: trimmed, truncated, and without control characters,
/// which a terminal would interpret. `None` if nothing is left.
pub(in crate::facts) fn printable(text: &str, max_chars: usize) -> Option<String> {
    let safe = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let text: String = text.trim().chars().take(max_chars).map(safe).collect();
    (!text.is_empty()).then_some(text)
}

/// A map of these pairs. One function, so that the code is generated once.
pub(in crate::facts) fn map(pairs: Vec<(String, String)>) -> BTreeMap<String, String> {
    pairs.into_iter().collect()
}

/// The value of the first line `key : value`.
pub(in crate::facts) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// The number in the first line `key number`.
pub(in crate::facts) fn counter(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The number in KiB of a line `key: 123 kB`, which counts 1024 bytes in spite of its unit.
pub(in crate::facts) fn kib(text: &str, key: &str) -> Option<u64> {
    field(text, key)?.strip_suffix("kB")?.trim().parse().ok()
}

/// A number as cpuinfo writes it: `26` or `0xd0c`.
pub(in crate::facts) fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A name with anything that looks like a hardware address masked: an interface may be named after
/// its own.
pub(in crate::facts) fn mask_mac(name: &str) -> String {
    /// Digits of six bytes.
    const MAC_DIGITS: usize = 12;
    let is_hex = |c: char| c.is_ascii_hexdigit();
    let mut kept = String::new();
    let mut rest = name;
    while let Some(begin) = rest.find(is_hex) {
        let (before, digits) = rest.split_at(begin);
        let end = digits.find(|c| !is_hex(c)).unwrap_or(digits.len());
        kept.push_str(before);
        kept.push_str(if end >= MAC_DIGITS { "***" } else { &digits[..end] });
        rest = &digits[end..];
    }
    kept + rest
}

/// `0` or `1`.
pub(in crate::facts) fn switch(text: &str) -> Option<bool> {
    match text.trim() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// The selected one of several choices, `a [b] c` (the scheduler uses parentheses), or the only
/// one.
pub(in crate::facts) fn selected(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    let marked = |word: &'_ str| word.starts_with(['[', '(']) && word.ends_with([']', ')']);
    match text.split_whitespace().find(|word| marked(word)) {
        Some(word) => Some(word.trim_matches(['[', ']', '(', ')'])),
        None if words.next().is_none() => Some(first),
        None => None,
    }
}

/// A list of CPUs or nodes: `0-3,8`. An empty list is a valid value; old kernels write `(null)`.
pub(in crate::facts) fn list(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    if text.is_empty() || text == "(null)" {
        return Some(Vec::new());
    }
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MAX_NUMBER || numbers.last().is_some_and(|&n| n >= first) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_is_expanded() {
        assert_eq!(list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(list("\n"), Some(vec![]));
        assert_eq!(list(" (null)\n"), Some(vec![]));
    }

    #[test]
    fn a_damaged_list_of_cpus_is_unknown_and_never_huge() {
        let garbled = ["0-4294967295", "3-1", "a", "1,,2", "-1", "0-65535,0-65535", "1-"];
        for text in garbled {
            assert_eq!(list(text), None, "{text}");
        }
    }

    #[test]
    fn printable_text_is_short_and_has_no_control_characters() {
        assert_eq!(
            printable(" EPYC\u{1b}[31m\0 ", 256).as_deref(),
            Some("EPYC\u{fffd}[31m\u{fffd}")
        );
        assert_eq!(printable(&"é".repeat(300), 256).map(|text| text.chars().count()), Some(256));
        assert_eq!(printable(" \n", 256), None);
    }

    #[test]
    fn a_name_keeps_all_but_an_address() {
        assert_eq!(mask_mac("enx525400123456-TxRx-0"), "enx***-TxRx-0");
        assert_eq!(mask_mac("wlx0a1b2c3d4e5f"), "wlx***");
        assert_eq!(mask_mac("virtio1-req.0"), "virtio1-req.0");
        assert_eq!(mask_mac("dead-beef"), "dead-beef");
        assert_eq!(mask_mac(""), "");
    }

    #[test]
    fn the_marked_choice_is_the_choice() {
        assert_eq!(selected("always [madvise] never\n"), Some("madvise"));
        assert_eq!(selected("none voluntary (full) lazy"), Some("full"));
        assert_eq!(selected("none\n"), Some("none"));
        assert_eq!(selected("none full"), None);
        assert_eq!(selected(""), None);
    }

    #[test]
    fn a_key_is_not_taken_for_a_longer_one() {
        assert_eq!(field("model name : EPYC\nmodel\t: 2\n", "model"), Some("2"));
        assert_eq!(counter("throttled_usec_more 1\nthrottled_usec 7\n", "throttled_usec"), Some(7));
    }
}
