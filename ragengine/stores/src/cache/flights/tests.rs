use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use proptest::prelude::*;
use tokio::task::{JoinHandle, yield_now};

use super::super::KeyParts;
use super::*;

fn key(question: &str) -> CacheKey {
    CacheKey::new(&KeyParts {
        question,
        index_name: "docs",
        store_id: "",
        changes: 0,
        model: "",
        endpoint: "",
        options: b"",
        settings: "",
        guardrails: "",
    })
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn leader<T>(flight: Flight<T>) -> Leader<T> {
    match flight {
        Flight::Leader(leader) => leader,
        Flight::Follower(_) => panic!("it follows"),
    }
}

fn follower<T>(flight: Flight<T>) -> Follower<T> {
    match flight {
        Flight::Follower(follower) => follower,
        Flight::Leader(_) => panic!("it leads"),
    }
}

fn lead<T>(landed: Landed<T>) -> Leader<T> {
    match landed {
        Landed::Lead(leader) => leader,
        Landed::Answer(_) | Landed::Alone => panic!("it does not lead"),
    }
}

/// Asks as a request does: `model` says how the model answers the request that leads.
async fn ask(flights: &Flights<usize>, model: impl AsyncFnOnce() -> Option<usize>) -> Option<usize> {
    let leader = match flights.join(&key("why"), None) {
        Flight::Leader(leader) => leader,
        Flight::Follower(follower) => match follower.landed(soon()).await {
            Landed::Answer(answer) => return Some(*answer),
            Landed::Alone => return model().await,
            Landed::Lead(leader) => leader,
        },
    };
    let answer = model().await;
    leader.done(answer.map(Arc::new));
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_equal_questions_one_asks_the_model() {
    let (flights, runs) = (Arc::new(Flights::default()), Arc::new(AtomicUsize::new(0)));
    let (opened, waits) = tokio::sync::watch::channel(false);
    let asked: Vec<JoinHandle<Option<usize>>> = (0..100)
        .map(|_| {
            let (flights, runs, mut waits) = (Arc::clone(&flights), Arc::clone(&runs), waits.clone());
            tokio::spawn(async move {
                ask(&flights, async || {
                    waits.wait_for(|is_open| *is_open).await.unwrap();
                    Some(runs.fetch_add(1, Ordering::Relaxed))
                })
                .await
            })
        })
        .collect();
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while flights.flights.lock().values().next().map_or(0, VecDeque::len) < 99 {
        assert!(std::time::Instant::now() < until, "they do not join");
        yield_now().await;
    }
    opened.send(true).unwrap();
    for answer in join_all(asked).await {
        assert_eq!(answer.unwrap(), Some(0));
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert!(flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn when_the_leader_leaves_one_of_a_hundred_followers_leads() {
    let flights = Flights::<usize>::default();
    let first = leader(flights.join(&key("why"), None));
    let followers: Vec<Follower<usize>> = (0..100).map(|_| follower(flights.join(&key("why"), None))).collect();
    drop(first);
    let landed: Vec<_> = followers.into_iter().map(|follower| follower.landed(soon())).collect();
    let mut landed = landed.into_iter();
    // The one that has waited longest.
    let second = lead(landed.next().unwrap().await);
    // It is still one flight.
    let late = follower(flights.join(&key("why"), None));
    second.done(Some(Arc::new(7)));
    for landed in join_all(landed.chain([late.landed(soon())])).await {
        assert!(matches!(landed, Landed::Answer(answer) if *answer == 7));
    }
    assert!(flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lead_passes_those_who_have_left() {
    let flights = Flights::<usize>::default();
    let first = leader(flights.join(&key("why"), None));
    // These leave before, so many that a recursion would show.
    for _ in 0..100_000 {
        drop(follower(flights.join(&key("why"), None)));
    }
    // They do not take memory for long.
    assert!(flights.flights.lock().values().next().unwrap().len() < 100);
    let mut left: Vec<_> = (0..100_000).map(|_| follower(flights.join(&key("why"), None))).collect();
    let last = follower(flights.join(&key("why"), None));
    // This one leaves after it got the lead, and before it reads it.
    let between = left.remove(0);
    drop(left);
    drop(first);
    assert!(!flights.is_empty());
    drop(between);
    let second = lead(last.landed(soon()).await);
    drop(second);
    assert!(flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_for_others_all_go_on_alone() {
    let flights = Flights::<usize>::default();
    let first = leader(flights.join(&key("why"), None));
    let followers: Vec<_> = (0..3).map(|_| follower(flights.join(&key("why"), None))).collect();
    first.done(None);
    for follower in followers {
        assert!(matches!(follower.landed(soon()).await, Landed::Alone));
    }
    assert!(flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_follower_waits_until_its_time_is_over() {
    let flights = Flights::<usize>::default();
    let first = leader(flights.join(&key("why"), None));
    let began = Instant::now();
    let waits = follower(flights.join(&key("why"), None)).landed(began + Duration::from_secs(5));
    assert!(matches!(waits.await, Landed::Alone));
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    first.done(Some(Arc::new(1)));
    assert!(flights.is_empty());
}

#[tokio::test(start_paused = true)]
async fn other_keys_and_other_epochs_are_other_flights() {
    let flights = Flights::<usize>::default();
    let epochs = [None, Some(Epoch(1)), Some(Epoch(2))];
    let names = epochs.iter().flat_map(|epoch| [("why", *epoch), ("how", *epoch)]);
    let leaders: Vec<_> = names.map(|(question, epoch)| leader(flights.join(&key(question), epoch))).collect();
    assert_eq!(flights.flights.lock().len(), 6);
    follower(flights.join(&key("How?"), Some(Epoch(1)))).landed.close();
    drop(leaders);
    assert!(flights.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_that_leave_at_any_time_leave_nothing_behind() {
    for round in 0..200_usize {
        let (flights, answers) = (Arc::new(Flights::default()), Arc::new(AtomicUsize::new(0)));
        let asked: Vec<_> = (0..50_usize)
            .map(|number| {
                let (flights, answers) = (Arc::clone(&flights), Arc::clone(&answers));
                tokio::spawn(async move {
                    let model = async || {
                        for _ in 0..number % 7 {
                            yield_now().await;
                        }
                        Some(number)
                    };
                    assert!(ask(&flights, model).await.is_some());
                    answers.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        for _ in 0..round % 5 {
            yield_now().await;
        }
        let leaves = |number: usize| (number * 7 + round).is_multiple_of(3);
        asked.iter().enumerate().filter(|(number, _)| leaves(*number)).for_each(|(_, request)| request.abort());
        let stay = (0..50).filter(|number| !leaves(*number)).count();
        let within = tokio::time::timeout(Duration::from_secs(60), join_all(asked)).await.unwrap();
        // All who stay have an answer.
        assert!(within.iter().filter(|request| request.is_ok()).count() >= stay);
        assert!(answers.load(Ordering::Relaxed) >= stay);
        assert!(flights.is_empty());
    }
}

#[derive(Debug, Clone)]
enum Step {
    Join {
        question: usize,
    },
    /// These are done, with or without an answer, or leave. The number is that of the caller.
    Done {
        caller: usize,
        has_answer: bool,
    },
    Leave {
        caller: usize,
    },
    /// A follower reads what has come.
    Read {
        caller: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..2_usize).prop_map(|question| Step::Join { question }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(caller, has_answer)| Step::Done { caller, has_answer }),
        2 => any::<usize>().prop_map(|caller| Step::Leave { caller }),
        2 => any::<usize>().prop_map(|caller| Step::Read { caller }),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    /// Each flight always has one leader: who reads its lead, or who has it without having read it.
    #[test]
    fn a_flight_has_one_leader(steps in steps()) {
        let flights = Flights::<usize>::default();
        let keys = ["why", "how"].map(key);
        let mut callers: Vec<(usize, Flight<usize>)> = Vec::new();
        for step in steps {
            match step {
                Step::Join { question } => callers.push((question, flights.join(&keys[question], None))),
                Step::Done { caller, has_answer } if !callers.is_empty() => {
                    let caller = caller % callers.len();
                    if let (_, Flight::Leader(_)) = &callers[caller]
                        && let (_, Flight::Leader(leader)) = callers.remove(caller)
                    {
                        leader.done(has_answer.then(|| Arc::new(1)));
                    }
                }
                Step::Leave { caller } if !callers.is_empty() => drop(callers.remove(caller % callers.len())),
                Step::Read { caller } if !callers.is_empty() => {
                    let caller = caller % callers.len();
                    if let (question, Flight::Follower(mut follower)) = callers.remove(caller) {
                        match follower.landed.try_recv() {
                            Ok(Landed::Lead(leader)) => callers.push((question, Flight::Leader(leader))),
                            Ok(Landed::Answer(_) | Landed::Alone) => {}
                            Err(error) => {
                                prop_assert_eq!(error, oneshot::error::TryRecvError::Empty, "it is forgotten");
                                callers.push((question, Flight::Follower(follower)));
                            }
                        }
                    }
                }
                Step::Done { .. } | Step::Leave { .. } | Step::Read { .. } => {}
            }
            for (question, key) in keys.iter().enumerate() {
                let of_question = callers.iter().filter(|(of, _)| *of == question);
                let leaders = of_question.filter(|(_, flight)| matches!(flight, Flight::Leader(_))).count();
                let is_known = flights.flights.lock().contains_key(&(key.clone(), None));
                prop_assert!(leaders <= usize::from(is_known), "{leaders} lead");
            }
        }
        drop(callers);
        prop_assert!(flights.is_empty());
    }
}
