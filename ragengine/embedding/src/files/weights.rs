//! Which ONNX file of a model is used.

use super::Error;
use super::model_id::check_segment;

/// The places where exporters put the weights.
const USUAL: [&str; 2] = ["onnx/model.onnx", "model.onnx"];

/// The most parts of a file's path.
const MAX_SEGMENTS: usize = 4;

/// The ONNX file of a model: the usual one, or another one of its repository, such as one with int8 weights.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Weights(Option<String>);

impl Weights {
    /// The file with this path in the model's directory. None: the usual file.
    ///
    /// # Errors
    ///
    /// [`Error::ModelFile`] if the path is not a plain relative path of an ONNX file: it becomes part of paths and
    /// URLs.
    pub fn named(path: Option<&str>) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(Self::default()) };
        let refused = |reason| Error::ModelFile { file: path.chars().take(200).collect(), reason };
        let segments: Vec<&str> = path.split('/').collect();
        if segments.len() > MAX_SEGMENTS {
            return Err(refused("it has more than 4 parts"));
        }
        segments.iter().try_for_each(|segment| check_segment(segment)).map_err(refused)?;
        if !path.ends_with(".onnx") {
            return Err(refused("it does not end with .onnx"));
        }
        Ok(Self(Some(path.to_owned())))
    }

    /// The files to look for, in this order.
    pub(super) fn names(&self) -> Vec<&str> {
        match &self.0 {
            Some(file) => vec![file],
            None => USUAL.to_vec(),
        }
    }

    /// What distinguishes the directory of a downloaded model from that of the same model with the usual file.
    pub(super) fn suffix(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |file| format!("+{}", file.replace('/', "+")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plain_path_of_an_onnx_file_is_accepted() {
        let weights = Weights::named(Some("onnx/model_qint8.onnx")).unwrap();
        assert_eq!(
            (weights.names(), weights.suffix()),
            (vec!["onnx/model_qint8.onnx"], "+onnx+model_qint8.onnx".into())
        );
        let usual = Weights::named(None).unwrap();
        assert_eq!((usual.names(), usual.suffix()), (USUAL.to_vec(), String::new()));
    }

    #[test]
    fn anything_else_is_refused() {
        for path in [
            "",
            "/model.onnx",
            "../model.onnx",
            "a/../model.onnx",
            "a//model.onnx",
            "a\\model.onnx",
            "model.onnx?x=1",
            "a/b/c/d/model.onnx",
            ".onnx",
            "model.safetensors",
            "onnx",
            "mod el.onnx",
            "a+b.onnx",
        ] {
            let error = Weights::named(Some(path)).unwrap_err();
            assert!(error.to_string().contains("embedding.local.modelFile"), "{path:?}: {error}");
        }
    }

    proptest! {
        /// No two files have the same directory.
        #[test]
        fn different_files_have_different_suffixes(left in "[a-c./_-]{1,9}", right in "[a-c./_-]{1,9}") {
            let suffix = |path: &str| Weights::named(Some(&format!("{path}.onnx"))).map(|weights| weights.suffix());
            if let (Ok(first), Ok(second)) = (suffix(&left), suffix(&right)) {
                prop_assert_eq!(first == second, left == right);
            }
        }
    }
}
