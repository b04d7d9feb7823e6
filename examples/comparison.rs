//! Every CSV of a folder: ours measured, beside what others reach (`docs/peers.csv`, cited with its source).
//!
//! `cargo run --release --example comparison -- FOLDER`

use bayplan_planner::file::csv;
use bayplan_planner::{ArenaId, Bounds, Options, Problem, Strategy, ids::Id, plan};
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

/// Figures of others: instance, peer, height over load, user seconds, source.
const PEERS: &str = include_str!("../docs/peers.csv");

// This program prints.
#[expect(clippy::print_stdout)]
fn row(instance: &str, made_by: &str, ratio: &str, seconds: &str, note: &str) {
    println!("{instance:12} {made_by:24} {ratio:>9} {seconds:>9}  {note}");
}

fn ours(instance: &str, problem: Problem) -> Result<(), Box<dyn Error>> {
    let arena = ArenaId::from_index(0);
    let bound = Bounds::new(&problem).arenas[arena].bytes;
    let ratio = |height: u64| format!("{:.5}", height as f64 / bound as f64);
    for strategy in Strategy::ALL {
        let started = Instant::now();
        let height = strategy.run(&problem).heights[arena];
        let seconds = format!("{:.3}", started.elapsed().as_secs_f64());
        row(instance, strategy.name(), &ratio(height), &seconds, "");
    }
    let started = Instant::now();
    let planned = plan(problem, &Options::default())?;
    let seconds = format!("{:.3}", started.elapsed().as_secs_f64());
    let proved = if planned.is_optimal() {
        "optimal"
    } else {
        "not proved"
    };
    let note = format!("{proved}, by {}", planned.checked.plan().strategy);
    row(
        instance,
        "all together",
        &ratio(planned.height()),
        &seconds,
        &note,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("a folder of CSVs is needed")?;
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "csv"));
    files.sort();
    row("instance", "made by", "of bound", "wall s", "");
    for file in files {
        let parsed = csv::read(&std::fs::read_to_string(&file)?);
        let Ok(parsed) = parsed else { continue };
        let instance = file.file_stem().map(|name| name.to_string_lossy());
        let instance = instance.ok_or("a file has a name")?;
        ours(&instance, parsed.problem)?;
        for line in PEERS
            .lines()
            .filter(|line| line.split(',').next() == Some(&*instance))
        {
            if let [_, peer, ratio, seconds, source] = line.split(',').collect::<Vec<_>>()[..] {
                row(&instance, peer, ratio, &format!("{seconds} cpu"), source);
            }
        }
    }
    Ok(())
}
