//! One table of behaviours of the response cache, which runs against all backends.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ragengine_metrics::{Builder, prometheus};
use ragengine_stores::{Postgres, Redis, ResponseCache, StoreMetrics};

use crate::cache;
use crate::test_postgres::TestPostgres;
use crate::test_redis::TestRedis;

/// The servers of a cache. Without any, it is in memory.
#[derive(Clone, Default)]
pub struct Backend {
    pub redis: Option<Arc<Redis>>,
    pub postgres: Option<Arc<Postgres>>,
}

/// A cache and its metrics.
pub struct Cache {
    pub cache: ResponseCache,
    registry: prometheus::Registry,
}

impl Backend {
    pub async fn redis(server: &TestRedis, engine: &str) -> Self {
        let redis = Redis::open(&server.options(engine)).await.unwrap();
        assert_eq!(redis.problem(), None);
        Self { redis: Some(redis), postgres: None }
    }

    pub async fn postgres(server: &TestPostgres, engine: &str) -> Self {
        let postgres = Postgres::open(&server.options(engine)).await.unwrap();
        assert_eq!(postgres.problem(), None);
        Self { redis: None, postgres: Some(postgres) }
    }

    pub async fn both(redis: &TestRedis, postgres: &TestPostgres, engine: &str) -> Self {
        let redis = Self::redis(redis, engine).await;
        Self { redis: redis.redis, ..Self::postgres(postgres, engine).await }
    }

    /// A cache whose answers expire after this time.
    pub fn cache(&self, expiry: Duration) -> Cache {
        let mut builder = Builder::new(Duration::from_secs(1)).unwrap();
        let metrics = StoreMetrics::new(&mut builder).unwrap();
        let cache = ResponseCache::new(self.redis.clone(), self.postgres.clone(), expiry, metrics);
        Cache { cache, registry: builder.finish().registry }
    }

    /// A cache whose answers do not expire during a test.
    pub fn lasting(&self) -> Cache {
        self.cache(Duration::from_secs(30 * 86_400))
    }
}

impl Cache {
    /// The value of the metric's series that has this label, or of its only one.
    pub fn counted(&self, metric: &str, label: &str) -> u64 {
        let families = self.registry.gather();
        let family = families.iter().find(|family| family.name() == format!("ragengine_cache_{metric}")).unwrap();
        let mut series = family.get_metric().iter();
        let series = series.find(|series| series.get_label().iter().all(|one| one.value() == label)).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they are small numbers")]
        let value = (series.get_counter().get_value() + series.get_gauge().get_value()) as u64;
        value
    }
}

type Behaviour = fn(Backend) -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! behaviours {
    ($($name:ident,)*) => {
        &[$((stringify!($name), |backend| Box::pin(cache::$name(backend)))),*]
    };
}

const BEHAVIOURS: &[(&str, Behaviour)] = behaviours![
    an_answer_is_given_again,
    any_bytes_are_stored,
    an_answer_that_is_too_large_is_not_stored,
    a_purged_index_gives_nothing,
    an_answer_from_before_a_purge_is_not_stored,
    a_removed_answer_is_not_given,
    an_index_that_was_forgotten_begins_again,
    names_of_indexes_are_not_confused,
    an_answer_expires,
    a_sweep_deletes_expired_answers_in_steps,
    many_look_up_and_store_at_once,
    of_a_hundred_equal_questions_one_asks_the_model,
    look_ups_and_changes_are_counted,
    operations_are_those_of_a_model,
];

#[tokio::test]
async fn a_cache_in_memory_behaves_as_specified() {
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Backend::default()).await;
    }
}

#[tokio::test]
async fn a_cache_in_redis_behaves_as_specified() {
    let server = TestRedis::start();
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Backend::redis(&server, name).await).await;
    }
}

#[tokio::test]
async fn a_cache_in_postgresql_behaves_as_specified() {
    let server = TestPostgres::start();
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Backend::postgres(&server, name).await).await;
    }
}

#[tokio::test]
async fn a_cache_in_redis_and_postgresql_behaves_as_specified() {
    let (redis, postgres) = (TestRedis::start(), TestPostgres::start());
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Backend::both(&redis, &postgres, name).await).await;
    }
}
