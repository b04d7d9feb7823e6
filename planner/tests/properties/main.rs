//! Properties of the planner, each shown on thousands of random problems.
//!
//! `strategies`: what every strategy makes is a plan, over its bound. `tiny`: against the optimum by
//! brute force. `invariance`: time, names and units change nothing. `damage`: the checker refuses
//! what is wrong. `files`: problems and plans through text. `limits`: whatever stops it, there is a plan.
//! `conflict`: sets that do not fit, by brute force. `arenas`: several memories.
//! `shortfalls`: why they do not suffice. `keep`: planning again.
//! `hostile`, `extremes`, `strangers`: numbers near every limit, everything at once, text and places from elsewhere
//! (`odd` makes them). `claims`: what is said not to fit.
//! `generate` makes the problems;
//! `oracle` says what is true by painting bytes, with nothing of the library but its vocabulary.

mod arenas;
mod claims;
mod conflict;
mod damage;
mod extremes;
mod files;
mod generate;
mod hostile;
mod improve;
mod invariance;
mod keep;
mod limits;
mod odd;
mod oracle;
mod search;
mod shortfalls;
mod strangers;
mod strategies;
mod tape;
mod tiny;
