use super::*;
use crate::scene::BLACK;

/// How much black each pixel got, from 0 to 1.
fn ink(page: Page) -> Vec<f64> {
    let pixels = page.into_pixels();
    pixels
        .as_chunks::<3>()
        .0
        .iter()
        .map(|pixel| 1.0 - f64::from(pixel[0]) / 255.0)
        .collect()
}

fn filled(width: u32, height: u32, outline: &[Point]) -> Vec<f64> {
    let mut page = Page::new(width, height);
    page.add_polygon(outline);
    page.paint(BLACK, 1.0);
    ink(page)
}

fn stroked(width: u32, height: u32, points: &[Point], half: f64) -> Vec<f64> {
    let mut page = Page::new(width, height);
    page.add_stroke(points, half);
    page.paint(BLACK, 1.0);
    ink(page)
}

fn assert_close(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} and {b}");
}

#[test]
fn a_pixel_is_as_dark_as_the_part_of_it_that_is_covered() {
    let covered = filled(4, 3, &[(0.5, 0.25), (2.25, 0.25), (2.25, 2.0), (0.5, 2.0)]);
    let expected = [0.375, 0.75, 0.1875, 0.0, 0.5, 1.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0];
    for (a, b) in covered.iter().zip(expected) {
        assert_close(*a, b, 0.002);
    }
    // Half of every pixel on the diagonal, whichever way the outline turns.
    for outline in [
        [(0.0, 0.0), (3.0, 3.0), (0.0, 3.0)],
        [(0.0, 3.0), (3.0, 3.0), (0.0, 0.0)],
    ] {
        let covered = filled(3, 3, &outline);
        let expected = [0.5, 0.0, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.5];
        for (a, b) in covered.iter().zip(expected) {
            assert_close(*a, b, 0.004);
        }
    }
}

#[test]
fn what_reaches_over_the_edge_of_a_page_is_cut_off_there() {
    let outline = [(-13.3, 7.7), (11.1, -17.9), (33.3, 4.1), (10.7, 29.9), (6.1, 1.3)];
    let moved = outline.map(|(x, y)| (x + 20.0, y + 20.0));
    let (small, large) = (filled(20, 20, &outline), filled(60, 60, &moved));
    let window = (20..40).flat_map(|row| large[row * 60 + 20..row * 60 + 40].to_vec());
    assert!(small.iter().any(|ink| *ink > 0.0) && small.contains(&0.0));
    assert_eq!(small, window.collect::<Vec<_>>());
    // Nothing of what is painted stays for the next shape.
    let mut page = Page::new(20, 20);
    page.add_polygon(&outline);
    page.paint(BLACK, 0.0);
    page.paint(BLACK, 1.0);
    assert!(ink(page).iter().all(|ink| *ink == 0.0));
}

#[test]
fn a_line_has_its_width_and_is_whole_round_its_corners() {
    let points = [(10.3, 10.1), (50.9, 20.7), (30.2, 45.4), (31.0, 60.0)];
    let covered = stroked(70, 70, &points, 4.0);
    for pair in points.windows(2) {
        for i in 0..=100 {
            let t = f64::from(i) / 100.0;
            let (x, y) = (
                pair[0].0 * (1.0 - t) + pair[1].0 * t,
                pair[0].1 * (1.0 - t) + pair[1].1 * t,
            );
            let at = |dx: f64, dy: f64| covered[(y + dy) as usize * 70 + (x + dx) as usize];
            if (x - 10.3).abs() > 2.0 && y < 58.0 {
                assert_close(at(0.0, 0.0), 1.0, 0.0);
            }
        }
    }
    // A single level piece of 30 by 8.
    assert_close(
        stroked(70, 70, &[(10.0, 10.2), (40.0, 10.2)], 4.0).iter().sum(),
        240.0,
        0.5,
    );
    // Two pieces at a right angle: 8 by 30 each, the square of the corner once, and outside it a
    // quarter of a disc.
    let bent = stroked(70, 70, &[(10.0, 10.0), (40.0, 10.0), (40.0, 40.0)], 4.0);
    assert_close(bent.iter().sum(), 480.0 - 16.0 + std::f64::consts::PI * 4.0, 1.0);
    // And one that turns back: half a disc at its end.
    let back = stroked(70, 70, &[(10.0, 10.0), (40.0, 10.0), (10.0, 10.0)], 4.0);
    assert_close(back.iter().sum(), 240.0 + std::f64::consts::PI * 8.0, 1.0);
}

#[test]
fn a_closed_line_is_drawn_once_all_round() {
    let corner = |i: usize| std::f64::consts::TAU * (0.03 + (i % 4) as f64 / 4.0);
    let place = |i| (20.3 + 12.0 * libm::cos(corner(i)), 20.6 + 12.0 * libm::sin(corner(i)));
    let ring: Vec<Point> = (0..6).map(place).collect();
    let covered: f64 = stroked(40, 40, &ring, 1.0).iter().sum();
    // Four pieces, less what every two of them share inside, and a quarter of a disc outside.
    let side = 12.0 * std::f64::consts::SQRT_2;
    assert_close(covered, 4.0 * (2.0 * side - 1.0 + std::f64::consts::FRAC_PI_4), 1.0);
}

#[test]
fn curves_bend() {
    let mut page = Page::new(100, 100);
    page.add_curve((0.0, 0.0), (100.0, 0.0), (100.0, 100.0));
    page.add_edge((100.0, 100.0), (0.0, 0.0));
    page.paint(BLACK, 1.0);
    // Two thirds of the triangle of its three points.
    assert_close(ink(page).iter().sum(), 10_000.0 / 3.0, 10.0);
}

#[test]
fn shapes_mix_with_what_lies_below() {
    let mut page = Page::new(1, 1);
    let whole = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
    page.add_polygon(&whole);
    page.paint(Color(200, 100, 0), 1.0);
    page.add_polygon(&whole);
    page.paint(Color(0, 0, 255), 0.2);
    assert_eq!(page.into_pixels(), [160, 80, 51]);
}
