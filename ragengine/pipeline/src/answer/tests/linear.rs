//! The work is linear in the length of an answer.

use super::*;

#[test]
fn hostile_answers_take_linear_work() {
    const BYTES: usize = 1 << 20;
    const SIGNS: [&str; 20] = [
        "[", "[1", "1, ", "1-", "`", "` [", "``[`", "`[\n", "(", "( ", " ", "\n", "> ", "\\", "[1](", "[1]\n", "[1] ",
        ".", "a[1]", "[1-5]",
    ];
    for sign in SIGNS {
        for (start, piece_bytes) in [("", BYTES), ("So [1]. [", BYTES), ("So [1]. `", 1)] {
            let answer = start.to_owned() + &sign.repeat(BYTES / sign.len());
            let mut stream = CitationStream::new(&SOURCES, CitationRules::default());
            for piece in answer.as_bytes().chunks(piece_bytes) {
                stream.push(std::str::from_utf8(piece).unwrap());
            }
            // Each decision passes on a character, ends a code span, begins a line, or waits for the next piece.
            let most = 3 * answer.len() + answer.len().div_ceil(piece_bytes);
            assert!(stream.scanner.decisions <= most, "{sign:?} {piece_bytes}: {}", stream.scanner.decisions);
            stream.finish();
        }
    }
}
