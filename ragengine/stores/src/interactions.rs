//! Interactions: a caller's earlier questions and their answers. They expire after 90 days, and each caller has at most
//! 1,000, of which the oldest goes.

mod embedded;
mod nearest;
mod postgres;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::embedded::EmbeddedInteractions;
pub(crate) use self::embedded::create_tables;
use self::nearest::Question;
use self::postgres::PostgresInteractions;
pub use self::types::{Interaction, Similar};
use crate::clock::now_ms;
use crate::expiry::{Cutoffs, SWEEP_ROWS};
use crate::operation::Operations;
use crate::{Embedded, Postgres, StoreError, StoreMetrics};

/// Interactions of each owner at most.
const MAX_OF_OWNER: usize = 1_000;

/// Keeps interactions. Each method returns an error of [`StoreError`] when the backend fails, and after
/// [`OPERATION_TIMEOUT`](crate::OPERATION_TIMEOUT).
pub struct InteractionStore {
    backend: Backend,
    operations: Operations,
}

enum Backend {
    Embedded(EmbeddedInteractions),
    Postgres(PostgresInteractions),
}

/// Calls a method of the backend as one operation.
macro_rules! run {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        $self.operations.run(async {
            match &$self.backend {
                Backend::Embedded(backend) => backend.$method($($argument),*).await,
                Backend::Postgres(backend) => backend.$method($($argument),*).await,
            }
        }).await
    };
}

impl InteractionStore {
    /// A store in the file of the data folder.
    pub fn embedded(embedded: Arc<Embedded>, metrics: StoreMetrics) -> Self {
        Self::new(Backend::Embedded(EmbeddedInteractions::new(embedded)), metrics)
    }

    /// A store in a database.
    pub fn postgres(postgres: Arc<Postgres>, metrics: StoreMetrics) -> Self {
        Self::new(Backend::Postgres(PostgresInteractions::new(postgres)), metrics)
    }

    fn new(backend: Backend, metrics: StoreMetrics) -> Self {
        Self { backend, operations: Operations::new(metrics, "interactions") }
    }

    /// Keeps an interaction. One of the same owner and id is replaced. If the owner has more than 1,000, the oldest
    /// goes.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn keep(&self, interaction: Interaction) -> Result<(), StoreError> {
        run!(self.keep(interaction))
    }

    /// The owner's interactions of an index whose questions are most similar to a question, the most similar first; of
    /// equal similarity, by id. All vectors of the owner, the index and the embedding model (`fingerprint`) are
    /// compared. `question_vector` must be normalised. `provider` selects those of one provider.
    ///
    /// # Errors
    ///
    /// Those of the store.
    #[expect(clippy::too_many_arguments, reason = "they are one question, and each has another meaning")]
    pub async fn nearest(
        &self,
        owner: &str,
        index_name: &str,
        fingerprint: &str,
        question_vector: &[f32],
        provider: Option<&str>,
        limit: usize,
        min_similarity: f32,
    ) -> Result<Vec<Similar>, StoreError> {
        let question = Question {
            owner: owner.to_owned(),
            index_name: index_name.to_owned(),
            fingerprint: fingerprint.to_owned(),
            vector: question_vector.to_vec(),
            provider: provider.map(str::to_owned),
            limit,
            min_similarity,
            created_after_ms: Cutoffs::at(now_ms()).interaction_ms,
        };
        run!(self.nearest(question))
    }

    /// The ids of the owner's interactions with each of these providers, sorted. Providers without any are left out.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn ids_of_providers(
        &self,
        owner: &str,
        providers: &[String],
    ) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        run!(self.ids_of_providers(owner, providers, Cutoffs::at(now_ms()).interaction_ms))
    }

    /// Deletes all interactions of an owner. Returns their number.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn remove_all(&self, owner: &str) -> Result<u64, StoreError> {
        run!(self.remove_all(owner))
    }

    /// Deletes interactions that have expired at this time (in milliseconds since 1970). Returns their number. It works
    /// in small steps, each of which is one operation.
    ///
    /// # Errors
    ///
    /// Those of the store. Earlier steps stay done.
    pub async fn sweep(&self, now_ms: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let (step, is_last) = run!(self.sweep(Cutoffs::at(now_ms), SWEEP_ROWS))?;
            deleted += step;
            if is_last {
                return Ok(deleted);
            }
        }
    }
}
