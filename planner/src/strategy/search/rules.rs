//! The prunings of the depth-first search (`dfs` says what they are). None changes what is found to be possible;
//! tests switch them off one by one.

/// Which prunings are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Rules {
    /// Whoever is passed over must be pushed.
    pub pushed: bool,
    /// States searched in vain are not searched again.
    pub failed: bool,
    /// Nobody starts above a place that someone could fill.
    pub dominance: bool,
    /// Sections must hold what is open in them.
    pub sections: bool,
    /// Items that meet nothing have no alternatives.
    pub alone: bool,
    /// Twins keep their order.
    pub twins: bool,
    /// Pieces are searched apart.
    pub pieces: bool,
    /// On level ground an item that meets all others is lowest.
    pub sunk: bool,
}

impl Rules {
    /// All of them.
    pub const ALL: Self = Self {
        pushed: true,
        failed: true,
        dominance: true,
        sections: true,
        alone: true,
        twins: true,
        pieces: true,
        sunk: true,
    };
}
