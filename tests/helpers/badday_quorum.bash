#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The rows of tests/diagnostics.list on several servers, as in badday_rows.bash: three nodes, of which the first
# is the one that `admin` speaks to.
#
# shellcheck disable=SC2034,SC2317 # the variables are those of badday.bash, which calls all this

EVERYTHING=(--user admin on nopass '~*' '&*' +@all)

start_three() { start_quorum 3 "$@"; }

prepare_three() { START=start_three STOP=stop_quorum QUORUM=yes; }

arrange_three() {
	ROW_URL=$DLOCK_SERVER
	REDIS_SOCK=$(dir_of_node 1)/s
}

# Nodes that are to have been up for an hour: their clocks are set forward.
prepare_three_old() {
	prepare_three
	NODE_CLOCKS=('shift -3600000' 'shift -3600000' 'shift -3600000')
	OPTIONS=(--quarantine 60s)
}

arrange_three_old() {
	local k
	arrange_three
	for k in 1 2 3; do echo 'shift 0' >"$(dir_of_node "$k").clock"; done
	poll_for 5000 have_long_been_up
}

have_long_been_up() {
	[ "$(everywhere INFO server | grep -c '^uptime_in_seconds:36')" = 3 ]
}

cut_everywhere() { everywhere CLIENT KILL USER default >/dev/null; }

# Two stand still.
prepare_quorum_out() { prepare_three; }
arrange_quorum_out() { arrange_three; }
provoke_quorum_out() { freeze_node 2 && freeze_node 3; }
cure_quorum_out() { thaw_node 2 && thaw_node 3 && poll_for 5000 node_answers 3; }

# Two are started again, and have forgotten everything.
prepare_quorum_young() { prepare_three_old; }
arrange_quorum_young() { arrange_three_old; }
provoke_quorum_young() {
	echo 'shift 0' >young
	local k
	for k in 2 3; do
		SERVER_CLOCK=$PWD/young LD_PRELOAD=$TOOLS/server_clock_preload.so restart_node "$k" "${EVERYTHING[@]}"
	done
}
cure_quorum_young() { echo 'shift 3600000' >young && cut_everywhere; }

# What was known of the nodes is known for as long as the connection stands.
prepare_quorum_info() { prepare_three_old; }
arrange_quorum_info() { arrange_three_old; }
provoke_quorum_info() { everywhere ACL SETUSER default -info && cut_everywhere; }
cure_quorum_info() { everywhere ACL SETUSER default +info && cut_everywhere; }
