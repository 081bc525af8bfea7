//! A loser tree: which of k inputs comes next, with one comparison for each level of the tree.
#![allow(clippy::indexing_slicing, reason = "node numbers are below the number of inputs by construction")]

/// Node 0 holds the winner, nodes `1..k` the loser of their match; the leaves are implied.
pub(crate) struct LoserTree {
    nodes: Vec<usize>,
}

impl LoserTree {
    /// Plays all matches among `inputs` inputs; `beats(a, b)` says that `a` comes before `b`.
    pub(crate) fn new(inputs: usize, beats: &impl Fn(usize, usize) -> bool) -> Self {
        let mut tree = Self { nodes: vec![0; inputs.max(1)] };
        if inputs > 0 {
            tree.nodes[0] = tree.play(1, inputs, beats);
        }
        tree
    }

    fn play(&mut self, node: usize, inputs: usize, beats: &impl Fn(usize, usize) -> bool) -> usize {
        if node >= inputs {
            return node - inputs;
        }
        let left = self.play(2 * node, inputs, beats);
        let right = self.play(2 * node + 1, inputs, beats);
        let (winner, loser) = if beats(right, left) { (right, left) } else { (left, right) };
        self.nodes[node] = loser;
        winner
    }

    /// The input that comes next.
    #[inline]
    pub(crate) fn winner(&self) -> usize {
        self.nodes[0]
    }

    /// Plays the winner's matches again after its head changed.
    #[inline]
    pub(crate) fn replay(&mut self, beats: impl Fn(usize, usize) -> bool) {
        let mut winner = self.nodes[0];
        let mut node = usize::midpoint(winner, self.nodes.len());
        while node > 0 {
            let other = self.nodes[node];
            if beats(other, winner) {
                self.nodes[node] = winner;
                winner = other;
            }
            node /= 2;
        }
        self.nodes[0] = winner;
    }

    /// The input that comes after the winner; it lost a match against the winner.
    pub(crate) fn runner_up(&self, beats: impl Fn(usize, usize) -> bool) -> Option<usize> {
        let mut best: Option<usize> = None;
        let mut node = usize::midpoint(self.nodes[0], self.nodes.len());
        while node > 0 {
            let other = self.nodes[node];
            if best.is_none_or(|b| beats(other, b)) {
                best = Some(other);
            }
            node /= 2;
        }
        best
    }
}
