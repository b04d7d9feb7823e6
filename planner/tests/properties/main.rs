//! Properties of the planner, each shown on thousands of random problems.
//!
//! `strategies`: what every strategy makes is a plan, over its bound. `tiny`: against the optimum by
//! brute force. `invariance`: time, names and units change nothing. `damage`: the checker refuses
//! what is wrong. `files`: problems and plans through text. `generate` makes the problems;
//! `oracle` says what is true by painting bytes, with nothing of the library but its vocabulary.

mod damage;
mod files;
mod generate;
mod improve;
mod invariance;
mod oracle;
mod search;
mod strategies;
mod tape;
mod tiny;
