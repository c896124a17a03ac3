//! Bills: what the operating system charges one program.
//!
//! Purpose: counted calls times prices of cases, and what then remains of the measured system time.
//! Everything here is a pure function of counts, trials and rows of records. It must not know how a
//! program is run or traced (`run`, and the worker's `supervisor/trace`), where records are kept, or
//! how a bill is shown.
//!
//! * [`ProgramCalls`](oscost_model::program_calls::ProgramCalls): what one counted run did, by form
//!   and size, as the worker sends it; [`combine`] makes one of several.
//! * [`PriceRule`]: a row of docs/reference/calls/cases.toml: which case prices a form, and which part
//!   of its op one call pays.
//! * `fault_items`: the page faults by kind, and the cases that price them.
//! * `faults_in_prices`: the page faults that prices of calls contain.
//! * `freed_pages`: the pages that are freed or unmapped, which no price of a call contains.
//! * `switch_items`: the voluntary switches, and children and wake-ups on other CPUs, that no price of a
//!   call contains.
//! * `idle_wakes`: what wake-ups take more of CPUs that had been idle for longer.
//! * `tick_wakes`: how many of them are of CPUs that had been idle for microseconds.
//! * `outside_wakes`: wake-ups across CPUs of which one end is a task of another program.
//! * `family_of`: the family of an item, by docs/reference/calls/families.toml.
//! * [`PriceList`]: the rows of some runs, asked by selector and size.
//! * [`LackingPrice`]: a price that is to be measured, and how much depends on it.
//! * [`Charges`]: the items, and their sum.
//! * `ranges`: what a call pays at the cool end that no counter tells.
//! * [`CoolPrices`]: what the items cost with cool caches: the bill is then a range.
//! * [`FunctionPrices`]: what the items cost as programs call the kernel, through functions.
//! * [`selectors_to_price()`]: the cases whose added costs predict what treatments would add.
//! * [`Prediction`]: what treatments would add: counts times added costs, which [`added_costs`] takes
//!   from comparisons; [`judge`] says how well it agrees with a measured increase.
//! * [`alternatives()`]: other ways to do the same, by docs/reference/calls/alternatives.toml, and what
//!   they would save.
//! * [`clock_reads()`]: clock reads without a system call, beside the bill.
//! * [`instruction_bill`]: the same in instructions of the kernel.
//! * [`Bill`](oscost_model::bill::Bill): the record, `oscost.bill/1`.
//! * [`side_by_side()`]: what one bill has more than another, by count and by price.
//!
//! The terminal shows, in this order: the program and the machine; a row for each family and below it
//! one for each of its items (how often, each, amount, share of the system time, the case that prices
//! it), the largest amount first; *charged in all*, *measured system time* and *the difference*, a row
//! each, and with cool prices the same sum and difference with cool caches; what has no price, and the
//! run that would measure it; what a change would add; what would help; what is beyond the bill; how it
//! was counted; and in words what the kernel charged, and how far to trust that. Who pays for what is
//! fixed in docs/explanation/BILL.md.

mod added_cost_cases;
mod additions;
mod alternatives;
mod cautions;
mod charges;
mod clock_reads;
mod cool;
mod counts;
mod families;
mod fault_items;
mod faults_in_prices;
mod freed_pages;
mod functions;
mod idle_wakes;
mod instructions;
mod judgement;
mod lacking;
mod outside_wakes;
mod pooled_costs;
mod price_list;
mod ranges;
mod rare_calls;
mod row_pairs;
mod rules;
mod side_by_side;
mod staleness;
mod switch_items;
mod system_time;
mod tick_wakes;
mod walk_pairs;
mod walked_program;
mod what_if;

pub use added_cost_cases::selectors_to_price;
pub use alternatives::alternatives;
pub use cautions::{ProgramFile, cautions, traps_in_watch};
pub use charges::{Charges, charge};
pub use clock_reads::clock_reads;
pub use cool::{CoolPrices, cases_to_cool, charge_cool};
pub use counts::{CombinedCounts, combine};
pub use fault_items::Faults;
pub use functions::{FunctionPrices, cases_to_call, charge_functions};
pub use instructions::instruction_bill;
pub use judgement::{Judgement, is_known_to_judge, judge, times_longer_to_judge};
pub use lacking::{LackingPrice, lacking_prices, large_prices, size_axis_of, usual_cases};
pub use price_list::{PriceList, is_of_this_revision};
pub use rare_calls::{frequent_parts, rare_parts};
pub use rules::{PriceRange, PriceRule, Slope, price_rules};
pub use side_by_side::side_by_side;
pub use staleness::{PriceRatios, differences, has_drifted, is_old, moved_reference_case};
pub use system_time::{
    DividedTime, SystemTime, divided_time, half_of_mean, is_divided_by_ticks, measured_system_time,
    system_time,
};
pub use walk_pairs::ENTRY_CASE;
pub use walked_program::WalkedProgram;
pub use what_if::{
    AddedCosts, Change, Prediction, PriceComparison, added_costs, compare_prices, is_void,
    mean_increase, predict, walk_between_calls,
};

#[cfg(test)]
mod tests;
