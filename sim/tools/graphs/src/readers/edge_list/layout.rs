//! Layouts of lines of numbers that are no edge list: counts on the first line, adjacency lists,
//! METIS, matrices, more columns.

use crate::readers::format::{converts, in_shell};
use crate::readers::text::{Text, fields, whole};
use crate::{DataError, Dataset};

/// Names the layout of a file that could not be read as an edge list, with a way to convert it;
/// `None` if it is none of these.
pub(super) fn named(text: &Text, weighted: bool) -> Option<DataError> {
    // Blank lines are nodes without neighbours in METIS' format, and comments are none.
    let lines: Vec<(usize, &str)> = text.lines().collect::<Result<_, _>>().ok()?;
    let lines: Vec<(usize, &str)> = lines
        .into_iter()
        .filter(|(_, line)| !line.starts_with(['#', '%']))
        .collect();
    let rows: Vec<(usize, Vec<&str>)> = lines.iter().map(|&(number, line)| (number, fields(line))).collect();
    let first = rows.iter().position(|(_, row)| !row.is_empty())?;
    let rows = &rows[first..];
    let (number, head) = &rows[0];
    let filled = || rows.iter().filter(|(_, row)| !row.is_empty());
    if let Some((number, row)) = filled().find(|(_, row)| row.get(2).is_some_and(|field| field.starts_with('{'))) {
        let rule = format!(
            "the third field, {}…, is a dictionary of edge data; write the file with networkx.write_edgelist(…, data=False), \
             or with data=[\"weight\"] and state `weighted: true`",
            row[2].escape_debug()
        );
        return Some(text.error(*number, rule));
    }
    if filled().all(|(_, row)| row.len() > 2 && row.last().is_some_and(|field| field.is_empty())) {
        let rule = format!(
            "each line ends with a separator; delete it: sed 's/[,;] *$//' {} > edges.txt",
            in_shell(&text.path)
        );
        return Some(text.error(*number, rule));
    }
    if head.len() == 3 && head[0].is_empty() && filled().skip(1).all(|(_, row)| row.len() == 3) {
        let rule = format!(
            "the first column, without a name, counts the lines, as pandas writes it; leave it out: cut -d, -f2- {} > edges.txt, \
             or write the file with to_csv(…, index=False)",
            in_shell(&text.path)
        );
        return Some(text.error(*number, rule));
    }
    if !filled().all(|(_, row)| row.iter().all(|field| field.parse::<f64>().is_ok())) {
        return None;
    }
    let n_fields = |row: &[&str]| row.len();
    let widths: Vec<usize> = filled().skip(1).map(|(_, row)| n_fields(row)).collect();
    let (least, most) = (widths.iter().min().copied()?, widths.iter().max().copied()?);
    let of_line = if weighted { 3 } else { 2 };
    if is_metis(rows) {
        let rule = "a METIS graph (a first line of counts, then the neighbours of each node), not an edge list; read it with \
                    `Metis(path: …)`";
        return Some(DataError::format(&text.path, rule));
    }
    let counts = |field: &&str| whole(field) == Some(widths.len() as u64);
    let may_count = head.len() == 1 || head.len() <= 3 && head.iter().any(counts);
    if least == of_line && most == of_line && head.len() != of_line && may_count {
        let rule = format!(
            "the first line has {} fields and the others {of_line}: if it holds counts, as of nodes and edges, delete it",
            head.len()
        );
        return Some(text.error(*number, rule));
    }
    let n_rows = widths.len() + 1;
    let separator = [',', ';'].into_iter().find(|&separator| lines[0].1.contains(separator));
    // Of three rows an edge `u v w` a line looks like a matrix that is not symmetric.
    let entry = |i: usize, j: usize| filled().nth(i).and_then(|(_, row)| row.get(j).copied());
    let is_symmetric = || (0..n_rows).all(|i| (0..i).all(|j| entry(i, j) == entry(j, i)));
    if n_rows > 2 && least == n_rows && most == n_rows && head.len() == n_rows && (n_rows > 3 || is_symmetric()) {
        let delimiter = separator.map_or_else(String::new, |separator| format!(", delimiter='{separator}'"));
        let rule = format!(
            "an adjacency matrix, not an edge list; convert it: python3 -c \
             \"import sys, numpy as np; np.savetxt('edges.txt', np.argwhere(np.loadtxt(sys.argv[1]{delimiter})), '%d')\" {}",
            in_shell(&text.path)
        );
        return Some(DataError::format(&text.path, rule));
    }
    if least != most || head.len() != least {
        let widest = most.max(head.len());
        if widest <= 2 {
            return None;
        }
        if widest == 3 && least.min(head.len()) >= 2 {
            let other = filled().find(|(_, row)| row.len() != head.len());
            let rule = format!(
                "some lines have 2 fields and others 3: if the third is a weight, give every edge one and state \
                 `weighted: true`; if a line holds a node and its neighbours, {}",
                converts(&text.path, "read_adjlist")
            );
            return Some(text.error(other.map_or(*number, |(number, _)| *number), rule));
        }
        let rule = format!(
            "an adjacency list (a node and its neighbours a line), not an edge list; {}",
            converts(&text.path, "read_adjlist")
        );
        return Some(DataError::format(&text.path, rule));
    }
    if most > 3 || (most == 3 && !weighted) {
        let rule = format!(
            "expected two node ids a line, got {most} fields; {}keep the first two columns: awk {}'{{print $1, $2}}' {} > edges.txt",
            if most == 3 {
                "state `weighted: true` if the third column is a weight, or "
            } else {
                ""
            },
            separator.map_or_else(String::new, |separator| format!("-F'{separator}' ")),
            in_shell(&text.path)
        );
        return Some(text.error(*number, rule));
    }
    None
}

/// Whether the first line counts nodes and edges, and each line below lists the neighbours of one
/// node, from 1.
fn is_metis(rows: &[(usize, Vec<&str>)]) -> bool {
    let numbers = |row: &[&str]| -> Option<Vec<u64>> { row.iter().map(|field| whole(field)).collect() };
    let Some(head) = numbers(&rows[0].1) else {
        return false;
    };
    let Some((&[n, m], format)) = head.split_first_chunk::<2>() else {
        return false;
    };
    let rest = &rows[1..];
    // Blank lines at the end of a file are not kept.
    let is_format = |format: &u64| format.to_string().chars().all(|digit| matches!(digit, '0' | '1'));
    // The fourth count is of the weights of a node, whose digit the format has.
    let has_no_weights = format.len() == 2 && format[0] < 10;
    if format.len() > 2
        || has_no_weights
        || !format.first().is_none_or(is_format)
        || rest.len() as u64 > n
        || rest.is_empty()
    {
        return false;
    }
    let Some(mut lists) = rest
        .iter()
        .map(|(_, row)| numbers(row))
        .collect::<Option<Vec<Vec<u64>>>>()
    else {
        return format.iter().any(|&format| format > 0) && rest.len() as u64 == n;
    };
    if format.iter().any(|&format| format > 0) {
        return rest.len() as u64 == n;
    }
    lists.iter_mut().for_each(|list| list.sort_unstable());
    let mirrored = |at: usize, v: u64| {
        let back = (v as usize).checked_sub(1).and_then(|at| lists.get(at));
        back.is_some_and(|list| list.binary_search(&(at as u64 + 1)).is_ok())
    };
    let n_arcs: usize = lists.iter().map(Vec::len).sum();
    n_arcs as u64 == 2 * m
        && (0..)
            .zip(&lists)
            .all(|(at, list)| list.iter().all(|&v| mirrored(at, v)))
}

/// Refuses a file of pairs whose first line can only be counts of nodes and edges, and notes one
/// that may be.
pub(super) fn refuse_counts(
    text: &Text,
    (pairs, weights): (&[(u64, u64)], &[f32]),
    dataset: &mut Dataset,
) -> Result<(), DataError> {
    let Some((&(a, b), rest)) = pairs.split_first() else {
        return Ok(());
    };
    let n_rest = rest.len() as u64;
    let ends = || rest.iter().flat_map(|&(u, v)| [u, v]);
    let most = ends().max().unwrap_or(0);
    let is_count = |n: u64| n == most || n == most + 1;
    let [rows, columns] =
        [|pair: &(u64, u64)| pair.0, |pair: &(u64, u64)| pair.1].map(|end| rest.iter().map(end).max());
    if weights.first() == Some(&(n_rest as f32)) && n_rest > 1 && Some(a) >= rows && Some(b) >= columns {
        let rule = match a == b {
            true => {
                "the first line counts rows, columns and entries, as in Matrix Market files; delete it, and state `first_id: 1`"
            }
            false => {
                "the first line counts rows, columns and entries, as in Matrix Market files, and a matrix that is not square is \
                 none of a graph; write one edge `u v` a line"
            }
        };
        return Err(DataError::format(&text.path, rule));
    }
    let counts = match (a, b) {
        (n, m) if m == n_rest && is_count(n) => Some((n, m)),
        (m, n) if m == n_rest && is_count(n) => Some((n, m)),
        _ => None,
    };
    let (Some((n, m)), true) = (counts, n_rest > 1) else {
        return Ok(());
    };
    let rows: Vec<(usize, Vec<&str>)> = text
        .data_lines()
        .filter_map(|line| line.ok().map(|(number, line)| (number, fields(line))))
        .collect();
    if is_metis(&rows) {
        return named(text, false).map_or(Ok(()), Err);
    }
    let what = format!("the first line, {a} {b}, counts nodes and edges of the lines below");
    if m > most {
        let number = rows.first().map_or(1, |row| row.0);
        let rule = format!("{what}; delete it, or move it below another line if it is the edge {n} to {m}");
        return Err(text.error(number, rule));
    }
    dataset
        .notes
        .push(format!("{what}, and was read as an edge; delete it if it is none"));
    Ok(())
}
