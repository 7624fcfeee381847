use super::*;

fn answer(documents: u64) -> EngineStatus {
    EngineStatus { ready: true, data_id: Some("d".into()), indexes: 1, documents, chunks: 0, ..EngineStatus::default() }
}

#[test]
fn only_a_report_that_changes_a_status_is_news() {
    let first = next(None, "p".into(), Ok(answer(1)));
    let same = next(Some(&first), "p".into(), Ok(answer(1)));
    let more = next(Some(&first), "p".into(), Ok(answer(2)));
    assert!(!is_news(&first, &same));
    assert!(is_news(&first, &more));
    let mut report = first.clone();
    let mut news = Vec::new();
    for _ in 0..5 {
        let failed = next(Some(&report), "p".into(), Err("no".into()));
        news.push(is_news(&report, &failed));
        report = failed;
    }
    assert_eq!(news, [false, false, true, false, false]);
    assert_eq!(report.answer, Some(answer(1)), "the previous answer is kept");
    assert!(is_news(&report, &next(Some(&report), "p".into(), Ok(answer(1)))));
}

#[test]
fn a_server_that_was_never_asked_comes_first_then_the_one_that_has_waited_longest() {
    let now = Instant::now();
    let turn = |was_asked, seconds| Turn { was_asked, due: now + Duration::from_secs(seconds) };
    let waiting = vec![(turn(true, 1), "b"), (turn(true, 0), "a"), (turn(false, 3), "new"), (turn(true, 2), "c")];
    assert_eq!(first(waiting).collect::<Vec<_>>(), ["new", "a", "b", "c"]);
}

#[test]
fn the_requests_to_one_namespace_are_limited() {
    let mut asked = InFlight::default();
    let begun = (0..10).filter(|_| asked.begins("crowded")).count();
    assert_eq!(begun, CONCURRENCY_OF_NAMESPACE);
    assert!(asked.begins("other"));
    asked.ends("crowded");
    assert!(asked.begins("crowded") && !asked.begins("crowded"));
    asked.ends("other");
    assert!(!asked.0.contains_key("other"), "namespaces without requests are removed");
}

#[test]
fn an_address_becomes_a_url() {
    let target = |address: &str, scheme| Target {
        pod_uid: "p".into(),
        address: address.parse().unwrap(),
        status_port: 5001,
        scheme,
    };
    assert_eq!(target("10.1.2.3", Scheme::Http).url(5001), "http://10.1.2.3:5001");
    assert_eq!(target("fd00::1", Scheme::Http).url(5000), "http://[fd00::1]:5000");
    let encrypted = target("fd00::1", Scheme::Https);
    assert_eq!(encrypted.url(5000), "https://[fd00::1]:5000");
    assert_eq!(encrypted.url(5001), "http://[fd00::1]:5001", "only the port for clients has TLS");
}
