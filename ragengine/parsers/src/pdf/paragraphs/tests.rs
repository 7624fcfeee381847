use hayro_interpret::kurbo::Vec2;

use super::*;

/// A line of font size 10, at a height and between two positions.
fn line(text: &str, across: f64, start: f64, end: f64) -> Line {
    Line { text: text.to_owned(), direction: Vec2::new(1.0, 0.0), start, end, across, size: 10.0 }
}

#[test]
fn full_lines_are_joined_and_others_are_kept() {
    let large = |line: Line| Line { size: 14.0, ..line };
    for (what, lines, text) in [
        ("nothing", vec![], ""),
        (
            "a paragraph",
            vec![line("a", 30.0, 0.0, 100.0), line("b", 18.0, 0.0, 95.0), line("c", 6.0, 0.0, 20.0)],
            "a b c",
        ),
        (
            "short lines",
            vec![line("long", 30.0, 0.0, 100.0), line("a", 18.0, 0.0, 20.0), line("b", 6.0, 0.0, 30.0)],
            "long a\nb",
        ),
        ("a gap", vec![line("a", 50.0, 0.0, 100.0), line("b", 30.0, 0.0, 100.0)], "a\n\nb"),
        ("a heading", vec![large(line("h", 30.0, 0.0, 100.0)), line("b", 14.0, 0.0, 100.0)], "h\n\nb"),
        ("the next column", vec![line("a", 10.0, 0.0, 100.0), line("b", 500.0, 120.0, 220.0)], "a\n\nb"),
        ("beside it", vec![line("a", 30.0, 0.0, 100.0), line("b", 18.0, 120.0, 220.0)], "a\n\nb"),
        (
            "points",
            vec![line("• a", 30.0, 0.0, 100.0), line("• b", 18.0, 0.0, 100.0), line("c", 6.0, 8.0, 100.0)],
            "• a\n• b c",
        ),
        ("numbers", vec![line("1. a", 30.0, 0.0, 100.0), line("2) b", 18.0, 0.0, 100.0)], "1. a\n2) b"),
        ("a year", vec![line("in", 30.0, 0.0, 100.0), line("2026. And", 18.0, 0.0, 100.0)], "in 2026. And"),
        ("a divided word", vec![line("mea-", 30.0, 0.0, 100.0), line("sure", 18.0, 0.0, 100.0)], "measure"),
        ("a range", vec![line("1990-", 30.0, 0.0, 100.0), line("1995", 18.0, 0.0, 100.0)], "1990- 1995"),
        ("a name", vec![line("Anne-", 30.0, 0.0, 100.0), line("Marie", 18.0, 0.0, 100.0)], "Anne- Marie"),
        ("a soft hyphen", vec![line("mea\u{ad}", 30.0, 0.0, 100.0), line("sure", 18.0, 0.0, 100.0)], "measure"),
        ("no spaces", vec![line("日本", 30.0, 0.0, 100.0), line("語の", 18.0, 0.0, 100.0)], "日本語の"),
    ] {
        assert_eq!(text_of(&lines), text, "{what}");
    }
}
