//! The `folkmoot` command with everything that comes with it.

fn main() -> std::process::ExitCode {
    folkmoot::main(folkmoot::shipped())
}
