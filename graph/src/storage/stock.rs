//! Storage as a stock planner's aliases have it.

use super::{Class, Decision, Member, Question, Reason, Share, Storage};
use crate::ir::{Graph, Node, NodeId, Role, TensorId};
use crate::schedule::Schedule;
use bayplan_planner::Table;

/// A result that has an operand's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The operand.
    pub input: TensorId,
    /// Whose bytes these were first.
    pub root: TensorId,
    /// The kernel leaves the contents as they are.
    pub unmodified: bool,
}

/// Classes of roots with their aliases; a decision for every view and offer, and for every alias that
/// the graph does not offer.
pub(super) fn storage(
    graph: &Graph,
    schedule: &Schedule,
    aliases: &Table<TensorId, Option<Alias>>,
) -> Storage {
    let mut storage = Storage {
        classes: Table::new(),
        homes: Table::filled(None, graph.tensors().len()),
        decisions: Vec::new(),
    };
    for (id, tensor) in graph.tensors().iter() {
        if matches!(tensor.role, Role::Input | Role::Weight | Role::State) {
            own(&mut storage, graph, id);
        }
    }
    for &id in schedule.order() {
        let node = &graph.nodes()[id];
        for &output in &node.outputs {
            decide(&mut storage, id, node, output, aliases[output]);
            match aliases[output] {
                Some(alias) => join(&mut storage, output, alias),
                None => own(&mut storage, graph, output),
            }
        }
    }
    storage
}

fn own(storage: &mut Storage, graph: &Graph, tensor: TensorId) {
    let outside = graph.tensors()[tensor].role == Role::Weight || graph.is_external(tensor);
    let members = vec![Member {
        tensor,
        offset: 0,
        share: Share::Own,
    }];
    let class = storage.classes.push(Class { members, outside });
    storage.homes[tensor] = Some((class, 0));
}

fn join(storage: &mut Storage, tensor: TensorId, alias: Alias) {
    let (class, offset) = storage.homes[alias.root].expect("roots come first");
    let share = if alias.unmodified {
        Share::ViewOf(alias.input)
    } else {
        Share::Over(alias.input)
    };
    storage.classes[class].members.push(Member {
        tensor,
        offset,
        share,
    });
    storage.homes[tensor] = Some((class, offset));
}

fn decide(storage: &mut Storage, id: NodeId, node: &Node, output: TensorId, alias: Option<Alias>) {
    let views = node.views.iter().filter(|view| view.output == output);
    let views = views.map(|view| (view.input, Question::View));
    let offers = node.in_place.iter().filter(|offer| offer.1 == output);
    let offers = offers.map(|offer| (offer.0, Question::InPlace));
    let mut asked: Vec<(TensorId, Question)> = views.chain(offers).collect();
    let taken = alias.map(|alias| {
        let question = if alias.unmodified {
            Question::View
        } else {
            Question::InPlace
        };
        (alias.input, question)
    });
    if let Some(taken) = taken.filter(|taken| !asked.contains(taken)) {
        asked.push(taken);
    }
    for (input, question) in asked {
        let refused = (taken != Some((input, question))).then_some(Reason::StockRule);
        storage.decisions.push(Decision {
            node: id,
            input,
            output,
            question,
            refused,
        });
    }
}
