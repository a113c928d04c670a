//! The scripts that shells read.

use clap::CommandFactory;
use clap_complete::Shell;

use super::COMMAND;

const BASH: &str = include_str!("sprag.bash");
const ZSH: &str = include_str!("sprag.zsh");
const FISH: &str = include_str!("sprag.fish");

/// The script for a shell. Those for bash, zsh and fish ask the program that printed them; those for other shells know the
/// commands and options of this version.
pub(crate) fn script<C: CommandFactory>(shell: Shell) -> String {
    let script = match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut C::command(), "sprag", &mut script);
            return String::from_utf8_lossy(&script).into_owned();
        }
    };
    let program = std::env::current_exe().unwrap_or_else(|_| "sprag".into());
    let program = quoted(&program.to_string_lossy(), shell);
    script.replace("PROGRAM", &format!("{program} {COMMAND}"))
}

/// A text in single quotes, as the shell reads it.
fn quoted(text: &str, shell: Shell) -> String {
    let inner = if shell == Shell::Fish {
        text.replace('\\', "\\\\").replace('\'', "\\'")
    } else {
        text.replace('\'', "'\\''")
    };
    format!("'{inner}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_quotes_stays_one_word() {
        assert_eq!(quoted("/a b/it's", Shell::Bash), r"'/a b/it'\''s'");
        assert_eq!(quoted(r"/a\b/it's", Shell::Fish), r"'/a\\b/it\'s'");
    }
}
