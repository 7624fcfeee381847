//! What an engine with several pods has besides its Deployment.

use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, MetricSpec, MetricTarget,
    ResourceMetricSource,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::selector;
use crate::rag_engine::validate::Validated;

/// The autoscaler of the Deployment, if the specification requests one. A stopped engine has none.
pub(super) fn autoscaler(validated: &Validated) -> Option<HorizontalPodAutoscaler> {
    let scaled = validated.spec.autoscaling()?;
    let identity = &validated.identity;
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let cpu = MetricSpec {
        type_: "Resource".to_owned(),
        resource: Some(ResourceMetricSource {
            name: "cpu".to_owned(),
            target: MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(number(scaled.target_cpu_utilization_percentage)),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    };
    Some(HorizontalPodAutoscaler {
        metadata: identity.owned(&identity.name),
        spec: Some(HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".to_owned()),
                kind: "Deployment".to_owned(),
                name: identity.name.clone(),
            },
            min_replicas: Some(number(scaled.min_replicas)),
            max_replicas: number(scaled.max_replicas),
            metrics: Some(vec![cpu]),
            behavior: None,
        }),
        status: None,
    })
}

/// The budget that keeps a drain from evicting all pods at once, if there can be several. With one pod it would block
/// drains, or allow everything.
pub(super) fn disruption_budget(validated: &Validated) -> Option<PodDisruptionBudget> {
    let (_, most) = validated.spec.pods();
    let identity = &validated.identity;
    (most > 1).then(|| PodDisruptionBudget {
        metadata: identity.owned(&identity.name),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector(identity)),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    })
}
