use super::*;

/// Glyphs half as wide as high, starting at a position.
fn run(text: &str, x: f64, y: f64, size: f64) -> Vec<PlacedText> {
    let place = |(index, character): (usize, char)| PlacedText {
        text: character.to_string(),
        origin: Point::new(x + index as f64 * size / 2.0, y),
        direction: Vec2::new(1.0, 0.0),
        advance: size / 2.0,
        size,
    };
    text.chars().enumerate().map(place).collect()
}

fn lines(runs: &[Vec<PlacedText>]) -> Vec<String> {
    let mut lines = Lines::default();
    runs.iter().for_each(|run| lines.push_run(run));
    lines.finish().into_iter().map(|line| line.text).collect()
}

#[test]
fn glyphs_become_words_and_lines() {
    for (what, runs, expected) in [
        ("nothing", vec![], vec![]),
        ("a run", vec![run("ab", 0.0, 0.0, 10.0)], vec!["ab"]),
        ("letters moved apart", vec![run("a", 0.0, 0.0, 10.0), run("b", 6.0, 0.0, 10.0)], vec!["ab"]),
        ("a gap without a glyph", vec![run("a", 0.0, 0.0, 10.0), run("b", 7.0, 0.0, 10.0)], vec!["a b"]),
        ("a gap and a space", vec![run("a ", 0.0, 0.0, 10.0), run(" b", 12.0, 0.0, 10.0)], vec!["a b"]),
        ("letters moved together", vec![run("a", 0.0, 0.0, 10.0), run("b", 2.0, 0.0, 10.0)], vec!["ab"]),
        ("back to the start", vec![run("abc", 0.0, 0.0, 10.0), run("d", 0.0, 0.0, 10.0)], vec!["abc", "d"]),
        ("the line below", vec![run("a", 0.0, 20.0, 10.0), run("b", 0.0, 8.0, 10.0)], vec!["a", "b"]),
        ("an exponent", vec![run("x", 0.0, 0.0, 10.0), run("2", 5.0, 4.0, 7.0), run("y", 8.5, 0.0, 10.0)], vec!["x2y"]),
        ("drawn twice", vec![run("bold", 0.0, 0.0, 10.0), run("bold", 0.3, 0.0, 10.0)], vec!["bold"]),
        ("the same below", vec![run("ab", 0.0, 20.0, 10.0), run("ab", 0.0, 8.0, 10.0)], vec!["ab", "ab"]),
        ("blanks only", vec![run("  ", 0.0, 0.0, 10.0)], vec![]),
        ("a blank at the end", vec![run("a ", 0.0, 0.0, 10.0)], vec!["a"]),
        ("letters drawn as one", vec![run("\u{fb03}x\u{fb01}", 0.0, 0.0, 10.0)], vec!["ffixfi"]),
        ("signs that are no text", vec![run("a\u{c}\0b", 0.0, 0.0, 10.0)], vec!["ab"]),
    ] {
        assert_eq!(lines(&runs), expected, "{what}");
    }
}

#[test]
fn vertical_text_is_read_in_its_direction() {
    let up = Vec2::new(0.0, 1.0);
    let place = |text: &str, y: f64| PlacedText {
        text: text.to_owned(),
        origin: Point::new(100.0, y),
        direction: up,
        advance: 5.0,
        size: 10.0,
    };
    let runs = [vec![place("u", 0.0), place("p", 5.0)], run("across", 100.0, 10.0, 10.0)];
    assert_eq!(lines(&runs), ["up", "across"]);
}
