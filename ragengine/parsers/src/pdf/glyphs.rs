use hayro_interpret::font::{Glyph, GlyphRun, PositionedGlyph};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Vec2};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};

use super::line::{Line, Lines, PlacedText};

/// Number of units of glyph space in an em.
const UNITS_PER_EM: f64 = 1000.0;

/// Collects the glyphs of a page in drawing order, which is nearly always reading order: columns come one after the
/// other.
#[derive(Default)]
pub(super) struct Glyphs {
    lines: Lines,
}

impl Glyphs {
    pub(super) fn into_lines(self) -> Vec<Line> {
        self.lines.finish()
    }
}

impl<'a> Device<'a> for Glyphs {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let glyphs = run.glyphs().iter();
        let run: Vec<PlacedText> =
            glyphs.filter_map(|glyph| place(glyph, props.transform, run.writing_mode())).collect();
        self.lines.push_run(&run);
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
}

/// The text and position of a glyph. None if its font does not map it to text.
fn place(glyph: &PositionedGlyph<'_>, transform: Affine, writing_mode: WritingMode) -> Option<PlacedText> {
    let text = match glyph.as_unicode()? {
        BfString::Char(character) => character.to_string(),
        BfString::String(text) => text,
    };
    let transform = transform * glyph.transform();
    let origin = transform * Point::ZERO;
    let right = vector(transform, Vec2::new(UNITS_PER_EM, 0.0));
    let up = vector(transform, Vec2::new(0.0, UNITS_PER_EM));
    let size = up.hypot();
    let (direction, advance) = match writing_mode {
        WritingMode::Horizontal => (right, advance_width(glyph) / UNITS_PER_EM * right.hypot().max(size)),
        WritingMode::Vertical => (-up, size),
    };
    let length = direction.hypot();
    let is_drawn = size.is_finite() && size > 0.0 && length.is_finite() && length > 0.0 && origin.is_finite();
    is_drawn.then(|| PlacedText { text, origin, direction: direction / length, advance, size })
}

/// The advance width of a glyph. If the font is stretched to match the widths in the file, this width already includes
/// that. The caller uses the larger scale, because missing a space is better than inventing one.
fn advance_width(glyph: &PositionedGlyph<'_>) -> f64 {
    let width = match &**glyph {
        Glyph::Outline(glyph) => glyph.advance_width(),
        Glyph::Type3(glyph) => glyph.advance_width(),
    };
    f64::from(width.unwrap_or_default())
}

fn vector(transform: Affine, vector: Vec2) -> Vec2 {
    (transform * vector.to_point()) - (transform * Point::ZERO)
}
