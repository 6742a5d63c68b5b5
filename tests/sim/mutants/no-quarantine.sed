# src/store/redlock_node.c
# A server of a quorum that was just started votes.
/votes = redlock_node_votes/s/redlock_node_votes(node)/true/
# src/store/redlock.c
/votes = redlock_node_votes/s/redlock_node_votes(&redlock->nodes\[i\])/true/
