//! Counted events, from a fake host whose instructions are known.

use crate::common::{Ran, Sandbox, row, rows, scenario_file};

const RAW: &str = "syscall/getppid:via=raw";
const QUICK: &[&str] = &["syscall/getppid", "syscall/getuid", "--quick"];

/// Text without its line breaks: sentences are folded.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_shows(ran: &Ran, words: &str) {
    let text = flat(&ran.stdout);
    assert!(text.contains(words), "`{words}` is not in:\n{}", ran.stdout);
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

#[test]
fn a_row_has_its_instructions_cycles_and_clock_beside_its_time() {
    let sandbox = Sandbox::new();
    let record = sandbox.fake("counters", &with(QUICK, &["--json", "-"])).exits(0).json();
    let found = row(&record, RAW);
    let figure = |metric: &str| found["metrics"][metric]["estimate"]["median"].as_f64().unwrap();
    // Interrupts in a twentieth of the batches do not move it.
    assert!((figure("insn") - 305.0).abs() < 0.01, "{}", found["metrics"]["insn"]);
    assert!((figure("insn_user") - 12.0).abs() < 0.01);
    let cpi = figure("cycles") / figure("insn");
    assert!((figure("cpi") / cpi - 1.0).abs() < 0.02 && (figure("ghz") - 3.0).abs() < 0.01);
    let counters = &found["counters"];
    // As many as make the run a tenth longer: two for each of these few rows.
    assert_eq!(counters["workers"], 2);
    assert_eq!(counters["repeats"], true);
    assert_eq!((&counters["kernel"], &counters["inherited"]), (&true.into(), &false.into()));
    let ratio = counters["counted_time_ratio"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    assert_eq!(record["machines"][0]["counters"]["boot"], "0123456789abcdef");
    // A figure by round, of which the best is taken, takes more counted workers than these.
    let record = sandbox.fake("counters", &[RAW, "--json", "-"]).exits(0).json();
    assert!(record["conditions"][0]["core"]["cpi_of_kernel_op"]["best"].is_number());
    // No counting worker is a repetition of the row.
    assert_eq!(found["repetitions"].as_array().unwrap().len(), 6);
}

#[test]
fn void_counts_have_their_reason_and_no_figure() {
    let sandbox = Sandbox::new();
    let record = sandbox.fake("counters", &with(QUICK, &["--json", "-"])).exits(0).json();
    let found = row(&record, "syscall/getuid");
    assert!(found["metrics"]["insn"].is_null(), "{}", found["metrics"]);
    let void = found["counters"]["void"].to_string();
    assert!(void.contains("multiplexed"), "{void}");
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_shows(&shown, "not counted in some workers: the events were multiplexed");
}

#[test]
fn counters_that_are_taken_in_the_middle_of_a_run_have_a_reason_and_leave_the_row_as_it_is() {
    let sandbox = Sandbox::new();
    let record = sandbox.fake("taken-counters", &[RAW, "--json", "-"]).exits(0).json();
    let found = row(&record, RAW);
    assert_eq!(found["outcome"], "measured");
    assert!(found["estimate"]["repetitions"].as_u64() >= Some(6), "{found}");
    // What was counted before stays, and what was not is no 0.
    let insn = &found["metrics"]["insn"]["estimate"];
    assert_eq!(insn["repetitions"], 2, "{insn}");
    assert!((insn["median"].as_f64().unwrap() - 305.0).abs() < 0.01, "{insn}");
    let void = found["counters"]["void"].to_string();
    let why = "cannot count instructions:u: perf_event_open: EBUSY";
    assert!(void.contains(why), "{void}");
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_shows(&shown, &format!("not counted in some workers: {why}"));
}

#[test]
fn the_table_has_instructions_and_in_shows_rows_in_them_or_in_cycles() {
    let sandbox = Sandbox::new();
    let ran = sandbox.fake("counters", QUICK).exits(0);
    assert_shows(&ran, "insn");
    assert_shows(&ran, "305.0");
    assert_shows(&ran, "insn: instructions of an op, the program's and the kernel's;");
    let insn = sandbox.oscost(&["runs", "show", "last", "--in", "insn"]).exits(0);
    assert_shows(&insn, "305 insn");
    assert_shows(&insn, "not counted");
    let cycles = sandbox.oscost(&["report", "last", "--in", "cycles"]).exits(0);
    // 122 ns at 3 GHz.
    assert_shows(&cycles, "366.");
    let all = sandbox.oscost(&["runs", "show", "last", "--counters"]).exits(0);
    assert_shows(&all, "Events per op, counted by workers of their own");
    sandbox.oscost(&["runs", "show", "last", "--in", "hours"]).exits(2);
}

#[test]
fn without_counters_nothing_is_counted_and_one_line_says_why() {
    let sandbox = Sandbox::new();
    let ran = sandbox.fake("no-counters", QUICK).exits(0);
    assert_shows(&ran, "No instructions and cycles: this kernel has no counters");
    let record = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
    assert!(rows(&record).iter().all(|row| row["counters"].is_null()));
    // The kernel's own events are counted on request.
    let asked = with(QUICK, &["--counters", "--json", "-"]);
    let record = sandbox.fake("no-counters", &asked).exits(0).json();
    let found = row(&record, RAW);
    assert!(found["metrics"]["task_clock"]["estimate"]["median"].as_f64().unwrap() > 100.0);
    assert!(found["metrics"]["insn_user"].is_null());
    assert_eq!(found["counters"]["workers"], 6, "in every round");
}

#[test]
fn with_no_counters_nothing_is_counted_where_it_could_be() {
    let sandbox = Sandbox::new();
    let none = with(QUICK, &["--no-counters", "--json", "-"]);
    let record = sandbox.fake("counters", &none).exits(0).json();
    assert!(rows(&record).iter().all(|row| row["counters"].is_null()));
    assert!(rows(&record).iter().all(|row| row["metrics"]["insn"].is_null()));
    assert!(record["machines"][0]["counters"]["unavailable"].is_null(), "they are visible");
    let both = with(QUICK, &["--no-counters", "--counters"]);
    sandbox.fake("counters", &both).exits(2).stderr_contains("cannot be used with");
}

#[test]
fn counting_makes_a_quick_price_list_a_tenth_longer_and_counts_every_row() {
    let sandbox = Sandbox::new();
    let record = sandbox.fake("counters", &["--quick", "--json", "-"]).exits(0).json();
    let workers = |row: &&serde_json::Value| row["counters"]["workers"].as_u64();
    let (measured, void): (Vec<&serde_json::Value>, Vec<_>) = rows(&record)
        .iter()
        .filter(|row| row["outcome"] == "measured")
        .partition(|row| row["unit"] == "ns/op" && row["mode"] == "B");
    assert!(measured.len() > 50, "{} and {}", measured.len(), void.len());
    let counted: Vec<u64> = measured.iter().filter_map(workers).collect();
    assert_eq!(counted.len(), measured.len(), "every row has a worker that counts");
    // Six timed ones each, a pilot, and ten more of a reference case: all start like these.
    let timed = 7 * measured.len() as u64 + 30;
    let total: u64 = counted.iter().sum();
    assert!(100 * total <= 16 * timed, "{total} beside {timed}");
}

#[test]
fn an_ordinary_user_sees_the_instructions_of_user_mode_alone() {
    let sandbox = Sandbox::new();
    let record = sandbox.fake("user-counters", &with(QUICK, &["--json", "-"])).exits(0).json();
    let found = row(&record, RAW);
    assert!(found["metrics"]["insn"].is_null() && found["metrics"]["insn_user"].is_object());
    assert_eq!(found["counters"]["kernel"], false);
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_shows(&shown, "12.00 u");
    assert_shows(&shown, "in user mode alone");
}

#[test]
fn a_comparison_finds_the_added_instructions_and_names_them_as_the_cause() {
    let sandbox = Sandbox::new();
    let base = format!("fake:{}", scenario_file("counters").display());
    let new = format!("sud@{base}");
    let ab = ["ab", "--seed", "1", "--base", &base, "--new", &new, "--quick", RAW];
    let record = sandbox.oscost(&with(&ab, &["--json", "-"])).exits(0).json();
    let comparisons = record["comparisons"].as_array().unwrap();
    let of = |metric: &str| {
        comparisons
            .iter()
            .find(|it| it["metric"] == metric && it["case"] == RAW && it["control"] == false)
            .unwrap()
    };
    let work = of("insn");
    assert_eq!(work["verdict"], "slower", "{work}");
    assert!((work["added"]["value"].as_f64().unwrap() - 91.0).abs() < 0.5, "{work}");
    let why = &of("primary")["decomposition"];
    assert_eq!(why["cause"], "work", "{why}");
    let sentence = why["sentence"].as_str().unwrap();
    assert!(sentence.contains("+91.0 in the kernel"), "{sentence}");
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_shows(&shown, "Work: instructions of an op");
    assert_shows(&shown, "+91.0 in the kernel");
    let gated = with(&ab, &["--gate", "--on", "insn"]);
    sandbox.oscost(&gated).exits(1).stderr_contains("more work, 1.29");
}

#[test]
fn a_gate_on_instructions_passes_two_runs_of_one_boot_and_fails_without_counts() {
    let sandbox = Sandbox::new();
    sandbox.fake("counters", &[RAW]).exits(0);
    sandbox.fake("counters", &[RAW]).exits(0);
    let compare = ["compare", "last~1", "last", "--on", "insn", "--gate"];
    let ran = sandbox.oscost(&with(&compare, &["0.5"])).exits(0);
    let ran = ran.stderr_contains("has significantly more instructions, by more than 0.5 %");
    let ran = ran.stderr_contains("in 1 of them the interval would have shown a change of 0.5 %");
    assert_shows(&ran, "equivalent (0.");
    // Runs of one boot differ by more than a tenth of a per cent: equal ones do not show as little.
    let ran = sandbox.oscost(&compare).exits(3);
    let ran = ran.stderr_contains("in 0 of them the interval would have shown a change of 0.1 %");
    ran.stderr_contains("take a larger threshold (`--gate 0.5`)");
    sandbox.fake("no-counters", &[RAW]).exits(0);
    let ran = sandbox.oscost(&["compare", "last~1", "last", "--gate", "--on", "insn"]).exits(3);
    ran.stderr_contains("no row has instructions of both sides");
}

#[test]
fn both_sides_in_one_run_show_a_tenth_of_a_per_cent() {
    let sandbox = Sandbox::new();
    let base = format!("fake:{}", scenario_file("counters").display());
    let new = format!("nice=5@{base}");
    let ab = ["ab", "--seed", "1", "--base", &base, "--new", &new, "--quick", RAW];
    let ran = sandbox.oscost(&with(&ab, &["--gate", "--on", "insn"])).exits(0);
    ran.stderr_contains("in 1 of them the interval would have shown a change of 0.1 %");
}

#[test]
fn machines_stand_side_by_side_in_instructions_and_one_without_counts_is_named() {
    let sandbox = Sandbox::new();
    sandbox.fake("counters", &[RAW]).exits(0);
    sandbox.fake("no-counters", &[RAW]).exits(0);
    let table = ["table", "a=last~1", "b=last", "--in", "insn"];
    let shown = sandbox.oscost(&table).exits(0);
    assert_shows(&shown, "305 insn [");
    assert_shows(&shown, "b has no figure to show here: its instructions were not counted");
    let found = sandbox.oscost(&with(&table, &["--json", "-"])).exits(0).json();
    let case = &found["cases"][0];
    assert_eq!((&case["unit"], &case["counted_metric"]), (&"insn/op".into(), &"insn".into()));
    assert!(case["cells"][1]["median"].is_null() && found["judged"] == 0, "{found}");
    // Where none has counts, the reason stands in place of the table.
    sandbox.fake("no-counters", &[RAW]).exits(0);
    let none = sandbox.oscost(&["table", "a=last~1", "b=last", "--in", "insn"]).exits(3);
    assert_shows(
        &none,
        "No case of these runs has a count of instructions: its instructions were not",
    );
}

#[test]
fn a_program_has_the_instructions_of_its_tree() {
    let sandbox = Sandbox::new();
    let arguments = ["--counters", "--json", "-", "--", "gzip", "FILE"];
    let record = sandbox.fake("counters", &arguments).exits(0).json();
    let row = rows(&record).iter().find(|row| !row["primary_metric"].is_null()).unwrap();
    assert_eq!(row["metrics"]["insn"]["estimate"]["median"], 3.2e8);
    // In turn with the work: one in a hundred instructions misses something.
    assert_eq!(row["metrics"]["branch_misses"]["estimate"]["median"], 3.2e6);
    assert!(row["counters"]["inherited"] == true && row["counters"]["workers"].as_u64() > Some(3));
}

/// A fake target of this scenario, written for a test.
fn made_up(sandbox: &Sandbox, name: &str, scenario: &serde_json::Value) -> String {
    let file = sandbox.file(&format!("{name}.json"));
    std::fs::write(&file, scenario.to_string()).unwrap();
    format!("fake:{}", file.display())
}

#[test]
fn a_row_whose_counted_batches_are_too_short_says_so() {
    let sandbox = Sandbox::new();
    let scenario = serde_json::json!({
        "costs_ns": { "timer/nothing": 0.4, RAW: 122.0, "syscall/getppid:via=libc": 123.0 },
        "counters": { "boot": "0123456789abcdef", "short_by": { RAW: 3 } },
    });
    let target = made_up(&sandbox, "short", &scenario);
    let run = ["run", "--quick", "--seed", "1", "--at", &target, "syscall/getppid"];
    let shown = sandbox.oscost(&run).exits(0);
    let words = "counted batches are too short: what counting adds varies by over 0.1 % of the \
                 instructions of their ops, or 1 % of the cycles: syscall/getppid:via=raw";
    assert_shows(&shown, words);
    let record = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
    assert_eq!(row(&record, RAW)["counters"]["short_by"], 3.0);
    let other = &row(&record, "syscall/getppid:via=libc")["counters"];
    assert!(other["workers"].as_u64() >= Some(1) && other["short_by"].is_null(), "{other}");
}

#[test]
fn a_row_of_which_one_op_does_work_for_many_says_so() {
    let sandbox = Sandbox::new();
    let scenario = serde_json::json!({
        "costs_ns": { "timer/nothing": 0.4, RAW: 122.0, "syscall/getppid:via=libc": 123.0 },
        "counters": { "boot": "0123456789abcdef", "amortized": [RAW] },
    });
    let target = made_up(&sandbox, "amortized", &scenario);
    let run = ["run", "--quick", "--seed", "1", "--at", &target, "syscall/getppid", "--json", "-"];
    let record = sandbox.oscost(&run).exits(0).json();
    assert_eq!(row(&record, RAW)["counters"]["amortized"], true);
    assert_eq!(row(&record, "syscall/getppid:via=libc")["counters"]["amortized"], false);
    let page = sandbox.file("run.md");
    sandbox.oscost(&["report", "last", "-o", page.to_str().unwrap()]).exits(0);
    let page = flat(&std::fs::read_to_string(&page).unwrap());
    let words = "counts are means over long batches, interrupts included: syscall/getppid:via=raw";
    assert!(page.contains(words), "{page}");
}

#[test]
fn two_counters_at_once_are_enough_for_cycles_per_instruction() {
    let sandbox = Sandbox::new();
    let scenario = serde_json::json!({
        "costs_ns": { "timer/nothing": 0.4, RAW: 122.0, "gzip FILE": 1.5e8 },
        "counters": {
            "boot": "0123456789abcdef",
            "at_once": 2,
            "ops": { RAW: { "insn_user": 12, "insn_kernel": 293 } },
        },
    });
    let target = made_up(&sandbox, "two", &scenario);
    let figure = |row: &serde_json::Value, metric: &str| {
        let value = row["metrics"][metric]["estimate"]["median"].as_f64();
        value.unwrap_or_else(|| panic!("no {metric}: {}", row["counters"]))
    };
    let run = ["run", "--seed", "1", "--at", &target, "--json", "-"];
    let record = sandbox.oscost(&with(&run, &[RAW])).exits(0).json();
    let found = row(&record, RAW);
    let figures = ["insn_user", "insn_kernel", "insn"].map(|metric| figure(found, metric));
    let expected = [12.0, 293.0, 305.0];
    let is_near = |(one, other): (&f64, &f64)| (one - other).abs() < 0.01;
    assert!(figures.iter().zip(&expected).all(is_near), "{figures:?}");
    assert!((figure(found, "ghz") - 3.0).abs() < 0.01);
    let cpi = figure(found, "cycles") / figure(found, "insn");
    assert!((figure(found, "cpi") / cpi - 1.0).abs() < 0.02);
    assert_eq!(found["counters"]["kernel"], true);
    // A trial of a program has one of the two sets, in turn.
    let program = with(&run, &["--counters", "--", "gzip", "FILE"]);
    let record = sandbox.oscost(&program).exits(0).json();
    let row = rows(&record).iter().find(|row| !row["primary_metric"].is_null()).unwrap();
    assert_eq!([figure(row, "insn"), figure(row, "insn_user")], [300.0, 20.0]);
    assert!(figure(row, "cpi") > 0.0 && row["counters"]["kernel"] == true);
}

#[test]
fn a_third_of_a_per_cent_more_instructions_of_a_short_command_are_found() {
    let sandbox = Sandbox::new();
    // Short enough that a worker makes more rounds than are counted.
    let scenario = serde_json::json!({
        "costs_ns": { "./old": 2e7, "./new": 2e7 },
        "between_sd": 0.02,
        "counters": {
            "boot": "0123456789abcdef",
            "ops": {
                "./old": { "insn_user": 5e7, "insn_kernel": 1e6 },
                "./new": { "insn_user": 5.0168e7, "insn_kernel": 1e6 },
            },
        },
    });
    let target = made_up(&sandbox, "commands", &scenario);
    let ab = ["ab", "--seed", "1", "--base", &target, "--json", "-", "--", "./old", "--", "./new"];
    let record = sandbox.oscost(&ab).exits(0).json();
    let comparisons = record["comparisons"].as_array().unwrap();
    let work = comparisons.iter().find(|it| it["metric"] == "insn").unwrap();
    assert_eq!((&work["verdict"], &work["pairs"]), (&"slower".into(), &7.into()), "{work}");
    assert_eq!(work["added"]["value"], 168_000.0, "{work}");
}

#[test]
fn a_row_that_took_longer_for_the_same_work_beside_a_neighbour_has_the_core_as_its_cause() {
    let sandbox = Sandbox::new();
    // Of one target: only the time of an op differs.
    let run = |cost_ns: f64| {
        let scenario = serde_json::json!({
            "costs_ns": { "timer/nothing": 0.4, RAW: cost_ns },
            "between_sd": 0.002,
            "counters": {
                "boot": "0123456789abcdef",
                "ops": { RAW: { "insn_user": 12, "insn_kernel": 293 } },
            },
        });
        let target = made_up(&sandbox, "machine", &scenario);
        sandbox.oscost(&["run", "--seed", "1", "--at", &target, RAW]).exits(0);
    };
    run(122.0);
    run(160.0);
    let file = sandbox.file("compared.json");
    let ran =
        sandbox.oscost(&["compare", "last~1", "last", "--json", file.to_str().unwrap()]).exits(0);
    let text = flat(&ran.stdout);
    assert!(text.contains("cycles per instruction 1.3"), "{}", ran.stdout);
    assert!(text.contains("work 1.000"), "{}", ran.stdout);
    let record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let found = record["comparisons"].as_array().unwrap().clone();
    let of = |metric: &str| {
        let found = found.iter().find(|it| it["metric"] == metric && it["case"] == RAW);
        found.unwrap_or_else(|| panic!("{metric}: {found:?}")).clone()
    };
    assert_eq!(of("insn")["verdict"], "equivalent", "{}", of("insn"));
    assert_eq!(of("primary")["decomposition"]["cause"], "core", "{}", of("primary"));
}

#[test]
fn a_study_in_cycles_says_what_the_processor_counted() {
    let sandbox = Sandbox::new();
    let ran = sandbox.fake("counters", &["--study", "cs736-2019", "--quick"]).exits(0);
    assert_shows(
        &ran,
        "core cycles of an op as the processor counted them, where those of the table",
    );
    // 100 ns at 3 GHz.
    assert_shows(&ran, "rdtsc/rdtscp, ++ 300.0");
    let page = sandbox.file("study.html");
    sandbox.oscost(&["report", "last", "-o", page.to_str().unwrap()]).exits(0);
    let page = std::fs::read_to_string(page).unwrap();
    for column in ["counted_cycles", "then_over_counted_cycles"] {
        assert!(page.contains(&format!("data-name=\"{column}\"")), "{column}");
    }
    let ran = sandbox.fake("no-counters", &["--study", "cs736-2019", "--quick"]).exits(0);
    assert!(!flat(&ran.stdout).contains("as the processor counted them"), "{}", ran.stdout);
}

#[test]
fn the_machine_lists_its_counters() {
    let sandbox = Sandbox::new();
    let at = |scenario: &str| {
        let at = format!("fake:{}", scenario_file(scenario).display());
        sandbox.oscost(&["machine", "--at", &at]).exits(0).stdout
    };
    let seen = at("counters");
    let seen = flat(&seen);
    assert!(seen.contains("instructions:u, instructions:k, cycles"), "{seen}");
    assert!(seen.contains("6 events") && seen.contains("48 bits"), "{seen}");
    assert!(flat(&at("no-counters")).contains("this kernel has no counters of the processor"));
    assert!(at("user-counters").contains("instructions:k"));
}
