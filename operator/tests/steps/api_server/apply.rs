//! How the API server normalises a written object: it drops empty values, sets defaults and rewrites quantities.

use serde_json::{Value, json};

/// The object as Go's JSON encoder writes it: without nulls, empty strings, empty lists and `omitempty` zero values.
pub fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, field)| !is_dropped(name, field))
            .map(|(name, field)| (name.clone(), if is_quantity(name) { quantities(field) } else { canonical(field) }))
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

fn is_quantity(name: &str) -> bool {
    ["requests", "limits", "sizeLimit", "divisor"].contains(&name)
}

fn quantities(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, quantity)| (name.clone(), quantities(quantity)))
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

/// Sets the defaults of a kind of object.
pub fn set_defaults(resource: &str, object: &mut Value) {
    match resource {
        "deployments" => {
            let spec = &mut object["spec"];
            set(spec, &json!({"progressDeadlineSeconds": 600, "replicas": 1}));
            spec["template"]["metadata"]["creationTimestamp"] = Value::Null;
            set_pod_defaults(&mut spec["template"]["spec"]);
        }
        "services" => {
            let defaults = json!({
                "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"],
                "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
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

/// Writes what the Deployment controller writes into a Deployment.
pub fn run_deployment_controller(object: &mut Value) {
    object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
    if object["spec"]["replicas"] == 0 {
        object["status"] = json!({"observedGeneration": object["metadata"]["generation"]});
    }
}

/// The validation error of an object, if any. Checks only what an apply can cause: two ports with the same name, and
/// the numbers of a strategy that has none.
pub fn validation_error(resource: &str, object: &Value) -> Option<String> {
    match resource {
        "services" => ports_error(object),
        "deployments" => strategy_error(object),
        _ => None,
    }
}

fn strategy_error(object: &Value) -> Option<String> {
    let strategy = &object["spec"]["strategy"];
    let is_wrong = strategy["type"] == "Recreate" && !strategy["rollingUpdate"].is_null();
    let message = "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'";
    is_wrong.then(|| message.to_owned())
}

fn ports_error(object: &Value) -> Option<String> {
    let ports = object["spec"]["ports"].as_array()?;
    let is_twice = |at: usize| ports[..at].iter().any(|port| port["name"] == ports[at]["name"]);
    let at = (0..ports.len()).find(|at| is_twice(*at))?;
    Some(format!("spec.ports[{at}].name: Duplicate value: {}", ports[at]["name"]))
}

fn set_pod_defaults(spec: &mut Value) {
    let account = spec["serviceAccountName"].clone();
    let defaults = json!({
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "serviceAccount": account,
    });
    set(spec, &defaults);
    for container in items(spec, "initContainers").into_iter().flatten() {
        set_container_defaults(container);
    }
    for container in items(spec, "containers").into_iter().flatten() {
        set_container_defaults(container);
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
            set_downward_api_defaults(item);
        }
    }
}

/// Sets the defaults of the downward API in a variable or a file.
fn set_downward_api_defaults(value: &mut Value) {
    for (source, defaults) in [("fieldRef", json!({"apiVersion": "v1"})), ("resourceFieldRef", json!({"divisor": "0"}))]
    {
        if value[source].is_object() {
            set(&mut value[source], &defaults);
        }
    }
}

fn set_container_defaults(container: &mut Value) {
    let defaults = json!({
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent", "resources": {},
    });
    set(container, &defaults);
    for variable in items(container, "env").into_iter().flatten().filter_map(|variable| variable.get_mut("valueFrom")) {
        set_downward_api_defaults(variable);
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
