//! What of an object is kept that is applied: without what is empty, with defaults, and amounts in their own spelling.

use serde_json::{Value, json};

/// The object that an apply leaves. The operator is the only manager, so what it does not send is gone, but for what the server itself added.
pub fn applied(resource: &str, sent: &Value, live: Option<&Value>) -> Value {
    let mut object = canonical(sent);
    if let Some(live) = live {
        if !live["status"].is_null() {
            object["status"] = live["status"].clone();
        }
        let others = live["metadata"]["annotations"].as_object().into_iter().flatten();
        for (name, value) in others.filter(|(name, _)| name.starts_with("deployment.kubernetes.io/")) {
            object["metadata"]["annotations"][name] = value.clone();
        }
        if resource == "services" {
            object["spec"]["clusterIP"] = live["spec"]["clusterIP"].clone();
        }
    }
    object
}

/// As Go keeps it: no nulls, no empty texts or lists, nothing that is false by its nature.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, field)| !is_dropped(name, field))
            .map(|(name, field)| (name.clone(), if is_amounts(name) { amounts(field) } else { canonical(field) }))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

fn is_dropped(name: &str, field: &Value) -> bool {
    let is_plain_field = ["readOnly", "tty", "stdin", "hostNetwork", "initialDelaySeconds"].contains(&name);
    match field {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(false) => is_plain_field,
        Value::Number(number) => is_plain_field && number.as_i64() == Some(0),
        _ => false,
    }
}

fn is_amounts(name: &str) -> bool {
    ["requests", "limits", "sizeLimit"].contains(&name)
}

fn amounts(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, amount)| (name.clone(), amounts(amount)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::String(text) => json!(match text.as_str() {
            "1024Mi" => "1Gi",
            "0.5" => "500m",
            "2000m" => "2",
            "1.5Gi" => "1536Mi",
            other => other,
        }),
        other => other.clone(),
    }
}

/// Adds what a kind of object always has, where it is not set.
pub fn defaulted(resource: &str, object: &mut Value) {
    let generation = object["metadata"]["generation"].clone();
    match resource {
        "deployments" => {
            let spec = &mut object["spec"];
            set(spec, &json!({"progressDeadlineSeconds": 600}));
            spec["template"]["metadata"]["creationTimestamp"] = Value::Null;
            pod(&mut spec["template"]["spec"]);
            // The Deployment's own controller has looked at it.
            object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
            if object["spec"]["replicas"] == 0 {
                object["status"] = json!({"observedGeneration": generation});
            }
        }
        "services" => {
            let defaults = json!({
                "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
            });
            set(&mut object["spec"], &defaults);
            set(object, &json!({"status": {"loadBalancer": {}}}));
        }
        "persistentvolumeclaims" => {
            set(
                &mut object["spec"],
                &json!({"volumeMode": "Filesystem", "storageClassName": "standard", "volumeName": "pvc-1"}),
            );
            set(object, &json!({"status": {"phase": "Bound"}}));
        }
        _ => {}
    }
}

fn pod(spec: &mut Value) {
    let account = spec["serviceAccountName"].clone();
    let defaults = json!({
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "serviceAccount": account,
    });
    set(spec, &defaults);
    for container in items(spec, "initContainers").into_iter().flatten() {
        self::container(container);
    }
    for container in items(spec, "containers").into_iter().flatten() {
        self::container(container);
    }
    for volume in items(spec, "volumes").into_iter().flatten() {
        for source in ["configMap", "secret", "projected"] {
            if volume[source].is_object() {
                set(&mut volume[source], &json!({"defaultMode": 420}));
            }
        }
    }
}

fn container(container: &mut Value) {
    let defaults = json!({
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent", "resources": {},
    });
    set(container, &defaults);
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        if container[probe].is_object() {
            set(&mut container[probe], &json!({"successThreshold": 1, "timeoutSeconds": 1}));
        }
    }
}

fn items<'a>(object: &'a mut Value, list: &str) -> Option<&'a mut Vec<Value>> {
    object.get_mut(list)?.as_array_mut()
}

fn set(object: &mut Value, defaults: &Value) {
    for (name, default) in defaults.as_object().unwrap() {
        if object[name].is_null() {
            object[name] = default.clone();
        }
    }
}
