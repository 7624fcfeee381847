//! Several Indexes that fill the same index of an engine.

use super::fixture::{condition, manifest, ready, server};
use crate::api_server::pass;
use crate::controller::{A_WHILE, Controller, until};

#[tokio::test(start_paused = true)]
async fn two_indexes_fill_one_index_when_their_settings_agree() {
    let server = server();
    for name in ["a", "b"] {
        server.put("indexes", manifest(name, "{indexName: shared, vectorIndex: Flat}"));
    }
    let controller = Controller::start(&server);
    until("two Jobs", &server, || server.names("jobs").len() == 2).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_younger_with_other_rules_is_degraded() {
    let server = server();
    let rules = |read: &str| format!("{{indexName: shared, access: {{read: {read}}}}}");
    server.put("indexes", manifest("a", &rules("['user:ann', 'group:staff']")));
    server.put("indexes", manifest("b", &rules("['group:staff', 'user:ann']")));
    server.put("indexes", manifest("c", &rules("['*']")));
    server.put("indexes", manifest("d", "{indexName: shared}"));
    let controller = Controller::start(&server);
    for name in ["c", "d"] {
        until("Degraded", &server, || condition(&server, name, "Degraded").1 == "SettingsConflict").await;
        assert!(condition(&server, name, "Degraded").2.contains("Index a"));
    }
    until("two Jobs", &server, || server.names("jobs").len() == 2).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_younger_with_other_settings_waits_until_the_older_is_gone() {
    let server = server();
    // Created in the same second, so the names decide which is older.
    server.put("indexes", manifest("a", "{indexName: shared, vectorIndex: Flat, deletionPolicy: Retain}"));
    server.put("indexes", manifest("b", "{indexName: shared, vectorIndex: SQ8}"));
    server.put("indexes", manifest("c", "{indexName: another, vectorIndex: SQ8}"));
    let controller = Controller::start(&server);
    until("SettingsConflict", &server, || ready(&server, "b") == "False SettingsConflict").await;
    pass(A_WHILE).await;
    let with_jobs = |server: &crate::api_server::ApiServer| -> Vec<String> {
        server.names("jobs").iter().map(|job| job[..1].to_owned()).collect()
    };
    assert_eq!(with_jobs(&server), ["a", "c"]);
    assert!(condition(&server, "b", "Degraded").2.contains("Index a"));
    server.delete("indexes", "a");
    until("a Job of b", &server, || with_jobs(&server).contains(&"b".to_owned())).await;
    controller.stop().await;
}
