use super::*;

#[test]
fn only_the_characters_of_bearer_tokens_are_looked_up() {
    let long = "t".repeat(512);
    for token in ["a", "0f-9_~.+/==", "2f1c7d0e-6c4a-4f6e-9f0e-000000000000", &long] {
        assert!(is_token(token), "{token}");
    }
    let too_long = "t".repeat(513);
    for text in ["", "a b", "a:b", "a*", "a\r\nb", "a\0", "é", "{a}", &too_long] {
        assert!(!is_token(text), "{text:?}");
    }
}
