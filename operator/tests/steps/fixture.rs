//! Fixtures of the RAGEngine tests: engines from YAML, as stored by the API server, and the objects around them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use ragengine_operator::cluster_issuer::{Issuer, Known};
use ragengine_operator::defaults::{Defaults, NodeLimits};
use ragengine_operator::karpenter::NodeClass;
use ragengine_operator::openshift::PodUser;
use ragengine_operator::rag_engine::build::{Desired, build};
use ragengine_operator::rag_engine::nodes::{ObservedNodes, Provider};
use ragengine_operator::rag_engine::observe::{Observed, ObservedReference};
use ragengine_operator::rag_engine::validate::{Validated, validate};
use ragengine_operator::rollouts::Rollouts;
use ragengine_operator_api::RagEngine;
use serde_json::json;

/// The operator's settings in these tests.
pub fn defaults() -> Defaults {
    Defaults {
        server_image: "ragengine:0.1.0".parse().unwrap(),
        pull_secrets: Vec::new(),
        pod_user: PodUser::OfImage,
        rollouts: Rollouts::new(3),
        operator_namespace: "ragengine-system".to_owned(),
        cluster_domain: "cluster.local".to_owned(),
        max_jobs: 20,
        require_secret_hosts: false,
        allowed_ranges: vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()],
        account: Some("ragengine-operator".to_owned()),
        pod_template: Default::default(),
        node_class: None,
        node_limits: NodeLimits { most: 4, instance_types: BTreeSet::new() },
    }
}

/// Every fixture by name: the example manifests of the API crate, and those of these tests.
pub fn fixtures() -> Vec<(String, RagEngine)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = ["api/tests/rag_engine/fixtures", "tests/steps/fixtures"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(here.join(folder)).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let engine = stored(serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap());
            (file.file_stem().unwrap().to_string_lossy().into_owned(), engine)
        })
        .collect()
}

/// The fixture with this name.
pub fn fixture(name: &str) -> RagEngine {
    fixtures().into_iter().find(|(found, _)| found == name).unwrap().1
}

/// A RAGEngine `docs` with this spec, in YAML.
pub fn engine(spec: &str) -> RagEngine {
    let spec: serde_json::Value = serde_saphyr::from_str(spec).unwrap();
    stored(
        serde_json::from_value(json!({
            "apiVersion": "ragengine.dev/v1alpha1", "kind": "RAGEngine", "metadata": {"name": "docs"}, "spec": spec,
        }))
        .unwrap(),
    )
}

/// Sets the fields that the API server sets.
fn stored(mut engine: RagEngine) -> RagEngine {
    engine.metadata.namespace = Some("tests".to_owned());
    engine.metadata.uid = Some("uid-of-the-engine".to_owned());
    engine.metadata.generation = Some(1);
    engine
}

/// The validated spec. Panics if it is invalid.
pub fn valid(engine: &RagEngine) -> Validated {
    validate(engine, &defaults()).unwrap_or_else(|invalid| panic!("{:?}: {invalid}", engine.metadata.name))
}

/// An observed state in which every reference exists and no object has been created.
pub fn all_there(validated: &Validated) -> Observed {
    let reference = |reference: &_| ObservedReference {
        reference: Clone::clone(reference),
        version: Some("uid-of-the-reference/1".to_owned()),
        refusal: None,
    };
    Observed {
        references: validated.references.iter().map(reference).collect(),
        known_issuer: Known { issuer: Some(issuer()), error: None },
        has_gateways: true,
        nodes: ObservedNodes { provider: Provider::Karpenter(node_class()), ..ObservedNodes::default() },
        ..Observed::default()
    }
}

/// The node class of operators that make nodes.
pub fn node_class() -> NodeClass {
    "karpenter.k8s.aws/EC2NodeClass/default".parse().unwrap()
}

/// The cluster's issuer.
pub fn issuer() -> Arc<Issuer> {
    let name = "https://kubernetes.default.svc.cluster.local".to_owned();
    Arc::new(Issuer { name, keys: r#"{"keys":[{"kid":"a"}]}"#.to_owned() })
}

/// The objects of a valid spec whose references all exist.
pub fn built(engine: &RagEngine) -> Desired {
    let validated = valid(engine);
    build(&validated, &all_there(&validated), &defaults()).unwrap()
}

/// The claim `docs-data` with this size.
pub fn claim(size: &str) -> Arc<PersistentVolumeClaim> {
    let claim = json!({
        "metadata": {"name": "docs-data", "uid": "uid-of-the-claim"},
        "spec": {"resources": {"requests": {"storage": size}}},
    });
    Arc::new(serde_json::from_value(claim).unwrap())
}
