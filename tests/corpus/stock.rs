//! The stock planners against the arenas that their runtimes were measured to take, and ours beside
//! them, with the scratch of the runtimes' kernels.

use super::{Model, each, json, run};
use std::path::Path;

/// Its runtime keeps most of it outside the arena that was measured.
const ON_HEAP: &str = "tflite/basic_pitch_nmp.tflite";

fn arena(path: &Path, model: &Model, flags: &[&str]) -> Result<u64, String> {
    let plan = json("plan", path, model, flags)?;
    plan["arena_bytes"].as_u64().ok_or_else(|| plan.to_string())
}

#[test]
fn stock_plans_are_what_the_runtimes_take() {
    each(|model, path| {
        for (profile, measured, differs) in model.stock {
            let Some(measured) = measured else { continue };
            let found = arena(path, model, &["--profile", profile, "--strategy", "stock"]);
            let equal = found.as_ref() == Ok(&measured);
            if equal != differs.is_empty() {
                return Err(format!(
                    "{profile}: {found:?}, measured {measured}: `{differs}`"
                ));
            }
        }
        Ok(())
    });
}

#[test]
fn our_plans_are_not_above_what_the_runtimes_take() {
    each(|model, path| {
        if !model.refused.is_empty() {
            return Ok(());
        }
        for (profile, measured, _) in model.stock {
            let Some(measured) = measured else { continue };
            let reuse: &[&str] = if profile == "tflm" {
                &["--reuse-inputs"]
            } else {
                &[]
            };
            let ours = arena(path, model, &[&["--profile", profile], reuse].concat())?;
            let on_heap = model.file == ON_HEAP && profile == "tflite";
            if (ours > measured) != on_heap {
                return Err(format!("{profile}: {ours}, measured {measured}"));
            }
        }
        Ok(())
    });
}

#[test]
fn a_plan_is_for_the_model_as_its_profile_has_it() {
    let plan_file =
        std::env::temp_dir().join(format!("bayplan-corpus-{}.json", std::process::id()));
    each(|model, path| {
        let large = path.metadata().map_or(0, |data| data.len()) > 400_000;
        if large || model.stock[1].1.is_none() || !model.refused.is_empty() {
            return Ok(());
        }
        for profile in ["bayplan", "tflite", "tflm"] {
            let out = plan_file.to_str().unwrap();
            json("plan", path, model, &["--profile", profile, "-o", out])?;
            let against = ["--against", path.to_str().unwrap()];
            let flags: Vec<&str> = model.flags.split_whitespace().chain(against).collect();
            let done = run("check", &plan_file, &flags);
            if !done.status.success() {
                return Err(format!(
                    "{profile}: {}",
                    String::from_utf8_lossy(&done.stdout)
                ));
            }
        }
        std::fs::remove_file(&plan_file).map_err(|error| error.to_string())
    });
}

/// Of two models with custom operators the scratch of one is known.
#[test]
fn custom_operators_with_unknown_scratch_are_told() {
    each(|model, path| {
        let told = match &*model.file {
            "tflite/mp_selfie_segmentation.tflite" => true,
            "tflite/tflm_audio_preprocessor_int8.tflite" => false,
            _ => return Ok(()),
        };
        for (profile, told) in [("bayplan", false), ("tflm", told)] {
            let done = run("plan", path, &["--profile", profile]);
            let says = String::from_utf8_lossy(&done.stderr).contains("warning[E0408]");
            if says != told {
                return Err(format!(
                    "{profile}: {}",
                    String::from_utf8_lossy(&done.stderr)
                ));
            }
        }
        Ok(())
    });
}
