use super::*;

#[test]
fn figures_have_the_digits_that_were_printed_and_two_that_count_at_least() {
    assert_eq!(at_least(1.15769, 4), "1.1577");
    assert_eq!(at_least(0.104_71, 4), "0.1047");
    assert_eq!(at_least(0.000_041_2, 4), "0.000041");
    assert_eq!(at_least(18_223.956, 2), "18223.96");
    assert_eq!(at_least(0.0, 3), "0.000");
    let here = RunStatistic { mean: 0.104_71, deviation: Some(0.003_27), runs: 10 };
    assert_eq!(statistic(here, (4, 5)), "0.1047 (0.00327)");
    assert_eq!(statistic(RunStatistic { deviation: None, ..here }, (2, 3)), "0.10");
    assert_eq!([signed(-0.000_01, 4), signed(-0.06, 1), signed(2.0, 0)], ["0.0000", "-0.1", "2"]);
}

#[test]
fn a_name_for_which_no_room_is_left_stands_on_a_line_of_its_own() {
    let wide = "123456789012345678".to_owned();
    let cells =
        || ["then".to_owned(), wide.clone(), wide.clone(), "12345.678".into(), "1.23".into()];
    let lines = [
        Line::head(["", "one", "two", "added", "ratio"]),
        Line { name: "a name that takes all room".to_owned(), cells: cells() },
        Line { name: "short".to_owned(), cells: cells() },
    ];
    let text = laid_out(&lines);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(lines[1], "a name that takes all room");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(lines[3].starts_with("short") && lines[2].trim_start().starts_with("then"), "{text}");
}
