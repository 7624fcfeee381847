use serde_json::{Value, json};

use super::*;

/// The files of models on the hub, without unused fields.
fn files(config: Value, sentence_bert: Value, pooling: Value, modules: Value, prompts: Value) -> ConfigFiles {
    fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> Option<T> {
        (!value.is_null()).then(|| serde_json::from_value(value).unwrap())
    }
    ConfigFiles {
        transformer: parsed(config),
        sentence_bert: parsed(sentence_bert),
        pooling: parsed(pooling),
        modules: parsed(modules).unwrap_or_default(),
        sentence_transformers: parsed(prompts),
    }
}

fn bert(positions: usize) -> Value {
    json!({"model_type": "bert", "max_position_embeddings": positions, "hidden_size": 384})
}

fn flags(cls: bool, mean: bool) -> Value {
    json!({"word_embedding_dimension": 384, "pooling_mode_cls_token": cls, "pooling_mode_mean_tokens": mean,
        "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false})
}

fn modules(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"type": format!("sentence_transformers.models.{name}"), "path": ""})).collect()
}

#[test]
fn well_known_models() {
    let usual = || modules(&["Transformer", "Pooling", "Normalize"]);
    let bge = "Represent this sentence for searching relevant passages: ";
    let versions = json!({"__version__": {"sentence_transformers": "2.0.0"}});
    let cases = [
        (
            "sentence-transformers/all-MiniLM-L6-v2",
            files(bert(512), json!({"max_seq_length": 256}), flags(false, true), usual(), versions.clone()),
            (Pooling::Mean, 256, "", ""),
        ),
        (
            "BAAI/bge-small-en-v1.5",
            files(
                bert(512),
                json!({"max_seq_length": 512, "do_lower_case": true}),
                flags(true, false),
                usual(),
                versions,
            ),
            (Pooling::Cls, 512, bge, ""),
        ),
        (
            "thenlper/gte-small",
            files(bert(512), json!({"max_seq_length": 512}), flags(false, true), usual(), Value::Null),
            (Pooling::Mean, 512, "", ""),
        ),
        (
            "intfloat/e5-small-v2",
            files(
                bert(512),
                json!({"max_seq_length": 512}),
                flags(false, true),
                usual(),
                json!({"prompts": {"query": "", "document": ""}}),
            ),
            (Pooling::Mean, 512, "query: ", "passage: "),
        ),
        (
            "/models/multilingual-e5-small/",
            files(
                json!({"model_type": "xlm-roberta", "max_position_embeddings": 514}),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
            ),
            (Pooling::Mean, 512, "query: ", "passage: "),
        ),
        (
            "Snowflake/snowflake-arctic-embed-xs",
            files(
                bert(512),
                json!({"max_seq_length": 512}),
                json!({"pooling_mode": "cls"}),
                usual(),
                json!({"prompts": {"query": "find: ", "passage": "text: "}}),
            ),
            (Pooling::Cls, 512, "find: ", "text: "),
        ),
        (
            "BAAI/bge-m3",
            files(
                json!({"model_type": "xlm-roberta", "max_position_embeddings": 8194}),
                json!({"max_seq_length": 8192}),
                flags(true, false),
                usual(),
                Value::Null,
            ),
            (Pooling::Cls, 8192, "", ""),
        ),
        ("someone/without-any-file", ConfigFiles::default(), (Pooling::Mean, 512, "", "")),
        (
            "someone/long-positions-unnamed-length",
            files(bert(8192), json!({"max_seq_length": null}), Value::Null, Value::Null, Value::Null),
            (Pooling::Mean, 512, "", ""),
        ),
        (
            "someone/length-beyond-its-positions",
            files(bert(128), json!({"max_seq_length": 256}), Value::Null, Value::Null, Value::Null),
            (Pooling::Mean, 128, "", ""),
        ),
    ];
    for (model_id, files, (pooling, max_tokens, query_prefix, passage_prefix)) in cases {
        let expected = Profile {
            pooling,
            max_tokens,
            query_prefix: query_prefix.to_owned(),
            passage_prefix: passage_prefix.to_owned(),
        };
        assert_eq!(Profile::resolve(model_id, &files, &Overrides::default()), Ok(expected), "{model_id}");
    }
}

#[test]
fn overrides_win_even_with_an_empty_prefix() {
    let overrides = Overrides {
        max_tokens: Some(64),
        query_prefix: Some(String::new()),
        passage_prefix: Some("p: ".to_owned()),
        pooling: Some(Pooling::Max),
    };
    let files = files(bert(512), json!({"max_seq_length": 256}), flags(false, true), Value::Null, Value::Null);
    let profile = Profile::resolve("intfloat/e5-small", &files, &overrides).unwrap();
    let expected = Profile {
        pooling: Pooling::Max,
        max_tokens: 64,
        query_prefix: String::new(),
        passage_prefix: "p: ".to_owned(),
    };
    assert_eq!(profile, expected);
}

#[test]
fn unsupported_models_and_overrides_are_errors() {
    let none = Overrides::default;
    let cases = [
        (
            files(Value::Null, Value::Null, flags(true, true), Value::Null, Value::Null),
            none(),
            Error::UnsupportedPooling("cls+mean".to_owned()),
        ),
        (
            files(Value::Null, Value::Null, flags(false, false), Value::Null, Value::Null),
            none(),
            Error::UnsupportedPooling("(none)".to_owned()),
        ),
        (
            files(Value::Null, Value::Null, json!({"pooling_mode": "weightedmean"}), Value::Null, Value::Null),
            none(),
            Error::UnsupportedPooling("weightedmean".to_owned()),
        ),
        (
            files(Value::Null, Value::Null, Value::Null, modules(&["Transformer", "Pooling", "Dense"]), Value::Null),
            none(),
            Error::UnsupportedModule("sentence_transformers.models.Dense".to_owned()),
        ),
        (
            files(bert(512), Value::Null, Value::Null, Value::Null, Value::Null),
            Overrides { max_tokens: Some(513), ..none() },
            Error::TooManyTokens { max_tokens: 513, positions: 512 },
        ),
    ];
    for (files, overrides, expected) in cases {
        assert_eq!(Profile::resolve("someone/model", &files, &overrides), Err(expected));
    }
}
