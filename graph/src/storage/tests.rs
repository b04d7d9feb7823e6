//! The in-place rule case by case.

use super::*;
use crate::{GraphBuilder, Role};

fn decide(build: impl FnOnce(&mut GraphBuilder), policy: Policy) -> Vec<String> {
    let mut model = GraphBuilder::new("case");
    build(&mut model);
    let graph = model.build().unwrap();
    let schedule = Schedule::file_order(&graph);
    let lifetimes = Lifetimes::new(&graph, &schedule, policy.reuse_inputs);
    let storage = Storage::new(&graph, &schedule, &lifetimes, policy, 1);
    let name = |id: TensorId| &graph.tensors()[id].name;
    let row = |d: &Decision| {
        let verdict = d.refused.map_or("taken", Reason::name);
        format!("{}->{} {verdict}", name(d.input), name(d.output))
    };
    storage.decisions().iter().map(row).collect()
}

const REUSE: Policy = Policy {
    in_place: true,
    views: true,
    reuse_inputs: true,
};

#[test]
fn a_later_reader_forbids_it_and_one_operand_is_enough() {
    let got = decide(
        |m| {
            let x = m.tensor("x", 1024, Role::Input);
            let [b, c, d] = ["b", "c", "d"].map(|n| m.tensor(n, 4096, Role::Activation));
            let y = m.tensor("y", 256, Role::Output);
            m.node("conv", "Conv", &[x], &[b]);
            m.node("relu", "Relu", &[b], &[c]).in_place(b, c);
            m.node("mul", "Mul", &[b, c], &[d])
                .in_place(b, d)
                .in_place(c, d);
            m.node("head", "Head", &[d], &[y]);
        },
        REUSE,
    );
    assert_eq!(
        got,
        ["b->c StillReadBy", "b->d taken", "c->d AlreadyShares"]
    );
}

#[test]
fn two_chained_views_before_an_in_place_op_keep_their_root() {
    // The stock runtime's hazard: `a` is still to be read when `b`, a view of it, is overwritten.
    let got = decide(
        |m| {
            let x0 = m.tensor("x0", 256, Role::Input);
            let [x, a, b, c] = ["x", "a", "b", "c"].map(|n| m.tensor(n, 256, Role::Activation));
            let [o1, o2] = ["o1", "o2"].map(|n| m.tensor(n, 256, Role::Output));
            m.node("add", "Add", &[x0], &[x]);
            m.node("r1", "Reshape", &[x], &[a]).view(x, a);
            m.node("r2", "Reshape", &[a], &[b]).view(a, b);
            m.node("mul", "Mul", &[b], &[c]).in_place(b, c);
            m.node("mul3", "Mul", &[a], &[o2]).in_place(a, o2);
            m.node("add1", "Add", &[c], &[o1]).in_place(c, o1);
        },
        REUSE,
    );
    assert_eq!(
        got,
        [
            "x->a taken",
            "a->b taken",
            "b->c StillReadBy",
            "a->o2 taken",
            "c->o1 taken"
        ]
    );
}

#[test]
fn what_must_survive_is_never_overwritten() {
    let build = |m: &mut GraphBuilder| {
        let x = m.tensor("x", 64, Role::Input);
        let k = m.tensor("k", 64, Role::Input);
        let w = m.tensor("w", 64, Role::Weight);
        let o = m.tensor("o", 64, Role::Output);
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| m.tensor(n, 64, Role::Output));
        m.keep(k);
        m.node("n0", "Op", &[x], &[o]).in_place(x, o);
        m.node("n1", "Op", &[o], &[a]).in_place(o, a);
        m.node("n2", "Op", &[k], &[b]).in_place(k, b);
        m.node("n3", "Op", &[w], &[c]).in_place(w, c);
        m.node("n4", "Op", &[x], &[d]).in_place(x, d);
    };
    let kept = decide(build, Policy::default());
    assert_eq!(
        kept,
        [
            "x->o IsInput",
            "o->a MustSurvive",
            "k->b MustSurvive",
            "w->c IsConstant",
            "x->d IsInput"
        ]
    );
    let reused = decide(build, REUSE);
    assert_eq!(
        reused,
        [
            "x->o StillReadBy",
            "o->a MustSurvive",
            "k->b MustSurvive",
            "w->c IsConstant",
            "x->d taken"
        ]
    );
}

#[test]
fn another_operand_in_the_same_bytes_forbids_it() {
    let got = decide(
        |m| {
            let x = m.tensor("x", 64, Role::Input);
            let a = m.tensor("a", 64, Role::Activation);
            let low = m.tensor("low", 32, Role::Activation);
            let high = m.tensor("high", 32, Role::Activation);
            let y = m.tensor("y", 32, Role::Output);
            m.node("make", "Op", &[x], &[a]);
            m.node("split", "Split", &[a], &[low, high])
                .slice(a, low, 0)
                .slice(a, high, 32);
            m.node("pair", "Op", &[low, a], &[y]).in_place(low, y);
        },
        REUSE,
    );
    assert_eq!(
        got,
        ["a->low taken", "a->high taken", "low->y OtherOperand"]
    );
}

#[test]
fn a_member_that_is_still_read_forbids_it_however_many_joined_since() {
    let got = decide(
        |m| {
            let x = m.tensor("x", 64, Role::Input);
            let a = m.tensor("a", 64, Role::Activation);
            let [low, mid] = ["low", "mid"].map(|n| m.tensor(n, 32, Role::Activation));
            let mut last = m.tensor("high", 16, Role::Activation);
            let [z, y] = ["z", "y"].map(|n| m.tensor(n, 32, Role::Output));
            m.node("make", "Op", &[x], &[a]);
            m.node("split", "Split", &[a], &[low, mid, last])
                .slice(a, low, 0)
                .slice(a, mid, 16)
                .slice(a, last, 48);
            for i in 0..100 {
                let next = m.tensor(format!("h{i}"), 16, Role::Activation);
                m.node(format!("relu{i}"), "Relu", &[last], &[next])
                    .in_place(last, next);
                last = next;
            }
            m.node("low", "Op", &[low, last], &[z]).in_place(low, z);
            m.node("mid", "Op", &[mid, last], &[y]).in_place(mid, y);
        },
        REUSE,
    );
    assert_eq!(got.len(), 105);
    assert!(got[3..103].iter().all(|row| row.ends_with(" taken")));
    assert_eq!(got[103..], ["low->z StillReadBy", "mid->y taken"]);
}

#[test]
fn halves_of_a_split_are_overwritten_one_by_one() {
    let got = decide(
        |m| {
            let x = m.tensor("x", 64, Role::Input);
            let a = m.tensor("a", 64, Role::Activation);
            let [low, high, l2, h2] =
                ["low", "high", "l2", "h2"].map(|n| m.tensor(n, 32, Role::Activation));
            let y = m.tensor("y", 64, Role::Output);
            m.node("make", "Op", &[x], &[a]);
            m.node("split", "Split", &[a], &[low, high])
                .slice(a, low, 0)
                .slice(a, high, 32);
            m.node("low2", "Relu", &[low], &[l2]).in_place(low, l2);
            m.node("high2", "Relu", &[high], &[h2]).in_place(high, h2);
            m.node("join", "Op", &[l2, h2], &[y]);
        },
        REUSE,
    );
    assert_eq!(got[2..], ["low->l2 taken", "high->h2 taken"]);
}

#[test]
fn one_operand_cannot_serve_two_results() {
    let got = decide(
        |m| {
            let x = m.tensor("x", 64, Role::Input);
            let a = m.tensor("a", 64, Role::Activation);
            let [p, q] = ["p", "q"].map(|n| m.tensor(n, 64, Role::Output));
            m.node("make", "Op", &[x], &[a]);
            m.node("two", "Op", &[a], &[p, q])
                .in_place(a, p)
                .in_place(a, q);
        },
        REUSE,
    );
    assert_eq!(got, ["a->p taken", "a->q TakenBy"]);
}

#[test]
fn sizes_and_elements_must_fit() {
    let got = decide(
        |m| {
            let x = m.shaped("x", crate::DType::F32, &[16], Role::Input);
            let half = m.shaped("half", crate::DType::F16, &[16], Role::Activation);
            let big = m.shaped("big", crate::DType::F16, &[32], Role::Activation);
            let y = m.shaped("y", crate::DType::F16, &[8], Role::Output);
            m.node("cast", "Cast", &[x], &[half]).in_place(x, half);
            m.node("grow", "Op", &[half], &[big]).in_place(half, big);
            m.node("shrink", "Op", &[big], &[y]).in_place(big, y);
        },
        REUSE,
    );
    assert_eq!(
        got,
        ["x->half ElementSize", "half->big Larger", "big->y taken"]
    );
}

#[test]
fn a_state_is_overwritten_only_by_its_declared_update() {
    let got = decide(
        |m| {
            let x = m.tensor("x", 64, Role::Input);
            let s = m.tensor("s", 64, Role::State);
            let [a, b] = ["a", "b"].map(|n| m.tensor(n, 64, Role::Activation));
            let y = m.tensor("y", 64, Role::Output);
            m.node("peek", "Op", &[s], &[a]).in_place(s, a);
            m.node("update", "Op", &[s, x], &[b])
                .in_place(s, b)
                .writes(s);
            m.node("use", "Op", &[a, b], &[y]);
        },
        REUSE,
    );
    assert_eq!(got, ["s->a IsState", "s->b taken"]);
}

#[test]
fn a_view_of_a_state_is_a_copy_if_the_state_changes_under_it() {
    let build = |late: bool| {
        move |m: &mut GraphBuilder| {
            let x = m.tensor("x", 64, Role::Input);
            let s = m.tensor("s", 64, Role::State);
            let v = m.tensor("v", 64, Role::Activation);
            let y = m.tensor("y", 64, Role::Output);
            m.node("peek", "Reshape", &[s], &[v]).view(s, v);
            if !late {
                m.node("use", "Op", &[v], &[y]);
            }
            m.node("update", "Op", &[x], &[]).writes(s);
            if late {
                m.node("use", "Op", &[v], &[y]);
            }
        }
    };
    assert_eq!(decide(build(true), REUSE), ["s->v StateWritten"]);
    assert_eq!(decide(build(false), REUSE), ["s->v taken"]);
}
