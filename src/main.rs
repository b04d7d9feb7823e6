//! The command `bayplan`: chains planner, graph and exec, and talks to people.

mod arenas;
mod args;
mod commands;
mod conflict;
mod failure;
mod input;
mod interrupt;
mod report;
mod session;
mod summary;
mod units;

use args::{Cli, Verb};
use clap::Parser;
use failure::Failure;
use report::Out;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.threads > 0 {
        // The pool is built once; a second one cannot be asked for.
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let _ = bayplan_planner::strategy::use_threads(cli.threads.min(cores));
    }
    interrupt::listen();
    let mut out = Out::new(cli.color, cli.json);
    let done = run(cli.verb, &mut out).and_then(|()| out.finish());
    match done {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::No) => {
            let _ = out.finish();
            ExitCode::from(failure::NO)
        }
        Err(Failure::Told { exit, diagnostics }) => {
            if out.json && exit == failure::NO && !out.used {
                let _ = out.value(&report::diagnostics::Refusal::new(&diagnostics));
            }
            let _ = out.finish();
            report::diagnostics::print(cli.color, &diagnostics);
            ExitCode::from(exit)
        }
    }
}

fn run(verb: Verb, out: &mut Out) -> Result<(), Failure> {
    match verb {
        Verb::Plan(args) => commands::plan::run(&args, out),
        Verb::Table(args) => commands::table::run(&args, out),
        Verb::Inspect(args) => commands::inspect::run(&args, out),
        Verb::Check(args) => commands::check::run(&args, out),
        Verb::Compare(args) => commands::compare::run(&args, out),
        Verb::Diff(args) => commands::diff::run(&args, out),
        Verb::Pack(args) => commands::pack::run(&args, out),
        Verb::Draw(args) => commands::draw::run(&args, out),
        Verb::Run(args) => commands::run::run(&args, out),
        Verb::Convert(args) => commands::convert::run(&args, out),
        Verb::Explain { code } => commands::explain::run(code.as_deref(), out),
        Verb::Doctor => commands::doctor::run(out),
        Verb::Completions { shell } => commands::shell::completions(shell, out),
        Verb::Man { verb } => commands::shell::man(verb.as_deref(), out),
    }
}
