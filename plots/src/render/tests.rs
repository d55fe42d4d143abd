use super::*;
use crate::scene::{Anchor, BLACK, GREY, PALETTE};

fn page(scene: &Scene) -> Vec<u8> {
    let mut page = Page::new(scene.width, scene.height);
    scene.shapes.iter().for_each(|shape| paint(&mut page, shape));
    page.into_pixels()
}

fn blank(width: u32, height: u32) -> Scene {
    Scene {
        width,
        height,
        ..Scene::default()
    }
}

/// All kinds of shapes.
fn everything() -> Scene {
    let mut scene = blank(300, 200);
    scene.frame((40.3, 20.7), (280.1, 160.2), BLACK, 3.0);
    scene.rect((60.0, 90.5), (120.5, 140.0), PALETTE[1]);
    scene.polygon(
        vec![(50.0, 50.0), (270.0, 30.3), (270.0, 80.0), (50.0, 71.0)],
        PALETTE[0],
        0.22,
    );
    scene.dashed(
        &[(50.0, 60.0), (160.0, 55.5), (270.0, 60.2)],
        &[10.0, 6.0],
        PALETTE[2],
        5.0,
    );
    (0..12).for_each(|i| scene.marker((60.0 + 17.7 * i as f64, 120.0), i, PALETTE[i % 7], 7.0));
    scene.text((160.0, 180.0), Anchor::Middle, 22.0, GREY, "ε = 0.5, (Größe)");
    scene.text_upwards((18.0, 90.0), 20.0, "Messages");
    scene
}

#[test]
fn pixels_are_the_same_on_every_cpu() {
    assert_eq!(crc32fast::hash(&page(&everything())), 2_417_999_506);
}

#[test]
fn level_lines_and_bars_have_sharp_edges() {
    let mut scene = blank(40, 40);
    scene.line(vec![(5.2, 10.3), (35.7, 10.3)], BLACK, 3.0);
    scene.line(vec![(7.6, 15.2), (7.6, 35.1)], BLACK, 2.0);
    scene.frame((12.3, 15.8), (37.1, 36.4), BLACK, 2.0);
    scene.rect((20.4, 20.6), (30.3, 30.2), BLACK);
    let pixels = page(&scene);
    let n_black = pixels.iter().filter(|&&channel| channel == 0).count() / 3;
    let n_white = pixels.iter().filter(|&&channel| channel == 255).count() / 3;
    // But for the corners of the frame, which are round.
    assert!(n_black + n_white >= 40 * 40 - 4, "{n_black} black, {n_white} white");
    let frame = 2 * (2 * 25 + 2 * 20) - 4;
    assert!(n_black.abs_diff(31 * 3 + 2 * 20 + frame + 10 * 9) <= 4, "{n_black}");
}

#[test]
fn what_lies_nowhere_is_not_drawn_and_what_reaches_far_is_cut() {
    let mut scene = everything();
    let before = page(&scene);
    for bad in [f64::NAN, -f64::NAN] {
        scene.line(vec![(0.0, 0.0), (bad, 50.0), (90.0, 90.0)], BLACK, 5.0);
        scene.polygon(vec![(0.0, 0.0), (90.0, bad), (90.0, 90.0)], BLACK, 1.0);
        scene.text((bad, 50.0), Anchor::Start, 30.0, BLACK, "text");
    }
    scene.text((1e300, 50.0), Anchor::End, 30.0, BLACK, "text");
    scene.line(vec![(5.0, 5.0), (5.0, 5.0)], BLACK, 5.0);
    assert!(page(&scene) == before);
    let mut scene = blank(30, 30);
    scene.line(vec![(f64::NEG_INFINITY, 10.0), (1e300, 10.0)], BLACK, 4.0);
    assert_eq!(page(&scene).iter().filter(|&&channel| channel == 0).count(), 30 * 4 * 3);
    scene.polygon(
        vec![(-1e300, -1e300), (1e300, -1e300), (1e300, 1e300), (-1e300, 1e300)],
        BLACK,
        1.0,
    );
    assert!(page(&scene).iter().all(|&channel| channel == 0));
}

#[test]
fn the_least_pages_are_drawn() {
    for (width, height) in [(0, 0), (0, 5), (5, 0), (1, 1), (1, 200), (63, 2), (64, 2)] {
        let mut scene = everything();
        (scene.width, scene.height) = (width, height);
        assert_eq!(page(&scene).len() as u32, width * height * 3);
        assert_eq!(
            &png(&scene, &[])[16..24],
            [width.to_be_bytes(), height.to_be_bytes()].concat()
        );
        scene.polygon(vec![(0.0, 0.0), (300.0, 0.0), (300.0, 200.0), (0.0, 200.0)], BLACK, 1.0);
        assert!(page(&scene).iter().all(|&channel| channel == 0));
    }
}
