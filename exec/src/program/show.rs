//! A program as text, a command a line.

use super::{Command, Program, Read, Window};
use std::fmt::{self, Display, Formatter};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for command in &self.commands {
            self.line(f, command)?;
        }
        Ok(())
    }
}

impl Program {
    fn line(&self, f: &mut Formatter<'_>, command: &Command) -> fmt::Result {
        match command {
            Command::Load { input, to } => {
                writeln!(
                    f,
                    "copy      {} <- input {}",
                    self.window(*to),
                    self.inputs[*input].name
                )
            }
            Command::Dispatch(dispatch) => {
                let name = &self.plan.graph().nodes()[dispatch.node].name;
                let kernel = dispatch.kernel.name();
                write!(f, "dispatch  {} <- {kernel}(", self.window(dispatch.write))?;
                for (position, read) in dispatch.reads.iter().enumerate() {
                    let comma = if position > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", self.read(*read))?;
                }
                writeln!(f, ")  {name}")
            }
            Command::Wait => writeln!(f, "wait"),
            Command::Store { output, from } => {
                writeln!(
                    f,
                    "copy      output {} <- {}",
                    self.outputs[*output].name,
                    self.read(*from)
                )
            }
        }
    }

    fn window(&self, window: Window) -> String {
        let arena = &self.arenas[window.arena].name;
        format!("{arena}[{}..{}]", window.offset, window.end())
    }

    fn read(&self, read: Read) -> String {
        match read {
            Read::Arena(window) => self.window(window),
            Read::Constant(id) => self.constants[id].name.clone(),
        }
    }
}
