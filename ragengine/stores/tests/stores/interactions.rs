//! Behaviours of the interaction store.

use ragengine_stores::{Interaction, InteractionStore, Similar};

use crate::backends::{DAY_MS, Stores, now_ms};

fn interaction(id: &str, vector: [f32; 2]) -> Interaction {
    Interaction {
        owner: "ann".to_owned(),
        id: id.to_owned(),
        index_name: "docs".to_owned(),
        fingerprint: "minilm".to_owned(),
        vector: vector.to_vec(),
        user_input: format!("question {id}"),
        ai_response: format!("answer {id}"),
        ai_provider: "local/qwen".to_owned(),
        task_category: "general".to_owned(),
        node_ids: vec!["x".to_owned(), "y".to_owned()],
        created_at_ms: now_ms(),
    }
}

async fn nearest(store: &InteractionStore, provider: Option<&str>, limit: usize, min: f32) -> Vec<Similar> {
    store.nearest("ann", "docs", "minilm", &[1.0, 0.0], provider, limit, min).await.unwrap()
}

fn ids(found: &[Similar]) -> Vec<&str> {
    found.iter().map(|similar| similar.id.as_str()).collect()
}

pub async fn the_most_similar_interactions_are_found(stores: Stores) {
    let store = stores.interactions;
    assert_eq!(nearest(&store, None, 5, 0.0).await, []);
    for (id, vector) in
        [("b", [0.8, 0.6]), ("a", [0.8, -0.6]), ("c", [1.0, 0.0]), ("d", [0.6, 0.8]), ("e", [-1.0, 0.0])]
    {
        store.keep(interaction(id, vector)).await.unwrap();
    }
    store.keep(Interaction { ai_provider: "acme/gpt".to_owned(), ..interaction("f", [0.6, -0.8]) }).await.unwrap();
    let no_number = Interaction { vector: vec![f32::NAN, 0.0], ..interaction("g", [0.0, 0.0]) };
    store.keep(no_number).await.unwrap();
    store.keep(Interaction { vector: vec![1.0], ..interaction("h", [0.0, 0.0]) }).await.unwrap();
    for (provider, limit, min_similarity, expected) in [
        (None, 10, -1.0, &["c", "a", "b", "d", "f", "e"][..]),
        (None, 2, -1.0, &["c", "a"]),
        (None, 10, 0.8, &["c", "a", "b"]),
        (None, 0, -1.0, &[]),
        (Some("acme/gpt"), 10, -1.0, &["f"]),
        (Some("gpt"), 10, -1.0, &[]),
    ] {
        let found = nearest(&store, provider, limit, min_similarity).await;
        assert_eq!(ids(&found), expected, "{provider:?} {limit} {min_similarity}");
    }
    let found = nearest(&store, None, 1, 0.5).await.remove(0);
    let Interaction { user_input, ai_response, ai_provider, task_category, node_ids, .. } = interaction("c", [0.0; 2]);
    let age_ms = now_ms() - found.created_at_ms;
    assert!((0..60_000).contains(&age_ms), "{age_ms}");
    let created_at_ms = found.created_at_ms;
    let id = "c".to_owned();
    let similarity = 1.0;
    let expected =
        Similar { id, similarity, user_input, ai_response, ai_provider, task_category, node_ids, created_at_ms };
    assert_eq!(found, expected);
}

pub async fn interactions_of_others_are_not_found(stores: Stores) {
    let store = stores.interactions;
    store.keep(interaction("a", [1.0, 0.0])).await.unwrap();
    for (owner, index_name, fingerprint, expected) in [
        ("ann", "docs", "minilm", 1),
        ("an", "docs", "minilm", 0),
        ("anna", "docs", "minilm", 0),
        ("ann", "doc", "minilm", 0),
        ("ann", "docs", "e5", 0),
        ("", "", "", 0),
    ] {
        let found = store.nearest(owner, index_name, fingerprint, &[1.0, 0.0], None, 5, 0.0).await.unwrap();
        assert_eq!(found.len(), expected, "{owner} {index_name} {fingerprint}");
    }
}

pub async fn an_interaction_with_a_known_id_is_replaced(stores: Stores) {
    let store = stores.interactions;
    store.keep(interaction("a", [1.0, 0.0])).await.unwrap();
    store.keep(Interaction { owner: "bob".to_owned(), ..interaction("a", [1.0, 0.0]) }).await.unwrap();
    let other = Interaction {
        index_name: "other".to_owned(),
        created_at_ms: now_ms() - DAY_MS,
        ..interaction("a", [0.6, 0.8])
    };
    store.keep(other).await.unwrap();
    assert_eq!(nearest(&store, None, 5, 0.0).await, []);
    let found = store.nearest("ann", "other", "minilm", &[1.0, 0.0], None, 5, 0.0).await.unwrap();
    assert_eq!(ids(&found), ["a"]);
    assert_eq!(store.remove_all("ann").await.unwrap(), 1);
    assert_eq!(store.remove_all("bob").await.unwrap(), 1);
}

pub async fn the_oldest_of_more_than_1_000_goes(stores: Stores) {
    let store = stores.interactions;
    let at_ms = now_ms();
    for number in 0..1001_i64 {
        // The second is the oldest.
        let created_at_ms = at_ms - 1001 + if number == 1 { -1 } else { number };
        let one = Interaction { created_at_ms, ..interaction(&number.to_string(), [1.0, 0.0]) };
        store.keep(one).await.unwrap();
    }
    store.keep(Interaction { owner: "bob".to_owned(), ..interaction("1", [1.0, 0.0]) }).await.unwrap();
    let mut expected: Vec<String> = (0..1001).filter(|number| *number != 1).map(|number| number.to_string()).collect();
    expected.sort_unstable();
    assert_eq!(ids(&nearest(&store, None, 2000, 0.0).await), expected);
    assert_eq!(store.remove_all("ann").await.unwrap(), 1000);
    assert_eq!(store.remove_all("bob").await.unwrap(), 1);
}

pub async fn ids_are_listed_by_provider(stores: Stores) {
    let store = stores.interactions;
    for (id, provider, age_ms) in
        [("b", "p", 0), ("a", "p", 1), ("C", "p", 2), ("d", "q", 0), ("e", "r", 0), ("f", "p", 90 * DAY_MS)]
    {
        let (ai_provider, created_at_ms) = (provider.to_owned(), now_ms() - age_ms);
        store.keep(Interaction { ai_provider, created_at_ms, ..interaction(id, [1.0, 0.0]) }).await.unwrap();
    }
    let owned = |texts: &[&str]| -> Vec<String> { texts.iter().map(|&text| text.to_owned()).collect() };
    let found = store.ids_of_providers("ann", &owned(&["p", "q", "nobody"])).await.unwrap();
    assert_eq!(found, [("p".to_owned(), owned(&["C", "a", "b"])), ("q".to_owned(), owned(&["d"]))].into());
    assert!(store.ids_of_providers("bob", &owned(&["p"])).await.unwrap().is_empty());
    assert!(store.ids_of_providers("ann", &[]).await.unwrap().is_empty());
}

pub async fn all_interactions_of_an_owner_are_removed(stores: Stores) {
    let store = stores.interactions;
    for id in ["a", "b"] {
        store.keep(interaction(id, [1.0, 0.0])).await.unwrap();
    }
    store.keep(Interaction { owner: "ann2".to_owned(), ..interaction("c", [1.0, 0.0]) }).await.unwrap();
    assert_eq!(store.remove_all("ann").await.unwrap(), 2);
    assert_eq!(store.remove_all("ann").await.unwrap(), 0);
    assert_eq!(nearest(&store, None, 5, 0.0).await, []);
    assert_eq!(store.remove_all("ann2").await.unwrap(), 1);
}

pub async fn interactions_expire_after_90_days(stores: Stores) {
    let store = stores.interactions;
    for (id, age_ms) in [("old", 90 * DAY_MS), ("young", 90 * DAY_MS - 60_000), ("new", 0)] {
        let created_at_ms = now_ms() - age_ms;
        store.keep(Interaction { created_at_ms, ..interaction(id, [1.0, 0.0]) }).await.unwrap();
    }
    assert_eq!(ids(&nearest(&store, None, 5, 0.0).await), ["new", "young"]);
    for (days, expected) in [(0, 1), (0, 0), (1, 1), (90, 1), (90, 0)] {
        assert_eq!(store.sweep(now_ms() + days * DAY_MS).await.unwrap(), expected, "{days}");
    }
}
