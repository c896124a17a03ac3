//! Work on several CPUs: records are read and checked there, and their results taken by one thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

/// More threads wait for the one that takes their results.
const MAX_THREADS: usize = 4;

/// How many results may wait: each is as large as a record.
const WAITING_RESULTS: usize = 64;

/// How many threads work at once.
pub(super) fn thread_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// A result, with the number of its item.
struct Done<T> {
    item: usize,
    result: T,
}

/// Does the work for items from 0, in a thread for each of `workers`, and has this thread take the
/// results, in any order. Where no thread can be started, this one works too, with `own`.
pub(super) fn for_each<W: Send, T: Send>(
    items: usize,
    workers: Vec<W>,
    own: &mut W,
    work: &(dyn Fn(&mut W, usize) -> T + Sync),
    take: &mut dyn FnMut(usize, T),
) {
    let next = AtomicUsize::new(0);
    let next_item = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|item| *item < items);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING_RESULTS);
        for mut worker in workers {
            let (sender, next_item) = (sender.clone(), &next_item);
            let work_on = move || {
                while let Some(item) = next_item() {
                    let result = work(&mut worker, item);
                    if sender.send(Done { item, result }).is_err() {
                        return; // The receiver has ended.
                    }
                }
            };
            if thread::Builder::new().spawn_scoped(scope, work_on).is_err() {
                break; // At a limit of processes, those that were started do it.
            }
        }
        drop(sender);
        for Done { item, result } in receiver {
            take(item, result);
        }
    });
    while let Some(item) = next_item() {
        take(item, work(own, item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_with_any_number_of_threads() {
        for threads in [0, 1, 3] {
            let mut found = Vec::new();
            for_each(
                100,
                vec![1; threads],
                &mut 1,
                &|one, item| item + *one,
                &mut |item, result| {
                    assert_eq!(result, item + 1);
                    found.push(item);
                },
            );
            found.sort_unstable();
            assert!(found.into_iter().eq(0..100), "{threads}");
        }
    }
}
