//! `completions` and `man`: made from the same types as the parser.

use crate::args::Cli;
use crate::failure::{Diagnostic, Failure};
use crate::report::Out;
use clap::CommandFactory;
use clap_complete::Shell;

pub(crate) fn completions(shell: Shell, out: &mut Out) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bayplan", &mut script);
    out.text(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(verb: Option<&str>, out: &mut Out) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let page = match verb {
        None => command,
        Some(name) => {
            let found = command
                .get_subcommands()
                .find(|c| c.get_name() == name)
                .cloned();
            let Some(found) = found else {
                return Err(
                    Diagnostic::new("E0107", format!("there is no verb `{name}`"))
                        .help("`bayplan --help` lists all")
                        .cannot(),
                );
            };
            found
        }
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).render(&mut roff)?;
    out.text(&String::from_utf8_lossy(&roff))
}
