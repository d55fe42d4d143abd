//! A scene as SVG: shapes through plotters' back end, texts as texts.
//!
//! A file embeds the glyphs that it shows, as a font that browsers use. Programs that know no
//! embedded fonts take the installed one of that name, or another, which is no wider. Each text has
//! its place and anchor, and no set length, so that it can be edited, unless another font must
//! stand in for characters that this one lacks.

use crate::about::About;
use crate::font::{self, FAMILY, HALF_X_HEIGHT, Subset, lacking};
use crate::scene::{Anchor, Color, Point, Scene, Shape};
use plotters::backend::{DrawingBackend, SVGBackend};
use plotters::style::{RGBAColor, ShapeStyle};

/// The scene as an SVG file.
pub(crate) fn file(scene: &Scene, about: &About<'_>) -> Result<Vec<u8>, String> {
    let (width, height) = (scene.width_mm, scene.height_mm());
    let open = format!("width=\"{width:.2}mm\" height=\"{height:.2}mm\" role=\"img\"");
    let mut head = format!("<title>{}</title>\n", escaped(&about.title));
    head += &format!("<desc>{}</desc>\n", escaped(&about.description));
    head += &metadata(about);
    if scene.texts().next().is_some() {
        head += &format!("<style>{}</style>\n", Subset::of(scene.texts()).rules());
    }
    document(scene, &open, &head).map(String::into_bytes)
}

/// The scene as a part of a page that has the font already.
pub(crate) fn part(scene: &Scene) -> Result<String, String> {
    let open = format!("width=\"{}\" height=\"{}\"", scene.width, scene.height);
    document(scene, &open, "")
}

/// How far from a place a pointer is near it.
const NEAR: f64 = 16.0;

fn document(scene: &Scene, open: &str, head: &str) -> Result<String, String> {
    let (width, height) = (scene.width as i32, scene.height as i32);
    let page = [(0, 0), (width, 0), (width, height), (0, height)];
    let mut shapes = elements(scene, |backend| {
        backend.fill_polygon(page, &RGBAColor(255, 255, 255, 1.0)).map_err(told)
    })?;
    // Files have no arms: what moves is for pages alone.
    let is_page = head.is_empty();
    let mut first = 0;
    while first < scene.shapes.len() {
        let arm = scene.arm_of(first).filter(|_| is_page);
        let is_same = |shape: &usize| scene.arm_of(*shape).filter(|_| is_page) == arm;
        let end = (first..scene.shapes.len()).take_while(is_same).count() + first;
        let drawn = elements(scene, |backend| {
            scene.shapes[first..end]
                .iter()
                .try_for_each(|shape| draw(backend, shape))
        })?;
        match arm {
            Some(arm) => shapes += &format!("<g data-arm=\"{}\">\n{drawn}</g>\n", quoted(arm)),
            None => shapes += &drawn,
        }
        first = end;
    }
    let texts: String = scene
        .shapes
        .iter()
        .enumerate()
        .filter_map(|(at, shape)| {
            let arm = scene.arm_of(at).filter(|_| is_page);
            text(shape, arm)
        })
        .collect();
    let spot = |((x, y), said): &(Point, String)| {
        format!(
            "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{NEAR:.0}\"><title>{}</title></circle>\n",
            escaped(said)
        )
    };
    let spots: String = scene.spots.iter().filter(|_| is_page).map(spot).collect();
    let spots = match spots.is_empty() {
        true => spots,
        false => format!("<g class=\"spots\" fill-opacity=\"0\">\n{spots}</g>\n"),
    };
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" {open} viewBox=\"0 0 {width} {height}\" stroke-linejoin=\"round\">\n\
         {head}{shapes}\
         <g font-family=\"{FAMILY}\" stroke=\"none\" text-rendering=\"geometricPrecision\" xml:space=\"preserve\">\n\
         {texts}</g>\n{spots}</svg>\n",
    ))
}

/// What plotters' back end makes of some shapes, without the document around them.
fn elements(scene: &Scene, draw: impl FnOnce(&mut SVGBackend<'_>) -> Result<(), String>) -> Result<String, String> {
    let mut drawn = String::new();
    {
        let mut backend = SVGBackend::with_string(&mut drawn, (scene.width, scene.height));
        draw(&mut backend)?;
        backend.present().map_err(told)?;
    }
    // The back end knows pixels alone, and its lines grow spikes at the sharp turns of a noisy
    // curve, unless they inherit another way to join.
    let shapes = drawn.split_once(">\n").map_or("", |(_, shapes)| shapes);
    let shapes = shapes.strip_suffix("</svg>\n").unwrap_or(shapes);
    // ImageMagick's own renderer takes this for the opacity of what `fill="none"` leaves out.
    Ok(shapes.replace(" opacity=\"1\"", ""))
}

/// A text as the value of an attribute.
fn quoted(text: &str) -> String {
    escaped(text).replace('"', "&quot;")
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn draw(backend: &mut SVGBackend<'_>, shape: &Shape) -> Result<(), String> {
    let whole = |(x, y): &Point| (x.round() as i32, y.round() as i32);
    let rgba = |color: &Color, alpha: f64| RGBAColor(color.0, color.1, color.2, alpha);
    match shape {
        Shape::Line { points, color, width } => {
            let style = ShapeStyle::from(rgba(color, 1.0)).stroke_width(width.round() as u32);
            backend.draw_path(points.iter().map(whole), &style).map_err(told)
        }
        Shape::Polygon { points, color, alpha } => backend
            .fill_polygon(points.iter().map(whole), &rgba(color, *alpha))
            .map_err(told),
        // Texts lie over everything else, and are written behind it.
        Shape::Text { .. } => Ok(()),
    }
}

/// A text where it stands; none where that is nowhere.
fn text(shape: &Shape, arm: Option<&str>) -> Option<String> {
    /// What lies so far off every page lies there.
    const FAR: f64 = 1e6;
    let Shape::Text {
        at: (x, y),
        anchor,
        size,
        upwards,
        color: Color(red, green, blue),
        text,
    } = shape
    else {
        return None;
    };
    if x.is_nan() || y.is_nan() {
        return None;
    }
    let (x, y) = (x.clamp(-FAR, FAR), y.clamp(-FAR, FAR));
    let across = HALF_X_HEIGHT * size;
    let place = match upwards {
        true => format!("transform=\"translate({:.1} {y:.1}) rotate(-90)\"", x + across),
        false => format!("x=\"{x:.1}\" y=\"{:.1}\"", y + across),
    };
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let fill = match (red, green, blue) {
        (0, 0, 0) => String::new(),
        _ => format!(" fill=\"#{red:02X}{green:02X}{blue:02X}\""),
    };
    // In another font a text is no longer than it was measured.
    let length = match lacking(text).is_empty() {
        true => String::new(),
        false => format!(
            " textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\"",
            font::width(text, *size)
        ),
    };
    let text = escaped(text);
    let arm = arm.map_or(String::new(), |arm| format!(" data-arm=\"{}\"", quoted(arm)));
    Some(format!(
        "<text {place} font-size=\"{size:.1}\"{anchor}{fill}{length}{arm}>{text}</text>\n"
    ))
}

/// What is known of the figure, in the vocabularies of RDF and Dublin Core.
fn metadata(about: &About<'_>) -> String {
    let said = about.said();
    if said.is_empty() {
        return String::new();
    }
    let lines = said.iter().map(|(key, value)| {
        let element = match *key {
            "Title" => "title",
            "Card" => "subject",
            "Command" => "source",
            "Software" => "creator",
            _ => return format!("<dc:identifier>{key}: {}</dc:identifier>\n", escaped(value)),
        };
        format!("<dc:{element}>{}</dc:{element}>\n", escaped(value))
    });
    format!(
        "<metadata>\n\
         <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" \
         xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n<rdf:Description rdf:about=\"\">\n\
         {}</rdf:Description>\n</rdf:RDF>\n</metadata>\n",
        lines.collect::<String>()
    )
}

/// A text as that of an element.
fn escaped(text: &str) -> String {
    let sign = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        // Which no XML may hold.
        '\u{fffe}' | '\u{ffff}' => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::BLACK;

    fn about() -> About<'static> {
        About {
            title: "a < b".to_owned(),
            description: String::new(),
            source: None,
        }
    }

    #[test]
    fn texts_stand_where_the_scene_has_them() {
        let mut scene = Scene {
            width: 1600,
            height: 800,
            width_mm: 80.0,
            ..Scene::default()
        };
        scene.line(vec![(1.0, 1.0), (5.0, 5.0)], BLACK, 3.0);
        scene.text((100.0, 50.0), Anchor::End, 42.0, Color(1, 2, 255), "<a & b>");
        scene.text((f64::NAN, 50.0), Anchor::Start, 42.0, BLACK, "nowhere");
        scene.text((1e300, 50.0), Anchor::Start, 42.0, BLACK, "far");
        scene.text_upwards((30.0, 400.0), 20.0, "up");
        let svg = String::from_utf8(file(&scene, &about()).unwrap()).unwrap();
        for part in [
            "width=\"80.00mm\" height=\"40.00mm\" role=\"img\" viewBox=\"0 0 1600 800\"",
            "<title>a &lt; b</title>",
            "font-family:\"DejaVu Sans\";src:url(data:font/woff;base64,",
            "x=\"100.0\" y=\"61.5\" font-size=\"42.0\" text-anchor=\"end\" fill=\"#0102FF\">&lt;a &amp; b&gt;</text>",
            "transform=\"translate(35.5 400.0) rotate(-90)\" font-size=\"20.0\" text-anchor=\"middle\">up</text>",
            "x=\"1000000.0\"",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert!(!svg.contains("textLength"));
        scene.text((100.0, 90.0), Anchor::Start, 42.0, BLACK, "算法\u{ffff}");
        let lacking = String::from_utf8(file(&scene, &about()).unwrap()).unwrap();
        assert!(
            lacking.contains(" textLength=\"75.6\" lengthAdjust=\"spacingAndGlyphs\">算法\\u{ffff}</text>"),
            "{lacking}"
        );
        assert!(!svg.contains("nowhere") && !svg.contains(" opacity=\"1\""));
        let part = part(&scene).unwrap();
        assert!(!part.contains("<style") && !part.contains("mm\"") && part.contains(">up</text>"));
    }

    #[test]
    fn a_file_without_texts_has_no_font() {
        let scene = Scene::default();
        let svg = String::from_utf8(file(&scene, &about()).unwrap()).unwrap();
        assert!(!svg.contains("@font-face"), "{svg}");
    }
}
