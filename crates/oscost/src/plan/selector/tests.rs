use super::*;
use proptest::prelude::*;

fn catalog() -> Catalog {
    oscost_worker::benchmarks::data()
}

fn names_of(selectors: &[&str]) -> Vec<String> {
    let selectors: Vec<String> = selectors.iter().map(|&text| text.to_owned()).collect();
    select(&catalog(), &selectors, Extent::Default).unwrap().iter().map(Case::to_string).collect()
}

fn refusal(selector: &str) -> String {
    select(&catalog(), &[selector.to_owned()], Extent::Default).unwrap_err().to_string()
}

#[test]
fn no_selector_is_the_price_list() {
    let price_list = names_of(&[]);
    assert!(price_list.contains(&"syscall/getppid:via=raw".to_owned()));
    assert!(price_list.len() <= 100, "the price list has {} rows", price_list.len());
}

#[test]
fn a_family_an_id_a_case_and_a_glob_select() {
    assert_eq!(names_of(&["timer/nothing"]), ["timer/nothing"]);
    let family = names_of(&["syscall"]);
    assert!(family.iter().all(|case| case.starts_with("syscall/")), "{family:?}");
    assert!(family.contains(&"syscall/getppid:via=libc".to_owned()), "{family:?}");
    assert_eq!(names_of(&["syscall/getppid:via=libc"]), ["syscall/getppid:via=libc"]);
    assert_eq!(names_of(&["*/getpp*"]), names_of(&["syscall/getppid"]));
    assert_eq!(names_of(&["procedure/call:args=*"]).len(), 8);
    assert_eq!(names_of(&["procedure/call:args=1|2,chain=dependent"]).len(), 2);
}

#[test]
fn the_unique_last_part_of_an_id_selects_it() {
    assert_eq!(names_of(&["getppid:via=libc"]), ["syscall/getppid:via=libc"]);
    assert!(refusal("round-trip").contains("`round-trip` names"), "{}", refusal("round-trip"));
    assert!(refusal("round-trip").contains("`pipe/round-trip`"));
    // Other families have one, too, but not in the price list.
    assert_eq!(names_of(&["stat:files=10"]), ["file/stat:files=10"]);
    assert_eq!(names_of(&["stat"]), names_of(&["file/stat"]));
}

#[test]
fn all_names_of_several_benchmarks_are_refused_at_once() {
    let selectors = ["round-trip", "getppid", "open-close"].map(str::to_owned);
    let refused = select(&catalog(), &selectors, Extent::Default).unwrap_err().to_string();
    assert!(
        refused.starts_with("`round-trip` names 2 benchmarks, `open-close` names "),
        "{refused}"
    );
    assert!(refused.contains("\n  hint: `round-trip`: `pipe/round-trip`, `"), "{refused}");
    assert!(refused.contains("; `open-close`: `"), "{refused}");
}

#[test]
fn names_in_one_argument_and_axes_without_a_colon_are_told_apart() {
    for together in ["getppid,read", "getppid read", "getppid, read"] {
        let refused = refusal(together);
        assert!(refused.ends_with("an argument of its own: `getppid read`"), "{refused}");
    }
    let axes = refusal("getppid,via=raw");
    assert!(axes.ends_with("axes stand behind a colon: `getppid:via=raw`"), "{axes}");
    assert!(refusal("syscall/").contains(" `syscall`"), "{}", refusal("syscall/"));
    assert!(refusal("zzzzzz").ends_with("a command to measure stands behind `--`"));
}

#[test]
fn a_set_selects_each_of_its_members() {
    let both = names_of(&["timer/nothing", "syscall/getppid"]);
    assert_eq!(names_of(&["{timer/nothing,getppid}"]), both);
    assert_eq!(names_of(&["{timer/noth,syscall/getpp}*"]), both);
    let sizes = names_of(&["pipe/round-trip:size=64|4096"]);
    assert_eq!(names_of(&["pipe/round-trip:size={64,4k}"]), sizes);
    assert!(refusal("{timer/nothing,zzz}").contains("`zzz` is not"));
    assert!(refusal("syscall/{getppid").contains("has a set that cannot be read"));
    assert!(refusal("getppid:via={raw").contains("hint: `{a,b}` stands for two names"));
}

#[test]
fn a_case_and_an_id_name_their_cases_and_a_family_and_a_glob_do_not() {
    let named = |selectors: &[&str]| -> Vec<String> {
        let selectors: Vec<String> = selectors.iter().map(|&text| text.to_owned()).collect();
        let found = named_cases(&catalog(), &selectors, Extent::Default).unwrap();
        found.iter().map(Case::to_string).collect()
    };
    for none in [&[][..], &["syscall"], &["*/getppid"], &["{syscall/getpp,timer/noth}*"]] {
        assert_eq!(named(none), Vec::<String>::new(), "{none:?}");
    }
    for id in ["syscall/getppid", "getppid", "getppid:via=libc", "{timer/nothing,getppid}"] {
        assert_eq!(named(&[id, "syscall"]), names_of(&[id]), "{id}");
    }
}

#[test]
fn a_size_is_typed_as_it_is_printed() {
    let in_bytes = names_of(&["pipe/round-trip:size=65536"]);
    assert_eq!(names_of(&["pipe/round-trip:size=64k"]), in_bytes);
    for size in ["64Ki", "64K", "64KiB", "64kiB"] {
        assert_eq!(names_of(&[&format!("pipe/round-trip:size={size}")]), in_bytes, "{size}");
    }
    assert!(
        refusal("pipe/round-trip:size=k")
            .contains("axis `size` of `pipe/round-trip` has no value `k`")
    );
    assert_eq!(parse_size("99999999999999999999k"), None);
    assert_eq!(parse_size("16777216G"), Some(Value::Number(1 << 54)));
}

#[test]
fn an_implied_value_is_left_out_of_the_name() {
    let raw = ["syscall/getppid:via=raw"];
    assert_eq!(names_of(&raw), raw);
    assert_eq!(names_of(&["syscall/getppid:via=raw,state=warm"]), raw);
    let cold = ["syscall/getppid:via=raw,state=cold"];
    assert_eq!(names_of(&cold), cold);
    let both = names_of(&["syscall/getppid:via=raw,state=*"]);
    assert_eq!(both, [raw[0], cold[0]]);
    let all_cold = names_of(&["syscall/*:state=cold"]);
    assert!(all_cold.len() >= 3, "{all_cold:?}");
    assert!(all_cold.iter().all(|case| case.ends_with(",state=cold")), "{all_cold:?}");
}

#[test]
fn a_case_that_is_named_twice_is_measured_once() {
    assert_eq!(names_of(&["syscall/getppid", "syscall/getppid:via=raw"]).len(), 2);
}

#[test]
fn a_thorough_run_goes_further_where_a_definition_says_so() {
    let rereads = |extent| {
        let cases = select(&catalog(), &["file/reread".to_owned()], extent).unwrap();
        cases.iter().map(Case::to_string).collect::<Vec<_>>()
    };
    let (usual, thorough) = (rereads(Extent::Default), rereads(Extent::Thorough));
    assert!(usual.len() < thorough.len() && usual.iter().all(|case| case.contains("=64,")));
    assert!(thorough.iter().all(|case| case.contains("limit_mib=512,")), "{thorough:?}");
    let requested = ["file/reread:limit_mib=64,share_pct=50".to_owned()];
    assert_eq!(select(&catalog(), &requested, Extent::Thorough).unwrap().len(), 1);
}

#[test]
fn a_family_with_an_axis_selects_the_benchmarks_that_have_it() {
    assert_eq!(names_of(&["timer:read=rdtsc"]), ["timer/tsc:read=rdtsc"]);
}

#[test]
fn only_a_whole_family_includes_its_survey() {
    let survey: Vec<String> = catalog().survey_cases().iter().map(Case::to_string).collect();
    let family = names_of(&["timer"]);
    assert!(survey.iter().all(|case| family.contains(case)));
    let beyond = "timer/clock-gettime:clock=tai,via=libc".to_owned();
    assert!(survey.contains(&beyond) && family.contains(&beyond));
    for less in [&["timer/clock-gettime"][..], &["timer/*"], &["timer:via=libc"], &[]] {
        assert!(!names_of(less).contains(&beyond), "{less:?}");
    }
    assert_eq!(names_of(&["timer", "timer/*"]), family, "each case once, in the same order");
}

#[test]
fn errors_suggest_the_nearest_names() {
    assert!(refusal("syscall/getpidd").contains("`syscall/getpid`"));
    assert!(refusal("syscall/times").contains("`timer/times`"));
    assert!(refusal("process/fork-exit-wait").contains("`process/fork-exit`"));
    assert!(refusal("process/exit-fork").contains("`process/fork-exit`"));
    assert!(refusal("zzz").contains("oscost list"));
    assert!(refusal("syscall/getppid:via=magic").contains("`raw`, `libc`"));
    assert!(refusal("syscall/getppid:size=1").contains("it has `via`"));
    assert!(refusal("timer/nothing:x=1").contains("it has no axes"));
    assert!(refusal("syscall/{getpid,getuid}:via=raw").contains("all must have the axis"));
    assert!(refusal("").contains("the name of a benchmark is empty"));
    assert!(refusal("syscall/getppid:via").contains("axis=value"));
}

proptest! {
    #[test]
    fn no_selector_makes_it_panic(text in "\\PC{0,40}|[a-z/:=,|*?{}-]{0,40}") {
        let _ = select(&catalog(), &[text], Extent::Default);
    }
}
