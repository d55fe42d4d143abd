//! Words of commands as a shell reads them.

use crate::words::is_hidden;

/// What a hidden character of a word stands between, in octal.
const PRINTED: (&str, &str) = (r#"'"$(printf '"#, r#"')"'"#);

/// A word as a shell takes it. Hidden characters other than line ends and tabs, which a terminal
/// would obey, are printed by a command in it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=+:,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let written = |c: char| match c {
        '\'' => r"'\''".to_owned(),
        '\n' | '\t' => c.to_string(),
        c if is_hidden(c) => {
            let bytes = c.to_string().into_bytes();
            let octal: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
            format!("{}{octal}{}", PRINTED.0, PRINTED.1)
        }
        c => c.to_string(),
    };
    format!("'{}'", word.chars().map(written).collect::<String>())
}

/// The word at the start of a command, as [`quoted`] wrote it.
pub fn unquoted(command: &str) -> String {
    let Some(mut rest) = command.strip_prefix('\'') else {
        return command.split(' ').next().unwrap_or_default().to_owned();
    };
    let mut word = Vec::new();
    loop {
        if let Some((octal, after)) = rest.strip_prefix(PRINTED.0).and_then(|rest| rest.split_once(PRINTED.1)) {
            let bytes = octal.split('\\').filter_map(|byte| u8::from_str_radix(byte, 8).ok());
            word.extend(bytes);
            rest = after;
        } else if let Some(after) = rest.strip_prefix(r"'\''") {
            word.push(b'\'');
            rest = after;
        } else {
            let Some(c) = rest.chars().next().filter(|&c| c != '\'') else {
                break;
            };
            word.extend(c.to_string().bytes());
            rest = &rest[c.len_utf8()..];
        }
    }
    String::from_utf8_lossy(&word).into_owned()
}
