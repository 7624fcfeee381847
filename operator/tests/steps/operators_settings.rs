//! The operator's own settings apply to every pod: those of engines, synchronisations and deletions.

use k8s_openapi::api::core::v1::PodSpec;
use ragengine_operator::defaults::Defaults;
use ragengine_operator::openshift::PodUser;
use ragengine_operator::rag_engine::build::build;
use ragengine_operator::rag_engine::validate::validate;

use crate::fixture::{all_there, defaults, engine};
use crate::index::pods_of_jobs;

/// Every pod of an engine with this spec, by purpose.
fn pods(spec: &str, defaults: &Defaults) -> Vec<(&'static str, PodSpec)> {
    let validated = validate(&engine(spec), defaults).unwrap();
    let server = build(&validated, &all_there(&validated), defaults).unwrap().deployment.unwrap();
    let server = ("server", server.spec.unwrap().template.spec.unwrap());
    [server].into_iter().chain(pods_of_jobs(spec, defaults)).collect()
}

#[test]
fn every_pod_has_the_pull_secrets_of_operator_and_engine() {
    let with = |secrets: &[&str]| Defaults {
        pull_secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
        ..defaults()
    };
    const OWN: &str = "{podTemplate: {spec: {imagePullSecrets: [{name: own}, {name: b}], containers: []}}}";
    for (spec, operators, expected) in [
        ("{}", &[][..], &[][..]),
        ("{}", &["a", "b"], &["a", "b"]),
        (OWN, &[], &["own", "b"]),
        (OWN, &["a", "b"], &["a", "b", "own"]),
        ("{podTemplate: {spec: {imagePullSecrets: [], containers: []}}}", &["a"], &["a"]),
    ] {
        for (purpose, pod) in pods(spec, &with(operators)) {
            let names: Vec<String> =
                pod.image_pull_secrets.unwrap_or_default().into_iter().map(|secret| secret.name).collect();
            assert_eq!(names, expected, "{purpose} of {spec} with {operators:?}");
        }
    }
}

#[test]
fn no_pod_sets_a_user_if_the_namespace_assigns_one() {
    for (pod_user, id) in [(PodUser::OfImage, Some(65532)), (PodUser::OfNamespace, None)] {
        for (purpose, pod) in pods("{}", &Defaults { pod_user, ..defaults() }) {
            let security = pod.security_context.unwrap();
            assert_eq!((security.run_as_user, security.run_as_group, security.fs_group), (id, id, id), "{purpose}");
            assert_eq!(security.run_as_non_root, Some(true), "{purpose}");
        }
    }
}
