//! From the observed state of an engine to its status.

mod cases;
mod times;

use ragengine_operator::apply::Refused;
use ragengine_operator::finding::{Finding, Invalid};
use ragengine_operator::rag_engine::hold::Hold;
use ragengine_operator::rag_engine::observe::Observed;
use ragengine_operator::rag_engine::status::{StatusInput, status};
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, RagEngine, RagEngineStatus, Reason};

use crate::fixture::defaults;

/// The inputs of a status.
#[derive(Clone)]
struct Case {
    engine: RagEngine,
    observed: Observed,
    invalid: Option<Invalid>,
    refused: Option<Refused>,
    remains: Option<Finding>,
    is_current: bool,
    hold: Option<Hold>,
}

impl Case {
    fn status(&self, previous: &RagEngineStatus, at_second: i64) -> RagEngineStatus {
        let input = StatusInput {
            engine: &self.engine,
            invalid: self.invalid.as_ref(),
            refused: self.refused.as_ref(),
            observed: &self.observed,
            remains: self.remains.as_ref(),
            is_current: self.is_current,
            hold: self.hold,
        };
        status(input, previous, &defaults(), &times::second(at_second))
    }

    /// Whether as many pods as asked for serve, and none stops before the next one serves, or until its node is
    /// replaced.
    fn is_served(&self) -> bool {
        if !self.observed.nodes.replaced.is_empty() {
            return true;
        }
        let deployment = self.observed.deployment.as_deref().unwrap();
        let strategy = deployment.spec.as_ref().unwrap().strategy.as_ref().and_then(|found| found.type_.as_deref());
        let available = deployment.status.as_ref().unwrap().available_replicas.unwrap_or(0);
        strategy == Some("RollingUpdate") && available >= i32::try_from(self.engine.spec.pods().0).unwrap()
    }

    /// The conditions Ready, Progressing and Degraded.
    fn conditions(&self) -> [Condition; 3] {
        let conditions: [Condition; 3] =
            self.status(&RagEngineStatus::default(), 0).conditions.try_into().expect("three conditions");
        assert_eq!(
            [ConditionType::Ready, ConditionType::Progressing, ConditionType::Degraded],
            [conditions[0].type_, conditions[1].type_, conditions[2].type_]
        );
        conditions
    }
}

/// The conditions in short: `Ready=False SecretMissing, …`.
fn in_short(conditions: &[Condition; 3]) -> String {
    conditions.each_ref().map(|found| format!("{:?}={:?} {:?}", found.type_, found.status, found.reason)).join(", ")
}

#[test]
fn the_conditions_of_every_case() {
    let conditions: Vec<_> = cases::cases()
        .into_iter()
        .map(|(name, case)| {
            let conditions = case.conditions();
            let mut messages: Vec<_> = conditions.iter().map(|condition| condition.message.clone()).collect();
            messages.dedup();
            (name, in_short(&conditions), messages)
        })
        .collect();
    insta::assert_yaml_snapshot!("conditions", conditions);
}

/// A ready engine progresses only while enough pods serve or it is queued, an engine with an error is degraded, and no
/// two conditions contradict each other.
#[test]
fn the_conditions_of_every_case_are_consistent() {
    for (name, case) in cases::cases() {
        let conditions = case.conditions();
        let [ready, progressing, degraded] = conditions.each_ref().map(|found| found.status == ConditionStatus::True);
        let is_queued = matches!(case.hold, Some(Hold::Queued { .. }));
        assert!(!(ready && progressing) || is_queued || case.is_served(), "{name}: {}", in_short(&conditions));
        let is_beside = conditions[2].reason == Reason::ServerUnreachable || ready;
        assert!(!(progressing && degraded) || is_beside, "{name}");
        let is_paused = conditions[1].reason == Reason::Paused;
        assert!(ready || progressing || degraded || is_paused, "{name}: {}", in_short(&conditions));
        assert_eq!(ready, matches!(conditions[0].reason, Reason::Serving | Reason::Stopped), "{name}");
        for condition in conditions {
            assert!(!condition.message.is_empty() && condition.message.len() < 4096, "{name}");
            // A paused engine has not acted on any generation yet.
            assert_eq!(condition.observed_generation, (!is_paused).then_some(1), "{name}");
        }
    }
}

/// The next reason. The match has no wildcard, so a new reason must be added here and needs a case.
fn next(reason: Reason) -> Option<Reason> {
    Some(match reason {
        Reason::Serving => Reason::Stopped,
        Reason::Stopped => Reason::Paused,
        Reason::Paused => Reason::AsExpected,
        Reason::AsExpected => Reason::RollingOut,
        Reason::RollingOut => Reason::Starting,
        Reason::Starting => Reason::InvalidSpec,
        Reason::InvalidSpec => Reason::ObjectRefused,
        Reason::ObjectRefused => Reason::SecretMissing,
        Reason::SecretMissing => Reason::SecretKeyMissing,
        Reason::SecretKeyMissing => Reason::ConfigMapMissing,
        Reason::ConfigMapMissing => Reason::ClaimMissing,
        Reason::ClaimMissing => Reason::ClaimNotBound,
        Reason::ClaimNotBound => Reason::VolumeFull,
        Reason::VolumeFull => Reason::VolumeFailed,
        Reason::VolumeFailed => Reason::VolumeNotMounted,
        Reason::VolumeNotMounted => Reason::PodUnschedulable,
        Reason::PodUnschedulable => Reason::NodeNotReady,
        Reason::NodeNotReady => Reason::ImagePullFailed,
        Reason::ImagePullFailed => Reason::ContainerNotStarted,
        Reason::ContainerNotStarted => Reason::PodCrashing,
        Reason::PodCrashing => Reason::IndexesFailed,
        Reason::IndexesFailed => Reason::EmbeddingModelFailed,
        Reason::EmbeddingModelFailed => Reason::EmbeddingServiceFailed,
        Reason::EmbeddingServiceFailed => Reason::InferenceServiceFailed,
        Reason::InferenceServiceFailed => Reason::PostgresFailed,
        Reason::PostgresFailed => Reason::RedisFailed,
        Reason::RedisFailed => Reason::RerankerFailed,
        Reason::RerankerFailed => Reason::EventsFailed,
        Reason::EventsFailed => Reason::GuardrailsFailed,
        Reason::GuardrailsFailed => Reason::AuthFailed,
        Reason::AuthFailed => Reason::TokenKeysUnreadable,
        Reason::TokenKeysUnreadable => Reason::GatewayApiMissing,
        Reason::GatewayApiMissing => Reason::ServerUnreachable,
        Reason::ServerUnreachable => Reason::DeletionFailed,
        Reason::DeletionFailed => return None,
        // Reasons of an Index.
        Reason::Synced
        | Reason::Syncing
        | Reason::Rebuilding
        | Reason::Suspended
        | Reason::Refilling
        | Reason::Deleting
        | Reason::SecretRefused
        | Reason::EngineNotFound
        | Reason::EngineNotReady
        | Reason::SettingsConflict
        | Reason::SyncFailed
        | Reason::HeldBack
        | Reason::FilesFailed => return None,
        // Reasons of BackupSucceeded.
        Reason::BackupCompleted | Reason::BackupFailed | Reason::NoBackupYet => return None,
        // Used only for reasons of a newer version.
        Reason::Other => return None,
    })
}

#[test]
fn every_reason_has_a_case() {
    let given: Vec<Reason> =
        cases::cases().into_iter().flat_map(|(_, case)| case.conditions().map(|condition| condition.reason)).collect();
    for reason in std::iter::successors(Some(Reason::Serving), |reason| next(*reason)) {
        assert!(given.contains(&reason), "{reason:?}");
    }
    assert!(!given.contains(&Reason::Other));
}

/// A cause takes precedence over its consequences. Each step adds a cause that outranks all earlier ones.
#[test]
fn the_root_cause_is_reported() {
    let named: Vec<(&str, Case)> = cases::cases();
    let case = |wanted: &str| {
        named.iter().find(|(name, _)| *name == wanted).unwrap_or_else(|| panic!("no case {wanted}")).1.clone()
    };
    let mut all = case("the language model does not answer");
    let reason = |case: &Case| case.conditions()[0].reason;
    assert_eq!(reason(&all), Reason::InferenceServiceFailed);
    // From the lowest to the highest precedence.
    all.observed.pods = case("the server crashes repeatedly").observed.pods;
    assert_eq!(reason(&all), Reason::PodCrashing);
    all.observed.deployment = case("the pod is forbidden").observed.deployment;
    assert_eq!(reason(&all), Reason::ObjectRefused);
    all.engine = case("a missing claim").engine;
    assert_eq!(reason(&all), Reason::ClaimMissing);
    all.observed.references = case("a missing Secret").observed.references;
    assert_eq!(reason(&all), Reason::SecretMissing);
    all.refused = case("the API server refuses an object").refused;
    assert_eq!(reason(&all), Reason::ObjectRefused);
    all.invalid = case("an invalid specification").invalid;
    assert_eq!(reason(&all), Reason::InvalidSpec);
    all.is_current = false;
    assert_eq!(reason(&all), Reason::InvalidSpec, "an error outranks waiting");
    all.engine.spec.replicas = 0;
    assert_eq!(reason(&all), Reason::InvalidSpec, "also for a stopped engine");
    all.invalid = None;
    all.refused = None;
    all.observed.references.clear();
    assert_ne!(reason(&all), Reason::PodCrashing, "the pods of a stopped engine do not count");
}
