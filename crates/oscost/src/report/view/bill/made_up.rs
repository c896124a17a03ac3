//! Made-up bills, for tests.

use oscost_model::bill::{Amount, Bill, BillItem};
use serde_json::{Value, json};

/// An item of so many calls at a price that is known to 10 %.
pub(in crate::report) fn priced(name: &str, family: &str, times: f64, unit_ns: f64) -> BillItem {
    let unit = Amount { ns: unit_ns, ci95: Some([0.9 * unit_ns, 1.1 * unit_ns]) };
    let case = "syscall/getppid:via=raw";
    let item = json!({
        "name": name, "family": family, "times": times, "case": case, "part": 1.0, "rows": [case],
        "unit": unit, "amount": unit.times(times), "share_pct": null, "missing": null
    });
    serde_json::from_value(item).unwrap()
}

/// An item of so many calls that nothing prices.
pub(in crate::report) fn unpriced(name: &str, times: f64) -> BillItem {
    let item = json!({
        "name": name, "family": "other", "times": times, "case": null, "part": 1.0, "rows": [],
        "unit": null, "amount": null, "share_pct": null, "missing": "no case prices it"
    });
    serde_json::from_value(item).unwrap()
}

/// A bill of these items, beside a system time that is known to 1 %.
pub(in crate::report) fn bill(mut items: Vec<BillItem>, system_ns: f64) -> Bill {
    for item in &mut items {
        let amount = item.amount.as_ref().filter(|_| system_ns > 0.0);
        item.share_pct = amount.map(|amount| 100.0 * amount.ns / system_ns);
    }
    let nothing = Amount { ns: 0.0, ci95: Some([0.0; 2]) };
    let amounts = items.iter().filter_map(|item| item.amount.as_ref());
    let charged = amounts.fold(nothing, |sum, amount| sum.plus(amount));
    let system = Amount { ns: system_ns, ci95: Some([0.99 * system_ns, 1.01 * system_ns]) };
    let run: Value =
        serde_json::from_str(include_str!("../../../../tests/store/run-1.json")).unwrap();
    let bill = json!({
        "schema": "oscost.bill/1", "id": "0193", "started": "2026-11-26T12:00:00Z",
        "ended": "2026-11-26T12:00:09Z", "program": ["/usr/bin/find", "/usr", "-name", "x"],
        "tool": run["tool"], "machine": run["machines"][0],
        "trials": {
            "real": estimate(0.5), "user": estimate(0.1), "system": estimate(system_ns * 1e-9),
            "system_time": system, "system_figure": "median", "source": "rusage",
            "minor_faults": 1_200.0, "major_faults": 2.0, "voluntary_switches": 30.0,
            "involuntary_switches": 4.0
        },
        "counted": {
            "calls": {
                "by": "ptrace", "forms": [], "forks": 0, "threads": 0, "execs": 1, "exits": 1,
                "signals": 0, "unfinished": 0, "killed": 0, "unread": 0, "real_ns": 505_000_000
            },
            "runs": 3, "varying_forms": 0, "added_pct": 1.0
        },
        "not_counted": null,
        "prices": {
            "runs": [{"id": "0192", "started": "2026-11-26T11:00:00Z"}], "stale": [], "missing": []
        },
        "items": items, "charged": charged, "difference": system.plus(&charged.times(-1.0))
    });
    serde_json::from_value(bill).unwrap()
}

/// The same bill where each price is so many times as high after a walk.
pub(in crate::report) fn cooled(mut bill: Bill, ratio: f64) -> Bill {
    let times = |amount: &Option<Amount>| amount.as_ref().map(|it| it.times(ratio));
    for item in &mut bill.items {
        (item.cool_price, item.cool_amount) = (times(&item.unit), times(&item.amount));
        item.cool_source = item.amount.as_ref().map(|_| "cool=1M".to_owned());
    }
    let system = &bill.trials.system_time;
    bill.charged_cool = times(&bill.charged);
    bill.difference_cool = bill.charged_cool.as_ref().map(|sum| system.plus(&sum.times(-1.0)));
    bill.walk_bytes = Some(1 << 20);
    bill
}

/// What a search of a tree is charged: 87 of 100 ms.
pub(in crate::report) fn find() -> Bill {
    let items = vec![
        priced("close file", "files", 68_725.0, 800.0),
        priced("getdents64 directory", "files", 10_000.0, 2_000.0),
        priced("minor page fault", "memory", 1_200.0, 10_000.0),
        priced("brk", "memory", 20.0, 1_000.0),
        unpriced("sysinfo", 1.0),
    ];
    bill(items, 100e6)
}

fn estimate(seconds: f64) -> Value {
    json!({
        "exact": false, "median": seconds, "ci95": [0.99 * seconds, 1.01 * seconds],
        "raw_median": seconds, "overhead": {"clock": null, "loop": null}, "mean": seconds,
        "sd": null, "sd_within": null, "min": seconds, "p10": seconds, "repetitions": 12,
        "samples": 12, "ops_per_sample": 1, "half_width_pct": null, "converged": true,
        "quantiles": null
    })
}
