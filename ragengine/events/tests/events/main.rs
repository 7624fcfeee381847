//! Events on a RabbitMQ server that the tests start. A server takes some seconds to start, so several tests share one.

#![expect(clippy::unwrap_used, reason = "tests")]

mod consumer;
mod encryption;
mod offline;
mod outages;
mod publisher;
mod publishing;
mod refusals;
mod test_rabbitmq;

use test_rabbitmq::TestRabbitMq;

/// The largest message that the server takes, in bytes.
const LARGEST_BYTES: usize = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_arrive_or_it_is_told_why_not() {
    let server = TestRabbitMq::start_with(&format!("max_message_size = {LARGEST_BYTES}\n"));
    publishing::both_events_arrive_as_specified(&server).await;
    publishing::nobody_need_listen(&server).await;
    publishing::the_end_waits_for_confirmations(&server).await;
    refusals::a_wrong_password_is_told(&server).await;
    refusals::another_exchange_of_this_name_is_told(&server).await;
    refusals::missing_rights_are_told(&server).await;
    refusals::a_deleted_exchange_is_made_again(&server).await;
    refusals::an_event_that_is_too_large_does_not_stop_others(&server).await;
    refusals::a_full_queue_gets_the_event_later(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outages_lose_nothing_and_block_nobody() {
    let mut server = TestRabbitMq::start();
    outages::events_arrive_after_a_restart(&mut server).await;
    outages::a_server_that_does_not_answer_gets_them_later(&server).await;
    // Restarts it.
    encryption::a_certificate_must_be_trusted(&mut server).await;
}
