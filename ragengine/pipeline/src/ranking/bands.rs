//! Names for how near the best chunk is to the question.

/// The least similarity of each band.
const EXCELLENT: f32 = 0.90;
const GOOD: f32 = 0.80;
const ACCEPTABLE: f32 = 0.75;

/// How near the best chunk is to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// A similarity of at least 0.90.
    Excellent,
    /// At least 0.80.
    Good,
    /// At least 0.75.
    Acceptable,
    /// Less.
    Below,
}

impl Band {
    /// The band of the best chunk's similarity.
    pub fn of(similarity: f32) -> Self {
        match similarity {
            EXCELLENT.. => Self::Excellent,
            GOOD.. => Self::Good,
            ACCEPTABLE.. => Self::Acceptable,
            _ => Self::Below,
        }
    }

    /// The value of this band in replies.
    pub fn label(self) -> &'static str {
        match self {
            Self::Excellent => "excellent",
            Self::Good => "good",
            Self::Acceptable => "acceptable",
            Self::Below => "below",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bands_and_their_bounds() {
        for (similarity, label) in [
            (1.0, "excellent"),
            (0.90, "excellent"),
            (0.89, "good"),
            (0.80, "good"),
            (0.79, "acceptable"),
            (0.75, "acceptable"),
            (0.749, "below"),
            (-1.0, "below"),
            (f32::NAN, "below"),
        ] {
            assert_eq!(Band::of(similarity).label(), label, "{similarity}");
        }
    }
}
