//! The text format of profiles: written texts are parsed, and all others are refused.

use proptest::prelude::*;

use super::*;

/// A profile with few pairs and arbitrary other values.
fn any_profile() -> impl Strategy<Value = Profile> {
    let entries = || prop::collection::vec((0_u16..512, 0_u16..512, 1_u8..=255), 0..40);
    let counts = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    let frozen = prop::option::of(any::<u64>());
    let name =
        prop_oneof![".*", "/usr/bin/[a-z]{1,9}", Just("\"\\u{41}\\\n\u{202e}\u{1b}[2J".to_owned())];
    let constants = prop::collection::vec(any::<u32>(), ALL.len());
    (any::<(u64, u64)>(), name, 0..3_usize, counts, frozen, entries(), entries(), constants)
        .prop_map(
            |((device, inode), executable, state, counts, frozen_at_s, train, test, constants)| {
                let pairs = |entries: Vec<(u16, u16, u8)>| {
                    let mut pairs = Pairs::default();
                    for (current, previous, bits) in entries {
                        pairs.add(current, previous, bits).unwrap();
                    }
                    pairs
                };
                let mut learned_with = Constants::default();
                for (constant, any) in ALL.iter().zip(constants) {
                    let (min, max) = (*constant.range.start(), *constant.range.end());
                    (constant.set)(&mut learned_with, min + any % (max - min + 1));
                }
                Profile {
                    key: Key { device, inode },
                    executable,
                    state: State::ALL[state],
                    calls: counts.0,
                    train_count: counts.1,
                    last_mod_count: counts.2,
                    anomalies: counts.3,
                    frozen_at_s,
                    train: pairs(train),
                    test: pairs(test),
                    learned_with,
                }
            },
        )
}

fn small() -> Profile {
    let key = Key { device: 2_049, inode: 131 };
    let mut profile = Profile::new(key, "/usr/bin/a \"b\"\\\u{e9}".to_owned());
    profile.train.add(3, 257, 5).unwrap();
    profile.train.add(257, 3, 2).unwrap();
    (profile.calls, profile.train_count, profile.last_mod_count) = (7_186, 7_186, 1_066);
    profile
}

fn refused(bytes: &[u8]) -> Refusal {
    let refusal = read(bytes).unwrap_err();
    assert!(!refusal.why.is_empty() && refusal.why.len() < 300, "{refusal}");
    assert!(!refusal.why.contains(char::is_control), "{refusal}");
    assert!(refusal.line >= 1);
    refusal
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_text_is_parsed_as_the_same_profile(
        profiles in prop::collection::vec(any_profile(), 1..4),
    ) {
        for profile in &profiles {
            let text = write(profile);
            prop_assert!(text.len() <= MAX_FILE_BYTES);
            prop_assert_eq!(&read(text.as_bytes()).unwrap(), profile);
            // It contains no control characters for a terminal.
            prop_assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')));
        }
        let all = write_all(&profiles).unwrap();
        prop_assert_eq!(read_all(all.as_bytes()).unwrap(), profiles);
    }

    #[test]
    fn a_text_with_a_changed_byte_is_refused(
        profile in any_profile(),
        at in any::<prop::sample::Index>(),
        other in 1_u8..=255,
    ) {
        let mut bytes = write(&profile).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= other;
        refused(&bytes);
        refused(&bytes[..at]);
    }

    #[test]
    fn a_valid_text_is_written_as_the_same_text(lines in prop::collection::vec(
        prop::sample::select(write(&small()).lines().map(str::to_owned).collect::<Vec<_>>()), 0..40,
    )) {
        let text = with_hash(lines.join("\n") + "\n");
        if let Ok(profile) = read(text.as_bytes()) {
            prop_assert_eq!(write(&profile), text);
        }
    }
}

#[test]
fn a_text_has_the_documented_format() {
    let text = write(&small());
    let (body, end) = text.rsplit_once("end ").unwrap();
    let without_constants: Vec<&str> =
        body.lines().filter(|line| !line.starts_with("constant ")).collect();
    assert_eq!(
        without_constants,
        [
            "oscost ph profile 1",
            &format!("arch {}", std::env::consts::ARCH),
            "device 2049",
            "inode 131",
            "executable \"/usr/bin/a \\\"b\\\"\\\\\\u{e9}\"",
            "state training",
            "calls 7186",
            "train-count 7186",
            "last-mod-count 1066",
            "anomalies 0",
            "frozen-at-s never",
            "train 2",
            "3 257 5",
            "257 3 2",
            "test 0",
        ]
    );
    assert!(body.contains("\nconstant window 9\nconstant normal-factor 128\n"), "{body}");
    assert_eq!(end.len(), 33);
}

#[test]
fn a_text_truncated_or_changed_at_any_byte_is_refused() {
    let text = write(&small());
    for at in 0..text.len() {
        refused(&text.as_bytes()[..at]);
        for other in [b'0', b'1', b' ', b'\n', b'"', 0, 0xff] {
            let mut bytes = text.clone().into_bytes();
            if bytes[at] != other {
                bytes[at] = other;
                refused(&bytes);
            }
        }
        let mut longer = text.clone();
        longer.insert(at, '7');
        refused(longer.as_bytes());
    }
    refused(format!("{text}{text}").as_bytes());
}

#[test]
fn an_invalid_text_is_refused_with_its_line_and_reason() {
    let text = write(&small());
    let body = || text.rsplit_once("end ").unwrap().0.to_owned();
    let arch = format!("arch {}\n", std::env::consts::ARCH);
    for (from, to, line, why) in [
        ("oscost ph profile 1", "oscost ph profile 2", 1, "version is `2`"),
        ("oscost ph profile 1", "#!/bin/sh", 1, "found `#!/bin/sh`"),
        (arch.as_str(), "arch vax\n", 2, "it was learned on `vax`"),
        ("window 9", "window 10", 3, "from 2 to 9"),
        ("constant mod-min 500\n", "", 6, "expected `constant mod-min ...`"),
        ("device 2049", "device 02049", 13, "`02049` is not a number"),
        ("inode 131", "inode 99999999999999999999", 14, "is not a number"),
        ("\\u{e9}", "\\u{00e9}", 15, "is not a path in quotes"),
        ("state training", "state asleep", 16, "`asleep` is not training"),
        ("frozen-at-s never", "frozen-at-s -1", 21, "neither a number nor `never`"),
        ("train 2", "train 3", 25, "`test 0` is not two calls"),
        ("train 2", "train 1", 24, "expected `test ...`, found `257 3 2`"),
        ("train 2", "train 262145", 22, "from 0 to 262144"),
        ("257 3 2", "3 257 2", 24, "not in order"),
        ("257 3 2", "257 3 0", 24, "bits from 1 to 255"),
        ("257 3 2", "512 3 2", 24, "below 512"),
        ("test 0\n", "", 24 + 1, "expected `test ...`"),
    ] {
        assert!(text.contains(from), "{from}");
        let refusal = refused(with_hash(body().replacen(from, to, 1)).as_bytes());
        assert!(refusal.line == line && refusal.why.contains(why), "{to}: {refusal}");
    }
    let refusal = refused(text.replace("calls 7186", "calls 7187").as_bytes());
    assert!(refusal.line == 26 && refusal.why.contains("were changed"), "{refusal}");
}

#[test]
fn a_collection_that_differs_from_its_header_is_refused() {
    let one = small();
    let mut other = small();
    other.key.inode += 1;
    let text = write_all(&[one.clone(), other]).unwrap();
    let read = |text: &str| read_all(text.as_bytes()).map(|all| all.len()).map_err(|it| it.why);
    assert_eq!(read(&text), Ok(2));
    assert_eq!(read("oscost ph profiles 1\ncount 0\n"), Ok(0));
    let is_refused = |text: &str, why: &str| {
        let refusal = read(text).unwrap_err();
        assert!(refusal.contains(why), "{refusal}");
    };
    is_refused(&text.replace("count 2", "count 1"), "continues after");
    is_refused(&text.replace("count 2", "count 3"), "incomplete");
    is_refused(&text.replace("count 2", "count 1025"), "from 0 to 1024");
    is_refused(&write(&one), "expected `oscost ph profiles ...`");
    is_refused(&write_all(&[one.clone(), one]).unwrap(), "has another profile above");
    is_refused("", "incomplete");
}

#[test]
fn the_largest_profile_is_within_the_limit() {
    let mut profile = small();
    let full = Pairs::from_bytes(&[255; CALLS * CALLS]).unwrap();
    (profile.train, profile.test) = (full.clone(), full);
    profile.executable = "\u{10ffff}".repeat(10_000);
    let text = write(&profile);
    assert!(text.len() <= MAX_FILE_BYTES, "{}", text.len());
    let parsed = super::read(text.as_bytes()).unwrap();
    assert_eq!(parsed.train.count(), 8 * 512 * 512);
    assert_eq!(parsed.executable.len(), MAX_EXECUTABLE_BYTES / 4 * 4);
    // Twelve of them exceed the limit of a collection.
    assert!(write_all(&vec![profile; 12]).is_none());
}
