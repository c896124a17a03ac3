//! Bills on a terminal, made up.

use oscost_model::bill::{MeasuredPairs, UnpairedCase};
use oscost_model::program_calls::KernelEvents;

use super::made_up::{bill, cooled, find, priced, unpriced};
use super::*;
use crate::report::terminal;

#[test]
fn the_answer_is_first_then_items_below_their_family_then_the_next_step_and_details() {
    let mut shown = find();
    shown.cautions = vec!["it traces itself".to_owned(), "it forks".to_owned()];
    shown.prices.missing = vec!["host/sysinfo".to_owned()];
    let text = terminal(&view(&shown));
    assert!(text.starts_with("find spent 100 ms in the kernel; "), "{text}");
    let lines = [
        "\nTrust: fair: it traces itself (1 other reason below).\n\n",
        "\n\n`/usr/bin/find /usr ",
        "\nfiles ",
        "\n  close file ",
        "\n  getdents64 directory ",
        "\nmemory ",
        "\n  minor page fault ",
        "\n  1 smaller item ",
        "\ncharged in all ",
        "\nmeasured system time (median) ",
        "\nthe difference ",
        "\n\nNext: `oscost run host/sysinfo` measures what is missing.\n\n",
        "\nOther reasons of its grade\n  it forks\n",
        "\nWithout a price\n",
        "\nBeyond the bill\n",
        "\nHow it was made\n",
        "\nPrices\n",
        "\nHow it was counted and priced\n",
    ];
    let places = lines.map(|line| text.find(line).unwrap_or_else(|| panic!("{line:?}: {text}")));
    assert!(places.is_sorted(), "{places:?}\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let files = text.lines().find(|line| line.starts_with("files ")).unwrap();
    let words: Vec<&str> = files.split_whitespace().collect();
    assert!(
        words.starts_with(&["files", "75.0", "ms"]) && words.ends_with(&["75", "%"]),
        "{files}"
    );
}

#[test]
fn what_qualifies_figures_is_shown_without_details_and_where_they_come_from_with_them() {
    let mut shown = bill(vec![priced("reuse page fault", "memory", 1_200.0, 700.0)], 1e6);
    shown.prices.inlined = vec!["directory/open:by=openat".to_owned()];
    shown.no_instructions = Some("perf_event_paranoid is 3".to_owned());
    shown.counted.iter_mut().for_each(|counted| counted.lost_events = 2);
    let Remarks { shown, method, .. } = remarks(&shown);
    for begin in [
        "3 runs counted by ptrace, ",
        "system time: by wait4(2) (rusage)",
        "missing: 2 events had no room",
        "the kind of page faults is not known",
        "1,200 reuse page faults: ",
        "prices are those of inlined loops",
        "no bill in instructions: ",
    ] {
        assert!(shown.iter().any(|line| line.starts_with(begin)), "{begin:?}: {shown:?}");
    }
    for begin in ["prices of run 0192 ", "0 calls, 1 exec", "30 voluntary and 4 "] {
        assert!(method.iter().any(|line| line.starts_with(begin)), "{begin:?}: {method:?}");
    }
}

#[test]
fn a_price_names_the_rows_that_are_subtracted_from_it_and_added_to_it() {
    let mut item = priced("child on another CPU", "processes", 2.0, 83_600.0);
    item.rows = vec!["a/b:peer_cpu=other".to_owned()];
    assert_eq!(price(&item), "a/b:peer_cpu=other");
    item.less = vec!["a/b:peer_cpu=same".to_owned(), "a/c".to_owned()];
    assert_eq!(price(&item), "a/b:peer_cpu=other less a/b:peer_cpu=same, a/c");
    item.plus = vec!["a/d".to_owned()];
    item.part = 0.5;
    let text = "0.50 x (a/b:peer_cpu=other less a/b:peer_cpu=same, a/c plus a/d)";
    assert_eq!(price(&item), text);
    item.rows.clear();
    assert_eq!(price(&item), "");
}

#[test]
fn each_price_is_whole_below_the_table_with_the_items_that_it_is_of() {
    let mut fault = priced("zero-fill page fault", "memory", 500.0, 600.0);
    let case = "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending";
    fault.rows = vec![case.to_owned()];
    let items = vec![
        priced("openat file", "files", 10.0, 50_000.0),
        fault,
        priced("close file", "files", 10.0, 40_000.0),
        priced("brk", "memory", 1.0, 1.0),
        unpriced("sysinfo", 1.0),
    ];
    let text = terminal(&view(&bill(items, 1e6)));
    let prices =
        text.split("\nPrices\n").nth(1).and_then(|text| text.split("\n\n").next()).unwrap();
    let lines: Vec<&str> = prices.lines().map(str::trim).collect();
    let files = "openat file, close file: syscall/getppid:via=raw";
    assert_eq!(lines, [files, "zero-fill page fault:", case]);
    let table = text.split("\ncharged in all ").next().unwrap();
    assert!(!table.contains("syscall/getppid") && table.contains("95 % interval"), "{table}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_family_of_small_items_is_one_line() {
    let items = vec![priced("read file", "files", 9.0, 9e4), priced("brk", "memory", 2.0, 100.0)];
    let text = terminal(&view(&bill(items, 1e6)));
    assert!(text.contains("\nmemory ") && text.contains("\n  read file "), "{text}");
    assert!(!text.contains("brk") && !text.contains("smaller"), "{text}");
}

#[test]
fn with_cool_prices_there_are_two_sums_and_two_differences() {
    let mut shown = cooled(find(), 1.2);
    let text = terminal(&view(&shown));
    let lines = [
        "\ncharged in all ",
        "\ncharged with cool caches ",
        "\nmeasured system time (median) ",
        "\nthe difference ",
        "\ndifference with cool caches ",
        "\n  cool prices: of 4 items by a walk ",
    ];
    let places = lines.map(|line| text.find(line).unwrap_or_else(|| panic!("{line:?}: {text}")));
    assert!(places.is_sorted(), "{places:?}\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // The family, and its first item.
    let cool_amounts = |bill: &Bill| {
        let rows = table(bill).rows;
        let texts = rows.iter().map(|row| row.cells[5].text.clone());
        texts.take(2).collect::<Vec<String>>()
    };
    assert_eq!(cool_amounts(&shown), ["90.0 ms", "66.0 ms"]);
    // What has no cool amount is in the sum at its amount.
    shown.items[0].cool_amount = None;
    assert_eq!(cool_amounts(&shown), ["79.0 ms", ""]);
    assert_eq!(cool_amounts(&find()), ["", ""]);
}

#[test]
fn cool_amounts_below_warm_ones_and_what_a_walk_adds_to_nothing_are_told() {
    let said = |bill: &Bill| {
        let text = terminal(&view(bill));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut shown = cooled(find(), 1.2);
    shown.walk_added_to_nothing = Some(oscost_model::bill::Amount::exact(0.0));
    let text = said(&shown);
    assert!(!text.contains("cool below warm") && !text.contains("measurement's own"), "{text}");
    shown.items[2].cool_amount.iter_mut().for_each(|amount| amount.ns = 3.7e6);
    shown.walk_added_to_nothing = Some(oscost_model::bill::Amount::exact(11.5));
    let text = said(&shown);
    for words in [
        "cool below warm: minor page fault (3.70 ms, warm 12.0 ms): a walk should make no op faster",
        "11.5 ns of each cool price are the measurement's own: a walk adds as much to an op that",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let text = said(&cooled(find(), 0.9));
    let words = "minor page fault (10.8 ms, warm 12.0 ms): a walk";
    assert!(
        text.contains(words) && !text.contains("other item: a walk"),
        "a small one is not told"
    );
}

#[test]
fn cool_prices_are_counted_by_where_they_come_from() {
    let mut shown = cooled(find(), 1.2);
    let sources = [
        "cool=1M and directory/tree:act=stat,files=4096",
        "file/first-read:span_mib=64",
        "the ratio of 3 other calls of benchmark family syscall, 1.60",
    ];
    for (item, source) in shown.items.iter_mut().zip(sources) {
        item.cool_source = Some(source.to_owned());
    }
    let text = terminal(&view(&shown)).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "with cool caches: 1 of 4 amounts are estimates, by the ratio of other calls, ",
        "cool prices: of 2 items by a walk before each op",
        "2 cool prices include what calls on many files take more than on few",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    assert!(!text.contains("a pipe between two CPUs"), "{text}");
    for absent in ["that was idle for 0.3 ms", "has stopped its tick", "a page in no cache"] {
        assert!(!text.contains(absent), "{text}");
    }
    for (end, words) in [
        (
            "pipe/cpu-time:by=pipe,peer_cpu=other",
            "1 cool price includes what a pipe between two CPUs takes more than one on one CPU",
        ),
        (
            "switch/cpu-time:by=tcp,peer_cpu=other,idle_us=300",
            "1 cool price includes what a wake-up takes more of a CPU that was idle for 0.3 ms",
        ),
        (
            "fault/zero-fill:access=write,pages=4k,mapping_mib=64,between=walk",
            "1 cool price includes what a first touch takes more after other work, of a page in no \
             cache",
        ),
        (
            "switch/cpu-time:by=tcp,peer_cpu=other,settle_ms=100",
            "1 cool price includes what a wake-up takes more of a CPU that has stopped its tick",
        ),
    ] {
        shown.items[0].cool_source = Some(end.to_owned());
        let text = terminal(&view(&shown)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{words:?}: {text}");
    }
    let text = terminal(&view(&shown)).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "cool prices: of 1 item by a walk before each op",
        "1 cool price includes what calls on many files take more than on few",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
}

#[test]
fn it_says_which_prices_are_those_of_calls_through_a_function() {
    let shown_lines = |bill: &Bill| {
        let text = terminal(&view(bill));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut shown = find();
    shown.prices.inlined = vec!["directory/open:by=openat".to_owned()];
    let text = shown_lines(&shown);
    for words in [
        "prices are those of inlined loops: programs call through functions",
        "`oscost ab --quick --base call=inline --new call=function directory/open:by=openat` \
         measures what",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    shown.prices.inlined.clear();
    shown.items[0].function_source = Some("call=function".to_owned());
    shown.items[1].function_source = Some("the ratio of 3 other calls, 1.30".to_owned());
    let text = shown_lines(&shown);
    let words = "of 2 of 4 charged items (1 by the ratio of other calls)";
    assert!(text.contains(words) && !text.contains("oscost ab"), "{text}");
}

#[test]
fn it_says_what_else_is_among_the_faults_that_reuse_a_page() {
    let words = "1,200 reuse page faults: first writes to pages of a shared mapping";
    let said = |bill: &Bill| {
        let text = terminal(&view(bill));
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
    };
    let reused = bill(vec![priced("reuse page fault", "memory", 1_200.0, 700.0)], 1e6);
    assert!(said(&reused) && !said(&find()));
}

#[test]
fn it_says_why_faults_are_charged_in_no_whole_number() {
    let words = "page faults that prices of forks and execs contain are taken off each kind";
    let said = |name: &str, times: f64| {
        let text = terminal(&view(&bill(vec![priced(name, "memory", times, 9.0)], 1e6)));
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words)
    };
    assert!(said("file page fault", 511.4) && !said("file page fault", 511.0));
    assert!(!said("minor page fault", 511.5), "the median of the trials");
}

#[test]
fn it_says_why_a_count_is_below_zero() {
    let mut item = priced("copy-on-write page fault", "memory", -29.0, 1_000.0);
    item.below_zero = Some("the prices of its forks\u{7} contain more".to_owned());
    let text = terminal(&view(&bill(vec![item], 1e6)));
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "below zero: -29 x copy-on-write page fault: the prices of its forks contain more";
    assert!(said.contains(words), "{said}");
    assert!(text.contains("\n  copy-on-write page fault ") && said.contains("-29.0 us"), "{text}");
    let said = terminal(&view(&find()));
    assert!(!said.contains("below zero"), "{said}");
}

#[test]
fn it_says_what_was_measured_of_pairs_and_which_cases_were_tried_in_vain() {
    let mut shown = find();
    shown.prices.pairs = vec![
        MeasuredPairs {
            treatment: "call=function".to_owned(),
            cases: vec!["directory/open:by=openat".to_owned()],
            seconds: 9.04,
            limit_seconds: 15.0,
            interrupted: false,
            failure: None,
        },
        MeasuredPairs {
            treatment: "cool=1M".to_owned(),
            cases: Vec::new(),
            seconds: 2.0,
            limit_seconds: 15.0,
            interrupted: true,
            failure: Some("the worker died".to_owned()),
        },
    ];
    let unpaired = |case: &str, reason: &str| UnpairedCase {
        case: case.to_owned(),
        treatment: "cool".to_owned(),
        skipped: true,
        reason: reason.to_owned(),
    };
    shown.prices.unpaired = vec![
        unpaired("a/one", "was skipped: no"),
        unpaired("a/other", "failed: it ended"),
        unpaired("a/two", "was skipped: no"),
        unpaired("a/three", "was skipped: no"),
        unpaired("a/four", "was skipped: no"),
    ];
    let text = terminal(&view(&shown));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "measuring what a function around each call adds to 1 price took 9.04 s",
        "what a walk through memory adds could not be measured of any price, in 2.00 s",
        "missing: what a walk through memory adds, where measuring it was interrupted",
        "missing: what a walk through memory adds: measuring it failed: the worker died",
        "what a walk through memory adds is not known of a/one, a/two, a/three and 1 other case: \
         was skipped: no",
        "what a walk through memory adds is not known of a/other: failed: it ended",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
}

#[test]
fn context_switches_that_are_missing_have_a_reason() {
    let mut shown = find();
    (shown.trials.voluntary_switches, shown.trials.involuntary_switches) = (None, None);
    for (children, why) in [
        (false, "missing: the context switches of a thread are lost when it ends"),
        (true, "missing: the context switches of a process with its descendants are not read"),
    ] {
        shown.watched = Some(oscost_model::bill::Watched {
            pid: 7,
            seconds: 1.0,
            threads: 1,
            children,
            ended: false,
            on_cpu_ns: None,
        });
        let text = terminal(&view(&shown));
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(why), "{text}");
    }
}

#[test]
fn the_faults_whose_kind_is_not_known_are_told() {
    let mut shown = find();
    let text = |bill: &Bill| {
        let text = terminal(&view(bill));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let of_all = "the kind of page faults is not known";
    assert!(text(&shown).contains(of_all));
    let mut events = KernelEvents::default();
    events.faults.unknown = 5;
    shown.counted.as_mut().unwrap().calls.events = Some(events);
    assert!(text(&shown).contains(of_all), "no kind is known");
    events.faults.file_minor = 7;
    shown.counted.as_mut().unwrap().calls.events = Some(events);
    let told = text(&shown);
    assert!(told.contains("the kind of 1,200 page faults is not known"), "{told}");
    shown.items.retain(|item| item.name != "minor page fault");
    assert!(!text(&shown).contains("is not known: they"));
}

#[test]
fn a_bill_of_several_programs_says_so_near_its_head() {
    let said = |execs: u64| {
        let mut shown = find();
        shown.counted.iter_mut().for_each(|counted| counted.calls.execs = execs);
        terminal(&view(&shown))
    };
    let line = "\nit executes 1,200 programs, as scripts and shims do: this bill is of all\n";
    let text = said(1_200);
    assert!(text.find(line).is_some_and(|at| at < text.find("\nitem ").unwrap()), "{text}");
    assert!(!said(1).contains("it executes"));
}

#[test]
fn the_level_of_intervals_is_told_where_the_first_one_stands() {
    let first = lead(&find()).next().unwrap().text;
    assert!(
        first.contains("; 12 trials, 95 % intervals in brackets: real 500 ms [495 .."),
        "{first}"
    );
    let mut shown = find();
    shown.trials.system_time.ci95 = None;
    assert!(!lead(&shown).next().unwrap().text.contains("95 %"));
}

#[test]
fn a_system_time_of_no_tick_and_switches_of_trials_are_told_as_such() {
    let items = (0..14).map(|at| unpriced(&format!("call{at}"), 3.0)).collect();
    let mut shown = bill(items, 1e6);
    let ci95 = Some([0.0, 930_214.286]);
    shown.trials.system_time = oscost_model::bill::Amount { ns: 0.0, ci95 };
    let words = |bill: &Bill| {
        let text = terminal(&view(bill));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = words(&shown);
    for part in [
        "system 0 ns [0 .. 930 us] (medians)",
        "30 voluntary and 4 involuntary switches in a trial: ",
        "no price: 2 other items, 6 times in all",
    ] {
        assert!(text.contains(part), "`{part}` is missing in {text}");
    }
    assert!(words(&shown).contains(&format!("Trust: {}", trust(&shown).grade.text())));
}

#[test]
fn the_ticks_of_control_groups_are_told_and_a_system_time_that_is_too_low() {
    let words = |bill: &Bill| {
        let text = terminal(&view(bill));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut shown = find();
    let note = "divided by the clock ticks of the program's control groups (1,234 ticks)";
    assert!(!words(&shown).contains("control groups"));
    let few = "few clock ticks find a run of the program in the kernel: the system time is";
    assert!(!words(&shown).contains(few), "the kernel measures it, or ticks are many");
    shown.trials.system_figure = "mean".to_owned();
    assert!(words(&shown).contains(few), "{}", words(&shown));
    (shown.trials.source, shown.trials.clock_ticks) = ("cgroup".to_owned(), Some(1_234.4));
    shown.trials.system_figure = "pooled".to_owned();
    let text = words(&shown);
    assert!(text.contains(note) && text.contains("measured system time (pooled)"), "{text}");
    (shown.trials.clock_ticks, shown.trials.doubt) = (None, Some("it is\ntoo low".to_owned()));
    let text = words(&shown);
    assert!(text.contains("Trust: fair: it is too low"), "{text}");
    assert!(text.contains("; the system time may be up to 100 ms higher item "), "{text}");
}

#[test]
fn what_a_figure_rests_on_is_told_without_being_asked_for() {
    let mut shown = find();
    shown.trials.system_figure = "mean".to_owned();
    shown.prices.pairs = vec![MeasuredPairs {
        treatment: "cool=1M".to_owned(),
        cases: Vec::new(),
        seconds: 2.0,
        limit_seconds: 15.0,
        interrupted: false,
        failure: None,
    }];
    let Remarks { shown, method, .. } = remarks(&shown);
    for words in [
        "system time: by wait4(2) (rusage)",
        "few clock ticks find a run of the program in the kernel",
        "what a walk through memory adds could not be measured of any price, in 2.00 s",
    ] {
        let told = |lines: &[String]| lines.iter().filter(|it| it.starts_with(words)).count();
        assert_eq!((told(&shown), told(&method)), (1, 0), "{words:?}: {shown:?}");
    }
}

#[test]
fn texts_from_outside_have_no_control_characters() {
    let mut shown = bill(vec![priced("read\u{1b}[31m", "fi\u{7}les", 9.0, 9e4)], 1e6);
    shown.cautions = vec!["a\u{1b}b\nc".to_owned()];
    shown.program = vec!["\u{9b}x".to_owned()];
    let text = terminal(&view(&shown));
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
}
