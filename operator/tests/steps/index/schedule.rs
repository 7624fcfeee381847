//! The schedule goes by the operator's clock, which begins at nine.

use std::time::Duration;

use super::fixture::{made, only_job, ready, server, succeed};
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
async fn each_turn_is_one_synchronisation() {
    let server = server();
    server.put("indexes", made("handbook", "schedule: '*/30 * * * *'"));
    let controller = Controller::start(&server);
    synced(&server).await;
    // A turn is put off by a tenth of the time between two at most. That of nine o'clock may come yet.
    pass(4 * MINUTE).await;
    if !server.names("jobs").is_empty() {
        synced(&server).await;
    }
    for _ in 0..3 {
        pass(26 * MINUTE).await;
        assert!(server.names("jobs").is_empty(), "not yet");
        pass(4 * MINUTE).await;
        assert_eq!(server.names("jobs").len(), 1, "now");
        assert_eq!(ready(&server, "handbook"), "True Synced", "what was asked for is there meanwhile");
        synced(&server).await;
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn turns_that_were_missed_are_one() {
    let server = server();
    server.put("indexes", made("handbook", "schedule: '*/10 * * * *'"));
    let controller = Controller::start(&server);
    synced(&server).await;
    // While the operator is away, or anything else is in the way.
    server.edit("indexes", "handbook", |index| index["spec"]["suspend"] = true.into());
    pass(60 * MINUTE).await;
    assert!(server.names("jobs").is_empty());
    assert_eq!(ready(&server, "handbook"), "True Synced");
    server.edit("indexes", "handbook", |index| index["spec"]["suspend"] = false.into());
    synced(&server).await;
    pass(A_MOMENT).await;
    assert!(server.names("jobs").is_empty(), "one for all of them");
    controller.stop().await;
}
