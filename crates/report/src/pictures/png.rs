//! A display list as PNG.

use super::display_list::{Color, DisplayList, Item, Point, Shape, Text};
use super::fonts::{self, Glyph};
use super::palette::channels;
use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};
use ttf_parser::OutlineBuilder;

/// Pixels for each unit of length: sharp on slides and screens of high density.
const DENSITY: f32 = 2.0;

/// Writes the display list.
pub(super) fn file(list: &DisplayList) -> Result<Vec<u8>, String> {
    let side = |length: f64| (length as f32 * DENSITY).round() as u32;
    let mut image = Pixmap::new(side(list.width), side(list.height))
        .ok_or_else(|| format!("{} by {} pixels", list.width, list.height))?;
    let [red, green, blue] = channels(Color::Ground);
    image.fill(tiny_skia::Color::from_rgba8(red, green, blue, 255));
    for item in &list.items {
        draw(&mut image, item);
    }
    image.encode_png().map_err(|error| error.to_string())
}

fn paint(color: Color, opacity: f64) -> Paint<'static> {
    let [red, green, blue] = channels(color);
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (opacity * 255.0).round() as u8);
    paint
}

fn draw(image: &mut Pixmap, item: &Item) {
    let place = Transform::from_scale(DENSITY, DENSITY);
    let mut fill = |path: Option<Path>, opacity: f64| {
        if let Some(path) = path {
            let paint = paint(item.color, opacity);
            image.fill_path(&path, &paint, FillRule::Winding, place, None);
        }
    };
    match &item.shape {
        Shape::Area(bounds, opacity) => {
            let [left, top, right, bottom] =
                [bounds.left, bounds.top, bounds.right, bounds.bottom].map(|side| side as f32);
            let area = Rect::from_ltrb(left, top, right, bottom);
            fill(area.map(PathBuilder::from_rect), *opacity);
        }
        Shape::Polygon(corners) => fill(polygon(corners), 1.0),
        Shape::Text(text) => fill(outline(text), 1.0),
        Shape::Line(from, to, width, is_dashed) => {
            let mut path = PathBuilder::new();
            path.move_to(from.0 as f32, from.1 as f32);
            path.line_to(to.0 as f32, to.1 as f32);
            let stroke = Stroke {
                width: *width as f32,
                dash: is_dashed
                    .then(|| StrokeDash::new(vec![4.0, 3.0], 0.0))
                    .flatten(),
                ..Stroke::default()
            };
            if let Some(path) = path.finish() {
                let paint = paint(item.color, 1.0);
                image.stroke_path(&path, &paint, &stroke, place, None);
            }
        }
    }
}

fn polygon(corners: &[Point]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in corners.iter().enumerate() {
        let (x, y) = (*x as f32, *y as f32);
        if index == 0 {
            path.move_to(x, y);
        } else {
            path.line_to(x, y);
        }
    }
    path.close();
    path.finish()
}

fn outline(text: &Text) -> Option<Path> {
    let mut writer = PathWriter {
        path: PathBuilder::new(),
        at: (0.0, 0.0),
        scale: 0.0,
    };
    for Glyph {
        face,
        id,
        offset,
        unit,
    } in fonts::glyphs(&text.text, text.is_bold)
    {
        writer.at = (text.left() + offset * text.size, text.at.1);
        writer.scale = unit * text.size;
        // A space has no outline.
        let _ = face.outline_glyph(id, &mut writer);
    }
    writer.path.finish()
}

/// Draws a glyph at a place; outlines of fonts go up, pixels go down.
struct PathWriter {
    path: PathBuilder,
    at: Point,
    scale: f64,
}

impl PathWriter {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let x = self.at.0 + f64::from(x) * self.scale;
        let y = self.at.1 - f64::from(y) * self.scale;
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for PathWriter {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
