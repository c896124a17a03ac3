//! Calls that are about a number of descriptors, or of messages.

use super::*;

#[test]
fn a_poll_is_priced_by_the_number_of_its_descriptors() {
    let of = |fds: u64, ns: f64| row(&format!("event/wait:method=poll,fds={fds}"), ns);
    let poll = FormCount {
        form: "poll".to_owned(),
        descriptors: Some(128),
        calls: 4,
        moved: 4 * 100,
        ..FormCount::default()
    };
    let rows = vec![of(10, 300.0), of(1_000, 10_200.0)];
    let found = charges(rows, vec![poll], Faults::default());
    assert_eq!(amount(&found, "poll"), Some(4.0 * 1_200.0));
}

#[test]
fn a_call_on_several_messages_pays_for_each_what_one_of_as_many_takes() {
    let of = |count: u64, ns: f64| row(&format!("socket/batch:by=udp,count={count}"), ns);
    let charged = |name: &str, messages: u64| {
        let sent = FormCount {
            form: name.to_owned(),
            messages: Some(messages.next_power_of_two()),
            calls: 10,
            moved: 10 * messages,
            ..FormCount::default()
        };
        let rows = vec![of(1, 2_200.0), of(8, 2_000.0)];
        amount(&charges(rows, vec![sent], Faults::default()), name).map(f64::round)
    };
    // Half of 2,200 ns, and of 8 x 2,000 ns; between and above on the line through both.
    assert_eq!(charged("sendmmsg udp", 1), Some(10.0 * 1_100.0));
    assert_eq!(charged("recvmmsg udp", 8), Some(10.0 * 8_000.0));
    let each: f64 = (8_000.0 - 1_100.0) / 7.0;
    assert_eq!(charged("sendmmsg udp", 2), Some((10.0 * (1_100.0 + each)).round()));
    assert_eq!(charged("sendmmsg udp", 64), Some((10.0 * (8_000.0 + 56.0 * each)).round()));
}

#[test]
fn a_select_is_priced_by_its_descriptors_and_an_epoll_wait_by_those_that_are_ready() {
    let of = |form: &str, descriptors: u64, calls: u64| FormCount {
        form: form.to_owned(),
        descriptors: Some(descriptors.next_power_of_two()),
        calls,
        moved: calls * descriptors,
        ..FormCount::default()
    };
    let select = |fds: u64, ns: f64| row(&format!("event/wait:method=select,fds={fds}"), ns);
    let rows = vec![select(10, 300.0), select(1_000, 10_200.0)];
    let found = charges(rows, vec![of("pselect6", 100, 4)], Faults::default());
    assert_eq!(amount(&found, "pselect6"), Some(4.0 * 1_200.0));
    // 20 ns for each that is ready, of which the price has one.
    let line =
        |fds: u64, ns: f64| row(&format!("event/wait:method=epoll,fds={fds},ready=10pct"), ns);
    let one = || row("event/wait:method=epoll,fds=100,ready=one", 250.0);
    let rows = || vec![one(), line(10, 400.0), line(100, 580.0)];
    let epoll = |ready, calls| of("epoll_wait eventpoll", ready, calls);
    let charged = |rows, forms| {
        let found = charges(rows, forms, Faults::default());
        amount(&found, "epoll_wait eventpoll").unwrap().round()
    };
    assert_eq!(charged(rows(), vec![epoll(1, 7)]), 7.0 * 250.0);
    assert_eq!(charged(rows(), vec![epoll(6, 7)]), 7.0 * 350.0);
    // Nothing was ready.
    assert_eq!(charged(rows(), vec![epoll(0, 7)]), 7.0 * 230.0);
    // Without the line it is the price; what it lacks is expected to take 30 ns for each of 5.
    assert_eq!(charged(vec![one()], vec![epoll(6, 7)]), 7.0 * 250.0);
    let record = record(vec![one()]);
    let prices = PriceList::new([&record], &catalog());
    let wanted = |ready| {
        let calls = calls(vec![epoll(ready, 7)]);
        let lacking = lacking_prices(&calls, Faults::default(), &prices, &prices, &catalog());
        lacking.into_iter().map(|it| (it.selector, it.amount_ns)).collect::<Vec<_>>()
    };
    let line = "event/wait:method=epoll,ready=10pct".to_owned();
    assert_eq!((wanted(1), wanted(6)), (Vec::new(), vec![(line, Some(7.0 * 5.0 * 30.0))]));
}
