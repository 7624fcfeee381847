//! One table of behaviours, which runs against both backends. Each begins with empty stores.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::test_postgres::TestPostgres;
use ragengine_metrics::{Builder, prometheus};
use ragengine_stores::{Embedded, FeedbackStore, InteractionStore, Postgres, StoreMetrics};

use crate::{feedback, interactions};

pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Both stores of one backend.
pub struct Stores {
    pub feedback: FeedbackStore,
    pub interactions: InteractionStore,
    registry: prometheus::Registry,
}

impl Stores {
    pub fn embedded(folder: &Path) -> Self {
        let embedded = Embedded::open(folder).unwrap();
        let (metrics, registry) = metrics();
        Self {
            feedback: FeedbackStore::embedded(Arc::clone(&embedded), metrics.clone()),
            interactions: InteractionStore::embedded(embedded, metrics),
            registry,
        }
    }

    pub async fn postgres(server: &TestPostgres, engine: &str) -> Self {
        let postgres = Postgres::open(&server.options(engine)).await.unwrap();
        assert_eq!(postgres.problem(), None);
        Self::of(&postgres)
    }

    pub fn of(postgres: &Arc<Postgres>) -> Self {
        let (metrics, registry) = metrics();
        Self {
            feedback: FeedbackStore::postgres(Arc::clone(postgres), metrics.clone()),
            interactions: InteractionStore::postgres(Arc::clone(postgres), metrics),
            registry,
        }
    }

    /// The number of counted operations.
    pub fn counted(&self, store: &str, outcome: &str) -> u64 {
        counted(&self.registry, store, outcome)
    }
}

/// The number of counted operations.
pub fn counted(registry: &prometheus::Registry, store: &str, outcome: &str) -> u64 {
    let families = registry.gather();
    let family = families.iter().find(|family| family.name() == "ragengine_store_operations_total").unwrap();
    let mut series = family.get_metric().iter();
    let series = series.find(|series| {
        let label = |name: &str| series.get_label().iter().find(|label| label.name() == name).unwrap().value();
        (label("store"), label("outcome")) == (store, outcome)
    });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counters are small numbers")]
    let count = series.unwrap().get_counter().get_value() as u64;
    count
}

pub fn metrics() -> (StoreMetrics, prometheus::Registry) {
    let mut builder = Builder::new(Duration::from_secs(1)).unwrap();
    let metrics = StoreMetrics::new(&mut builder).unwrap();
    (metrics, builder.finish().registry)
}

pub fn now_ms() -> i64 {
    i64::try_from(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap()
}

type Behaviour = fn(Stores) -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! behaviours {
    ($($module:ident::$name:ident,)*) => {
        &[$((stringify!($name), |stores| Box::pin($module::$name(stores)))),*]
    };
}

const BEHAVIOURS: &[(&str, Behaviour)] = behaviours![
    feedback::a_down_vote_is_found_by_the_end_of_its_answers_key,
    feedback::a_vote_counts_for_the_chunks_of_its_answer,
    feedback::votes_of_another_embedding_model_have_no_vector,
    feedback::a_later_vote_of_a_voter_replaces_the_earlier_one,
    feedback::a_removed_vote_does_not_count,
    feedback::an_unknown_answer_and_one_of_another_owner_are_not_found,
    feedback::an_answer_with_a_known_id_changes_nothing,
    feedback::votes_are_listed_in_pages_and_the_newest_first,
    feedback::answers_without_votes_expire_after_30_days,
    feedback::votes_expire_with_their_answer_365_days_after_the_latest,
    feedback::a_removed_vote_shortens_the_life_of_its_answer,
    feedback::a_sweep_deletes_many_answers_in_steps,
    feedback::only_the_newest_10_000_votes_are_returned,
    feedback::any_text_is_stored,
    feedback::operations_are_counted,
    interactions::the_most_similar_interactions_are_found,
    interactions::interactions_of_others_are_not_found,
    interactions::an_interaction_with_a_known_id_is_replaced,
    interactions::the_oldest_of_more_than_1_000_goes,
    interactions::ids_are_listed_by_provider,
    interactions::all_interactions_of_an_owner_are_removed,
    interactions::interactions_expire_after_90_days,
];

#[tokio::test]
async fn the_file_behaves_as_specified() {
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        let folder = tempfile::tempdir().unwrap();
        behaviour(Stores::embedded(folder.path())).await;
    }
}

#[tokio::test]
async fn postgresql_behaves_as_specified() {
    let server = TestPostgres::start();
    for (name, behaviour) in BEHAVIOURS {
        eprintln!("{name}");
        behaviour(Stores::postgres(&server, name).await).await;
    }
}
