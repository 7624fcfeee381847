use super::*;

fn directory_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    directory
}

#[test]
fn weights_are_found_in_both_places() {
    for name in ["onnx/model.onnx", "model.onnx"] {
        let directory = directory_with(&[(name, "x"), (TOKENIZER, "{}")]);
        let files = ModelFiles::at(directory.path()).unwrap();
        assert_eq!(files.model, directory.path().join(name));
        assert_eq!(files.tokenizer, directory.path().join(TOKENIZER));
    }
}

#[test]
fn other_weights_are_used_only_when_they_are_named() {
    let directory = directory_with(&[("onnx/model_int8.onnx", "x"), ("model.onnx", "y"), (TOKENIZER, "{}")]);
    let named = |path| Weights::named(Some(path)).unwrap();
    let files = ModelFiles::with_weights(directory.path(), &named("onnx/model_int8.onnx")).unwrap();
    assert_eq!(files.model, directory.path().join("onnx/model_int8.onnx"));
    assert_eq!(ModelFiles::at(directory.path()).unwrap().model, directory.path().join("model.onnx"));
    let error = ModelFiles::with_weights(directory.path(), &named("onnx/other.onnx")).unwrap_err();
    assert!(error.to_string().contains("has no onnx/other.onnx"), "{error}");
}

#[test]
fn a_missing_required_file_is_named() {
    let cases = [(TOKENIZER, "onnx/model.onnx"), ("model.onnx", "tokenizer.json")];
    for (present, absent) in cases {
        let directory = directory_with(&[(present, "{}")]);
        let error = ModelFiles::at(directory.path()).unwrap_err();
        let Error::Missing { file, .. } = &error else { panic!("{error}") };
        assert_eq!(file, absent);
        assert!(error.to_string().contains("embedding.local.modelID"), "{error}");
    }
}

#[test]
fn an_error_can_name_another_setting() {
    let fetch = |setting| Error::Fetch { url: "u".into(), message: "m".into(), directory: "d".into(), setting };
    let missing = |setting| Error::Missing { directory: "d".into(), file: TOKENIZER.to_owned(), setting };
    for error in [fetch(EMBEDDING_SETTING), missing(EMBEDDING_SETTING)] {
        let message = error.about("rerank.local.modelID").to_string();
        assert!(message.contains("rerank.local.modelID") && !message.contains("embedding"), "{message}");
    }
}

#[test]
fn absent_configuration_is_none_and_a_broken_one_is_named() {
    let required = [("model.onnx", "x"), (TOKENIZER, "{}")];
    let directory = directory_with(&required);
    let configs = ModelFiles::at(directory.path()).unwrap().read_configs().unwrap();
    assert!(configs.transformer.is_none() && configs.modules.is_empty());

    for broken in [CONFIG, SENTENCE_BERT, POOLING, MODULES, SENTENCE_TRANSFORMERS] {
        let directory = directory_with(&[required[0], required[1], (broken, "no JSON")]);
        let error = ModelFiles::at(directory.path()).unwrap().read_configs().unwrap_err();
        assert!(error.to_string().contains(broken), "{error}");
    }
}
