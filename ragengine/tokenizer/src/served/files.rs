//! Reads the files of a model's folder, by the rules of transformers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Error;

const TOKENIZER: &str = "tokenizer.json";
const TEMPLATE: &str = "chat_template.jinja";
const CONFIG: &str = "tokenizer_config.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";

/// The largest tokenizer.json files have about 40 MB. A much larger file is a different one.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The name of the template to use if a model has several.
const DEFAULT_TEMPLATE: &str = "default";

/// The paths of a model's tokenizer files.
pub(super) struct ModelFiles {
    directory: PathBuf,
    /// The tokenizer, in the format of the `tokenizers` library.
    pub tokenizer: PathBuf,
}

/// The used settings of `tokenizer_config.json` and `special_tokens_map.json`.
#[derive(Default)]
pub(super) struct Config {
    template: Option<ConfiguredTemplate>,
    /// Special tokens by name, such as `bos_token` and `eos_token`.
    pub special_tokens: BTreeMap<String, String>,
}

/// A template's source, and the path of its file.
pub(super) struct TemplateFile {
    pub path: PathBuf,
    pub source: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ConfiguredTemplate {
    One(String),
    Named(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

impl ModelFiles {
    /// The files in the folder `path`, or beside the file `path`.
    pub fn at(path: &Path) -> Result<Self, Error> {
        if !path.is_dir() {
            let directory = path.parent().unwrap_or(Path::new("")).to_owned();
            return Ok(Self { directory, tokenizer: path.to_owned() });
        }
        let tokenizer = path.join(TOKENIZER);
        if !tokenizer.exists() {
            return Err(Error::Missing { directory: path.display().to_string() });
        }
        Ok(Self { directory: path.to_owned(), tokenizer })
    }

    /// Reads the configuration. If both files define a special token, `tokenizer_config.json` wins.
    pub fn read_config(&self) -> Result<Config, Error> {
        let mut config = Config::default();
        config.special_tokens.extend(special_tokens(&self.read_object(SPECIAL_TOKENS)?));
        let mut object = self.read_object(CONFIG)?;
        config.special_tokens.extend(special_tokens(&object));
        if let Some(template) = object.remove("chat_template").filter(|template| !template.is_null()) {
            let parsed = serde_json::from_value(template).map_err(|_| {
                let message = "chat_template is neither a string nor a list of {name, template}";
                Error::config(&self.directory.join(CONFIG), message)
            })?;
            config.template = Some(parsed);
        }
        Ok(config)
    }

    /// Reads the chat template. `chat_template.jinja` wins over the template in the configuration.
    pub fn read_template(&self, config: &Config) -> Result<Option<TemplateFile>, Error> {
        let path = self.directory.join(TEMPLATE);
        if path.exists() {
            let source = String::from_utf8(read(&path)?).map_err(|error| Error::config(&path, error))?;
            return Ok(Some(TemplateFile { path, source }));
        }
        let source = match &config.template {
            Some(ConfiguredTemplate::One(source)) => Some(source),
            Some(ConfiguredTemplate::Named(templates)) => {
                templates.iter().find(|named| named.name == DEFAULT_TEMPLATE).map(|named| &named.template)
            }
            None => None,
        };
        Ok(source.map(|source| TemplateFile { path: self.directory.join(CONFIG), source: source.clone() }))
    }

    /// Reads a JSON object from a file of the folder. Empty if the file is missing.
    fn read_object(&self, name: &str) -> Result<Map<String, Value>, Error> {
        let path = self.directory.join(name);
        if !path.exists() {
            return Ok(Map::new());
        }
        serde_json::from_slice(&read(&path)?).map_err(|error| Error::config(&path, error))
    }
}

/// Reads a file of at most [`MAX_FILE_BYTES`].
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = fs::metadata(path).map_err(Error::io(path))?.len();
    if bytes > MAX_FILE_BYTES {
        return Err(Error::TooBig { path: path.display().to_string(), bytes });
    }
    fs::read(path).map_err(Error::io(path))
}

/// The fields named `…_token` whose value is a string, or an object with a string `content`.
fn special_tokens(object: &Map<String, Value>) -> impl Iterator<Item = (String, String)> {
    object.iter().filter(|(name, _)| name.ends_with("_token")).filter_map(|(name, value)| {
        let content = value.as_str().or_else(|| value["content"].as_str())?;
        Some((name.clone(), content.to_owned()))
    })
}
