//! Bars with confidence intervals, as SVG.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::interval::Estimate;
use crate::metrics::as_f64;

/// The size of a plot in pixels.
const SIZE: (u32, u32) = (960, 320);

/// The part of a group's width that its bars fill.
const FILLED: f64 = 0.8;

/// How much wider the plot is than its groups: the legend is beside them.
const LEGEND_ROOM: f64 = 1.15;

/// Colours that people with colour blindness can tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
];

/// A plot cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a plot cannot be drawn: {0}")]
pub struct PlotError(String);

/// Bars of one colour: one in each group, where there is a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// The name in the legend.
    pub name: String,
    /// The value in each group.
    pub values: Vec<Option<Estimate>>,
}

/// Draws groups of bars from 0 to 1.
///
/// # Errors
///
/// When the library fails.
pub(super) fn bars(groups: &[String], series: &[Series]) -> Result<String, PlotError> {
    let mut svg = String::new();
    draw(&mut svg, groups, series).map_err(|error| PlotError(error.to_string()))?;
    Ok(svg)
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(svg: &mut String, groups: &[String], series: &[Series]) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(40)
        .build_cartesian_2d(0.0..as_f64(groups.len()) * LEGEND_ROOM, 0.0..1.0)?;
    chart.configure_mesh().disable_x_mesh().x_labels(0).y_labels(6).y_max_light_lines(0).draw()?;
    for (position, one) in series.iter().enumerate() {
        let colour = COLOURS[position % COLOURS.len()];
        let width = FILLED / as_f64(series.len());
        let left = |group: usize| as_f64(group) + (1.0 - FILLED) / 2.0 + width * as_f64(position);
        let values: Vec<(f64, Estimate)> =
            one.values.iter().enumerate().filter_map(|(group, value)| Some((left(group), (*value)?))).collect();
        let bars = values
            .iter()
            .map(|(left, value)| Rectangle::new([(*left, 0.0), (left + width * 0.92, value.mean)], colour.filled()));
        chart
            .draw_series(bars)?
            .label(&one.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        let intervals = values.iter().map(|(left, value)| {
            let middle = left + width * 0.46;
            PathElement::new(vec![(middle, value.low), (middle, value.high)], BLACK.stroke_width(2))
        });
        chart.draw_series(intervals)?;
    }
    let style = ("sans-serif", 13).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top));
    for (group, name) in groups.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(as_f64(group) + 0.5, 0.0));
        root.draw(&Text::new(name.as_str(), (x, y + 8), style.clone()))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_a_bar_with_its_interval() {
        let value = Some(Estimate { mean: 0.5, low: 0.4, high: 0.6 });
        let series = |name: &str, values: Vec<Option<Estimate>>| Series { name: name.to_owned(), values };
        let groups = ["a".to_owned(), "b & c".to_owned()];
        let svg = bars(&groups, &[series("x", vec![value, value]), series("y", vec![None, value])]).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("b &amp; c"));
        // Two bars of x with its legend, one of y with its legend.
        assert_eq!((svg.matches("#0072B2").count(), svg.matches("#E69F00").count()), (3, 2));
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 3);
    }
}
