use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use futures_util::future::join_all;
use ragengine_embedding::local::{Service, ServiceOptions};
use ragengine_embedding::{Embedder, Error, Purpose};

use crate::files::{cosine, shared_model};

fn start(options: ServiceOptions) -> Service {
    Service::start(shared_model(), &options).unwrap()
}

fn one_thread() -> ServiceOptions {
    ServiceOptions { threads: 1, ..ServiceOptions::default() }
}

/// Polls once, so that the service has received the request.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

fn long_text(number: usize) -> String {
    format!("{number} {}", "river ".repeat(240))
}

fn long_texts(count: usize) -> Vec<String> {
    (0..count).map(long_text).collect()
}

#[tokio::test]
async fn vectors_come_in_the_order_of_the_texts() {
    let service = start(ServiceOptions { threads: 2, ..ServiceOptions::default() });
    let texts: Vec<String> =
        (0..40).map(|number| format!("topic {number} {}", "more words ".repeat(number * 7 % 30))).collect();
    for purpose in [Purpose::Query, Purpose::Passage] {
        let together = service.embed(purpose, texts.clone()).await.unwrap();
        assert_eq!(together.len(), texts.len());
        for (text, vector) in texts.iter().zip(&together).step_by(7) {
            let alone = service.embed(purpose, vec![text.clone()]).await.unwrap();
            assert!(cosine(&alone[0], vector) > 0.9999, "{text}");
        }
    }
    assert_eq!(service.embed(Purpose::Query, Vec::new()).await, Ok(Vec::new()));
}

/// Two ingests come before the query. One has a single batch, which would be finished first if the query waited in
/// line.
#[tokio::test]
async fn a_query_does_not_wait_for_an_ingest() {
    let service = start(one_thread());
    let mut large = pin!(service.embed(Purpose::Passage, long_texts(100)));
    let mut small = pin!(service.embed(Purpose::Passage, long_texts(1)));
    assert!(poll_once(large.as_mut()).await.is_pending());
    assert!(poll_once(small.as_mut()).await.is_pending());

    let query = service.embed(Purpose::Query, vec!["Where is the river?".to_owned()]).await.unwrap();
    assert_eq!(query.len(), 1);
    assert!(poll_once(large.as_mut()).await.is_pending());
    assert!(poll_once(small.as_mut()).await.is_pending());
}

#[tokio::test]
async fn an_ingest_larger_than_the_queue_takes_turns_with_others() {
    let service = start(ServiceOptions { passage_queue: 1, ..one_thread() });
    let mut large = pin!(service.embed(Purpose::Passage, long_texts(60)));
    assert!(poll_once(large.as_mut()).await.is_pending());
    let small = service.embed(Purpose::Passage, long_texts(1));
    tokio::select! {
        biased;
        _ = &mut large => panic!("the small request waited for all of the large one"),
        result = small => assert_eq!(result.unwrap().len(), 1),
    }
    assert_eq!(large.await.unwrap().len(), 60);
}

#[tokio::test]
async fn queries_beyond_the_queue_are_refused() {
    let service = start(ServiceOptions { query_queue: 2, max_batch: 1, ..one_thread() });
    let requests = (0..50).map(|number| service.embed(Purpose::Query, vec![long_text(number)]));
    let results = join_all(requests).await;
    let refused = results.iter().filter(|result| **result == Err(Error::Overloaded { waiting: 2 })).count();
    let answered = results.iter().filter(|result| result.is_ok()).count();
    assert!(refused > 0 && answered >= 2, "{refused} refused, {answered} answered");
    assert_eq!(refused + answered, 50);
    // The service has recovered.
    assert!(service.embed(Purpose::Query, vec!["again".to_owned()]).await.is_ok());
}

#[tokio::test]
async fn a_query_of_more_texts_than_the_queue_holds_is_served_when_there_is_room_for_the_first() {
    let service = start(ServiceOptions { query_queue: 1, max_batch: 1, ..one_thread() });
    assert_eq!(service.embed(Purpose::Query, long_texts(6)).await.unwrap().len(), 6);
}

#[tokio::test]
async fn a_passage_over_the_limit_is_named_by_its_place_in_the_request() {
    let service = start(one_thread());
    let mut texts = long_texts(20);
    texts[13] = "river ".repeat(300);
    let error = service.embed(Purpose::Passage, texts.clone()).await.unwrap_err();
    assert_eq!(error, Error::TooLong { position: 13, tokens: 302, max_tokens: 256 });

    // Another request in the same batch is not affected.
    let (bad, good) = tokio::join!(
        service.embed(Purpose::Passage, vec![texts[13].clone()]),
        service.embed(Purpose::Passage, long_texts(1))
    );
    assert!(bad.is_err());
    assert_eq!(good.unwrap().len(), 1);
}

#[test]
fn dropping_the_service_ends_its_threads() {
    let model = Arc::new(crate::files::load(&Default::default()));
    let service =
        Service::start(Arc::clone(&model), &ServiceOptions { threads: 3, ..ServiceOptions::default() }).unwrap();
    assert_eq!(Arc::strong_count(&model), 8);
    drop(service);
    assert_eq!(Arc::strong_count(&model), 1);
}

#[test]
fn options_with_a_zero_are_refused() {
    let good = ServiceOptions::default();
    let cases = [
        ServiceOptions { threads: 0, ..good.clone() },
        ServiceOptions { query_queue: 0, ..good.clone() },
        ServiceOptions { passage_queue: 0, ..good.clone() },
        ServiceOptions { max_batch: 0, ..good },
    ];
    for options in cases {
        assert_eq!(Service::start(shared_model(), &options).err().unwrap().kind(), "configuration");
    }
}

#[tokio::test]
async fn an_embedder_is_a_service_with_its_model() {
    let embedder = Embedder::Local(start(one_thread()));
    let model = shared_model();
    assert_eq!(embedder.dimensions(), Some(384));
    assert_eq!(embedder.max_tokens(), 256);
    assert_eq!(embedder.max_passage_tokens(), 254);
    assert_eq!(embedder.special_tokens(), 2);
    assert_eq!(embedder.count_tokens("hello world"), 2);
    assert_eq!(embedder.fingerprint(), model.fingerprint());
    assert_eq!(embedder.model_id(), model.model_id());
    let mut query = pin!(embedder.embed(Purpose::Query, vec!["hello".to_owned()]));
    let vectors = match poll_once(query.as_mut()).await {
        Poll::Ready(vectors) => vectors,
        Poll::Pending => query.await,
    };
    assert_eq!(vectors.unwrap()[0].len(), 384);
}
