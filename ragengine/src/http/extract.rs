//! Extractors for request bodies, queries and paths. Their errors name the invalid field.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected};
use ragengine_client::wire::FieldError;
use ragengine_json::Terse;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::admission::BodyError;
use crate::app::App;
use crate::error::{ApiError, PlainError};
use ragengine_compute as compute;

/// Returns the whole body of a request. The admission middleware has read it already.
///
/// # Errors
///
/// [`BodyError::Lost`] when the body was cut off.
pub async fn body(request: Request) -> Result<Bytes, ApiError> {
    let body = request.into_body().collect().await;
    Ok(body.map(Collected::to_bytes).map_err(|_| BodyError::Lost("the request body was cut off".to_owned()))?)
}

/// Parses the body of a request as JSON. A long one is parsed on a compute thread, so that it does not block others.
///
/// # Errors
///
/// As [`body`] and [`parse_json`].
pub async fn json<T: DeserializeOwned + Send + 'static>(request: Request) -> Result<T, ApiError> {
    let bytes = body(request).await?;
    compute::run(bytes.len(), move |_| parse_json(&bytes)).await
}

/// Parses JSON.
///
/// # Errors
///
/// [`ApiError::Schema`] with the path of the invalid field.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // serde would read an array as the fields of the struct, in order.
    if bytes.trim_ascii_start().starts_with(b"[") {
        let (loc, msg) = (vec![Value::from("body")], "must be an object".to_owned());
        return Err(ApiError::Schema(vec![FieldError { loc, msg, kind: "type".to_owned() }]));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(Terse(&mut deserializer)).map_err(|error| {
        let mut loc = vec![Value::from("body")];
        loc.extend(error.path().iter().filter_map(place));
        schema(loc, error.inner())
    })?;
    deserializer.end().map_err(|error| schema(vec![Value::from("body")], &error))?;
    Ok(value)
}

fn place(segment: &Segment) -> Option<Value> {
    match segment {
        Segment::Seq { index } => Some(Value::from(*index)),
        Segment::Map { key } => Some(Value::from(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

fn schema(mut loc: Vec<Value>, error: &serde_json::Error) -> ApiError {
    let message = error.to_string();
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let (msg, kind) = match missing {
        Some(field) => {
            loc.push(Value::from(field));
            ("this field is required".to_owned(), "missing")
        }
        None if error.is_data() => (message, "type"),
        None => (format!("not valid JSON: {message}"), "json_invalid"),
    };
    ApiError::Schema(vec![FieldError { loc, msg, kind: kind.to_owned() }])
}

/// Returns the error for a number that is out of range.
pub fn out_of_bounds(place: [&str; 2], must_be: &str) -> ApiError {
    let loc = place.map(Value::from).to_vec();
    ApiError::Schema(vec![FieldError { loc, msg: format!("must be {must_be}"), kind: "bounds".to_owned() }])
}

/// Extracts a JSON body. Errors have the shape of the API outside `/v1`.
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<App>> for JsonBody<T> {
    type Rejection = PlainError;

    async fn from_request(request: Request, _: &Arc<App>) -> Result<Self, Self::Rejection> {
        Ok(Self(json(request).await?))
    }
}

/// Extracts the query parameters.
pub struct QueryString<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for QueryString<T> {
    type Rejection = PlainError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Self::Rejection> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(Self(value)),
            Err(error) => Err(query_error(&error).into()),
        }
    }
}

/// Converts axum's error, whose text starts with the name of the parameter.
fn query_error(error: &QueryRejection) -> ApiError {
    let text = error.body_text();
    let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
    let (name, msg) = text.split_once(": ").unwrap_or(("", text));
    let loc = ["query", name].into_iter().filter(|part| !part.is_empty()).map(Value::from).collect();
    ApiError::Schema(vec![FieldError { loc, msg: msg.to_owned(), kind: "type".to_owned() }])
}

/// Extracts the path parameters.
pub struct PathParameters<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for PathParameters<T> {
    type Rejection = PlainError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Self::Rejection> {
        match Path::from_request_parts(parts, app).await {
            Ok(Path(value)) => Ok(Self(value)),
            Err(_) => Err(ApiError::InvalidRequest("the path is not valid UTF-8".to_owned()).into()),
        }
    }
}
