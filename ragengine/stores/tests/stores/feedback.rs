//! Behaviours of the feedback store.

use std::collections::BTreeMap;

use ragengine_stores::{Answer, ChunkVote, FeedbackStore, NewVote, Rating, VoteQuery};

use crate::backends::{DAY_MS, Stores, now_ms};

pub fn answer(id: &str, chunks: &[&str], age_ms: i64) -> Answer {
    Answer {
        id: id.to_owned(),
        owner: "ann".to_owned(),
        index_name: "docs".to_owned(),
        question: "Why?".to_owned(),
        fingerprint: "minilm".to_owned(),
        vector: vec![0.6, 0.8],
        node_ids: chunks.iter().map(|&chunk| chunk.to_owned()).collect(),
        cache_key: Some("key".to_owned()),
        created_at_ms: now_ms() - age_ms,
    }
}

pub fn vote(answer_id: &str, voter: &str, rating: Rating, age_ms: i64) -> NewVote {
    let (answer_id, voter) = (answer_id.to_owned(), voter.to_owned());
    NewVote { answer_id, voter, rating, comment: None, voted_at_ms: now_ms() - age_ms }
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}

async fn votes_on(store: &FeedbackStore, chunks: &[&str]) -> BTreeMap<String, Vec<ChunkVote>> {
    store.votes_on("docs", "minilm", &ids(chunks)).await.unwrap()
}

/// Chunks with their voters and whether these voted up.
fn summary(votes: &BTreeMap<String, Vec<ChunkVote>>) -> Vec<(&str, Vec<(&str, bool)>)> {
    votes
        .iter()
        .map(|(chunk, votes)| (chunk.as_str(), votes.iter().map(|vote| (vote.voter.as_str(), vote.is_up)).collect()))
        .collect()
}

fn kind<T: std::fmt::Debug>(result: Result<T, ragengine_stores::StoreError>) -> &'static str {
    result.unwrap_err().kind()
}

pub async fn a_down_vote_is_found_by_the_end_of_its_answers_key(stores: Stores) {
    let store = stores.feedback;
    for (id, key) in [("a", Some("docs:1 docs:2")), ("b", Some("docs:3 docs:4")), ("c", None)] {
        let cache_key = key.map(str::to_owned);
        store.record_answer(Answer { cache_key, ..answer(id, &["x"], 0) }).await.unwrap();
    }
    let since_ms = now_ms() - 30 * DAY_MS;
    let found = async |key_end: &str| store.was_voted_down(key_end, since_ms).await.unwrap();
    store.vote("ann", vote("a", "eve", Rating::Down, 31 * DAY_MS)).await.unwrap();
    store.vote("ann", vote("b", "eve", Rating::Up, 0)).await.unwrap();
    store.vote("ann", vote("c", "eve", Rating::Down, 0)).await.unwrap();
    assert_eq!((found(" docs:2").await, found(" docs:4").await), (false, false), "too old, and an up vote");
    store.vote("ann", vote("a", "bob", Rating::Down, 29 * DAY_MS)).await.unwrap();
    assert_eq!((found(" docs:2").await, found(" docs:1").await, found(" docs:4").await), (true, false, false));
    store.remove_vote("ann", "a", "bob").await.unwrap();
    assert!(!found(" docs:2").await);
}

pub async fn a_vote_counts_for_the_chunks_of_its_answer(stores: Stores) {
    let store = stores.feedback;
    store.record_answer(answer("a", &["x", "y", "y"], 0)).await.unwrap();
    store.record_answer(answer("b", &["y", "z"], 0)).await.unwrap();
    store.record_answer(Answer { index_name: "other".to_owned(), ..answer("c", &["x"], 0) }).await.unwrap();
    assert_eq!(store.cache_key("a").await.unwrap().as_deref(), Some("key"));
    assert_eq!(store.cache_key("nobody's").await.unwrap(), None);
    // The milliseconds are stored, too.
    let voted_at_ms = now_ms() / 1000 * 1000 - 877;
    let up = NewVote { voted_at_ms, ..vote("a", "eve", Rating::Up, 0) };
    let earlier = NewVote { voted_at_ms: voted_at_ms - 1, ..vote("b", "bob", Rating::Down, 0) };
    store.vote("ann", up).await.unwrap();
    store.vote("ann", earlier).await.unwrap();
    store.vote("ann", vote("c", "bob", Rating::Up, 0)).await.unwrap();
    let votes = votes_on(&store, &["x", "y", "y", "w"]).await;
    assert_eq!(summary(&votes), [("x", vec![("eve", true)]), ("y", vec![("eve", true), ("bob", false)])]);
    assert_eq!(votes["x"][0].voted_at_ms, voted_at_ms);
    assert_eq!(*votes["x"][0].question_vector, [0.6, 0.8]);
    assert_eq!(votes_on(&store, &[]).await, BTreeMap::new());
    let ratings = store.ratings(&ids(&["a", "b", "c", "d"])).await.unwrap();
    assert_eq!(ratings, [("a", (1, 0)), ("b", (0, 1)), ("c", (1, 0))].map(|(id, votes)| (id.to_owned(), votes)).into());
}

pub async fn votes_of_another_embedding_model_have_no_vector(stores: Stores) {
    let store = stores.feedback;
    store.record_answer(answer("a", &["x"], 0)).await.unwrap();
    store.record_answer(Answer { fingerprint: "e5".to_owned(), ..answer("b", &["x"], 0) }).await.unwrap();
    store.vote("ann", vote("a", "eve", Rating::Up, 2)).await.unwrap();
    store.vote("ann", vote("b", "eve", Rating::Up, 1)).await.unwrap();
    let votes = votes_on(&store, &["x"]).await;
    let vectors: Vec<&[f32]> = votes["x"].iter().map(|vote| &*vote.question_vector).collect();
    assert_eq!(vectors, [&[][..], &[0.6, 0.8]]);
}

pub async fn a_later_vote_of_a_voter_replaces_the_earlier_one(stores: Stores) {
    let store = stores.feedback;
    store.record_answer(answer("a", &["x"], 0)).await.unwrap();
    store.vote("ann", vote("a", "eve", Rating::Up, 0)).await.unwrap();
    store.vote("ann", vote("a", "bob", Rating::Up, 1)).await.unwrap();
    // The last writer wins, whatever its clock says.
    let down = NewVote { comment: Some("No".to_owned()), ..vote("a", "eve", Rating::Down, 1000) };
    store.vote("ann", down).await.unwrap();
    assert_eq!(summary(&votes_on(&store, &["x"]).await), [("x", vec![("bob", true), ("eve", false)])]);
    assert_eq!(store.ratings(&ids(&["a"])).await.unwrap()["a"], (1, 1));
    let page = store.list(VoteQuery { limit: 10, ..VoteQuery::default() }).await.unwrap();
    assert_eq!((page.total, page.votes[1].comment.as_deref()), (2, Some("No")));
}

pub async fn a_removed_vote_does_not_count(stores: Stores) {
    let store = stores.feedback;
    store.record_answer(answer("a", &["x"], 0)).await.unwrap();
    store.vote("ann", vote("a", "eve", Rating::Up, 0)).await.unwrap();
    store.vote("ann", vote("a", "bob", Rating::Down, 0)).await.unwrap();
    store.remove_vote("ann", "a", "eve").await.unwrap();
    assert_eq!(summary(&votes_on(&store, &["x"]).await), [("x", vec![("bob", false)])]);
    assert_eq!(kind(store.remove_vote("ann", "a", "eve").await), "not_found");
    store.remove_vote("ann", "a", "bob").await.unwrap();
    assert_eq!(votes_on(&store, &["x"]).await, BTreeMap::new());
    assert_eq!(store.ratings(&ids(&["a"])).await.unwrap(), BTreeMap::new());
    assert_eq!(store.list(VoteQuery { limit: 10, ..VoteQuery::default() }).await.unwrap().total, 0);
    store.vote("ann", vote("a", "eve", Rating::Down, 0)).await.unwrap();
    assert_eq!(summary(&votes_on(&store, &["x"]).await), [("x", vec![("eve", false)])]);
}

pub async fn an_unknown_answer_and_one_of_another_owner_are_not_found(stores: Stores) {
    let store = stores.feedback;
    store.record_answer(answer("a", &["x"], 0)).await.unwrap();
    store.vote("ann", vote("a", "bob", Rating::Up, 0)).await.unwrap();
    for (owner, id) in [("bob", "a"), ("", "a"), ("ann", "b"), ("ann", "")] {
        assert_eq!(kind(store.vote(owner, vote(id, "bob", Rating::Up, 0)).await), "not_found", "{owner} {id}");
        assert_eq!(kind(store.remove_vote(owner, id, "bob").await), "not_found", "{owner} {id}");
        assert_eq!(kind(store.index_of(owner, id).await), "not_found", "{owner} {id}");
    }
    assert_eq!(store.index_of("ann", "a").await.unwrap(), "docs");
    assert_eq!(summary(&votes_on(&store, &["x"]).await), [("x", vec![("bob", true)])]);
}

pub async fn an_answer_with_a_known_id_changes_nothing(stores: Stores) {
    let store = stores.feedback;
    store.record_answer(answer("a", &["x"], 0)).await.unwrap();
    store.vote("ann", vote("a", "bob", Rating::Up, 0)).await.unwrap();
    store.record_answer(Answer { owner: "eve".to_owned(), ..answer("a", &["y"], 0) }).await.unwrap();
    assert_eq!(summary(&votes_on(&store, &["x", "y"]).await), [("x", vec![("bob", true)])]);
    assert_eq!(kind(store.remove_vote("eve", "a", "bob").await), "not_found");
}

pub async fn votes_are_listed_in_pages_and_the_newest_first(stores: Stores) {
    let store = stores.feedback;
    let at_ms = now_ms();
    for (id, index_name) in [("a", "docs"), ("b", "other"), ("B", "docs")] {
        let index_name = index_name.to_owned();
        store.record_answer(Answer { index_name, ..answer(id, &["x"], 0) }).await.unwrap();
    }
    for (id, voter, before_ms) in
        [("a", "bob", 2), ("a", "eve", 2), ("B", "eve", 2), ("b", "bob", 0), ("B", "bob", 3), ("b", "eve", 2)]
    {
        let vote = NewVote { voted_at_ms: at_ms - before_ms, ..vote(id, voter, Rating::Up, 0) };
        store.vote("ann", vote).await.unwrap();
    }
    // Same times are sorted by the bytes of the answer and the voter.
    let all = ["b bob", "B eve", "a bob", "a eve", "b eve", "B bob"];
    for (index_name, voter, limit, offset, expected, total) in [
        (None, None, 10, 0, &all[..], 6),
        (None, None, 2, 1, &all[1..3], 6),
        (None, None, 10, 5, &all[5..], 6),
        (None, None, 10, 6, &[], 6),
        (None, None, 0, 0, &[], 6),
        (None, None, usize::MAX, 0, &all, 6),
        (None, None, 1, usize::MAX, &[], 6),
        (Some("docs"), None, 2, 0, &["B eve", "a bob"], 4),
        (None, Some("bob"), 10, 0, &["b bob", "a bob", "B bob"], 3),
        (Some("other"), Some("eve"), 10, 0, &["b eve"], 1),
        (Some("nothing"), None, 10, 0, &[], 0),
    ] {
        let (index_name, voter) = (index_name.map(str::to_owned), voter.map(str::to_owned));
        let query = VoteQuery { index_name, voter, limit, offset };
        let page = store.list(query.clone()).await.unwrap();
        let listed: Vec<String> = page.votes.iter().map(|vote| format!("{} {}", vote.answer_id, vote.voter)).collect();
        assert_eq!((listed, page.total), (ids(expected), total), "{query:?}");
    }
    let newest = store.list(VoteQuery { limit: 1, ..VoteQuery::default() }).await.unwrap().votes.remove(0);
    assert_eq!((newest.created_at_ms, newest.index_name.as_str(), newest.rating), (at_ms, "other", Rating::Up));
}

pub async fn answers_without_votes_expire_after_30_days(stores: Stores) {
    let store = stores.feedback;
    for (id, age_ms) in [("old", 30 * DAY_MS), ("young", 30 * DAY_MS - 60_000), ("new", 0)] {
        store.record_answer(answer(id, &["x"], age_ms)).await.unwrap();
    }
    assert_eq!(kind(store.vote("ann", vote("old", "bob", Rating::Up, 0)).await), "not_found");
    store.vote("ann", vote("young", "bob", Rating::Up, 0)).await.unwrap();
    let now_ms = now_ms();
    for (days, expected) in [(0, 1), (0, 0), (30, 1), (364, 0), (366, 1), (366, 0)] {
        assert_eq!(store.sweep(now_ms + days * DAY_MS).await.unwrap(), expected, "{days}");
    }
}

pub async fn votes_expire_with_their_answer_365_days_after_the_latest(stores: Stores) {
    let store = stores.feedback;
    for (id, ages_days) in [("old", [400, 365]), ("kept", [400, 364])] {
        store.record_answer(answer(id, &["x"], 1)).await.unwrap();
        for (voter, age_days) in ["bob", "eve"].into_iter().zip(ages_days) {
            // Both votes must arrive before the answer has expired, so the older one comes last.
            store.vote("ann", vote(id, voter, Rating::Up, 0)).await.unwrap();
            if age_days == 400 {
                store.vote("ann", vote(id, "late", Rating::Up, 0)).await.unwrap();
            }
            store.vote("ann", vote(id, voter, Rating::Up, age_days * DAY_MS)).await.unwrap();
        }
        // Until now, this vote kept the answer alive.
        store.vote("ann", vote(id, "late", Rating::Up, 370 * DAY_MS)).await.unwrap();
    }
    let expected = vec![("eve", true), ("late", true), ("bob", true)];
    assert_eq!(summary(&votes_on(&store, &["x"]).await), [("x", expected)]);
    assert_eq!(store.ratings(&ids(&["old", "kept"])).await.unwrap(), [("kept".to_owned(), (3, 0))].into());
    assert_eq!(store.list(VoteQuery { limit: 10, ..VoteQuery::default() }).await.unwrap().total, 3);
    assert_eq!(kind(store.vote("ann", vote("old", "bob", Rating::Up, 0)).await), "not_found");
    assert_eq!(kind(store.remove_vote("ann", "old", "bob").await), "not_found");
    assert_eq!(store.sweep(now_ms()).await.unwrap(), 1);
    assert_eq!(store.list(VoteQuery { limit: 10, ..VoteQuery::default() }).await.unwrap().total, 3);
    assert_eq!(store.sweep(now_ms() + DAY_MS).await.unwrap(), 1);
    assert_eq!(store.list(VoteQuery { limit: 10, ..VoteQuery::default() }).await.unwrap().total, 0);
    assert_eq!(votes_on(&store, &["x"]).await, BTreeMap::new());
}

pub async fn a_removed_vote_shortens_the_life_of_its_answer(stores: Stores) {
    let store = stores.feedback;
    store.record_answer(answer("a", &["x"], 30 * DAY_MS - 60_000)).await.unwrap();
    store.vote("ann", vote("a", "bob", Rating::Up, 0)).await.unwrap();
    assert_eq!(store.sweep(now_ms() + DAY_MS).await.unwrap(), 0);
    store.remove_vote("ann", "a", "bob").await.unwrap();
    assert_eq!(store.sweep(now_ms() + DAY_MS).await.unwrap(), 1);
    assert_eq!(kind(store.vote("ann", vote("a", "bob", Rating::Up, 0)).await), "not_found");
}

pub async fn a_sweep_deletes_many_answers_in_steps(stores: Stores) {
    let store = stores.feedback;
    for number in 0..501 {
        store.record_answer(answer(&number.to_string(), &["x"], 31 * DAY_MS)).await.unwrap();
    }
    store.record_answer(answer("new", &["x"], 0)).await.unwrap();
    assert_eq!(store.sweep(now_ms()).await.unwrap(), 501);
    store.vote("ann", vote("new", "bob", Rating::Up, 0)).await.unwrap();
}

pub async fn only_the_newest_10_000_votes_are_returned(stores: Stores) {
    let store = stores.feedback;
    let chunks: Vec<String> = (0..501).map(|number| number.to_string()).collect();
    store.record_answer(Answer { node_ids: chunks.clone(), ..answer("a", &[], 0) }).await.unwrap();
    for age_ms in 0..20 {
        store.vote("ann", vote("a", &format!("{age_ms:02}"), Rating::Up, age_ms * 1000)).await.unwrap();
    }
    let votes = store.votes_on("docs", "minilm", &chunks).await.unwrap();
    assert_eq!(votes.values().map(Vec::len).sum::<usize>(), 10_000);
    // Of the oldest votes, those for the last chunks by name are left out.
    let (first, last) = (&votes["0"], &votes["99"]);
    assert_eq!((first.len(), first[19].voter.as_str()), (20, "19"));
    assert_eq!((last.len(), last[18].voter.as_str()), (19, "18"));
}

pub async fn any_text_is_stored(stores: Stores) {
    let store = stores.feedback;
    let odd = "a\0b'\"\\\u{1F600}%s$1\n";
    store
        .record_answer(Answer {
            owner: odd.to_owned(),
            index_name: odd.to_owned(),
            question: odd.to_owned(),
            fingerprint: odd.to_owned(),
            cache_key: None,
            ..answer(odd, &[odd], 0)
        })
        .await
        .unwrap();
    let comment = Some(odd.to_owned());
    store.vote(odd, NewVote { comment, ..vote(odd, odd, Rating::Down, 0) }).await.unwrap();
    let votes = store.votes_on(odd, odd, &ids(&[odd])).await.unwrap();
    assert_eq!(votes.values().next().unwrap()[0].question_vector.len(), 2);
    assert_eq!(store.ratings(&ids(&[odd])).await.unwrap().values().next(), Some(&(0, 1)));
    let query = VoteQuery { index_name: Some(odd.to_owned()), voter: Some(odd.to_owned()), limit: 1, offset: 0 };
    assert_eq!(store.list(query).await.unwrap().votes.len(), 1);
    store.remove_vote(odd, odd, odd).await.unwrap();
}

pub async fn operations_are_counted(stores: Stores) {
    let store = &stores.feedback;
    assert_eq!(stores.counted("feedback", "done"), 0);
    store.record_answer(answer("a", &["x"], 0)).await.unwrap();
    store.vote("bob", vote("a", "bob", Rating::Up, 0)).await.unwrap_err();
    stores.interactions.remove_all("ann").await.unwrap();
    for (store, outcome, expected) in [
        ("feedback", "done", 1),
        ("feedback", "not_found", 1),
        ("feedback", "failed", 0),
        ("interactions", "done", 1),
        ("interactions", "unavailable", 0),
    ] {
        assert_eq!(stores.counted(store, outcome), expected, "{store} {outcome}");
    }
}
