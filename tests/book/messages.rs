//! Drawings of who sends what to whom, made of the tables of messages in the pages of algorithms.

/// How the table begins whose messages are drawn.
const HEAD: &str = "| message | from → to |";
/// Places, in pixels: the first lane, from lane to lane, and from row to row.
const FIRST_LANE: usize = 70;
const LANE: usize = 200;
const TOP: usize = 56;
const ROW: usize = 48;
/// Letters in a line of the right column, and its width.
const LETTERS: usize = 44;
const COLUMN: usize = 300;

/// Letters of names of messages between two lanes.
const BETWEEN: usize = 24;

/// Names lie on a halo, since they cross lanes.
const STYLE: &str = "  text { font: 14px sans-serif; fill: #1f2328; text-anchor: middle; paint-order: stroke; stroke: #ffffff; stroke-width: 5px; }
  .note { font-size: 13px; text-anchor: start; }
  .head { font-weight: bold; }
  .page { fill: #ffffff; }
  .lane { stroke: #57606a; stroke-width: 1.5; stroke-dasharray: 2 4; }
  .arrow { stroke: #0072b2; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; stroke: #161b22; }
    .page { fill: #161b22; }
    .lane { stroke: #9da7b3; }
    .arrow { stroke: #56b4e9; }
  }";

/// One arrow: lanes from and to, whether it points both ways, the messages, and the note beside.
struct Arrow {
    from: usize,
    to: usize,
    both: bool,
    names: String,
    note: String,
}

/// The drawing of a page that has such a table, and the page with the drawing behind it.
pub(super) fn drawn(title: &str, file: &str, page: &str) -> Option<(String, String)> {
    let at = page.find(HEAD)?;
    let table = page[at..].split("\n\n").next().unwrap();
    let mut lanes = Vec::new();
    let mut arrows = Vec::new();
    let mut names = String::new();
    for row in table.lines().skip(2) {
        // A `|` within a cell is escaped.
        let row = row.replace("\\|", "\u{1}");
        let cells: Vec<String> = row.split('|').map(|cell| plain(&cell.replace('\u{1}', "|"))).collect();
        if !cells[1].is_empty() {
            names.clone_from(&cells[1]);
        }
        // Cells as "the same" and "both" say it in words alone.
        for (named, path) in paths(&names, &cells[2]) {
            let both = path.contains('↔');
            let stations: Vec<&str> = path.split(['→', '↔']).map(str::trim).collect();
            for hop in stations.windows(2) {
                let [from, to] = [lane(&mut lanes, hop[0], None), lane(&mut lanes, hop[1], Some(hop[0]))];
                let (names, note) = (named.clone(), cells[3].clone());
                arrows.push(Arrow {
                    from,
                    to,
                    both,
                    names,
                    note,
                });
            }
        }
    }
    let text = svg(title, &lanes, &arrows);
    let end = at + table.trim_end().len();
    let image = format!("\n\n![{title}: who sends what to whom]({file})");
    Some((text, format!("{}{image}{}", &page[..end], &page[end..])))
}

/// Each path of a cell with its messages: a message of its own where there are as many.
fn paths(names: &str, cell: &str) -> Vec<(String, String)> {
    let paths: Vec<&str> = cell.split(", ").filter(|path| path.contains(['→', '↔'])).collect();
    let single: Vec<&str> = names.split(", ").collect();
    let of = |at: usize| match paths.len() > 1 && paths.len() == single.len() {
        true => single[at].to_owned(),
        false => names.to_owned(),
    };
    paths
        .iter()
        .enumerate()
        .map(|(at, path)| (of(at), (*path).to_owned()))
        .collect()
}

/// The number of a participant's lane. A client that a client sends to is another one.
fn lane(lanes: &mut Vec<&'static str>, name: &str, sender: Option<&str>) -> usize {
    let is_peer = name.contains("neighbour")
        || sender.is_some_and(|sender| sender.contains("client"))
        || name.contains("other")
        || name.contains("these");
    let found = match name {
        name if name.contains("server") => "server",
        name if name.contains("service") => "service",
        name if name.contains("evaluator") => "evaluator",
        _ if is_peer => "other clients",
        _ => "client",
    };
    lanes.iter().position(|known| *known == found).unwrap_or_else(|| {
        lanes.push(found);
        lanes.len() - 1
    })
}

/// The text of a cell without marks: links by their text, code as it is.
fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell.trim();
    while let Some((before, after)) = rest.split_once("](") {
        text += before;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    (text + rest).replace(['`', '[', '\\'], "")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Lines of at most so many letters.
fn wrapped(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().unwrap();
        if !line.is_empty() && line.chars().count() + word.chars().count() >= letters {
            lines.push(word.to_owned());
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    lines
}

fn svg(title: &str, lanes: &[&str], arrows: &[Arrow]) -> String {
    let x = |lane: usize| FIRST_LANE + LANE * lane;
    let notes = x(lanes.len() - 1) + 50;
    let (width, height) = (notes + COLUMN, TOP + ROW * arrows.len() + 20);
    let said: Vec<String> = arrows
        .iter()
        .map(|arrow| {
            let way = if arrow.both { "to and from" } else { "to" };
            format!("{} from {} {way} {}", arrow.names, lanes[arrow.from], lanes[arrow.to])
        })
        .collect();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"title desc\">\n<title id=\"title\">{}: messages</title>\n<desc id=\"desc\">{}.</desc>\n<style>\n{STYLE}\n</style>\n\
         <defs>\n  <marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" \
         orient=\"auto-start-reverse\" markerUnits=\"userSpaceOnUse\">\n    <path d=\"M0,0 L10,5 L0,10 z\" fill=\"context-stroke\"/>\n  \
         </marker>\n</defs>\n<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n",
        escaped(title),
        escaped(&said.join("; ")),
    );
    for (at, name) in lanes.iter().enumerate() {
        text += &format!(
            "<text x=\"{0}\" y=\"24\" class=\"head\">{name}</text>\n<path class=\"lane\" d=\"M{0},34 L{0},{1}\"/>\n",
            x(at),
            height - 10
        );
    }
    for (at, arrow) in arrows.iter().enumerate() {
        let y = TOP + ROW * at + 24;
        let (from, to) = (x(arrow.from), x(arrow.to));
        let start = if arrow.both { " marker-start=\"url(#tip)\"" } else { "" };
        text += &format!("<path class=\"arrow\" d=\"M{from},{y} L{to},{y}\" marker-end=\"url(#tip)\"{start}/>\n");
        let names = wrapped(&arrow.names, BETWEEN * from.abs_diff(to) / LANE);
        for (line, words) in names.iter().rev().enumerate() {
            let (x, y) = ((from + to) / 2, y - 8 - 15 * line);
            text += &format!("<text x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(words));
        }
        let lines = wrapped(&arrow.note, LETTERS);
        for (line, words) in lines.iter().enumerate() {
            let y = y + 4 + 17 * line - 17 * (lines.len() - 1) / 2;
            text += &format!(
                "<text x=\"{notes}\" y=\"{y}\" class=\"note\">{}</text>\n",
                escaped(words)
            );
        }
    }
    text + "</svg>\n"
}
