//! Peaks of memory, and commands with the values of parameters.

use super::*;

#[test]
fn a_peak_that_its_starter_has_too_is_a_bound() {
    let of = |peak_bytes, starter_peak_bytes| TreeUsage {
        peak_bytes,
        starter_peak_bytes,
        ..TreeUsage::default()
    };
    assert!(of(2_695, Some(2_695)).is_peak_of_starter());
    assert!(!of(2_696, Some(2_695)).is_peak_of_starter());
    assert!(!of(984, None).is_peak_of_starter(), "an older worker does not tell");
    let orphan = of(900, None);
    assert!(of(2_695, Some(2_695)).merged_with(orphan).is_peak_of_starter());
    assert!(!of(2_695, Some(2_695)).merged_with(of(9_000, None)).is_peak_of_starter());
}

#[test]
fn the_values_of_parameters_replace_placeholders_in_all_words_and_in_the_path_of_the_input() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let program = Program {
        command: words("./sort {n} x{n}{m}{other} {n"),
        input: Some("/in/{m}".into()),
        before: vec![words("make {n}"), words("true")],
        after: vec![words("rm {m}.out")],
        ..Program::default()
    };
    let values = ParameterValues::from([("n".into(), 3), ("m".into(), -4)]);
    let filled = program.with_values(&values).into_owned();
    assert_eq!(filled.command, words("./sort 3 x3-4{other} {n"));
    assert_eq!(filled.input.as_deref(), Some("/in/-4"));
    assert_eq!(filled.before, [words("make 3"), words("true")]);
    assert_eq!(filled.after, [words("rm -4.out")]);
    assert_eq!(*program.with_values(&ParameterValues::new()), program);
}
