//! What every code means: for `explain`, and a test that no code is unknown.

/// Codes of the command; CSV and plan files have theirs in the planner.
const OWN: &[(&str, &str)] = &[
    (
        "E0101",
        "A file cannot be read: it does not exist, is a directory, is too large, or the system refuses it. The message says which.",
    ),
    (
        "E0102",
        "A file is not UTF-8 text. Graphs, plans and CSVs are text; the message names the first byte that is not.",
    ),
    (
        "E0103",
        "A file, or the graph in it, is empty. The smallest graph is {\"tensors\":[{\"name\":\"x\",\"bytes\":4,\"kind\":\"input\"}],\"ops\":[],\"outputs\":[\"x\"]}.",
    ),
    (
        "E0104",
        "The kind of a file is told by its ending: .tflite and .onnx are models, .json and .ron hold graphs or plans, .csv buffers. The message names what this version cannot read yet, or says why a file of this kind is of no use here: a model carries no plan to check, for instance.",
    ),
    (
        "E0105",
        "The planner could not start, for instance because no strategy was left to run.",
    ),
    (
        "E0106",
        "A file or standard output cannot be written. Files are written under a temporary name and renamed, so nothing half-written is left, and an input is never overwritten.",
    ),
    (
        "E0107",
        "A name or number given on the command line does not exist in this plan: a tensor, a step, a code, a verb.",
    ),
    (
        "E0108",
        "A stock planner cannot be followed here: --strategy stock needs --profile tflite or tflm and a model, and knows no given offsets.",
    ),
    (
        "E0109",
        "Memories, pins or an earlier plan cannot be used: a pin that matches nothing or names a memory that --arena does not name, two tensors in the same bytes with pins to different memories, or a file for --keep without offsets.",
    ),
    (
        "E0401",
        "The text is no graph: broken JSON or RON, a misspelt key, a value of the wrong kind. The place is shown. docs/graph-format.md lists all keys.",
    ),
    (
        "E0402",
        "The graph breaks a rule: a name declared twice, a tensor read before it is made, two producers, an output that nothing makes, a view outside its input. Every broken rule is reported, with names.",
    ),
    (
        "E0403",
        "A name in the graph file is not declared, or a subgraph call does not fit the subgraph.",
    ),
    (
        "E0404",
        "A tensor has no size: neither `bytes` nor `dtype` and `shape` are stated. For the result of a custom operator, --ops FILE.ron can say its shape.",
    ),
    (
        "E0405",
        "The operator facts of --ops cannot be used: broken RON, an operator kind that does not occur, or a position that a node does not have.",
    ),
    (
        "E0406",
        "The .tflite file cannot be read or planned: it is cut short, points outside itself, or has a branch or loop whose bodies cannot be inlined, for instance a loop that changes the size of what it carries. Or a shape given with --input is not allowed by the model, or an operator cannot follow it. The message names the operator or the byte.",
    ),
    (
        "E0407",
        "The .onnx file cannot be read or planned: a shape that depends on a dimension that is not given (--dim NAME=N, --input NAME=SHAPE), data outside the model's folder, an operator whose result only the run knows, a declared shape that contradicts what the operators make (--ignore-declared), a branch or loop whose bodies cannot be inlined. The message names the tensor, the operator and the flag that helps.",
    ),
    (
        "E0408",
        "The stock runtime of the profile asks its kernels how much scratch they need. For custom operators, and for files with compressed weights, the answer is not known here: the plan is right for the tensors, but the runtime may need a larger arena. Say it with --ops FILE.ron.",
    ),
    (
        "E0409",
        "With --bodies apart a branch or loop is one node, and what its bodies need is not planned: a runtime that gives every body memory of its own needs that memory besides. The message says how many bytes the bodies make. --bodies inline, the default, plans them.",
    ),
    (
        "E0501",
        "The buffers are no problem that can be planned: sums beyond 64 bits, given offsets that clash or are misaligned, an empty lifetime.",
    ),
    (
        "E0502",
        "The plan is wrong: the independent checker found buffers that overlap, a height, an alignment, a given offset or a claim that is not true. Every violation is reported.",
    ),
    (
        "E0503",
        "The bounds stored in a plan file are not the bounds of the problem stored in it: the file was changed by hand or by another program.",
    ),
    (
        "E0504",
        "A plan file says that a search proved a bound, and `check --prove`, which searches again, found a lower plan. The file was changed, or the program that made it is wrong.",
    ),
    (
        "E0505",
        "`check --prove` searches again for a bound that a search proved, and came to no end: the bound is neither proved nor refuted. A longer search may decide: --node-limit 10000000, or --time-limit 5m.",
    ),
    (
        "E0601",
        "Running the plan would go wrong: the replay of who owns each byte found an operand, an output or a variable that is not whole when it is needed.",
    ),
    (
        "E0602",
        "The plan file's graph does not fit the plan: it was changed after the plan was made, or the plan was made for another graph. Plan again.",
    ),
    (
        "E0603",
        "The stock TFLite runtime would compute wrong numbers on this model. Its planner counts the readers of a tensor and of its root, not those of other views: where two views follow each other, an operator that works in place may overwrite what the first view still means. The message names who overwrites what, and the chain of shared bytes.",
    ),
    (
        "E0604",
        "The offline plan in a .tflite file (metadata OfflineMemoryAllocation) puts tensors that live at the same time into the same bytes. The stock Micro runtime does not check this, and would compute wrong numbers, unless one operator reads the one and writes the other and is made for it: operators for the Ethos-U may be, but the file does not say so.",
    ),
    (
        "E0701",
        "No plan was found that fits. The message says whether there is one, what is needed, which step is the fullest, who lives there, and whether a better plan is ruled out (proved) or was only not found.",
    ),
    (
        "E0801",
        "The picture or the conversion cannot be made in that format. The message names the formats that can.",
    ),
    (
        "E0802",
        "Two plans cannot be compared, for instance because one is a plan of a graph and the other of a CSV.",
    ),
    (
        "E0901",
        "A plan made by bayplan failed bayplan's own check or replay. This is a defect of bayplan. Nothing was written; the problem is saved so that it can be reported.",
    ),
    (
        "E1001",
        "The model has operators without a kernel here, or with options that theirs does not know. All of them are named before anything runs. Such a model can be planned, checked and drawn all the same.",
    ),
    (
        "E1002",
        "Data for an input cannot be used: no such input, another element type or shape than the model wants, or a file that cannot be read. Data are .npy files, raw bytes (little-endian), or random:SEED.",
    ),
    (
        "E1003",
        "A run could not go on, because an index that it computed leads outside a tensor. Which indices are computed depends on the inputs.",
    ),
    (
        "E1004",
        "Weights cannot be had: they are outside the file, in a file of their own that cannot be read, or computing them at load fails.",
    ),
    (
        "E1005",
        "Outputs of a run with --compare differ from those of the reference by more than is tolerated: a thousandth of the largest value. The fast device takes sums in another order; networks that are nearly unstable, or indices that hang on nearly equal values, can then differ by more.",
    ),
];

/// All codes with their explanations, in order.
pub(crate) fn all() -> Vec<(&'static str, &'static str)> {
    let csv = bayplan_planner::file::csv::CODES;
    let plan = bayplan_planner::file::plan_file::CODES;
    let mut all: Vec<_> = OWN.iter().chain(csv).chain(plan).copied().collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_every_one_in_the_source_is_explained() {
        let all = all();
        assert!(all.windows(2).all(|pair| pair[0].0 != pair[1].0));
        let sources = [
            include_str!("../input.rs"),
            include_str!("../input/model.rs"),
            include_str!("../session.rs"),
            include_str!("../session/told.rs"),
            include_str!("../session/memory.rs"),
            include_str!("../failure.rs"),
            include_str!("../commands/mod.rs"),
            include_str!("../commands/plan.rs"),
            include_str!("../commands/pack.rs"),
            include_str!("../commands/inspect.rs"),
            include_str!("../commands/inspect/tensor.rs"),
            include_str!("../commands/check.rs"),
            include_str!("../commands/convert.rs"),
            include_str!("../commands/draw.rs"),
            include_str!("../commands/diff.rs"),
            include_str!("../commands/explain.rs"),
        ];
        let mut used = 0;
        for source in sources {
            for (at, _) in source.match_indices("\"E0") {
                let code = &source[at + 1..at + 6];
                used += 1;
                assert!(
                    all.iter().any(|(known, _)| *known == code),
                    "{code} is not explained"
                );
            }
        }
        assert!(used > 15);
    }
}
