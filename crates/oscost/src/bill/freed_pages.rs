//! The private pages of a program, which the kernel frees when their process ends or unmaps them: no
//! price of a fault, an exit or a munmap(2) contains that.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::program_calls::ProgramCalls;

use super::fault_items::copies_to_charge;
use super::price_list::{PriceList, Size};

/// The item.
pub(super) const FREED_PAGE: &str = "freed private page";
/// The case whose rows differ by the memory that an exit frees, and the axis of that.
pub(super) const EXIT_RESIDENT: &str = "process/exit-resident";
pub(super) const MEMORY_AXIS: &str = "touched_mib";
/// Both ends of the line, in MiB: what else an exit does is in both.
const ENDS_MIB: [f64; 2] = [1.0, 64.0];
const PAGES_PER_MIB: f64 = 256.0;

/// The kind of pages that the rows of faults and exits are of.
const PAGE_BYTES: f64 = 4_096.0;

/// How many pages of its own a program has got and freed again: by first touches, without huge ones, and
/// by copies, but for those in the prices of forks, which free them; without those in the price of
/// madvise(2). None where a process goes on, or ended otherwise than by itself: which pages it had is then
/// not known.
pub(super) fn freed_pages(calls: &ProgramCalls, copies_in_prices: f64) -> f64 {
    let of_form = |form: &'static str| calls.forms.iter().filter(move |count| count.form == form);
    let have_all_ended = of_form("exit_group").map(|count| count.calls).sum::<u64>() > calls.forks;
    let Some(events) = calls.events.filter(|_| have_all_ended) else { return 0.0 };
    let advised_bytes: u64 = of_form("madvise").map(|count| count.moved).sum();
    let got = events.faults.zero_fill as f64 + copies_to_charge(calls, copies_in_prices);
    (got - advised_bytes as f64 / PAGE_BYTES).max(0.0)
}

/// The price of one in an item without a price.
pub(super) fn priced(item: BillItem, prices: &PriceList<'_>) -> BillItem {
    // The smaller row has so many of them.
    let part = 1.0 / PAGES_PER_MIB;
    let item = BillItem { case: Some(EXIT_RESIDENT.to_owned()), part, ..item };
    match page_price(prices) {
        Some(PagePrice { unit, rows }) => {
            let amount = Some(unit.times(item.times));
            BillItem { rows, unit: Some(unit), amount, ..item }
        }
        None => {
            let missing = Some(format!("no prices of {EXIT_RESIDENT} at two sizes in these runs"));
            BillItem { missing, ..item }
        }
    }
}

/// What freeing a page takes, and the rows that say so.
struct PagePrice {
    unit: Amount,
    rows: Vec<String>,
}

fn page_price(prices: &PriceList<'_>) -> Option<PagePrice> {
    let row = |value: f64| {
        let size = Size { axis: MEMORY_AXIS, value, has_nothing: false };
        let price = prices.price(EXIT_RESIDENT, Some(size))?;
        price.is_near_rows.then_some(price.row)
    };
    let [small, large] = ENDS_MIB.map(row);
    let rows = vec![small?, large?];
    let pages = PAGES_PER_MIB * (ENDS_MIB[1] - ENDS_MIB[0]);
    let added = prices.added_along(EXIT_RESIDENT, MEMORY_AXIS, ENDS_MIB)?;
    Some(PagePrice { unit: prices.difference(added.times(1.0 / pages)), rows })
}
