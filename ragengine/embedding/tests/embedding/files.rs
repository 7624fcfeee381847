//! The real model's files, downloaded by `make setup`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ragengine_embedding::files::ModelFiles;
use ragengine_embedding::local::Model;
use ragengine_embedding::profile::{Overrides, Profile};

pub const MODEL_ID: &str = "sentence-transformers/all-MiniLM-L6-v2";

pub fn model_files() -> ModelFiles {
    let cache = std::env::var_os("RAGENGINE_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/ragengine"));
    let directory = cache.join("models").join(MODEL_ID);
    ModelFiles::at(directory).unwrap_or_else(|error| panic!("run `make setup`: {error}"))
}

pub fn load(overrides: &Overrides) -> Model {
    let files = model_files();
    let profile = Profile::resolve(MODEL_ID, &files.read_configs().unwrap(), overrides).unwrap();
    Model::load(MODEL_ID, &files, profile).unwrap()
}

/// Shared by all tests, because loading is slow.
pub fn shared_model() -> Arc<Model> {
    static MODEL: OnceLock<Arc<Model>> = OnceLock::new();
    Arc::clone(MODEL.get_or_init(|| Arc::new(load(&Overrides::default()))))
}

pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
