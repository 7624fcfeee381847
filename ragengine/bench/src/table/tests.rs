use super::*;

fn row(measured: f64, ratio: Option<f64>, limit: Option<Limit>) -> Row {
    Row { name: "a row".to_owned(), measured, floor: None, ratio, spread: None, limit }
}

#[test]
fn the_limit_applies_to_the_ratio_if_there_is_one() {
    let cases = [
        (row(9.0, Some(1.3), Some(Limit::AtMost(1.3))), Some(true)),
        (row(0.1, Some(1.31), Some(Limit::AtMost(1.3))), Some(false)),
        (row(0.1, Some(1.7), Some(Limit::AtLeast(1.7))), Some(true)),
        (row(9.0, Some(1.69), Some(Limit::AtLeast(1.7))), Some(false)),
        (row(299.9, None, Some(Limit::AtMost(300.0))), Some(true)),
        (row(300.1, None, Some(Limit::AtMost(300.0))), Some(false)),
        (row(f64::NAN, None, Some(Limit::AtMost(300.0))), Some(false)),
        (row(9.0, Some(99.0), None), None),
    ];
    for (row, expected) in cases {
        assert_eq!(row.is_reached(), expected, "{row:?}");
    }
}

#[test]
fn misses_are_counted() {
    let mut table = Table::default();
    assert_eq!(table.misses(), 0);
    for measured in [1.0, 2.0, 3.0] {
        table.push(Row::figure("figure", measured).with_limit(Limit::AtMost(1.5)));
        table.push(Row::figure("figure", measured));
    }
    assert_eq!(table.misses(), 2);
}

#[test]
fn a_comparison_reports_the_median_of_the_ratios() {
    let mut comparison = Comparison::default();
    for (measured, floor) in [(2.0, 1.0), (30.0, 10.0), (50.0, 50.0)] {
        comparison.push(measured, floor);
    }
    let row = comparison.row("both");
    assert_eq!((row.measured, row.floor, row.ratio), (30.0, Some(10.0), Some(2.0)));
    assert_eq!(row.spread, Some((1.0, 3.0)));
}

#[test]
fn rows_with_a_limit_come_first() {
    let mut table = Table::default();
    table.push(Row::figure("documents a second", 123.4));
    table.push(Row::figure("resident, MiB", 45.67).with_limit(Limit::AtMost(300.0)));
    assert_eq!(
        table.markdown(),
        "\
| row                | measured | floor | ratio | range | limit       | verdict |
| ------------------ | -------: | ----: | ----: | ----: | ----------- | ------- |
| resident, MiB      |     45.7 |     – |     – |     – | at most 300 | reached |
| documents a second |      123 |     – |     – |     – | –           | –       |
"
    );
    let plain = table.plain();
    assert_eq!(plain.lines().count(), 3);
    assert!(plain.lines().nth(2).unwrap().starts_with("documents a second       123"), "{plain}");
}
