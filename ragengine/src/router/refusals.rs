//! The replies of access control in the OpenAPI document: every route that it guards has the same two.

use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi, RefOr, Response};

/// The statuses, and their meanings.
const REFUSALS: [(&str, &str); 2] = [
    ("401", "The token is missing, unknown or expired."),
    ("403", "The caller may not do this, with this index or with any."),
];

/// The tag of the routes for probes and monitors, which nobody is refused.
const OPEN: &str = "operation";

/// Adds the replies of access control to the operations that lack them, with the body of their other errors.
pub fn describe(document: &mut OpenApi) {
    let example = document.paths.paths.values().flat_map(|item| [&item.get, &item.post]).flatten().find_map(error);
    let example = example.cloned();
    for item in document.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten() {
            if operation.tags.iter().flatten().any(|tag| tag == OPEN) {
                continue;
            }
            let Some(error) = error(operation).cloned().or_else(|| example.clone()) else { continue };
            for (status, meaning) in REFUSALS {
                let mut refusal = error.clone();
                refusal.description = meaning.to_owned();
                operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(refusal));
            }
        }
    }
}

/// The reply of the first error.
fn error(operation: &Operation) -> Option<&Response> {
    let mut errors = operation.responses.responses.iter().filter(|(status, _)| status.starts_with('4'));
    errors.find_map(|(_, reply)| match reply {
        RefOr::T(reply) if !reply.content.is_empty() => Some(reply),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::openapi;

    #[test]
    fn every_guarded_route_has_the_statuses_of_access_control_in_its_own_shape() {
        let document = serde_json::to_value(openapi()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let mut guarded = 0;
        for (path, item) in paths {
            for (method, operation) in item.as_object().unwrap() {
                let replies = &operation["responses"];
                let is_open = operation["tags"][0] == "operation";
                assert_eq!(replies["403"].is_null(), is_open, "{method} {path}");
                if !is_open {
                    guarded += 1;
                    let schema = &replies["401"]["content"]["application/json"]["schema"]["$ref"];
                    let expected = if path.starts_with("/v1/") { "OpenAiError" } else { "ErrorDetail" };
                    assert!(schema.as_str().unwrap().ends_with(expected), "{method} {path}: {schema}");
                }
            }
        }
        assert!(guarded > 25, "{guarded}");
    }
}
