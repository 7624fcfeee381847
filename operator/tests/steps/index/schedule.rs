//! The schedule uses the operator's clock, which starts at nine.

use std::time::Duration;

use super::fixture::{manifest, only_job, ready, server, succeed};
use crate::api_server::{ApiServer, pass};
use crate::controller::{A_MOMENT, Controller, until};

const MINUTE: Duration = Duration::from_secs(60);

async fn synced(server: &ApiServer) {
    until("a Job", server, || !server.names("jobs").is_empty()).await;
    let job = only_job(server);
    succeed(server, "handbook", &job);
    until("Synced", server, || ready(server, "handbook") == "True Synced").await;
}

#[tokio::test(start_paused = true)]
async fn each_scheduled_time_starts_one_synchronisation() {
    let server = server();
    server.put("indexes", manifest("handbook", "schedule: '*/30 * * * *'"));
    let controller = Controller::start(&server);
    synced(&server).await;
    // A start is delayed by at most a tenth of the interval, so the one of nine o'clock may still come.
    pass(4 * MINUTE).await;
    if !server.names("jobs").is_empty() {
        synced(&server).await;
    }
    for _ in 0..3 {
        pass(26 * MINUTE).await;
        assert!(server.names("jobs").is_empty(), "not yet");
        pass(4 * MINUTE).await;
        assert_eq!(server.names("jobs").len(), 1, "now");
        assert_eq!(ready(&server, "handbook"), "True Synced", "the index stays ready during the synchronisation");
        synced(&server).await;
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn missed_times_start_one_synchronisation() {
    let server = server();
    server.put("indexes", manifest("handbook", "schedule: '*/10 * * * *'"));
    let controller = Controller::start(&server);
    synced(&server).await;
    // Suspension stands for any reason to miss scheduled times, such as an operator that is down.
    server.edit("indexes", "handbook", |index| index["spec"]["suspend"] = true.into());
    pass(60 * MINUTE).await;
    assert!(server.names("jobs").is_empty());
    assert_eq!(ready(&server, "handbook"), "True Synced");
    server.edit("indexes", "handbook", |index| index["spec"]["suspend"] = false.into());
    synced(&server).await;
    pass(A_MOMENT).await;
    assert!(server.names("jobs").is_empty(), "one synchronisation for all of them");
    controller.stop().await;
}
