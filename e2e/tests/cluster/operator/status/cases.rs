use ragengine_operator_api::Reason;
use serde_json::{Value, json};

/// An engine that cannot start.
pub struct Case {
    pub name: &'static str,
    pub spec: Value,
    pub reason: Reason,
    /// Parts of the expected message.
    pub words: [&'static str; 2],
}

pub fn cases() -> Vec<Case> {
    let nowhere = json!({"labelSelector": {"matchLabels": {"example.com/no": "node"}}});
    let unknown_class = json!({"persistentVolume": {"size": "1Gi", "storageClassName": "none-such"}});
    let no_settings = json!([{"name": "ragengine", "args": ["serve", "--config", "/none.yaml"]}]);
    vec![
        Case {
            name: "image",
            spec: json!({"image": {"repository": "registry.invalid/none", "tag": "1"}}),
            reason: Reason::ImagePullFailed,
            words: ["registry.invalid/none:1", "spec.image"],
        },
        Case {
            name: "node",
            spec: json!({"compute": nowhere}),
            reason: Reason::PodUnschedulable,
            words: ["no node can run the pod", "affinity/selector"],
        },
        Case {
            name: "claim",
            spec: json!({"storage": {"persistentVolumeClaim": "not-there"}}),
            reason: Reason::ClaimMissing,
            words: ["PersistentVolumeClaim not-there", "create it"],
        },
        Case {
            name: "class",
            spec: json!({"storage": unknown_class}),
            reason: Reason::ClaimNotBound,
            words: ["PersistentVolumeClaim class-data", "none-such"],
        },
        Case {
            name: "template",
            spec: json!({"podTemplate": {"spec": {"nodeSelectr": {}}}}),
            reason: Reason::InvalidSpec,
            words: ["podTemplate.spec", "nodeSelectr"],
        },
        Case {
            name: "security",
            spec: json!({"podTemplate": {"spec": {"securityContext": {"runAsNonRoot": false}}}}),
            reason: Reason::ObjectRefused,
            words: ["restricted", "runAsNonRoot"],
        },
        Case {
            name: "crash",
            spec: json!({"podTemplate": {"spec": {"containers": no_settings}}}),
            reason: Reason::PodCrashing,
            words: ["exit code", "/none.yaml"],
        },
    ]
}
