use super::*;

#[test]
fn as_many_pairs_of_commands_as_one_discovery_among_all_comparisons_takes() {
    for effort in [Effort::Quick, Effort::Default, Effort::Thorough] {
        for comparisons in [1, 26, 90] {
            let CommandTrials { min, time } = CommandTrials::compared(effort, None, comparisons);
            // With J pairs p is never below 2^(1-J), and each look has its part of the 5 %.
            let least_p = f64::from(time.looks()) * 0.5f64.powi(min as i32 - 1);
            assert!(least_p * comparisons as f64 <= 0.05, "{effort:?}, {comparisons}: {min}");
        }
    }
}
