use super::*;

fn admission(limits: Limits) -> Admission {
    Admission::new(&limits, Arc::new(Metrics::new(Duration::from_secs(300)).unwrap()))
}

/// One running and one waiting write.
fn narrow() -> Admission {
    admission(Limits {
        max_running_writes: 1,
        max_waiting_writes: 1,
        max_running_reads: 1,
        max_waiting_reads: 0,
        ..Limits::default()
    })
}

#[tokio::test]
async fn one_runs_one_waits_and_one_more_is_refused() {
    let admission = Arc::new(narrow());
    let running = admission.turn(Work::Write).await.unwrap();
    let waiter = Arc::clone(&admission);
    let waiting = tokio::spawn(async move { waiter.turn(Work::Write).await });
    while admission.write.queue().is_some() {
        tokio::task::yield_now().await;
    }
    let refused = admission.turn(Work::Write).await.err().unwrap();
    assert_eq!(refused, Refused::QueueFull { waiting: 1, setting: "limits.maxWaitingWrites" });
    // Reads have a separate queue.
    drop(admission.turn(Work::Read).await.unwrap());
    drop(running);
    drop(waiting.await.unwrap().unwrap());
    admission.turn(Work::Write).await.unwrap();
}

#[tokio::test]
async fn a_dropped_wait_leaves_the_queue() {
    let admission = narrow();
    let running = admission.turn(Work::Write).await.unwrap();
    for _ in 0..3 {
        assert!(futures_util::FutureExt::now_or_never(admission.turn(Work::Write)).is_none());
    }
    drop(running);
    admission.turn(Work::Write).await.unwrap();
}

#[tokio::test]
async fn a_permit_lasts_until_its_last_clone_is_dropped() {
    let admission = narrow();
    let turn = admission.turn(Work::Read).await.unwrap();
    let copy = turn.clone();
    drop(turn);
    assert!(admission.turn(Work::Read).await.is_err());
    drop(copy);
    assert!(admission.turn(Work::Read).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn waiting_and_running_time_out() {
    let admission = narrow();
    let _running = admission.turn(Work::Write).await.unwrap();
    let waited = admission.turn(Work::Write).await.err().unwrap();
    assert_eq!(waited.kind(), "waited_too_long");
    for (work, words) in [(Work::Write, "may still take effect"), (Work::Read, "within 60 s")] {
        let late = admission.in_time(work, std::future::pending::<()>()).await.unwrap_err();
        assert!(late.to_string().contains(words), "{late}");
    }
    assert_eq!(admission.in_time(Work::Read, async { 7 }).await, Ok(7));
}

#[tokio::test]
async fn metrics_count_running_waiting_and_refused_requests() {
    let admission = narrow();
    let text = || admission.metrics.render(&[]).unwrap();
    let turn = admission.turn(Work::Read).await.unwrap();
    let refused = admission.turn(Work::Read).await.err().unwrap();
    admission.refused(Work::Read, &refused);
    let waiting = admission.turn(Work::Write).await.unwrap();
    {
        let mut second = Box::pin(admission.turn(Work::Write));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(text().contains(r#"ragengine_requests_waiting{work="write"} 1"#));
    }
    for line in [
        r#"ragengine_requests_running{work="read"} 1"#,
        r#"ragengine_requests_waiting{work="write"} 0"#,
        r#"ragengine_requests_refused_total{reason="queue_full",work="read"} 1"#,
    ] {
        assert!(text().contains(line), "{line}");
    }
    drop((turn, waiting));
    assert!(text().contains(r#"ragengine_requests_running{work="read"} 0"#));
}
