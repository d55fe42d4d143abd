//! The table of a sweep for a paper (LaTeX), for a page (HTML) and for a text (Markdown).

use crate::sweep_table::Headline;
use crate::text::{visible, visible_lines};

/// A `tabular` with rules of the package `booktabs`; what the marks mean is above it, as comments.
pub(crate) fn latex(table: &Headline) -> String {
    let columns = "l".repeat(table.n_names) + &"r".repeat(table.heads.len() - table.n_names);
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| latex_cell(cell)).collect();
        format!("{} \\\\\n", cells.join(" & "))
    };
    let legend: String = table
        .legend
        .lines()
        .map(|line| format!("% {}\n", line.trim()))
        .collect();
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    format!(
        "{legend}\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}\n",
        row(&table.heads)
    )
}

fn latex_cell(cell: &str) -> String {
    if let Some(best) = cell.strip_prefix("• ") {
        return format!("\\textbf{{{}}}", latex_cell(best));
    }
    let mut text = String::new();
    for c in visible(cell).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => text.extend(['\\', c]),
            '\\' => text += "\\textbackslash{}",
            '~' => text += "\\textasciitilde{}",
            '^' => text += "\\textasciicircum{}",
            '<' | '>' | '−' => {
                let sign = if c == '−' { '-' } else { c };
                text += &format!("${sign}$");
            }
            '↑' => text += "$\\uparrow$",
            '↓' => text += "$\\downarrow$",
            '±' => text += "$\\pm$",
            '…' => text += "\\dots{}",
            '–' => text += "--",
            '*' => text += "$^{*}$",
            c => text.push(c),
        }
    }
    text
}

/// A `table`, and a paragraph with what the marks mean.
pub(crate) fn html(table: &Headline) -> String {
    let row = |cells: &[String], tag: &str| {
        let cells: String = cells
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                let side = if at < table.n_names { "left" } else { "right" };
                format!("<{tag} style=\"text-align: {side}\">{}</{tag}>", escaped(cell))
            })
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = table.rows.iter().map(|cells| row(cells, "td")).collect();
    let legend = escaped(&table.legend).replace('\n', "<br>\n");
    format!(
        "<table>\n<thead>\n{}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n<p>{legend}</p>\n",
        row(&table.heads, "th")
    )
}

/// A table, and below it what the marks mean; names are to the left, numbers to the right.
pub(crate) fn markdown(table: &Headline) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| markdown_cell(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let sides = (0..table.heads.len()).map(|at| if at < table.n_names { "---|" } else { "--:|" });
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    let legend = table
        .legend
        .lines()
        .map(|line| format!("{}  \n", markdown_cell(line.trim())));
    format!(
        "{}|{}\n{rows}\n{}",
        row(&table.heads),
        sides.collect::<String>(),
        legend.collect::<String>()
    )
}

fn markdown_cell(cell: &str) -> String {
    let mut text = String::new();
    for c in visible(cell).chars() {
        if "\\`*_{}[]<>#|~".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

fn escaped(text: &str) -> String {
    visible_lines(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Headline {
        let cells = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        Headline {
            heads: cells(&["arm", "test_accuracy ↑", "vs A&B"]),
            rows: vec![
                cells(&["A&B", "0.9 ± 0.1", "baseline"]),
                cells(&["50 % <x>", "• 0.95", "−0.05 *"]),
            ],
            legend: "Seeds: 1.\n*: significant".to_owned(),
            n_names: 1,
        }
    }

    #[test]
    fn latex_has_no_character_that_it_reads_otherwise() {
        let expected = "% Seeds: 1.\n% *: significant\n\\begin{tabular}{lrr}\n\\toprule\n\
            arm & test\\_accuracy $\\uparrow$ & vs A\\&B \\\\\n\\midrule\n\
            A\\&B & 0.9 $\\pm$ 0.1 & baseline \\\\\n\
            50 \\% $<$x$>$ & \\textbf{0.95} & $-$0.05 $^{*}$ \\\\\n\\bottomrule\n\\end{tabular}\n";
        assert_eq!(latex(&table()), expected);
    }

    #[test]
    fn markdown_has_no_character_that_it_reads_otherwise() {
        let expected = "| arm | test\\_accuracy ↑ | vs A&B |\n|---|--:|--:|\n\
            | A&B | 0.9 ± 0.1 | baseline |\n| 50 % \\<x\\> | • 0.95 | −0.05 \\* |\n\nSeeds: 1.  \n\\*: significant  \n";
        assert_eq!(markdown(&table()), expected);
    }

    #[test]
    fn html_shows_names_as_they_are() {
        let page = html(&table());
        assert!(
            page.contains("<td style=\"text-align: left\">50 % &lt;x&gt;</td>"),
            "{page}"
        );
        assert!(page.contains("<p>Seeds: 1.<br>\n*: significant</p>"), "{page}");
    }
}
