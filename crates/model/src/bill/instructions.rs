//! The bill in instructions of the kernel.

use serde::{Deserialize, Serialize};

bill! {
    /// What a program is charged in instructions of the kernel, beside those that it executes.
    pub struct InstructionBill {
        /// The runs whose instructions were counted; they are neither trials nor counted otherwise.
        pub runs: u32,
        /// The instructions of the kernel in a run, with all that the program starts: the median.
        pub kernel: f64,
        /// The least and the most of a run.
        pub kernel_range: [f64; 2],
        /// The instructions in user mode, the median; null if not counted.
        pub user: Option<f64>,
        /// Cycles per instruction of these runs, in both modes; null if not counted.
        pub cycles_per_instruction: Option<f64>,
        /// Cycles in a nanosecond of CPU time (task clock) of these runs; null if not counted. What a
        /// host takes, and a lower frequency, make it less.
        #[serde(default)]
        pub cycles_per_ns: Option<f64>,
        /// The same of the rows of the price list, the median; null if not counted.
        #[serde(default)]
        pub price_cycles_per_ns: Option<f64>,
        /// The sum of counts times instructions.
        pub charged: f64,
        /// The interval of `charged`; null if a part of it has none.
        pub charged_ci95: Option<[f64; 2]>,
        /// `kernel` without `charged`: a price that is missing or wrong, in either direction.
        pub difference: f64,
        /// The items, the most instructions first; then those without a price.
        pub items: Vec<InstructionItem>,
    }

    /// An item of a bill in instructions.
    pub struct InstructionItem {
        /// Its name, as in the items of the bill.
        pub name: String,
        /// How often.
        pub times: f64,
        /// The case that prices it, as a selector; null if none does.
        pub case: Option<String>,
        /// The instructions of one, the mean over sizes; null without a price.
        pub each: Option<f64>,
        /// The instructions of all; null without a price.
        pub amount: Option<f64>,
        /// Why it has no price; null if it has one.
        pub missing: Option<String>,
    }
}
