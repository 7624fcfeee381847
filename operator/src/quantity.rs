//! Kubernetes quantities: `1Gi` and `1024Mi` are equal.

/// The value of a quantity, or `None` if it is invalid. Precise enough for comparisons.
pub fn value(text: &str) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 15] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let suffix = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix));
    let (number, factor) = suffix.map_or((text, 1.0), |(suffix, factor)| (&text[..text.len() - suffix.len()], *factor));
    // Rust also parses `inf` and `nan` as numbers.
    let is_number = number.bytes().any(|byte| byte.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    is_number.then(|| number.parse::<f64>().ok().map(|number| number * factor)).flatten()
}

/// Whether two quantities are equal.
pub fn is_same(one: &str, other: &str) -> bool {
    match (value(one), value(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= one.abs() * 1e-12,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_same, value};

    #[test]
    fn the_same_amount_can_be_written_in_several_ways() {
        for (one, other, same) in [
            ("1Gi", "1024Mi", true),
            ("1", "1000m", true),
            ("0.5", "500m", true),
            ("1e3", "1k", true),
            ("1E3", "1000", true),
            ("1Gi", "1G", false),
            ("1Gi", "1025Mi", false),
            ("nan", "nan", true),
            ("inf", "1", false),
            ("", "0", false),
        ] {
            assert_eq!(is_same(one, other), same, "{one} {other}");
        }
        assert!(value("2Gi") > value("1.5Gi"));
        assert_eq!(value("Gi"), None);
    }
}
