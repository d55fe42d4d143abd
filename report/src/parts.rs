//! Parts that pages of runs and of sweeps have in common.

use crate::page::{Answered, Block, Cell, Column, Table};
use folkmoot_metrics::figures::Figures;
use folkmoot_metrics::key::{MetricKey, base, is_reference};
use folkmoot_metrics::sweep_dir::WARNINGS;
use folkmoot_metrics::words::{bytes, count, digits};
use folkmoot_metrics::{
    Answer, Better, ClientRow, Division, Meaning, MessageRow, PrivacyRow, RunDir, Unit, has_durations, totals,
};
use folkmoot_plots::{Drawing, Picture, PlotError, pictures_of_run};
use std::collections::BTreeMap;

/// With more clients than this, their table holds those that sent most.
const MOST_CLIENTS: usize = 100;
/// So many of them then.
const SOME_CLIENTS: usize = 20;

/// The figure that says how the data are shared out.
const PARTITION: &str = "partition";

/// A value as a page shows it: four digits are read, more are in the table that it is of.
pub(crate) fn written(unit: Unit, x: f64) -> String {
    let scaled = |x: f64, unit: &str| format!("{}{unit}", digits(x));
    match unit {
        Unit::Bytes if x >= 0.0 && x.is_finite() => bytes(x.round() as u64),
        Unit::Count if (1000.0..1e15).contains(&x) => count(x.round() as u64),
        Unit::Seconds => scaled(x, " s"),
        Unit::Share => scaled(x * 100.0, " %"),
        Unit::BytesPerSecond => scaled(x, " B/s"),
        _ => digits(x),
    }
}

/// What stands beside a number: whose, and what they say.
pub(crate) fn list(unit: Unit, beside: &[(String, f64)]) -> String {
    let beside: Vec<String> = beside
        .iter()
        .map(|(label, value)| format!("{label}: {}", written(unit, *value)))
        .collect();
    beside.join("; ")
}

/// A number that answers the question, as a page shows it; where the run is not finished, what it
/// has not said yet is said to be open.
pub(crate) fn answered(answer: Answer, is_finished: bool) -> Answered {
    let about = answer.meaning.as_ref().map_or(String::new(), Meaning::sentences);
    let value = match (&answer.value, answer.points.first()) {
        (Some(value), _) => written(answer.unit, *value),
        (None, Some(_)) => "a curve".to_owned(),
        (None, None) if is_finished => "none".to_owned(),
        (None, None) => "not known yet".to_owned(),
    };
    Answered {
        about: format!("{about} {}", answer.better()).trim().to_owned(),
        value,
        beside: {
            let beside = answer.points.into_iter().chain(answer.references);
            beside
                .map(|(label, value)| (label, written(answer.unit, value)))
                .collect()
        },
        words: answer.words,
        name: answer.name,
    }
}

fn blank() -> Cell {
    Cell::number("–", f64::NAN)
}

fn counted(n: u64) -> Cell {
    Cell::number(count(n), n as f64)
}

fn sized(n: u64) -> Cell {
    Cell::number(bytes(n), n as f64)
}

/// What stands in front of the rows of a table that is of several runs: one column for each axis.
pub(crate) type Arms<'a, R> = Vec<(Vec<String>, &'a [R])>;

fn with_axes(axes: &[&str], columns: Vec<Column>) -> Vec<Column> {
    axes.iter().map(|axis| Column::text(axis)).chain(columns).collect()
}

fn beside(values: &[String], cells: Vec<Cell>) -> Vec<Cell> {
    values.iter().map(Cell::text).chain(cells).collect()
}

/// The messages of each kind, with what theory predicts; of each arm, where there are axes.
pub(crate) fn messages(axes: &[&str], arms: &Arms<'_, MessageRow>) -> Option<Table> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for (values, messages) in arms {
        let sums = totals(messages);
        rows.extend(sums.iter().map(|row| (values.as_slice(), row.clone())));
        all.extend(sums);
    }
    // What never happened has no column.
    type Counted = (&'static str, fn(&MessageRow) -> u64);
    let fates: [Counted; 3] = [
        ("Dropped", |row| row.dropped),
        ("In flight", |row| row.in_flight),
        ("Sent again", |row| row.retried),
    ];
    let fates: Vec<Counted> = fates
        .into_iter()
        .filter(|(_, of)| all.iter().any(|row| of(row) > 0))
        .collect();
    let has_theory = all.iter().any(|row| row.expected_messages.is_some());
    let mut columns = vec![Column::text("Kind"), Column::number("Sent")];
    if has_theory {
        columns.extend(["Theory", "Off by"].map(Column::number));
    }
    columns.push(Column::number("Delivered"));
    columns.extend(fates.iter().map(|(name, _)| Column::number(name)));
    columns.extend(["Payload", "Headers"].map(Column::number));
    let of_kind = |row: &MessageRow| {
        let mark = if row.materialised { "" } else { " *" };
        let detail = match row.phase.as_str() {
            "" => String::new(),
            phase => format!("{}, phase {}", row.direction.as_str(), phase.replace('_', " ")),
        };
        let kind = Cell {
            detail,
            ..Cell::text(format!("{}{mark}", row.kind.replace('_', " ")))
        };
        let mut cells = vec![kind, counted(row.sent)];
        if has_theory {
            cells.extend(theory(row));
        }
        cells.push(counted(row.delivered));
        cells.extend(fates.iter().map(|(_, of)| counted(of(row))));
        cells.extend([sized(row.payload_bytes), sized(row.header_bytes)]);
        cells
    };
    let cells = rows.iter().map(|(values, row)| beside(values, of_kind(row))).collect();
    let caption = "Messages by kind, all rounds together";
    let mut table = Table::new(caption, with_axes(axes, columns), cells, "messages.csv");
    if let (Some(first), true) = (all.first(), axes.is_empty() && all.len() > 1) {
        let whole = |row: &MessageRow| MessageRow {
            phase: String::new(),
            kind: "All".to_owned(),
            direction: first.direction,
            materialised: true,
            ..row.clone()
        };
        let sum: Vec<MessageRow> = totals(&all.iter().map(whole).collect::<Vec<_>>());
        table.sums = sum.iter().map(of_kind).collect();
    }
    if all.iter().any(|row| !row.materialised) {
        let size_only = "Of kinds marked * only the size is simulated: their content is not materialised.";
        table.notes.push(size_only.to_owned());
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What theory predicts for what was sent, and how far off that is.
fn theory(row: &MessageRow) -> [Cell; 2] {
    let Some(expected) = row.expected_messages else {
        return [blank(), blank()];
    };
    let off = (row.sent as f64 - expected) / expected * 100.0;
    let text = match off.is_finite() {
        // What rounding leaves is nothing.
        true if off.abs() < 0.005 => "0 %".to_owned(),
        true => format!("{off:+.2} %").replace('-', "−"),
        false => "–".to_owned(),
    };
    [Cell::number(digits(expected), expected), Cell::number(text, off)]
}

/// What is claimed of privacy beside what is spent.
pub(crate) fn privacy(axes: &[&str], arms: &Arms<'_, PrivacyRow>) -> Option<Table> {
    let columns = with_axes(
        axes,
        vec![
            Column::text("Mechanism"),
            Column::text("Protects"),
            Column::number("Claimed ε"),
            Column::number("Spent ε, worst client"),
            Column::number("Spent ε, mean client"),
            Column::number("ε of a release"),
            Column::number("Releases"),
        ],
    );
    let row = |row: &PrivacyRow| {
        let optional = |value: Option<f64>| value.map_or(blank(), |value| Cell::number(digits(value), value));
        let plain = |value: f64| Cell::number(digits(value), value);
        let rules = [
            ("basic", row.epsilon_basic),
            ("advanced", row.epsilon_advanced),
            ("Rényi", row.epsilon_renyi),
            ("loss distributions", row.epsilon_pld),
        ];
        let rules = rules
            .iter()
            .filter_map(|(rule, value)| Some(format!("{rule} {}", digits((*value)?))));
        let rules: Vec<String> = rules.collect();
        let spent = match (row.composition.as_str(), rules.is_empty()) {
            _ if row.releases == 0 => "nothing was released".to_owned(),
            ("none", _) => "sent without protection".to_owned(),
            (rule, true) => format!("{rule} composition"),
            (_, false) => format!("{} at δ = {}", rules.join(", "), digits(row.delta_total)),
        };
        vec![
            Cell::text(row.mechanism.replace('_', " ")),
            Cell::text(&row.unit),
            optional(row.epsilon_claimed),
            Cell {
                detail: spent,
                ..plain(row.epsilon_max_client)
            },
            plain(row.epsilon_mean_client),
            plain(row.epsilon_per_release),
            counted(row.releases),
        ]
    };
    let of_arm = |(values, rows): &(Vec<String>, &[PrivacyRow])| -> Vec<Vec<Cell>> {
        rows.iter().map(|of| beside(values, row(of))).collect()
    };
    let rows: Vec<Vec<Cell>> = arms.iter().flat_map(of_arm).collect();
    (!rows.is_empty()).then(|| Table::new("Privacy claimed and spent", columns, rows, "privacy.csv"))
}

/// What is said instead of a table of privacy whose every row is of messages without protection.
pub(crate) fn unprotected<'a>(rows: impl Iterator<Item = &'a PrivacyRow>) -> Option<String> {
    let mut units: Vec<&str> = Vec::new();
    for row in rows {
        if row.composition != "none" {
            return None;
        }
        if !units.contains(&row.unit.as_str()) {
            units.push(&row.unit);
        }
    }
    (!units.is_empty()).then(|| {
        let units = units.join(" and ");
        format!(
            "No privacy mechanism is used: messages are sent without protection, and ε of each {units} is infinite."
        )
    })
}

/// The names of what attackers have reached, in order: points of a curve stand for themselves where
/// there are few of them.
pub(crate) fn attacks<'a>(
    names: impl Iterator<Item = &'a String>,
    terms: &BTreeMap<String, Meaning>,
) -> Vec<&'a String> {
    let is_attack = |name: &&String| {
        let meaning = terms.get(base(name));
        meaning.is_some_and(|meaning| meaning.attack.is_some()) && !is_reference(name)
    };
    // Points of a curve by their places, and not as texts.
    let place = |name: &str| MetricKey::parse(name).place().unwrap_or(f64::NEG_INFINITY);
    let mut names: Vec<&String> = names.filter(is_attack).collect();
    names.sort_by(|a, b| base(a).cmp(base(b)).then(place(a).total_cmp(&place(b))).then(a.cmp(b)));
    names.dedup();
    names
}

/// A row on an attack: its name in words, what it reached, what a blind guess would, and by how
/// much it is better than that.
pub(crate) fn attack(words: &str, reached: Cell, mean: f64, meaning: &Meaning) -> Vec<Cell> {
    let [name, blind_cell] = attacked(words, meaning);
    let blind = meaning.attack.and_then(|attack| attack.blind);
    // Where higher is better, the number is the attacker's error.
    let sign = if meaning.better == Some(Better::Higher) {
        -1.0
    } else {
        1.0
    };
    let gain = blind.map(|blind| sign * (mean - blind));
    vec![
        name,
        reached,
        blind_cell,
        gain.map_or(blank(), |gain| {
            Cell::number(format!("{gain:+.3}").replace('-', "−"), gain)
        }),
    ]
}

/// An attack: its name in words, with what it is, and what a blind guess would reach.
pub(crate) fn attacked(words: &str, meaning: &Meaning) -> [Cell; 2] {
    let name = Cell {
        detail: meaning.about.clone(),
        ..Cell::text(words)
    };
    let blind = meaning.attack.and_then(|attack| attack.blind);
    [name, blind.map_or(blank(), |blind| Cell::number(digits(blind), blind))]
}

/// What is said where there is neither.
pub(crate) const NO_PRIVACY: &str = "No privacy mechanism is used, and no attack is run.";

/// The heads of a table of attacks.
pub(crate) fn attack_columns(axes: &[&str]) -> Vec<Column> {
    with_axes(
        axes,
        vec![
            Column::text("Attack"),
            Column::number("Reached"),
            Column::number("Blind guess"),
            Column::number("Beyond it"),
        ],
    )
}

/// What stands below attacks.
pub(crate) const OF_ATTACKS: &str = "What an attacker has reached is a lower bound: another may reach more. One that is no better than a blind guess says nothing.";

/// How the data are shared out: counts, the picture, and the clients.
pub(crate) fn data(run: &RunDir, known: &Figures) -> Result<Vec<Block>, PlotError> {
    let mut blocks = Vec::new();
    let lasts = run.summary.get("virtual_s").is_none_or(|end| has_durations(*end));
    blocks.extend(
        run.manifest
            .division
            .as_ref()
            .map(|division| Block::Facts(facts(run, division))),
    );
    blocks.extend(partition(run, known)?.map(Block::Picture));
    blocks.extend(clients(&run.tables.clients, lasts).into_iter().map(Block::Table));
    Ok(blocks)
}

/// The picture of how the data are shared out, if the run says so.
pub(crate) fn partition(run: &RunDir, known: &Figures) -> Result<Option<Picture>, PlotError> {
    let only = Drawing {
        only: vec![PARTITION.to_owned()],
        ..Drawing::default()
    };
    match pictures_of_run(run, known, &only) {
        Ok(pictures) => Ok(pictures.into_iter().next()),
        Err(PlotError::Unknown { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The figures of a run without that of its data, which stands elsewhere.
pub(crate) fn figures(run: &RunDir, known: &Figures) -> Result<Vec<Picture>, PlotError> {
    let mut pictures = pictures_of_run(run, known, &Drawing::default())?;
    pictures.retain(|picture| picture.name != PARTITION);
    Ok(pictures)
}

fn facts(run: &RunDir, division: &Division) -> Vec<(String, String)> {
    let names: Vec<&str> = run.manifest.data_fingerprints.keys().map(String::as_str).collect();
    let mut facts = vec![
        ("Data set".to_owned(), names.join(", ")),
        (format!("{} shared out", capital(&division.of)), count(division.items)),
        ("Clients".to_owned(), count(division.clients)),
        ("Edges".to_owned(), count(division.edges)),
    ];
    if division.edges > 0 {
        let share = 100.0 * division.cut_edges as f64 / division.edges as f64;
        facts.push((
            "Edges that join two clients, in no shard".to_owned(),
            format!("{} ({share:.1} %)", count(division.cut_edges)),
        ));
    }
    let held = [
        (division.shared_items, "with several clients"),
        (division.spare_items, "with no client"),
    ];
    for (n, said) in held.into_iter().filter(|(n, _)| *n > 0) {
        facts.push((format!("{} {said}", capital(&division.of)), count(n)));
    }
    facts
}

/// What a picture is called: its title, or else its name.
pub(crate) fn titled(picture: &Picture) -> String {
    match picture.title.as_str() {
        "" => capital(&picture.name.replace('-', " ")),
        title => title.to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// How clients differ, and the clients themselves: all, or those that sent most.
fn clients(rows: &[ClientRow], lasts: bool) -> Vec<Table> {
    type Of = fn(&ClientRow) -> f64;
    let whole = digits;
    let size = |value: f64| bytes(value.round() as u64);
    let seconds = |value: f64| written(Unit::Seconds, value);
    type Written<'a> = &'a dyn Fn(f64) -> String;
    let columns: [(&str, Of, Written<'_>); 7] = [
        ("Items", |row| row.shard_size as f64, &whole),
        ("Rounds", |row| row.rounds as f64, &whole),
        ("Sent up", |row| row.uplink_bytes as f64, &size),
        ("Received", |row| row.downlink_bytes as f64, &size),
        ("Sent to clients", |row| row.peer_bytes as f64, &size),
        ("Computing", |row| row.compute_s, &seconds),
        ("Online", |row| row.online_s, &seconds),
    ];
    if rows.is_empty() {
        return Vec::new();
    }
    let shown: Vec<_> = columns
        .iter()
        .filter(|(name, of, _)| {
            (lasts || !["Computing", "Online"].contains(name)) && rows.iter().any(|row| of(row) != 0.0)
        })
        .collect();
    let spread = |(name, of, written): &&(&str, Of, Written<'_>)| {
        let mut values: Vec<f64> = rows.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let cells = [at(0.0), at(0.25), at(0.5), at(0.75), at(1.0), mean];
        let cells = cells.map(|value| Cell::number(written(value), value));
        std::iter::once(Cell::text(*name)).chain(cells).collect::<Vec<_>>()
    };
    let heads = ["Least", "Lower quarter", "Median", "Upper quarter", "Most", "Mean"];
    let heads = std::iter::once(Column::text("Of a client")).chain(heads.map(Column::number));
    let summary = Table::new(
        "How clients differ",
        heads.collect(),
        shown.iter().map(spread).collect(),
        "clients.csv",
    );
    let mut order: Vec<&ClientRow> = rows.iter().collect();
    let is_cut = rows.len() > MOST_CLIENTS;
    if is_cut {
        let sent = |row: &ClientRow| row.uplink_bytes.saturating_add(row.peer_bytes);
        order.sort_by_key(|row| (std::cmp::Reverse(sent(row)), row.client));
        order.truncate(SOME_CLIENTS);
    }
    let line = |row: &&ClientRow| {
        let cells = shown
            .iter()
            .map(|(_, of, written)| Cell::number(written(of(row)), of(row)));
        let first = Cell::number(row.client.to_string(), f64::from(row.client));
        std::iter::once(first).chain(cells).collect()
    };
    let heads = std::iter::once(Column::text("Client")).chain(shown.iter().map(|(name, ..)| Column::number(name)));
    let caption = if is_cut {
        "The clients that sent most"
    } else {
        "Clients"
    };
    let mut all = Table::new(
        caption,
        heads.collect(),
        order.iter().map(line).collect(),
        "clients.csv",
    );
    if is_cut {
        all.notes.push(format!(
            "The {SOME_CLIENTS} of {} clients that sent most bytes, of equal ones those of the lowest numbers; clients.csv has them all.",
            count(rows.len() as u64)
        ));
    }
    vec![summary, all]
}

/// Every number of a run that is no reference, with its references.
pub(crate) fn numbers(run: &RunDir) -> Option<Table> {
    let all = run.numbers();
    let own = run
        .summary
        .iter()
        .filter(|(name, _)| !is_reference(name) && *name != WARNINGS);
    let row = |(name, value): (&String, &f64)| {
        let answer = all.answer(name);
        let about = answer.meaning.as_ref().map_or(String::new(), Meaning::sentences);
        vec![
            Cell {
                detail: about,
                ..Cell::text(answer.words)
            },
            Cell {
                detail: list(answer.unit, &answer.references),
                ..Cell::number(written(answer.unit, *value), *value)
            },
            Cell::text(name),
        ]
    };
    let rows: Vec<Vec<Cell>> = own.map(row).collect();
    let columns = vec![
        Column::text("Number"),
        Column::number("Value"),
        Column::text("Name in summary.json"),
    ];
    (!rows.is_empty()).then(|| Table::new("Every number of the run", columns, rows, "summary.json"))
}
