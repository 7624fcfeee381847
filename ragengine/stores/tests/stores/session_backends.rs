//! One table of behaviours of sessions, which runs against all backends.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ragengine_metrics::Builder;
use ragengine_stores::{Postgres, Redis, SessionStore, StoreMetrics};

use crate::sessions;
use crate::test_postgres::TestPostgres;
use crate::test_redis::TestRedis;

/// Where sessions are kept.
#[derive(Clone)]
pub enum Backend {
    Memory,
    Redis(Arc<Redis>),
    Postgres(Arc<Postgres>),
}

impl Backend {
    pub async fn redis(server: &TestRedis, engine: &str) -> Self {
        let redis = Redis::open(&server.options(engine)).await.unwrap();
        assert_eq!(redis.problem(), None);
        Self::Redis(redis)
    }

    pub async fn postgres(server: &TestPostgres, engine: &str) -> Self {
        let postgres = Postgres::open(&server.options(engine)).await.unwrap();
        assert_eq!(postgres.problem(), None);
        Self::Postgres(postgres)
    }

    /// A store whose sessions expire after this time without use.
    pub fn store(&self, expiry: Duration) -> SessionStore {
        let metrics = StoreMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
        match self {
            Self::Memory => SessionStore::memory(expiry, metrics),
            Self::Redis(redis) => SessionStore::redis(Arc::clone(redis), expiry, metrics),
            Self::Postgres(postgres) => SessionStore::postgres(Arc::clone(postgres), expiry, metrics),
        }
    }

    /// A store whose sessions do not expire during a test.
    pub fn lasting(&self) -> SessionStore {
        self.store(Duration::from_secs(86_400))
    }
}

type Behaviour = fn(Backend) -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! behaviours {
    ($($name:ident,)*) => {
        &[$((stringify!($name), |backend| Box::pin(sessions::$name(backend)))),*]
    };
}

const BEHAVIOURS: &[(&str, Behaviour)] = behaviours![
    turns_are_in_the_order_of_their_questions,
    a_turn_is_kept_with_all_its_fields,
    sessions_of_others_do_not_exist,
    questions_at_the_same_time_get_different_numbers,
    a_session_expires_when_it_is_not_used,
    an_answer_from_before_the_expiry_replaces_no_turn,
    an_answer_that_took_longer_than_the_expiry_is_kept,
    cleared_turns_go_also_those_that_are_being_answered,
    clearing_an_unknown_session_does_not_make_it,
    the_newest_turns_within_both_limits_are_read,
    a_turn_that_is_added_again_is_there_once,
    any_text_is_stored,
    the_newest_10_000_turns_are_kept,
    a_sweep_deletes_expired_sessions_in_steps,
    operations_are_those_of_a_model,
];

#[tokio::test]
async fn sessions_in_memory_behave_as_specified() {
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Backend::Memory).await;
    }
}

#[tokio::test]
async fn sessions_in_redis_behave_as_specified() {
    let server = TestRedis::start();
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Backend::redis(&server, name).await).await;
    }
}

#[tokio::test]
async fn sessions_in_postgresql_behave_as_specified() {
    let server = TestPostgres::start();
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Backend::postgres(&server, name).await).await;
    }
}
