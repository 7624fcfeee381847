use super::*;

fn size(documents: u64) -> IndexSize {
    IndexSize { documents, chunks: documents * 2, text_bytes: documents * 100 }
}

#[test]
fn events_are_counted() {
    let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
    let running = metrics.http.request_begins();
    metrics.http.replied("POST", "/retrieve", "200", Duration::from_millis(20));
    metrics.searched(Duration::from_millis(1));
    metrics.copied("backup", "ok");
    let text = metrics.render(&[("docs".to_owned(), size(3))]).unwrap();
    for line in [
        "ragengine_http_requests_total{method=\"POST\",route=\"/retrieve\",status=\"200\"} 1",
        "ragengine_http_request_duration_seconds_bucket{method=\"POST\",route=\"/retrieve\",le=\"0.025\"} 1",
        "ragengine_http_requests_in_flight 1",
        "ragengine_search_duration_seconds_count 1",
        "ragengine_copies_total{operation=\"backup\",outcome=\"ok\"} 1",
        "ragengine_index_chunks{index=\"docs\"} 6",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    drop(running);
    assert!(metrics.render(&[]).unwrap().contains("ragengine_http_requests_in_flight 0"));
    let language_model = |is_up: Option<bool>| {
        metrics.language_model_is(is_up);
        let text = metrics.render(&[]).unwrap();
        text.lines().find(|line| line.starts_with("ragengine_language_model_up")).map(str::to_owned)
    };
    assert_eq!(language_model(Some(true)).as_deref(), Some("ragengine_language_model_up 1"));
    assert_eq!(language_model(Some(false)).as_deref(), Some("ragengine_language_model_up 0"));
    assert_eq!(language_model(None), None);
}

#[test]
fn failed_copies_are_counted_from_zero() {
    let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
    let failed = || {
        let text = metrics.render(&[]).unwrap();
        let series = text.lines().filter_map(|line| line.strip_prefix("ragengine_copies_failed_total"));
        series.map(str::to_owned).collect::<Vec<_>>()
    };
    let none = ["backup", "load", "persist", "restore"].map(|operation| format!("{{operation=\"{operation}\"}} 0"));
    assert_eq!(failed(), none);
    metrics.copied("backup", "ok");
    assert_eq!(failed(), none);
    metrics.copied("backup", "store_disk");
    assert_eq!(failed()[0], "{operation=\"backup\"} 1");
}

/// Its zero would be an outage of RabbitMQ to an alert.
#[test]
fn a_server_without_events_does_not_say_whether_rabbitmq_is_connected() {
    let text = Metrics::new(Duration::from_secs(300)).unwrap().render(&[]).unwrap();
    assert!(!text.contains("ragengine_events_connected"), "{text}");
}

#[test]
fn a_deleted_index_disappears_and_many_are_summed() {
    let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
    let many: Vec<(String, IndexSize)> = (0..103).map(|number| (format!("i{number:03}"), size(1))).collect();
    let text = metrics.render(&many).unwrap();
    assert!(text.contains("ragengine_index_documents{index=\"i099\"} 1"));
    assert!(text.contains("ragengine_index_documents{index=\"other\"} 3"));
    assert!(!metrics.render(&[]).unwrap().contains("index=\"i000\""));
}

#[test]
fn a_deleted_index_loses_its_series_and_frees_its_label() {
    let metrics = Metrics::new(Duration::from_secs(300)).unwrap();
    let chats = |name: &str| {
        let label = metrics.index_label(name);
        let route = Route { index: label.as_str(), path: "rag", reason: "", outcome: "ok" };
        metrics.chat.ended(route, Duration::from_secs(1));
        metrics.chat.context(label.as_str(), 10, 5);
        metrics.chat.tokens(label.as_str(), 1, 1);
    };
    for number in 0..=100 {
        let name = format!("i{number:03}");
        metrics.index_is_there(&name);
        chats(&name);
    }
    let counted = |label: &str| {
        let text = metrics.render(&[]).unwrap();
        text.lines().filter(|line| line.contains(&format!("index=\"{label}\""))).count()
    };
    assert!(counted("i000") > 0 && counted("i100") == 0 && counted("other") > 0);
    metrics.keep_indexes(|name| name != "i000");
    assert_eq!(counted("i000"), 0);
    assert!(counted("i001") > 0 && counted("other") > 0);
    // A chat that ends after the deletion does not create the series again.
    chats("i000");
    assert_eq!(counted("i000"), 0);
    metrics.index_is_there("i100");
    chats("i100");
    assert!(counted("i100") > 0);
}
