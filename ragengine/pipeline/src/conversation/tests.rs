use super::*;

#[test]
fn a_string_without_escapes_is_not_copied() {
    for (json, text, is_copied) in [(r#""plain \u00e4""#, "plain ä", true), (r#""plain ä""#, "plain ä", false)] {
        let value: &RawValue = serde_json::from_str(json).unwrap();
        let read = string(value).unwrap();
        assert_eq!((&*read, matches!(read, Cow::Owned(_))), (text, is_copied));
    }
}
