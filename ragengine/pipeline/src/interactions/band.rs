//! Names for how similar an earlier question is.

/// A similarity above this is very relevant.
const VERY_RELEVANT: f32 = 0.85;
/// A similarity from this on is related.
const RELATED: f32 = 0.7;

/// How similar an earlier question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// A similarity of more than 0.85.
    VeryRelevant,
    /// 0.7 to 0.85.
    Related,
    /// Less than 0.7.
    Background,
}

impl Band {
    /// The band of a similarity.
    pub fn of(similarity: f32) -> Self {
        if similarity > VERY_RELEVANT {
            Self::VeryRelevant
        } else if similarity >= RELATED {
            Self::Related
        } else {
            Self::Background
        }
    }

    /// The value of this band in replies.
    pub fn label(self) -> &'static str {
        match self {
            Self::VeryRelevant => "very_relevant",
            Self::Related => "related",
            Self::Background => "background",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_and_their_bounds() {
        for (similarity, label) in [
            (1.0, "very_relevant"),
            (0.851, "very_relevant"),
            (0.85, "related"),
            (0.7, "related"),
            (0.699, "background"),
            (-1.0, "background"),
            (f32::NAN, "background"),
        ] {
            assert_eq!(Band::of(similarity).label(), label, "{similarity}");
        }
    }
}
