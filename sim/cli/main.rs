//! The `folkmoot` command.

fn main() {}
