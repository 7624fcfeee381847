//! The request's body, and validation of the reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Vector;
use crate::vector::normalise;

/// The body of the request.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

impl<'a> Request<'a> {
    pub fn new(model: &'a str, input: &'a [String], dimensions: Option<usize>) -> Self {
        Self { model, input, encoding_format: "float", dimensions }
    }
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

/// Returns the reply's vectors, normalised and in the order of the inputs, or a description of the error.
///
/// Each index from 0 to `expected - 1` must appear once, in any order. All vectors must be finite, not zero, and of
/// equal length (`width`, if given).
pub(super) fn vectors(body: &[u8], expected: usize, width: Option<usize>) -> Result<Vec<Vector>, String> {
    let reply: Reply = serde_json::from_slice(body).map_err(|error| format!("it is not the expected JSON: {error}"))?;
    if reply.data.len() != expected {
        return Err(format!("it has {} vectors for {expected} texts", reply.data.len()));
    }
    let mut vectors: Vec<Option<Vector>> = vec![None; expected];
    for Item { index, mut embedding } in reply.data {
        normalise(&mut embedding).map_err(|error| format!("vector {index}: {error}"))?;
        let place = vectors.get_mut(index).ok_or_else(|| format!("index {index} is beyond {expected} texts"))?;
        if place.replace(embedding).is_some() {
            return Err(format!("index {index} appears twice"));
        }
    }
    // There are as many vectors as positions, and each position is valid and unique, so that every position is filled.
    let vectors: Vec<Vector> = vectors.into_iter().flatten().collect();
    check_widths(&vectors, width)?;
    Ok(vectors)
}

fn check_widths(vectors: &[Vector], asked_for: Option<usize>) -> Result<(), String> {
    let Some(width) = asked_for.or_else(|| vectors.first().map(Vec::len)) else { return Ok(()) };
    match vectors.iter().enumerate().find(|(_, vector)| vector.len() != width) {
        Some((index, vector)) => Err(format!("vector {index} is {} wide, and {width} was expected", vector.len())),
        None => Ok(()),
    }
}

/// Extracts the message from an error's body: OpenAI's `{"error": {"message": …}}`, the formats of others, or the
/// text itself.
pub(super) fn error_message(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let json: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let found = ["/error/message", "/error", "/message", "/detail"]
        .iter()
        .find_map(|pointer| json.pointer(pointer)?.as_str().map(str::to_owned));
    let message = found.unwrap_or_else(|| text.into_owned());
    let message = message.trim();
    (!message.is_empty()).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(items: &[(usize, Value)]) -> Vec<u8> {
        let data: Vec<Value> =
            items.iter().map(|(index, e)| json!({"object": "embedding", "index": index, "embedding": e})).collect();
        json!({"object": "list", "data": data, "usage": {"total_tokens": 3}}).to_string().into_bytes()
    }

    #[test]
    fn vectors_come_in_the_order_of_their_indexes_and_of_length_one() {
        let body = body(&[(1, json!([0, 2])), (0, json!([3.0, 4.0]))]);
        assert_eq!(vectors(&body, 2, Some(2)).unwrap(), [vec![0.6, 0.8], vec![0.0, 1.0]]);
    }

    #[test]
    fn invalid_replies_are_refused() {
        let good = json!([1.0, 0.0]);
        let cases = [
            (b"<html>".to_vec(), 1, None, "JSON"),
            (b"{}".to_vec(), 1, None, "data"),
            (body(&[]), 1, None, "0 vectors for 1"),
            (body(&[(0, good.clone()), (1, good.clone())]), 1, None, "2 vectors for 1"),
            (body(&[(0, good.clone()), (0, good.clone())]), 2, None, "twice"),
            (body(&[(0, good.clone()), (2, good.clone())]), 2, None, "beyond"),
            (body(&[(0, good.clone()), (1, json!([1.0]))]), 2, None, "1 wide"),
            (body(&[(0, good.clone())]), 1, Some(3), "2 wide"),
            (body(&[(0, json!([0.0, 0.0]))]), 1, None, "zero"),
            (body(&[(0, json!([]))]), 1, None, "zero"),
            (body(&[(0, json!([1e39, 0.0]))]), 1, None, "finite"),
            (body(&[(0, json!([null, 0.0]))]), 1, None, "null"),
            (br#"{"data": [{"index": 0, "embedding": [NaN]}]}"#.to_vec(), 1, None, "JSON"),
            (body(&[(0, json!("AACAPwAAAAA="))]), 1, None, "sequence"),
        ];
        for (body, expected, width, words) in cases {
            let error = vectors(&body, expected, width).unwrap_err();
            assert!(error.contains(words), "{words}: {error}");
        }
    }

    #[test]
    fn the_message_of_an_error_is_extracted() {
        let cases = [
            (r#"{"error": {"message": "no quota", "type": "x"}}"#, Some("no quota")),
            (r#"{"error": "input too long", "error_type": "validation"}"#, Some("input too long")),
            (r#"{"object": "error", "message": "unknown model"}"#, Some("unknown model")),
            (r#"{"detail": "not found"}"#, Some("not found")),
            ("<h1>Bad gateway</h1>\n", Some("<h1>Bad gateway</h1>")),
            ("  ", None),
        ];
        for (body, expected) in cases {
            assert_eq!(error_message(body.as_bytes()).as_deref(), expected);
        }
    }
}
