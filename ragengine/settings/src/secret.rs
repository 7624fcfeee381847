use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Where a secret is. The settings never hold a secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SecretReference {
    /// A file whose content is the secret; white space at its end is cut. It is read at start, and the write token's while the server runs, too.
    File(PathBuf),
    /// The name of an environment variable that holds the secret.
    Env(String),
}

/// By hand: what is derived puts into its error what it has found, which is the secret itself where somebody took this for its place.
impl<'de> Deserialize<'de> for SecretReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Place)
    }
}

struct Place;

impl Place {
    fn refuse<E: Error>(&self) -> E {
        E::custom("a secret is not written here: say where it is, {file: PATH} or {env: NAME}")
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = SecretReference;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("where a secret is: {file: PATH} or {env: NAME}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let place = match map.next_key::<String>()?.as_deref() {
            Some("file") => SecretReference::File(map.next_value()?),
            Some("env") => SecretReference::Env(map.next_value()?),
            _ => return Err(self.refuse()),
        };
        match map.next_key::<IgnoredAny>()? {
            None => Ok(place),
            Some(_) => Err(A::Error::custom("a secret has one place: {file: PATH} or {env: NAME}")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.refuse())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Err(self.refuse())
    }
}
