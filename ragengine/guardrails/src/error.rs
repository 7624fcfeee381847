/// A policy that cannot be used. The text is for its author: it names the place and says what to write. It quotes names
/// and numbers of the policy, but none of its patterns and phrases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The policy is too large.
    #[error("the policy has {bytes} bytes, and at most {limit} are allowed: use fewer scanners or patterns")]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The text is not YAML, or not an object at its top.
    #[error("the policy is not valid YAML of the form {{action, blockMessage, scanners}}: {reason}")]
    Yaml {
        /// What is wrong, with the line and column if they are known.
        reason: String,
    },
    /// A field outside the scanners is wrong.
    #[error("{field} {reason}")]
    Field {
        /// The field's name.
        field: String,
        /// What is wrong, and what to write.
        reason: String,
    },
    /// A scanner is unknown or wrong.
    #[error("scanners[{index}] ({name}): {field} {reason}")]
    Scanner {
        /// Its place among the scanners, from 0.
        index: usize,
        /// Its type as in the policy.
        name: String,
        /// The field's name.
        field: String,
        /// What is wrong, and what to write.
        reason: String,
    },
}

impl PolicyError {
    /// A short name for a metric's label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too_large",
            Self::Yaml { .. } => "yaml",
            Self::Field { .. } => "field",
            Self::Scanner { .. } => "scanner",
        }
    }
}
