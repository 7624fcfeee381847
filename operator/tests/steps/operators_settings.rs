//! What the operator is told holds for every pod that it makes: those of engines, of synchronisations and of deletions.

use k8s_openapi::api::core::v1::PodSpec;
use ragengine_operator::defaults::Defaults;
use ragengine_operator::openshift::PodUser;
use ragengine_operator::rag_engine::build::build;
use ragengine_operator::rag_engine::validate::validate;

use crate::fixture::{all_there, defaults, engine};
use crate::index::pods_of_jobs;

/// Every pod of an engine of this specification, by what it is for.
fn pods(spec: &str, defaults: &Defaults) -> Vec<(&'static str, PodSpec)> {
    let validated = validate(&engine(spec), defaults).unwrap();
    let server = build(&validated, &all_there(&validated), defaults).unwrap().deployment.unwrap();
    let server = ("server", server.spec.unwrap().template.spec.unwrap());
    [server].into_iter().chain(pods_of_jobs(spec, defaults)).collect()
}

#[test]
fn every_pod_is_pulled_with_the_operators_secrets_and_its_engines_own() {
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
        for (of, pod) in pods(spec, &with(operators)) {
            let names: Vec<String> =
                pod.image_pull_secrets.unwrap_or_default().into_iter().map(|secret| secret.name).collect();
            assert_eq!(names, expected, "{of} of {spec} with {operators:?}");
        }
    }
}

#[test]
fn where_the_cluster_chooses_the_users_no_pod_asks_for_one() {
    for (pod_user, id) in [(PodUser::OfImage, Some(65532)), (PodUser::OfNamespace, None)] {
        for (of, pod) in pods("{}", &Defaults { pod_user, ..defaults() }) {
            let security = pod.security_context.unwrap();
            assert_eq!((security.run_as_user, security.run_as_group, security.fs_group), (id, id, id), "{of}");
            assert_eq!(security.run_as_non_root, Some(true), "{of}");
        }
    }
}
