//! A drawing as shapes with absolute positions, in pixels from the top left corner.

use super::fonts;

/// A point, pixels from the left and from the top.
pub(super) type Point = (f64, f64);

/// A color of the page's style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
    /// What everything stands on.
    Ground,
    /// Text and marked lines.
    Ink,
    /// Text of less weight.
    Quiet,
    /// Lines of a grid.
    Rule,
    /// A contender's, by its number.
    Series(usize),
    /// A verdict that claims something.
    Sure,
    /// A verdict that does not.
    Unsure,
}

impl Color {
    /// The custom property of the page's style that defines it.
    pub(super) fn property(self) -> String {
        match self {
            Self::Ground => "--ground".to_owned(),
            Self::Ink => "--ink".to_owned(),
            Self::Quiet => "--quiet".to_owned(),
            Self::Rule => "--rule".to_owned(),
            Self::Series(number) => format!("--c{number}"),
            Self::Sure => "--sure".to_owned(),
            Self::Unsure => "--unsure".to_owned(),
        }
    }
}

/// A rectangle.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Bounds {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Bounds {
    pub(super) fn width(self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(self) -> f64 {
        self.bottom - self.top
    }

    /// Whether both have an area in common.
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Whether the other one is inside of this one.
    pub(super) fn contains(self, other: Self) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

/// The end of a text that its position fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    /// The text.
    pub text: String,
    /// The position of its anchor on the base line.
    pub at: Point,
    /// The size of its font.
    pub size: f64,
    /// Whether it is bold.
    pub is_bold: bool,
    /// Its anchor.
    pub anchor: Anchor,
}

impl Text {
    /// The left end of the base line.
    pub(super) fn left(&self) -> f64 {
        let width = fonts::width(&self.text, self.size, self.is_bold);
        match self.anchor {
            Anchor::Start => self.at.0,
            Anchor::Middle => self.at.0 - width / 2.0,
            Anchor::End => self.at.0 - width,
        }
    }

    /// The area that it covers.
    #[cfg(test)]
    pub(super) fn bounds(&self) -> Bounds {
        let left = self.left();
        Bounds {
            left,
            top: self.at.1 - self.size * fonts::ASCENT,
            right: left + fonts::width(&self.text, self.size, self.is_bold),
            bottom: self.at.1 + self.size * fonts::DESCENT,
        }
    }
}

/// A shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// A filled rectangle; opacity 0 to 1.
    Area(Bounds, f64),
    /// A line of this width; dashed or not.
    Line(Point, Point, f64, bool),
    /// A filled polygon.
    Polygon(Vec<Point>),
    /// A line of text.
    Text(Text),
}

/// A shape with its color.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub shape: Shape,
    pub color: Color,
    /// The number of the contender to which it belongs.
    pub group: Option<usize>,
}

/// A drawing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DisplayList {
    pub width: f64,
    pub height: f64,
    /// The shapes, the lowest first.
    pub items: Vec<Item>,
    /// The contender to which shapes that are added belong.
    pub group: Option<usize>,
}

impl DisplayList {
    pub(super) fn new(width: f64) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    fn add(&mut self, shape: Shape, color: Color) {
        let group = self.group;
        self.items.push(Item {
            shape,
            color,
            group,
        });
    }

    pub(super) fn area(&mut self, bounds: Bounds, color: Color, opacity: f64) {
        self.add(Shape::Area(bounds, opacity), color);
    }

    pub(super) fn line(&mut self, from: Point, to: Point, width: f64, color: Color) {
        self.add(Shape::Line(from, to, width, false), color);
    }

    pub(super) fn dashed(&mut self, from: Point, to: Point, color: Color) {
        self.add(Shape::Line(from, to, 1.2, true), color);
    }

    pub(super) fn text(&mut self, text: Text, color: Color) {
        if !text.text.is_empty() {
            self.add(Shape::Text(text), color);
        }
    }

    /// A contender's shape around a point, so many times its size on the page.
    pub(super) fn mark(&mut self, corners: &[Point], at: Point, times: f64, color: Color) {
        let corner = |(x, y): &Point| (at.0 + x * times, at.1 + y * times);
        self.add(Shape::Polygon(corners.iter().map(corner).collect()), color);
    }

    /// Lines of text below each other, the first base line at `y`.
    pub(super) fn lines(&mut self, lines: &[String], style: &TextStyle, x: f64, y: f64) {
        for (line, text) in lines.iter().enumerate() {
            let y = y + line as f64 * style.size * LINE;
            self.text(style.at(text, (x, y)), style.color);
        }
    }

    /// The texts.
    #[cfg(test)]
    pub(super) fn texts(&self) -> impl Iterator<Item = (&Text, Option<usize>)> {
        self.items.iter().filter_map(|item| match &item.shape {
            Shape::Text(text) => Some((text, item.group)),
            _ => None,
        })
    }
}

/// The distance of lines of text, in sizes of the font.
pub(super) const LINE: f64 = 1.3;

/// The look of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TextStyle {
    pub size: f64,
    pub is_bold: bool,
    pub color: Color,
    pub anchor: Anchor,
}

impl TextStyle {
    pub(super) fn new(size: f64, color: Color) -> Self {
        Self {
            size,
            is_bold: false,
            color,
            anchor: Anchor::Start,
        }
    }

    pub(super) fn bold(self) -> Self {
        Self {
            is_bold: true,
            ..self
        }
    }

    pub(super) fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    pub(super) fn width(self, text: &str) -> f64 {
        fonts::width(text, self.size, self.is_bold)
    }

    /// The text as lines that are no wider than this.
    pub(super) fn wrapped(self, text: &str, width: f64, most: usize) -> Vec<String> {
        fonts::wrapped(text, width, most, |text| self.width(text))
    }

    /// The text, its middle cut out if it is wider than this.
    pub(super) fn shortened(self, text: &str, width: f64) -> String {
        fonts::shortened(text, width, |text| self.width(text))
    }

    /// The height of so many lines.
    pub(super) fn height(self, lines: usize) -> f64 {
        lines as f64 * self.size * LINE
    }

    pub(super) fn at(self, text: &str, at: Point) -> Text {
        Text {
            text: text.to_owned(),
            at,
            size: self.size,
            is_bold: self.is_bold,
            anchor: self.anchor,
        }
    }
}
