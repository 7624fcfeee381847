use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn texts_become_vectors_of_length_one() {
    let server = Server::shared();
    for model in [json!("default"), json!("all-MiniLM-L6-v2"), json!(null)] {
        let reply = server.post("/v1/embeddings", &json!({"model": model, "input": ["a cat", "a dog"]})).await.ok();
        assert_eq!((reply["object"].as_str(), reply["model"].as_str()), (Some("list"), Some("all-MiniLM-L6-v2")));
        assert_eq!(reply["data"][1]["index"], 1);
        let vector: Vec<f64> =
            reply["data"][0]["embedding"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
        let length: f64 = vector.iter().map(|value| value * value).sum();
        assert!(vector.len() == 384 && (length - 1.0).abs() < 1e-3, "{length}");
        assert_eq!(reply["usage"]["total_tokens"], 4);
    }
}

#[tokio::test]
async fn a_single_text_and_base64_are_accepted() {
    let server = Server::shared();
    let reply = server.post("/v1/embeddings", &json!({"input": "a cat", "encoding_format": "base64"})).await.ok();
    assert_eq!(reply["data"][0]["embedding"].as_str().unwrap().len(), 384 * 4 * 4 / 3);
}

#[tokio::test]
async fn an_invalid_input_is_refused_with_its_reason() {
    let server = Server::shared();
    let refused = async |body: serde_json::Value, status: u16| server.post("/v1/embeddings", &body).await.error(status);
    assert!(refused(json!({"model": "gpt", "input": "x"}), 404).await.contains("'gpt' does not exist"));
    assert!(refused(json!({"input": []}), 400).await.contains("at least one"));
    assert!(refused(json!({"input": ["a", " "]}), 400).await.contains("empty"));
    assert!(refused(json!({"input": [1, 2]}), 400).await.contains("string"));
    assert!(refused(json!({"input": "x", "dimensions": 256}), 400).await.contains("384"));
    assert!(refused(json!({"input": "x".repeat(100_000)}), 400).await.contains("100000 bytes"));
    assert!(refused(json!({}), 400).await.contains("input"));
    assert!(refused(json!({"input": "word ".repeat(2000)}), 400).await.contains("at most 256"));
}
