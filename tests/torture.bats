#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The parts of the torture rack (tests/torture) that need no server. It itself is run by `make torture`, and for a
# minute by tests/long/torture.bats.

load helpers/common

@test "the checker of the rack sees each violation in logs that were made up, and none where all is well" {
	run /usr/bin/python3 "$TESTS_DIR/torture/checker_test.py"
	assert_success
	assert_line --regexp '^Ran (1[5-9]|[2-9][0-9]) tests'
}

@test "every round names faults that there are, every fault has a round, and some rounds promise exclusion" {
	run /usr/bin/python3 -c "
import sys
sys.path.insert(0, '$TESTS_DIR/torture')
from server_faults import KINDS
from rounds import PLANTS, ROUNDS
used = {kind for one in ROUNDS.values() for kind in one.faults}
assert used == set(KINDS), used ^ set(KINDS)
assert all(set(one.faults) <= set(KINDS) and one.planted for one in PLANTS.values())
# Where exclusion is promised nothing forgets but a node that is kept from voting, no clock steps, no machine stands still.
for name, one in ROUNDS.items():
    if one.promises == 'exclusion':
        harm = set(one.faults) & {'pause_machine', 'step_clock', 'flush_server', 'delete_key', 'expire_key', 'steal_key', 'crash_master'}
        assert not harm, (name, harm)
print(len(ROUNDS), len(PLANTS), sum(one.promises == 'exclusion' for one in ROUNDS.values()))
"
	assert_success
	read -r rounds plants exclusion <<<"$output"
	((rounds >= 12 && plants >= 5 && exclusion >= 5))
}
