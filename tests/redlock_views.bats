#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --status, --list, --break and --check of several servers: all are asked, and where they disagree that
# is shown. Three nodes for the whole file.

load helpers/common
load helpers/quorum

setup_file() { start_quorum 3; }
teardown_file() { stop_quorum; }
setup() {
	common_setup
	fresh_quorum
}

# json EXPRESSION: of $output, as `a`.
json() {
	/usr/bin/python3 -c 'import json, sys
a = json.load(sys.stdin)
assert eval(sys.argv[1]), a' "$1" <<<"$output"
}

@test "--status: all agree, one says something else, no majority for anything" {
	start_dlock job sleep 30
	wait_until 2s on_nodes 3 job
	run dlock --status job
	assert_success
	assert_output --regexp "^job: held by .* pid $OUTER sleep, for .*, fence [0-9]{16}; expires in [0-9.]+s\$"
	node 2 DEL lock:job >/dev/null
	run dlock --status job
	assert_success
	assert_line --index 1 '  so on 2 of 3 nodes; the others:'
	assert_line --index 2 "  $(url_of_node 2): free"
	steal_at 3 job
	run dlock --status job other
	assert_failure 1
	assert_line --index 0 'job: no state of it has a majority of the nodes:'
	assert_line --partial "  $(url_of_node 3): held by an unknown client (token stolen)"
	assert_line 'other: free'
}

steal_at() {
	node "$1" SET "lock:$2" stolen PX 60000 >/dev/null
}

@test "--status --json and --list --json have each node's view" {
	start_dlock job sleep 30
	wait_until 2s on_nodes 3 job
	node 2 DEL lock:job >/dev/null
	run dlock --status --json job
	assert_success
	json 'a[0]["state"] == "held" and [n["state"] for n in a[0]["nodes"]] == ["held", "free", "held"]'
	json 'a[0]["nodes"][0]["server"].startswith("unix://") and a[0]["nodes"][1]["token"] is None'
	json 'len({n["fence"] for n in a[0]["nodes"]} - {None}) == 1 and a[0]["nodes"][0]["problem"] is None'
	kill_node 2
	run dlock --list --json
	assert_success
	json 'len(a) == 1 and a[0]["name"] == "job" and a[0]["nodes"][1]["problem"] == "Connection refused"'
	steal_at 3 job
	run dlock --status --json job
	assert_success
	json 'a[0]["state"] == "split" and a[0]["holders"] == []'
}

@test "--list: what any node has, and on how many nodes it is so" {
	start_dlock job sleep 30
	wait_until 2s on_nodes 3 job
	steal_at 1 left-over
	run dlock --list
	assert_success
	assert_line --regexp '^job +held +.*sleep.*; expires in [0-9.]+s$'
	assert_line --regexp '^left-over +free +free; so on 2 of 3 nodes$'
	run dlock --list 'no*'
	assert_success
	assert_output ''
}

@test "a node that cannot be asked is named, and without a majority nothing is told" {
	freeze_node 2
	run dlock --connect-timeout 300ms --status job
	assert_failure 1
	assert_line 'job: free'
	assert_line --partial "  $(url_of_node 2): no answer to the login in time"
	kill_node 3
	run dlock --connect-timeout 300ms --status job
	assert_failure 69
	assert_output --partial 'cannot look at the locks: 1 of 3 servers have answered, and a majority are 2'
	assert_output --partial 'Connection refused'
}

@test "--break ends the holder, also when one node is down" {
	start_dlock -t 6s job sleep 30
	wait_until 2s on_nodes 3 job
	kill_node 3
	run dlock --break job
	assert_success
	assert_output --regexp "broke 'job', held by .* pid $OUTER sleep"
	assert_output --partial 'so on 2 of 3 nodes'
	status=0
	wait "$OUTER" || status=$?
	assert_equal "$status" 79
	assert_regex "$(<"$DLOCK_LOG")" "lost 'job': it was broken \\(dlock --break\\) by "
	wait_until 1s on_nodes 0 job # its TTL would be over later
}

@test "--break: nothing to break, a foreign client's, --force, --json" {
	run dlock --break job
	assert_failure 1
	assert_output --partial 'is free'
	for k in 1 2 3; do steal_at $k job; done
	run dlock --break job
	assert_failure 75
	run dlock --break --force --json job
	assert_success
	json_line=$(grep '^\[' <<<"$output")
	output=$json_line
	json 'a[0]["result"] == "freed" and a[0]["state"] == "free" and len(a[0]["nodes"]) == 3'
	wait_until 2s on_nodes 0 job
}

@test "--check: each node, and what all are together" {
	run dlock --check -q
	assert_success
	assert_line --index 3 'quorum: good: 3 of 3 servers are fit, a majority are 2'
	run dlock --check -q --quarantine 1000s
	assert_failure 69
	assert_line 'quorum: unfit: 3 of 3 servers are fit, but 0 of them vote by now (--quarantine), a majority are 2'
	run dlock --check --quarantine 1000s --json
	assert_failure 69
	json 'len(a) == 3 and all("quarantine" in [r["code"] for r in s["reasons"]] for s in a)'
	kill_node 1
	run dlock --check -q
	assert_success
	assert_line 'quorum: works but: 2 of 3 servers are fit, a majority are 2'
	kill_node 2
	run dlock --check -q
	assert_failure 69
	assert_line 'quorum: unfit: 1 of 3 servers are fit, a majority are 2'
}

@test "--check: one server under two URLs" {
	run dlock --check -q -S "$(url_of_node 1)" -S "$(tcp_url_of_node 1)" -S "$(url_of_node 2)"
	assert_failure 69
	assert_line --partial 'verdict: unfit: it is the same server as'
	assert_line --regexp '^quorum: unfit'
}
