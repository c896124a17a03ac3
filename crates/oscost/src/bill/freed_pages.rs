//! The pages of a program, which the kernel unmaps when their process ends, executes another program or
//! unmaps them, and frees where no one else has them: no price of a fault, an exit or a munmap(2)
//! contains that.

use oscost_model::bill::{Amount, BillItem};
use oscost_model::program_calls::ProgramCalls;

use super::fault_items::FaultPages;
use super::price_list::{PriceList, Size};

/// The item of pages of its own.
pub(super) const FREED_PAGE: &str = "freed private page";
/// That of pages of files.
pub(super) const UNMAPPED_PAGE: &str = "unmapped file page";
/// The cases whose rows differ by the memory that an exit frees or unmaps, and the axis of that. Both
/// name their backing: the rows of one are no price of the other.
const EXIT_RESIDENT: &str = "process/exit-resident:backing=anonymous";
const EXIT_MAPPED: &str = "process/exit-resident:backing=file";
pub(super) const MEMORY_AXIS: &str = "touched_mib";
/// Both ends of the line, in MiB: what else an exit does is in both.
const ENDS_MIB: [f64; 2] = [1.0, 64.0];
const PAGES_PER_MIB: f64 = 256.0;

/// Why pages are below zero.
const MORE_IN_PRICES: &str = "the prices of its forks and execs contain more of them than it had";

/// The kind of pages that the rows of faults and exits are of.
const PAGE_BYTES: f64 = 4_096.0;

/// Pages of one kind that a program had, and the case that prices one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PageItem {
    pub(super) name: &'static str,
    /// Below zero if prices of forks and execs contain more of them than there were.
    pub(super) times: f64,
    case: &'static str,
    /// The pages that madvise(2) was given, if they are more than there were: how many of these it has
    /// freed is not known then.
    advised: Option<f64>,
}

/// The pages that a program has got by faults and given back; without those in the price of madvise(2), or
/// all of them where that was given more, and but for the faults in prices of forks and execs, which give
/// their pages back, too. None where a process goes on, or ended otherwise than by itself: which pages it
/// had is then not known.
pub(super) fn page_items(calls: &ProgramCalls, got: FaultPages) -> Vec<PageItem> {
    let of_form = |form: &'static str| calls.forms.iter().filter(move |count| count.form == form);
    let have_all_ended = of_form("exit_group").map(|count| count.calls).sum::<u64>() > calls.forks;
    if !have_all_ended {
        return Vec::new();
    }
    let advised_bytes: u64 = of_form("madvise").map(|count| count.moved).sum();
    let advised_pages = advised_bytes as f64 / PAGE_BYTES;
    let advised = Some(advised_pages).filter(|&pages| pages > 0.0 && pages > got.own);
    let freed = if advised.is_some() { got.own } else { got.own - advised_pages };
    let items = [
        PageItem { name: FREED_PAGE, times: freed, case: EXIT_RESIDENT, advised },
        PageItem { name: UNMAPPED_PAGE, times: got.of_files, case: EXIT_MAPPED, advised: None },
    ];
    items.into_iter().filter(|item| item.times != 0.0).collect()
}

/// The price of one of these pages in an item without a price.
pub(super) fn priced(item: BillItem, pages: PageItem, prices: &PriceList<'_>) -> BillItem {
    let PageItem { case, advised, times, .. } = pages;
    if let Some(advised) = advised {
        let missing = format!(
            "madvise(2) was given {advised:.0} pages, which are more: how many of these it has freed \
             is not known"
        );
        return BillItem { missing: Some(missing), ..item };
    }
    let below_zero = (times < 0.0).then(|| MORE_IN_PRICES.to_owned());
    // The smaller row has so many of them.
    let part = 1.0 / PAGES_PER_MIB;
    let item = BillItem { case: Some(case.to_owned()), part, below_zero, ..item };
    match page_price(case, prices) {
        Some(PagePrice { unit, rows }) => {
            let amount = Some(unit.times(item.times));
            BillItem { flags: prices.flags_of(&rows), rows, unit: Some(unit), amount, ..item }
        }
        None => {
            let missing = Some(format!("no prices of {case} at two sizes in these runs"));
            BillItem { missing, ..item }
        }
    }
}

/// What giving back a page takes, and the rows that say so.
struct PagePrice {
    unit: Amount,
    rows: Vec<String>,
}

fn page_price(case: &str, prices: &PriceList<'_>) -> Option<PagePrice> {
    let row = |value: f64| {
        let size = Size { axis: MEMORY_AXIS, value, has_nothing: false, per_unit: false };
        let price = prices.price(case, Some(size))?;
        price.is_near_rows.then_some(price.row)
    };
    let [small, large] = ENDS_MIB.map(row);
    let rows = vec![small?, large?];
    let pages = PAGES_PER_MIB * (ENDS_MIB[1] - ENDS_MIB[0]);
    let added = prices.added_along(case, MEMORY_AXIS, ENDS_MIB)?;
    Some(PagePrice { unit: added.times(1.0 / pages), rows })
}
