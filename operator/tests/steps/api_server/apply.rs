//! What of an object is kept that is written: without what is empty, with defaults, and amounts in their own spelling.

use serde_json::{Value, json};

/// As Go keeps it: no nulls, no empty texts or lists, nothing that is false by its nature.
pub fn canonical(value: &Value) -> Value {
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
    ["requests", "limits", "sizeLimit", "divisor"].contains(&name)
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
    match resource {
        "deployments" => {
            let spec = &mut object["spec"];
            set(spec, &json!({"progressDeadlineSeconds": 600}));
            spec["template"]["metadata"]["creationTimestamp"] = Value::Null;
            pod(&mut spec["template"]["spec"]);
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
        "networkpolicies" => {
            for list in ["ingress", "egress"] {
                for rule in items(&mut object["spec"], list).into_iter().flatten() {
                    for port in items(rule, "ports").into_iter().flatten() {
                        set(port, &json!({"protocol": "TCP"}));
                    }
                }
            }
        }
        _ => {}
    }
}

/// The Deployment's own controller has looked at it.
pub fn looked_at(object: &mut Value) {
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
    if object["spec"]["replicas"] == 0 {
        object["status"] = json!({"observedGeneration": object["metadata"]["generation"]});
    }
}

/// Why a server does not keep an object: of what can come of applying beside others, two ports of one name.
pub fn refusal(resource: &str, object: &Value) -> Option<String> {
    let ports = object["spec"]["ports"].as_array().filter(|_| resource == "services")?;
    let is_twice = |at: usize| ports[..at].iter().any(|port| port["name"] == ports[at]["name"]);
    let at = (0..ports.len()).find(|at| is_twice(*at))?;
    Some(format!("spec.ports[{at}].name: Duplicate value: {}", ports[at]["name"]))
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
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if volume[source].is_object() {
                set(&mut volume[source], &json!({"defaultMode": 420}));
            }
        }
        for source in
            volume.get_mut("projected").and_then(|projected| items(projected, "sources")).into_iter().flatten()
        {
            if source["serviceAccountToken"].is_object() {
                set(&mut source["serviceAccountToken"], &json!({"expirationSeconds": 3600}));
            }
        }
        for item in volume.get_mut("downwardAPI").and_then(|files| items(files, "items")).into_iter().flatten() {
            of_pod(item);
        }
    }
}

/// What a variable or a file takes from its pod.
fn of_pod(value: &mut Value) {
    for (source, defaults) in [("fieldRef", json!({"apiVersion": "v1"})), ("resourceFieldRef", json!({"divisor": "0"}))]
    {
        if value[source].is_object() {
            set(&mut value[source], &defaults);
        }
    }
}

fn container(container: &mut Value) {
    let defaults = json!({
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent", "resources": {},
    });
    set(container, &defaults);
    for variable in items(container, "env").into_iter().flatten().filter_map(|variable| variable.get_mut("valueFrom")) {
        of_pod(variable);
    }
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
