//! Which environment variables a definition may set: those that `[exec] env` lists.
//!
//! The operator allows a program, and a variable must not turn it into another one. Interpreters, loaders and many tools
//! run code that a variable names, so those variables are refused even if the list names them. The list below cannot
//! hold what it does not know: that is why nothing is allowed unless it is listed.

use super::allow::OptionsError;
use super::process::MARKER;

/// The most entries `[exec] env` may have.
const ENTRIES_MAX: usize = 1_000;

/// Variables that begin so make a loader, an interpreter or a tool run other code.
const FORBIDDEN_BEGINNINGS: [&str; 22] = [
    "BASH_",
    "CARGO_",
    "CORECLR_",
    "COR_",
    "DOTNET_STARTUP",
    "DYLD_",
    "ERL_",
    "GIT_",
    "JULIA_",
    "LD_",
    "LUA_",
    "MALLOC_",
    "MAVEN_",
    "NPM_CONFIG_",
    "OPENSSL_",
    "PERL",
    "PIP_",
    "PYTHON",
    "RUBY",
    "RUSTC",
    "SUDO_",
    "SYSTEMD_",
];

/// Other variables that do.
const FORBIDDEN: [&str; 71] = [
    "AWKLIBPATH",
    "AWKPATH",
    "BASHOPTS",
    "BROWSER",
    "CDPATH",
    "CLASSPATH",
    "CVS_RSH",
    "EDITOR",
    "ELIXIR_ERL_OPTIONS",
    "ENV",
    "EXINIT",
    "FCEDIT",
    "FPATH",
    "GCONV_PATH",
    "GEM_HOME",
    "GEM_PATH",
    "GETCONF_DIR",
    "GIO_EXTRA_MODULES",
    "GLIBC_TUNABLES",
    "GNUMAKEFLAGS",
    "GOFLAGS",
    "GRADLE_OPTS",
    "GTK_MODULES",
    "GTK_PATH",
    "HOSTALIASES",
    "IFS",
    "INPUTRC",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "KRB5_CONFIG",
    "LESSCLOSE",
    "LESSEDIT",
    "LESSOPEN",
    "LOCALDOMAIN",
    "LOCPATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "MFLAGS",
    "MONO_PATH",
    "NIS_PATH",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "PAGER",
    "PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PS1",
    "PS2",
    "PS4",
    "PSQLRC",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "RSYNC_CONNECT_PROG",
    "RSYNC_RSH",
    "SASL_PATH",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "TAR_OPTIONS",
    "TERMINFO",
    "VIMINIT",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// The variables that definitions may set.
pub(super) struct Variables {
    allowed: Vec<String>,
}

/// Why a definition may not set a variable, and what would help.
pub(super) struct Refused {
    pub(super) detail: &'static str,
    pub(super) remedy: String,
}

impl Variables {
    pub(super) fn new(list: &[String]) -> Result<Self, OptionsError> {
        if list.len() > ENTRIES_MAX {
            return Err(OptionsError::TooManyVariables { most: ENTRIES_MAX });
        }
        for name in list {
            if !is_name(name) {
                return Err(OptionsError::VariableName {
                    name: sprag_core::document::source::shown(name),
                });
            }
            if is_forbidden(name) {
                return Err(OptionsError::Variable { name: name.clone() });
            }
        }
        Ok(Self { allowed: list.to_vec() })
    }

    /// Why a definition may not set the variable; none if it may.
    pub(super) fn refusal(&self, name: &str) -> Option<Refused> {
        let refused = |detail, remedy: &str| {
            Some(Refused {
                detail,
                remedy: remedy.to_owned(),
            })
        };
        if !is_name(name) {
            return refused(
                "is not the name of a variable",
                "write letters, digits and `_`, and no digit first",
            );
        }
        if name == MARKER {
            return refused("marks the processes of an attempt", "choose another name");
        }
        if is_forbidden(name) {
            return refused(
                "can make a program run other code than its own, and is never passed on",
                "leave it out",
            );
        }
        if self.allowed.iter().any(|allowed| allowed == name) {
            return None;
        }
        Some(Refused {
            detail: "is not a variable that definitions may set",
            remedy: format!("the operator adds `\"{name}\"` to `[exec] env`"),
        })
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name.bytes().all(is_part)
}

/// Some tools read their variables in any letter case.
fn is_forbidden(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    FORBIDDEN.contains(&name.as_str()) || FORBIDDEN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_sets_what_is_listed_and_nothing_else() {
        let variables = Variables::new(&["MODE".to_owned(), "region".to_owned()]).unwrap();
        assert!(variables.refusal("MODE").is_none() && variables.refusal("region").is_none());
        for name in ["HOME", "mode", "", "A=B", "1A", "A B", "A\0", "BASH_FUNC_x%%", MARKER] {
            assert!(variables.refusal(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn variables_that_run_other_code_cannot_even_be_listed() {
        for name in [
            "BASH_ENV",
            "ENV",
            "PATH",
            "IFS",
            "LD_PRELOAD",
            "ld_preload",
            "DYLD_INSERT_LIBRARIES",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "NODE_OPTIONS",
            "GIT_SSH_COMMAND",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "GCONV_PATH",
            "LOCPATH",
            "MALLOC_CHECK_",
            "GLIBC_TUNABLES",
            "SHELLOPTS",
            "PS4",
            "PROMPT_COMMAND",
            "EDITOR",
            "PAGER",
            "npm_config_script_shell",
        ] {
            let refused = Variables::new(&[name.to_owned()]).err().map(|error| error.to_string());
            assert!(
                refused.is_some_and(|text| text.contains(name) && text.contains("[exec] env")),
                "{name}"
            );
        }
        assert!(Variables::new(&["NODE_ENV".to_owned(), "HOME".to_owned(), "LANG".to_owned()]).is_ok());
    }

    #[test]
    fn the_lists_are_sorted_and_hold_nothing_twice() {
        assert!(FORBIDDEN.is_sorted() && FORBIDDEN_BEGINNINGS.is_sorted());
        for name in FORBIDDEN {
            assert!(
                !FORBIDDEN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)),
                "{name}"
            );
        }
    }
}
