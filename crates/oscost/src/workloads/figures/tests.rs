use oscost_model::program::{TreeUsage, Trial, is_standard_metric};

use super::*;

fn workload(found: FigureSource, unit: Unit) -> Workload {
    let figure = Figure { name: "it".into(), unit, source: found };
    Workload {
        time: None,
        program: oscost_model::program::Program::default(),
        file: None,
        one_cpu: false,
        trials: 1,
        min_trials: 1,
        figures: vec![figure],
        primary: "real".into(),
        sampled: Vec::new(),
    }
}

fn read(text: &str, output: &str) -> Result<f64, String> {
    let ran = ProgramResult { output: output.into(), ..ProgramResult::default() };
    let found = workload(FigureSource::Pattern(text.into()), Unit::FramesPerSecond);
    figures(&found, &ran, None).map(|found| found["it"])
}

#[test]
fn the_last_match_of_a_pattern_is_the_figure() {
    let doom = r"timed \d+ gametics in \d+ realtics \((\d+\.\d+) fps\)";
    let wrote = "timed 1 gametics in 2 realtics (3.5 fps)\n\
                 timed 1531 gametics in 218 realtics (245.802750 fps)\nbye\n";
    assert_eq!(read(doom, wrote), Ok(245.802_75));
    assert_eq!(read("^(-?[0-9.e]+) of$", "x\n-1.5e3 of\n"), Ok(-1_500.0));
    assert_eq!(read("(?i)RATE (.+)", "rate  7 "), Ok(7.0));
}

#[test]
fn an_output_without_a_match_is_quoted_in_the_error() {
    let why = read(r"fps (\d+)", "one\n\ntwo \u{1b}[31m\nthree\nfour\n").unwrap_err();
    assert!(why.starts_with("cannot read its figure it: nothing matches /fps"), "{why}");
    assert!(why.ends_with("its last lines: `two [31m`, `three`, `four`"), "{why}");
    assert!(read("(a)", "").unwrap_err().ends_with("it wrote nothing"));
    assert!(read("(a)", &"b".repeat(100_000)).unwrap_err().len() < 1_000);
    assert!(read("(a)", "a").unwrap_err().ends_with("`a` is not a number"));
}

#[test]
fn a_figure_is_a_finite_number() {
    for text in ["inf", "NaN", "-infinity", "1e999"] {
        let why = read("is (.*)", &format!("it is {text}")).unwrap_err();
        assert!(why.contains("is not a finite number"), "{why}");
    }
}

#[test]
fn a_figure_per_line_is_the_time_divided_by_the_lines_of_the_warm_up() {
    let ran = ProgramResult { real_ns: 2_000_000_000, ..ProgramResult::default() };
    let each = |unit, ran: &ProgramResult, lines| {
        figures(&workload(FigureSource::PerLine, unit), ran, lines)
    };
    assert_eq!(each(Unit::Seconds, &ran, Some(4)).unwrap()["it"], 0.5);
    assert_eq!(each(Unit::NsPerOp, &ran, Some(4)).unwrap()["it"], 5e8);
    assert_eq!(each(Unit::OpsPerSecond, &ran, Some(4)).unwrap()["it"], 2.0);
    let counted = ProgramResult { lines: Some(8), ..ran.clone() };
    assert_eq!(each(Unit::Seconds, &counted, None).unwrap()["it"], 0.25);
    assert!(each(Unit::Seconds, &ran, Some(0)).unwrap_err().contains("wrote no line"));
    assert!(each(Unit::Seconds, &ran, None).unwrap_err().contains("not counted"));
    let instant = ProgramResult { real_ns: 0, ..ran };
    assert!(each(Unit::OpsPerSecond, &instant, Some(4)).unwrap_err().contains("not a finite"));
}

#[test]
fn standard_metrics_come_first_and_figures_of_the_file_last() {
    let usage = TreeUsage {
        user_ns: 1_500_000_000,
        system_ns: 250_000_000,
        peak_bytes: 4_096,
        starter_peak_bytes: None,
        minor_faults: 1,
        major_faults: 2,
        voluntary_switches: 3,
        involuntary_switches: 4,
    };
    let own = BTreeMap::from([("it".to_owned(), 9.0), ("unknown".to_owned(), 1.0)]);
    let trial = Trial { real_ns: 2_000_000_000, usage, figures: own, ..Trial::default() };
    let found = workload(FigureSource::PerLine, Unit::OpsPerSecond).metrics(&trial);
    let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
    assert!(
        names[..9].iter().all(|name| is_standard_metric(name)) && names[9..] == ["it"],
        "{names:?}"
    );
    assert_eq!(names[..5], ["real", "cpu", "user", "system", "peak-memory"]);
    let values: Vec<f64> = found.iter().map(|it| it.value).collect();
    assert_eq!(values, [2.0, 1.75, 1.5, 0.25, 4_096.0, 1.0, 2.0, 3.0, 4.0, 9.0]);
    let units: Vec<Unit> = found.iter().map(|it| it.unit).collect();
    assert_eq!(units[3..6], [Unit::Seconds, Unit::Bytes, Unit::TimesPerOp]);
    assert_eq!(units[9], Unit::OpsPerSecond);
}
